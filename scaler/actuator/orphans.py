"""Remember since when marks speak of a WorkerScale that is no more, and how often they came back.

Marks alone tell that workers were held; who held them may just not be seen yet. So they have to
be seen without their WorkerScale for a while, in every search; what was not searched counts for
nothing. Of what somebody brings back again and again the second time is the last one.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import structlog

from scaler.actuator.apply import Applied, Outcome
from scaler.core.hold.orphan_plan import give_back, leave
from scaler.core.hold.orphans import Key, Orphan, believable, orphans
from scaler.core.hold.steps import Plan, Step
from scaler.core.hold.words import State as Stand
from scaler.core.model import Instant
from scaler.store import State

SEARCH_SECONDS = 5.0
"""Between two searches, which look at all Workloads."""
GAP_SECONDS = 30.0
"""After so long without a search nobody knows what was there meanwhile."""
RETRY_SECONDS = 10.0
FORBIDDEN_SECONDS = 60.0
MOST_TIMES = 2
"""Givings back of one mark; after them it is left alone, as marks without a record are."""
CALM_SECONDS = 3600.0
"""They are forgotten once it was not seen for so long."""

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class _Seen:
    """One that is there now."""

    orphan: Orphan
    since: float
    not_before: float = float("-inf")
    told: set[tuple[type[Step], Outcome]] = field(default_factory=set)
    """Failures that were logged."""


@dataclass(slots=True)
class _Given:
    """One that was given back."""

    times: int
    seen_at: float
    left: bool = False
    """It was said that it is left alone."""


class Orphans:
    """What the actuator's thread keeps of them; seconds are those that no change of clock moves."""

    def __init__(self) -> None:
        self._seen: dict[Key, _Seen] = {}
        self._given: dict[Key, _Given] = {}
        self._next = self._searched = float("-inf")

    def forget(self) -> None:
        """Begin anew, as when another one leads."""
        self._seen.clear()
        self._given.clear()

    def due(self, state: State, *, now: Instant, elapsed: float) -> tuple[Orphan, ...]:
        """Search once in a while; give those that have lasted, what failed last."""
        snapshot, policy = state.snapshot, state.policy.policy
        if elapsed - self._searched >= GAP_SECONDS or not believable(
            snapshot, policy=policy, now=now
        ):
            self._seen.clear()
        if elapsed < self._next:
            return ()
        self._next = elapsed + SEARCH_SECONDS
        self._note(orphans(snapshot, policy=policy, now=now), elapsed)
        self._searched = elapsed
        lasting = (
            one
            for one in self._seen.values()
            if elapsed - one.since >= policy.worker_scales.orphan_after
            and elapsed >= one.not_before
        )
        return tuple(
            one.orphan
            for one in sorted(lasting, key=lambda one: one.not_before)
            if not self._is_left(one.orphan)
        )

    def plan(self, orphan: Orphan, state: State, *, now: Instant) -> Plan:
        """Plan to give it back, or to leave it alone."""
        if self._times(orphan) >= MOST_TIMES:
            return leave(orphan, now=now)
        return give_back(state.snapshot, orphan, now=now)

    def failed(self, orphan: Orphan, *, elapsed: float) -> None:
        """Note that it could not be planned or written: it waits for the others."""
        seen = self._seen.get(orphan.key)
        if seen is not None:
            seen.not_before = elapsed + FORBIDDEN_SECONDS

    def applied(
        self, orphan: Orphan, applied: Applied, *, elapsed: float
    ) -> set[tuple[type[Step], Outcome]]:
        """Note what came of a plan, and say it; give the failures that were logged."""
        seen = self._seen.setdefault(orphan.key, _Seen(orphan=orphan, since=elapsed))
        if applied.plan.state is Stand.CONFLICT:
            self._given[orphan.key].left = True
            log.warning("orphan left alone", **_about(orphan), message=applied.plan.message)
        elif applied.outcome is Outcome.DONE and applied.done:
            times = self._times(orphan) + 1
            self._given[orphan.key] = _Given(times=times, seen_at=elapsed)
            log.warning("orphan given back", **_about(orphan), message=applied.plan.message)
            # What is seen of it from now on is either old or brought back: it has to last again.
            del self._seen[orphan.key]
        else:
            refused = applied.outcome in (Outcome.FORBIDDEN, Outcome.REFUSED)
            seen.not_before = elapsed + (FORBIDDEN_SECONDS if refused else RETRY_SECONDS)
        return seen.told

    def _times(self, orphan: Orphan) -> int:
        given = self._given.get(orphan.key)
        return 0 if given is None else given.times

    def _is_left(self, orphan: Orphan) -> bool:
        given = self._given.get(orphan.key)
        return given is not None and given.left

    def _note(self, found: Iterable[Orphan], elapsed: float) -> None:
        self._seen = {one.key: self._again(one, elapsed) for one in found}
        for key, given in list(self._given.items()):
            if key in self._seen:
                given.seen_at = elapsed
            elif elapsed - given.seen_at >= CALM_SECONDS:
                del self._given[key]

    def _again(self, orphan: Orphan, elapsed: float) -> _Seen:
        """Go on with one that was there before; what bears the mark anew has to last by itself."""
        before = self._seen.get(orphan.key)
        if before is None or not orphan.uids <= before.orphan.uids:
            return _Seen(orphan=orphan, since=elapsed)
        return replace(before, orphan=orphan)


def _about(orphan: Orphan) -> dict[str, str]:
    return {
        "namespace": orphan.namespace,
        "target": str(orphan.target),
        "worker_scale": orphan.mark.by,
    }
