import pytest

from scaler.core.policy import CustomProfile, CustomSignal, Profile, PrometheusSettings
from scaler.core.profile import BUILT_IN, MetricProfile, metric_profile
from scaler.core.usage import Device

DCGM = BUILT_IN[Profile.DCGM_4_8]


@pytest.mark.parametrize("name", [name for name in Profile if name is not Profile.CUSTOM])
def test_every_built_in_profile_can_tell_a_quiet_device(name: Profile) -> None:
    """Every built in profile can tell a quiet device."""
    profile = metric_profile(PrometheusSettings(profile=name))
    assert any(signal.vouches for signal in profile.signals)
    assert profile.resources
    assert profile.device_labels
    names = [signal.name for signal in profile.signals]
    metrics = [signal.metric for signal in profile.signals]
    assert len(set(names)) == len(names)
    assert len(set(metrics)) == len(metrics)
    assert all(signal.maximum in (1.0, 100.0) for signal in profile.signals)


def test_dcgm_profiles_share_no_metric_of_different_scale() -> None:
    """Dcgm profiles share no metric of different scale."""
    old, new = (BUILT_IN[name].signals for name in (Profile.DCGM_4_8, Profile.DCGM_4_9))
    assert not {one.metric for one in old} & {one.metric for one in new}
    assert [one.name for one in old] == [one.name for one in new]
    assert all(one.maximum == 1.0 for one in new)


@pytest.mark.parametrize(
    ("resource", "want"),
    [
        ("nvidia.com/gpu", True),
        ("nvidia.com/gpu.shared", True),
        ("nvidia.com/mig-1g.5gb", True),
        ("nvidia.com/gpumem", False),
        ("amd.com/gpu", False),
        ("cpu", False),
    ],
)
def test_dcgm_speaks_of_whole_shared_and_sliced_gpus(resource: str, *, want: bool) -> None:
    """Dcgm speaks of whole shared and sliced gpus."""
    assert DCGM.covers(resource) is want


def test_devices_of_all_covered_resources_add_up() -> None:
    """Devices of all covered resources add up."""
    requests = (("cpu", 4000), ("nvidia.com/gpu", 2), ("nvidia.com/mig-1g.5gb", 3))
    assert DCGM.devices(requests) == 5


@pytest.mark.parametrize(
    ("signal", "instance", "want"),
    [
        ("gpu_util", "", False),
        ("gpu_util", "3", True),
        ("enc_util", "3", True),
        ("gr_engine_active", "3", False),
        ("unheard-of", "3", False),
    ],
)
def test_signals_of_the_whole_gpu_are_void_on_its_slices(
    signal: str, instance: str, *, want: bool
) -> None:
    """Signals of the whole gpu are void on its slices."""
    device = Device(uuid="GPU-0", instance=instance)
    assert DCGM.void(signal=signal, device=device) is want


def test_the_first_amd_partition_is_measured_and_the_others_are_not() -> None:
    """The first amd partition is measured and the others are not."""
    amd = BUILT_IN[Profile.AMD]
    first, second = (Device(uuid="n/0", instance=one) for one in ("0", "1"))
    assert not amd.void(signal="gfx_activity", device=first)
    assert amd.void(signal="gfx_activity", device=second)


def test_gaudi_power_is_milliwatts() -> None:
    """Gaudi power is milliwatts."""
    assert BUILT_IN[Profile.GAUDI].watts_per_unit == 0.001


def custom(profile: CustomProfile | None) -> MetricProfile:
    """Choose the custom profile."""
    return metric_profile(PrometheusSettings(profile=Profile.CUSTOM, custom=profile))


def test_a_custom_profile_says_what_the_policy_says() -> None:
    """A custom profile says what the policy says."""
    section = CustomProfile(
        signals=(CustomSignal(name="busy", metric="npu_busy", maximum=1.0),),
        device_label="serial",
        resources=("example.com/npu*",),
        power_metric="npu_watts",
        temperature_metric="npu_celsius",
    )
    profile = custom(section)
    assert [(one.name, one.metric, one.maximum) for one in profile.signals] == [
        ("busy", "npu_busy", 1.0)
    ]
    assert profile.device_labels == ("serial",)
    assert profile.covers("example.com/npu-large")
    assert profile.power_metric == "npu_watts"
    assert profile.temperature_metrics == ("npu_celsius",)


def test_a_custom_profile_without_its_section_measures_nothing() -> None:
    """A custom profile without its section measures nothing."""
    profile = custom(None)
    assert not profile.signals
    assert not profile.covers("nvidia.com/gpu")
