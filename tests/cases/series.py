"""Write DCGM's series as OpenMetrics text."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from tests.cases.objects import LONG_AGO, START

SCRAPE = 30
END = 28_800
"""Samples beyond a case's moment are not written, so series may run on."""

Levels: TypeAlias = float | Mapping[int, float | None]
"""A constant, or the value that holds from each time on; None = no samples from there on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One series: labels and samples by time."""

    metric: str
    labels: Mapping[str, str]
    points: Mapping[float, float]


def series(metric: str, levels: Levels, labels: Mapping[str, str]) -> Series:
    """Build a series that is scraped every 30 s since t = -7200."""
    steps: Mapping[int, float | None]
    steps = levels if isinstance(levels, Mapping) else {LONG_AGO: levels}
    points = {
        float(t): value
        for t in range(LONG_AGO, END, SCRAPE)
        if (value := _level(steps, t)) is not None
    }
    return Series(metric=metric, labels=labels, points=points)


def between(one: Series, points: Mapping[float, float]) -> Series:
    """Give a series with samples beside those of its scrapes."""
    return replace(one, points={**one.points, **points})


def _level(steps: Mapping[int, float | None], t: float) -> float | None:
    begun = [start for start in steps if start <= t]
    return steps[max(begun)] if begun else None


def gpu_labels(pod: str, gpu: int, /, **changed: str | None) -> dict[str, str]:
    """Build the exporter's labels; `changed` are put otherwise, None takes one away."""
    labels = {
        "gpu": str(gpu),
        "UUID": f"GPU-{pod}-{gpu}",
        "device": f"nvidia{gpu}",
        "modelName": "NVIDIA H100 80GB HBM3",
        "Hostname": "n1",
        "container": "c",
        "namespace": "ml",
        "pod": pod,
    }
    return {key: value for key, value in (labels | changed).items() if value is not None}


def util(pod: str, gpu: int, levels: Levels, /, **labels: str | None) -> Series:
    """Build GPU_UTIL of a pod's GPU, percent."""
    return series("DCGM_FI_DEV_GPU_UTIL", levels, gpu_labels(pod, gpu, **labels))


def engine(pod: str, gpu: int, levels: Levels, /, **labels: str | None) -> Series:
    """Build GR_ENGINE_ACTIVE of a pod's GPU, a ratio."""
    return series("DCGM_FI_PROF_GR_ENGINE_ACTIVE", levels, gpu_labels(pod, gpu, **labels))


def power(pod: str, gpu: int, levels: Levels, /, **labels: str | None) -> Series:
    """Build POWER_USAGE of a pod's GPU, watts."""
    return series("DCGM_FI_DEV_POWER_USAGE", levels, gpu_labels(pod, gpu, **labels))


def open_metrics(every: Iterable[Series], *, until: float) -> str:
    """Write series up to a moment, as `promtool tsdb create-blocks-from openmetrics` reads them."""
    return "".join((*_lines(every, until), "# EOF\n"))


def _lines(every: Iterable[Series], until: float) -> Iterator[str]:
    start = START.timestamp()
    for one in sorted(every, key=lambda found: found.metric):
        labels = ",".join(f'{key}="{value}"' for key, value in sorted(one.labels.items()))
        for t, value in sorted(one.points.items()):
            if t <= until:
                shown = "NaN" if math.isnan(value) else repr(value)
                yield f"{one.metric}{{{labels}}} {shown} {start + t:.3f}\n"
