"""What each metric profile calls and means: one table, for queries and for judgement alike.

A profile is chosen in the policy and never guessed from values: an idle fleet reads 0 in every
scale, so that a ratio taken for a percentage would be seen only once it had done its harm.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from scaler.core.model import Amounts
from scaler.core.policy import CustomProfile, PrometheusSettings
from scaler.core.policy import Profile as ProfileName
from scaler.core.usage import Device


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivitySignal:
    """One metric that shows work on a device; 0 is its quiet end."""

    name: str
    """What a Reading calls it."""
    metric: str
    maximum: float
    """The metric's top value, which is 100 %; a sample below 0 or beyond it is garbage."""
    void_on_slices: bool = False
    """It says nothing of a slice of a device, whatever it reads there."""
    vouches: bool = True
    """Quiet, it alone is enough to call a device quiet; else it can only show work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricProfile:
    """The names of a fleet's metrics and labels, and the resources that they speak of."""

    signals: tuple[ActivitySignal, ...]
    resources: tuple[str, ...]
    """Extended resources; a trailing * matches any ending."""
    device_labels: tuple[str, ...]
    """Together they name a device in the whole cluster; values are joined with `/`."""
    instance_label: str | None = None
    """Names a slice of a device."""
    whole_instances: frozenset[str] = frozenset({""})
    """Values of the instance label that mean the whole device."""
    pod_labels: tuple[tuple[str, str], ...] = (
        ("exported_namespace", "exported_pod"),
        ("namespace", "pod"),
    )
    """(namespace label, pod label) pairs; the first whose pod label is not empty wins.

    Where only the exporter's own pod is named, that is no live pod with devices: the series then
    counts for nobody.
    """
    model_label: str | None = None
    power_metric: str | None = None
    watts_per_unit: float = 1.0
    temperature_metrics: tuple[str, ...] = ()
    energy_metric: str | None = None
    """A counter, in any unit: only whether it grows is asked."""

    def signal(self, name: str) -> ActivitySignal | None:
        """Find a signal by the name that a Reading gives."""
        return next((signal for signal in self.signals if signal.name == name), None)

    def covers(self, resource: str) -> bool:
        """Say whether the metrics speak of an extended resource."""
        return any(_matches(pattern=pattern, resource=resource) for pattern in self.resources)

    def devices(self, requests: Amounts) -> int:
        """Count the devices in a pod's requests that the metrics speak of."""
        return sum(count for resource, count in requests if self.covers(resource))

    def void(self, *, signal: str, device: Device) -> bool:
        """Say whether a signal says nothing of a device: it is a slice, and the signal is void."""
        known = self.signal(signal)
        return known is not None and known.void_on_slices and not self.whole(device)

    def whole(self, device: Device) -> bool:
        """Say whether a device is no slice of another."""
        return device.instance in self.whole_instances


def _codec(*, name: str, metric: str, maximum: float) -> ActivitySignal:
    """Build a video engine's signal: the engine works where kernels and graphics rest."""
    return ActivitySignal(
        name=name, metric=metric, maximum=maximum, void_on_slices=True, vouches=False
    )


_NVIDIA_RESOURCES = ("nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-*")

_DCGM_4_8 = MetricProfile(
    signals=(
        ActivitySignal(
            name="gr_engine_active", metric="DCGM_FI_PROF_GR_ENGINE_ACTIVE", maximum=1.0
        ),
        ActivitySignal(
            name="gpu_util", metric="DCGM_FI_DEV_GPU_UTIL", maximum=100.0, void_on_slices=True
        ),
        ActivitySignal(
            name="dram_active", metric="DCGM_FI_PROF_DRAM_ACTIVE", maximum=1.0, vouches=False
        ),
        _codec(name="enc_util", metric="DCGM_FI_DEV_ENC_UTIL", maximum=100.0),
        _codec(name="dec_util", metric="DCGM_FI_DEV_DEC_UTIL", maximum=100.0),
    ),
    resources=_NVIDIA_RESOURCES,
    device_labels=("UUID",),
    instance_label="GPU_I_ID",
    model_label="modelName",
    power_metric="DCGM_FI_DEV_POWER_USAGE",
    temperature_metrics=("DCGM_FI_DEV_GPU_TEMP",),
    energy_metric="DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION",
)

