"""Series of samples, and what an expression makes of them over a row of instants."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from scaler.sim.promql.labels import Labels
from scaler.sim.promql.syntax import Matcher, PromQLError


@dataclass(slots=True, kw_only=True)
class Series:
    """One series; times ascend."""

    labels: Labels
    """The metric's name is `__name__`."""
    times: list[int] = field(default_factory=list)
    """Milliseconds since the epoch."""
    values: list[float | None] = field(default_factory=list)
    """None = staleness marker."""


class Samples(Protocol):
    """Where an evaluation finds its series."""

    def select(self, matchers: tuple[Matcher, ...]) -> Iterable[Series]:
        """Give the series that fit all matchers."""
        ...


Values: TypeAlias = list[float | None]
"""One value for each instant; None = the series is not there then."""


@dataclass(frozen=True, slots=True)
class Row:
    """One series of an instant vector, over all instants at once."""

    labels: Labels
    values: Values


@dataclass(frozen=True, slots=True)
class Window:
    """What a range function sees at one instant: at least one point."""

    times: Sequence[int]
    values: Sequence[float]
    start: int
    end: int
    """The range's own borders, milliseconds."""
    closed: bool
    """The start belongs to the range."""


@dataclass(frozen=True, slots=True)
class Points:
    """One series of a range vector: all of its points, cut into windows when they are asked."""

    labels: Labels
    times: Sequence[int]
    values: Sequence[float]

    def window(self, *, start: int, end: int, closed: bool) -> Window | None:
        """Give the points in (start, end], or [start, end] where ranges are closed."""
        cut = bisect_left if closed else bisect_right
        low, high = cut(self.times, start), bisect_right(self.times, end)
        if low >= high:
            return None
        return Window(self.times[low:high], self.values[low:high], start, end, closed)


def newest(
    series: Series, instants: Sequence[int], *, lookback: int, closed: bool
) -> list[int | None]:
    """Find the index of each instant's newest sample; None where it is too old or a marker."""
    times, values = series.times, series.values
    found: list[int | None] = []
    index, count = 0, len(times)
    oldest = lookback if closed else lookback - 1
    for instant in instants:
        while index < count and times[index] <= instant:
            index += 1
        fresh = index > 0 and instant - times[index - 1] <= oldest
        found.append(index - 1 if fresh and values[index - 1] is not None else None)
    return found


def unique(rows: Iterable[Row]) -> list[Row]:
    """Join rows of equal labels that are never there together.

    Raises:
        PromQLError: two are there at one instant.
    """
    joined: dict[Labels, Row] = {}
    for row in rows:
        other = joined.get(row.labels)
        joined[row.labels] = row if other is None else _merged(other, row)
    return list(joined.values())


def _merged(one: Row, other: Row) -> Row:
    pairs = tuple(zip(one.values, other.values, strict=True))
    if any(a is not None and b is not None for a, b in pairs):
        raise PromQLError("vector cannot contain metrics with the same labelset")
    return Row(one.labels, [b if a is None else a for a, b in pairs])
