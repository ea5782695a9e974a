"""Samples as exporters write them, for tests of queries and of what becomes of their answers."""

from collections.abc import Mapping

from scaler.core.model import Instant
from scaler.core.policy import Policy, PrometheusSettings
from scaler.core.usage import Usage, UsageKey
from scaler.sim.readings import read_usage
from scaler.sim.samples import SampleStore

NOW = 1_790_000_010.0
"""No multiple of a window, but one of the scrape interval."""
WINDOW = 1800.0
KEY = UsageKey(window_seconds=WINDOW, busy_from_percent=1.0)
GPU_UTIL = "DCGM_FI_DEV_GPU_UTIL"
GR_ENGINE = "DCGM_FI_PROF_GR_ENGINE_ACTIVE"


def pod_labels(pod: str, *, gpu: int = 0, **more: str) -> dict[str, str]:
    """Name a device and, unless it is empty, its pod as a workload's own labels."""
    named = {"namespace": "ml", "pod": pod} if pod else {}
    return {"UUID": f"GPU-{gpu}", "gpu": str(gpu), "modelName": "A100", **named, **more}


def scrape(
    store: SampleStore,
    metric: str,
    value: float,
    *,
    labels: Mapping[str, str],
    since: float = -7200.0,
    until: float = 0.0,
    every: float = 30.0,
    phase: float = 0.0,
) -> None:
    """Append a constant series; times are seconds relative to NOW, both ends included."""
    for index in range(int((until - since) / every) + 1):
        at = NOW + since + phase + index * every
        if at <= NOW + until:
            store.append(metric, labels, at=at, value=value)


def usage_of(
    store: SampleStore,
    *,
    at: Instant = NOW,
    key: UsageKey = KEY,
    settings: PrometheusSettings | None = None,
) -> Usage:
    """Ask the samples what a refresh would."""
    policy = Policy(prometheus=settings or PrometheusSettings())
    return read_usage(store, policy=policy, usage=[key], queries={}, at=at).usage[key]


def peaks(usage: Usage, pod: str) -> dict[tuple[str, str, str], float | None]:
    """Give a pod's peaks by uuid, slice and signal."""
    return {
        (reading.device.uuid, reading.device.instance, reading.signal): reading.peak
        for reading in usage.by_pod.get(("ml", pod), ())
    }