_DCGM_4_9 = MetricProfile(
    signals=(
        ActivitySignal(
            name="gr_engine_active", metric="DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO", maximum=1.0
        ),
        ActivitySignal(
            name="gpu_util", metric="DCGM_FI_DEV_GPU_UTIL_RATIO", maximum=1.0, void_on_slices=True
        ),
        ActivitySignal(
            name="dram_active", metric="DCGM_FI_PROF_DRAM_UTIL_RATIO", maximum=1.0, vouches=False
        ),
        _codec(name="enc_util", metric="DCGM_FI_DEV_ENC_UTIL_RATIO", maximum=1.0),
        _codec(name="dec_util", metric="DCGM_FI_DEV_DEC_UTIL_RATIO", maximum=1.0),
    ),
    resources=_NVIDIA_RESOURCES,
    device_labels=("UUID",),
    instance_label="GPU_I_ID",
    model_label="modelName",
    power_metric="DCGM_FI_DEV_BOARD_POWER_WATTS",
    temperature_metrics=("DCGM_FI_DEV_GPU_TEMP_CELSIUS",),
    energy_metric="DCGM_FI_DEV_GPU_ENERGY_JOULES_TOTAL",
)

_AMD = MetricProfile(
    signals=(
        ActivitySignal(
            name="gfx_activity", metric="gpu_gfx_activity", maximum=100.0, void_on_slices=True
        ),
        ActivitySignal(
            name="umc_activity",
            metric="gpu_umc_activity",
            maximum=100.0,
            void_on_slices=True,
            vouches=False,
        ),
    ),
    resources=("amd.com/gpu",),
    device_labels=("hostname", "gpu_id"),
    instance_label="gpu_partition_id",
    whole_instances=frozenset({"", "0"}),
    model_label="card_model",
    power_metric="gpu_package_power",
)
"""Partitions beyond the first report no activity of their own, so theirs is void."""

_GAUDI = MetricProfile(
    signals=(ActivitySignal(name="utilization", metric="habanalabs_utilization", maximum=100.0),),
    resources=("habana.ai/gaudi",),
    device_labels=("UUID",),
    power_metric="habanalabs_power_mW",
    watts_per_unit=0.001,
    temperature_metrics=("habanalabs_temperature_onchip",),
    energy_metric="habanalabs_energy",
)

BUILT_IN: Mapping[ProfileName, MetricProfile] = MappingProxyType(
    {
        ProfileName.DCGM_4_8: _DCGM_4_8,
        ProfileName.DCGM_4_9: _DCGM_4_9,
        ProfileName.AMD: _AMD,
        ProfileName.GAUDI: _GAUDI,
    }
)

_NOTHING = MetricProfile(signals=(), resources=(), device_labels=())


def metric_profile(settings: PrometheusSettings) -> MetricProfile:
    """Give the profile that a policy chose.

    `custom` without its section is refused where the policy is parsed; here it measures nothing,
    and what can't be measured is never idle.
    """
    if settings.profile is not ProfileName.CUSTOM:
        return BUILT_IN[settings.profile]
    return _NOTHING if settings.custom is None else _custom(settings.custom)


def _custom(custom: CustomProfile) -> MetricProfile:
    return MetricProfile(
        signals=tuple(
            ActivitySignal(name=signal.name, metric=signal.metric, maximum=signal.maximum)
            for signal in custom.signals
        ),
        resources=custom.resources,
        device_labels=(custom.device_label,),
        instance_label=custom.instance_label,
        pod_labels=custom.pod_labels,
        model_label=custom.model_label,
        power_metric=custom.power_metric,
        temperature_metrics=tuple(filter(None, (custom.temperature_metric,))),
        energy_metric=custom.energy_metric,
    )


def _matches(*, pattern: str, resource: str) -> bool:
    if pattern.endswith("*"):
        return resource.startswith(pattern[:-1])
    return resource == pattern
