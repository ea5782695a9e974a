"""The metrics of dcgm-exporter 4.8 and 4.9 in Prometheus' text format.

Names, units and labels of 4.8 are those of its default-counters.csv and dcp-metrics-included.csv.
4.9 renamed fields and changed percentages to ratios and millijoules to joules; from 4.8.3 on the
label `Hostname` is `hostname`. 4.8 here is an earlier one, so that both labels are seen.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from tests.e2e.devices import Gpu

MODEL = "NVIDIA A100-SXM4-80GB"
DRIVER = "580.95.05"
IDLE_WATTS = 60.0
WATTS_PER_PERCENT = 3.4


class Version(StrEnum):
    """Name the releases whose conventions are spoken."""

    V4_8 = "4.8"
    V4_9 = "4.9"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a GPU measures at a moment."""

    percent: float
    """Activity, 0 to 100."""
    watts: float
    celsius: float
    joules: float
    """Energy since its driver was loaded."""


ZERO = Reading(percent=0.0, watts=0.0, celsius=0.0, joules=0.0)


def watts_at(percent: float) -> float:
    """Give the power that a GPU draws at an activity."""
    return IDLE_WATTS + WATTS_PER_PERCENT * percent


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One row of a counter file."""

    name: str
    kind: str
    """gauge or counter."""
    about: str
    value: Callable[[Reading], str]


def _activity(name: str, about: str, *, of: float = 1.0) -> Metric:
    """Describe a gauge from 0 to 1, of which a fully busy GPU reaches a part."""

    def value(reading: Reading) -> str:
        return f"{reading.percent * of / 100:.6f}"

    return Metric(name=name, kind="gauge", about=about, value=value)


def _percent(name: str, about: str, *, of: float = 1.0) -> Metric:
    """Describe a gauge in whole percent, as NVML counts; what works at all shows at least 1."""

    def value(reading: Reading) -> str:
        scaled = reading.percent * of
        return str(max(1, round(scaled)) if scaled > 0 else 0)

    return Metric(name=name, kind="gauge", about=about, value=value)


def _plain(name: str, kind: str, about: str, value: Callable[[Reading], str]) -> Metric:
    return Metric(name=name, kind=kind, about=about, value=value)


def _celsius(reading: Reading) -> str:
    return str(round(reading.celsius))


def _watts(reading: Reading) -> str:
    return f"{reading.watts:.3f}"


_METRICS: Mapping[Version, tuple[Metric, ...]] = {
    Version.V4_8: (
        _plain("DCGM_FI_DEV_GPU_TEMP", "gauge", "GPU temperature (in C).", _celsius),
        _plain("DCGM_FI_DEV_POWER_USAGE", "gauge", "Power draw (in W).", _watts),
        _plain(
            "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION",
            "counter",
            "Energy since boot (in mJ).",
            lambda r: str(round(r.joules * 1000)),
        ),
        _percent("DCGM_FI_DEV_GPU_UTIL", "GPU utilization (in %)."),
        _percent("DCGM_FI_DEV_ENC_UTIL", "Encoder utilization (in %).", of=0.0),
        _percent("DCGM_FI_DEV_DEC_UTIL", "Decoder utilization (in %).", of=0.0),
        _plain("DCGM_FI_DEV_XID_ERRORS", "gauge", "The last XID.", lambda _: "0"),
        _plain("DCGM_FI_DEV_ROW_REMAP_FAILURE", "gauge", "A row was not remapped.", lambda _: "0"),
        _activity("DCGM_FI_PROF_GR_ENGINE_ACTIVE", "Ratio of time the engine is active."),
        _activity("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "Ratio of tensor cycles.", of=0.3),
        _activity("DCGM_FI_PROF_DRAM_ACTIVE", "Ratio of memory cycles.", of=0.5),
    ),
    Version.V4_9: (
        _plain("DCGM_FI_DEV_GPU_TEMP_CELSIUS", "gauge", "GPU temperature.", _celsius),
        _plain("DCGM_FI_DEV_BOARD_POWER_WATTS", "gauge", "Power draw.", _watts),
        _plain(
            "DCGM_FI_DEV_GPU_ENERGY_JOULES_TOTAL",
            "counter",
            "Energy since boot.",
            lambda r: str(round(r.joules)),
        ),
        _activity("DCGM_FI_DEV_GPU_UTIL_RATIO", "GPU utilization."),
        _activity("DCGM_FI_DEV_ENC_UTIL_RATIO", "Encoder utilization.", of=0.0),
        _activity("DCGM_FI_DEV_DEC_UTIL_RATIO", "Decoder utilization.", of=0.0),
        _plain("DCGM_FI_DEV_XID_ERROR", "gauge", "The last XID.", lambda _: "0"),
        _plain("DCGM_FI_DEV_ROW_REMAP_FAILED", "gauge", "A row was not remapped.", lambda _: "0"),
        _activity("DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO", "Ratio of time the engine is active."),
        _activity("DCGM_FI_PROF_TENSOR_UTIL_RATIO", "Ratio of tensor cycles.", of=0.3),
        _activity("DCGM_FI_PROF_DRAM_UTIL_RATIO", "Ratio of memory cycles.", of=0.5),
    ),
}


_NODE_LABEL = {Version.V4_8: "Hostname", Version.V4_9: "hostname"}
_DRIVER_LABEL = {
    Version.V4_8: "DCGM_FI_DRIVER_VERSION",
    Version.V4_9: "DCGM_FI_SYSTEM_DRIVER_VERSION",
}


def labels_of(gpu: Gpu, *, version: Version, pod_labels: bool = True) -> dict[str, str]:
    """Give a GPU's labels; those of a pod only where one holds it and they are not lost."""
    labels = {
        "gpu": str(gpu.index),
        "UUID": gpu.uuid,
        "pci_bus_id": f"00000000:{gpu.index + 7:02X}:00.0",
        "device": f"nvidia{gpu.index}",
        "modelName": MODEL,
        _NODE_LABEL[version]: gpu.node,
        _DRIVER_LABEL[version]: DRIVER,
    }
    holder = gpu.holder
    if holder and pod_labels:
        labels |= {
            "container": holder.container,
            "namespace": holder.namespace,
            "pod": holder.pod,
        }
    return labels


def exposition(
    readings: Iterable[tuple[Gpu, Reading]], *, version: Version, pod_labels: bool = True
) -> str:
    """Write all metrics of all GPUs; "" where there is none."""
    rows = [
        (labels_of(gpu, version=version, pod_labels=pod_labels), reading)
        for gpu, reading in readings
    ]
    if not rows:
        return ""
    return "".join(
        family(
            metric.name,
            metric.kind,
            metric.about,
            ((labels, metric.value(reading)) for labels, reading in rows),
        )
        for metric in _METRICS[version]
    )


def family(
    name: str, kind: str, about: str, samples: Iterable[tuple[Mapping[str, str], str]]
) -> str:
    """Write one metric; names and values here have nothing to escape."""
    lines = [f"# HELP {name} {about}", f"# TYPE {name} {kind}"]
    for labels, value in samples:
        inside = ",".join(f'{key}="{text}"' for key, text in labels.items())
        lines.append(f"{name}{{{inside}}} {value}")
    return "\n".join(lines) + "\n"
