"""What a benchmark finds, and how a process looks at itself."""

import math
import resource
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

MIB = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One number, beside its goal where there is one."""

    name: str
    value: float
    unit: str
    goal: float | None = None
    """The value should not be above it."""

    def __str__(self) -> str:
        beside = f"goal <= {self.goal:g} {self.unit}" if self.goal is not None else ""
        met = "" if self.goal is None or self.value <= self.goal else "  MISSED"
        return f"{self.name:<58}{self.value:>10.2f} {self.unit:<4} {beside}{met}".rstrip()


def percentile(values: Sequence[float], percent: float) -> float:
    """Give the smallest value that at least `percent` of the values do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]


def peak_rss() -> float:
    """Give this process's largest resident size so far, in MiB.

    Linux passes a parent's peak on through rusage; VmHWM is the process's own.
    """
    status = Path("/proc/self/status")
    if status.exists():
        line = next(row for row in status.read_text().splitlines() if row.startswith("VmHWM:"))
        return int(line.split()[1]) / 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / MIB if sys.platform == "darwin" else peak / 1024
