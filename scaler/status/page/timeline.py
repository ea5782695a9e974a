"""What was decided for a trigger over a time, in spans; a span without a telling was not seen."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from scaler.core.decision import Decision, Status
from scaler.core.model import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What of a Decision a chart shows; texts, since history may come from another version."""

    status: str
    reason: str
    value: int | None = None
    """None unless status is OK."""
    active: bool | None = None

    @property
    def known(self) -> bool:
        """Say whether a decision came out."""
        return self.status == Status.OK and self.value is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """One telling from `start` until before `end`; None = nobody recorded any."""

    start: Instant
    end: Instant
    told: Told | None

    @property
    def seconds(self) -> float:
        """Give its length."""
        return self.end - self.start


Timeline = tuple[Span, ...]
"""Spans without holes between them, ascending."""


def told_of(decision: Decision) -> Told:
    """Give what a chart shows of a Decision."""
    return Told(
        status=str(decision.status),
        reason=str(decision.reason),
        value=decision.value,
        active=decision.active,
    )


def spans(
    points: Sequence[tuple[Instant, Told | None]], *, start: Instant, end: Instant
) -> Timeline:
    """Draw out points, each of which lasts until the next; before the first nothing was seen."""
    found: list[Span] = []
    if not points or points[0][0] > start:
        first = min(points[0][0], end) if points else end
        found.append(Span(start=start, end=first, told=None))
    ends = [at for at, _ in points[1:]] + [end] * bool(points)
    for (at, told), until in zip(points, ends, strict=True):
        if until > start and at < end:
            found.append(Span(start=max(at, start), end=min(until, end), told=told))
    return merged(found)


def merged(parts: Iterable[Span]) -> Timeline:
    """Make one span of neighbours that say the same."""
    found: list[Span] = []
    for part in parts:
        if part.seconds <= 0:
            continue
        if found and found[-1].told == part.told:
            found[-1] = replace(found[-1], end=part.end)
        else:
            found.append(part)
    return tuple(found)


def over(*, below: Timeline, above: Timeline) -> Timeline:
    """Fill what `above` did not see with what `below` did."""
    return merged(piece for span in above for piece in _filled(span, below))


def without(timeline: Timeline, gaps: Iterable[tuple[Instant, Instant]]) -> Timeline:
    """Take out times in which nobody looked."""
    for start, end in gaps:
        timeline = merged(piece for span in timeline for piece in _cut(span, start, end))
    return timeline


@dataclass(frozen=True, slots=True, kw_only=True)
class Since:
    """Since when a reason is the one in force."""

    at: Instant
    at_least: bool
    """Nothing was seen before: it may be so for longer."""


def since(timeline: Timeline) -> Since | None:
    """Give since when the reason is what it is at the end; None where that was not seen."""
    last = timeline[-1].told if timeline else None
    if last is None:
        return None
    begin = timeline[-1].start
    for span in reversed(timeline):
        if span.told is None or (span.told.status, span.told.reason) != (last.status, last.reason):
            break
        begin = span.start
    return Since(at=begin, at_least=begin == seen_from(timeline))


def seen_from(timeline: Timeline) -> Instant | None:
    """Give the beginning of the first span that was seen."""
    return next((span.start for span in timeline if span.told is not None), None)


def _filled(span: Span, below: Timeline) -> Iterator[Span]:
    if span.told is not None:
        yield span
        return
    at = span.start
    first = max(0, bisect_right([one.start for one in below], span.start) - 1)
    for one in below[first:]:
        start, end = max(one.start, span.start), min(one.end, span.end)
        if end > start:
            if start > at:
                yield replace(span, start=at, end=start)
            yield Span(start=start, end=end, told=one.told)
            at = end
    if at < span.end:
        yield replace(span, start=at)


def _cut(span: Span, start: Instant, end: Instant) -> Iterator[Span]:
    if span.end <= start or span.start >= end:
        yield span
        return
    if span.start < start:
        yield replace(span, end=start)
    yield Span(start=max(span.start, start), end=min(span.end, end), told=None)
    if span.end > end:
        yield replace(span, start=end)
