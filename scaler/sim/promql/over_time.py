"""Functions of a range vector, as Prometheus computes them."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import TypeAlias

from scaler.sim.promql.series import Window

RangeFunction: TypeAlias = Callable[[Window], float | None]


def kahan(value: float, *, total: float, lost: float) -> tuple[float, float]:
    """Add a value by Neumaier's compensated sum; give the sum and what rounding lost."""
    new = total + value
    if math.isinf(new):
        return new, 0.0
    if abs(total) >= abs(value):
        return new, lost + ((total - new) + value)
    return new, lost + ((value - new) + total)


def total(values: Iterable[float]) -> float:
    """Sum compensated."""
    result, lost = 0.0, 0.0
    for value in values:
        result, lost = kahan(value, total=result, lost=lost)
    return result + lost


def mean(values: Sequence[float]) -> float:
    """Average: a compensated sum over the count, until it overflows; from there step by step."""
    result, lost = values[0], 0.0
    for index, value in enumerate(values[1:], start=2):
        new, rest = kahan(value, total=result, lost=lost)
        if math.isinf(new):
            return _stepwise_mean(values, since=index, result=result, lost=lost)
        result, lost = new, rest
    return result / len(values) + lost / len(values)


def _stepwise_mean(values: Sequence[float], *, since: int, result: float, lost: float) -> float:
    average, lost = result / (since - 1), lost / (since - 1)
    for count, value in enumerate(values[since - 1 :], start=since):
        share = (count - 1) / count
        average, lost = kahan(value / count, total=share * average, lost=share * lost)
    return average + lost


def largest(values: Iterable[float]) -> float:
    """Find the maximum; NaN only where there is nothing else."""
    result = math.nan
    for value in values:
        if value > result or result != result:  # noqa: PLR0124 - the test for NaN
            result = value
    return result


def smallest(values: Iterable[float]) -> float:
    """Find the minimum; NaN only where there is nothing else."""
    result = math.nan
    for value in values:
        if value < result or result != result:  # noqa: PLR0124 - the test for NaN
            result = value
    return result


def _changes(window: Window) -> float:
    values = window.values
    return float(
        sum(
            new != old and not (math.isnan(new) and math.isnan(old))
            for old, new in pairwise(values)
        )
    )


def _resets(window: Window) -> float:
    values = window.values
    return float(sum(new < old for old, new in pairwise(values)))


def _increase(window: Window) -> float | None:
    return _extrapolated(window, counter=True)


def _delta(window: Window) -> float | None:
    return _extrapolated(window, counter=False)


def _rate(window: Window) -> float | None:
    return _extrapolated(window, counter=True, seconds=(window.end - window.start) / 1000)


def _extrapolated(window: Window, *, counter: bool, seconds: float | None = None) -> float | None:
    """Stretch what first and last sample differ by to the range's borders where they are near."""
    times, values = window.times, window.values
    if len(times) == 1:
        return None
    grown = values[-1] - values[0]
    if counter:
        for old, new in pairwise(values):
            if new < old:
                grown += old
    sampled = (times[-1] - times[0]) / 1000
    between = sampled / (len(times) - 1)
    to_start = (times[0] - window.start) / 1000
    to_end = (window.end - times[-1]) / 1000
    to_end = between / 2 if to_end >= between * 1.1 else to_end
    to_zero = sampled * (values[0] / grown) if counter and grown > 0 <= values[0] else math.inf
    if window.closed:  # before 3.0 the counter's zero came first
        to_start = min(to_start, to_zero)
    to_start = between / 2 if to_start >= between * 1.1 else to_start
    to_start = min(to_start, to_zero)
    factor = (sampled + to_start + to_end) / sampled
    if seconds is not None:
        factor /= seconds
    return grown * factor


FUNCTIONS: Mapping[str, RangeFunction] = MappingProxyType(
    {
        "max_over_time": lambda window: largest(window.values),
        "min_over_time": lambda window: smallest(window.values),
        "sum_over_time": lambda window: total(window.values),
        "avg_over_time": lambda window: mean(window.values),
        "count_over_time": lambda window: float(len(window.values)),
        "last_over_time": lambda window: window.values[-1],
        "present_over_time": lambda _: 1.0,
        "changes": _changes,
        "resets": _resets,
        "increase": _increase,
        "rate": _rate,
        "delta": _delta,
    }
)
KEEP_NAME = frozenset({"last_over_time"})
"""Functions whose rows are still the metric's own."""
