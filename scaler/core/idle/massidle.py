"""The mass-idle brake: where many workloads fall quiet at once, telemetry is doubted first.

A workload's idle start is its newest busy sample. A burst is a span of two scrape intervals that
holds the idle starts of enough workloads, in number and as a share of those with samples. It
holds each workload back for the policy's `for`, counted from when that one would have been idle.
Which workloads there are, and when each fell quiet, is an argument: `idle_starts` reads it
off a snapshot, once for all decisions where the observer keeps it in `Snapshot.idle_starts`.
"""

from bisect import bisect_left
from collections.abc import Iterable

from scaler.core.model import Instant
from scaler.core.policy import MassIdle
from scaler.core.usage import IdleStart

SPAN_INTERVALS = 2
"""A burst's length in scrape intervals: a failure shows in the next scrape, or the one after."""


def brake(
    *,
    burst: Instant | None,
    settings: MassIdle,
    scrape_interval: float,
    idle_after: float,
    now: Instant,
) -> str | None:
    """Say why a workload with this idleAfter is held back by a burst; None where it is not."""
    if burst is None or now >= burst + idle_after + settings.hold_for:
        return None
    return (
        f"at least {settings.workloads} workloads and {settings.percent:g} % of those with "
        f"samples fell quiet within {SPAN_INTERVALS * scrape_interval:g} s, "
        f"{now - burst:.0f} s ago"
    )


def newest_burst(
    *, starts: Iterable[IdleStart], settings: MassIdle, scrape_interval: float
) -> Instant | None:
    """Give the last idle start of the newest burst; None where there is none."""
    by_workload: dict[tuple[str, str], list[Instant]] = {}
    for start in starts:
        known = by_workload.setdefault((start.namespace, start.workload), [])
        known.extend(() if start.at is None else (start.at,))
    times = sorted(max(known) for known in by_workload.values() if known)
    enough = max(1.0, settings.workloads, settings.percent * len(by_workload) / 100)
    for index in reversed(range(len(times))):
        first = bisect_left(times, times[index] - SPAN_INTERVALS * scrape_interval)
        if index - first + 1 >= enough:
            return times[index]
    return None
