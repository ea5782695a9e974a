"""Whether the sources that a decision needs can be believed.

A source counts as there once a complete list was read; after that the last synced state answers
until the watch has shown no sign of life for maxWatchAge.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from scaler.core.model import Instant, Kind, SourceState
from scaler.core.reasons import Reason
from scaler.core.snapshot import Snapshot

OPTIONAL = frozenset(
    {
        Kind.COHORTS,
        Kind.ADMISSION_CHECKS,
        Kind.RAY_CLUSTERS,
        Kind.JOBS,
        Kind.WORKER_SCALES,
        Kind.JOB_SETS,
        Kind.NOTEBOOKS,
    }
)
"""Kinds that a cluster may do without: where discovery does not serve them, there are none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """A kind that is needed and can't be believed now."""

    kind: Kind
    reason: Reason
    """NOT_SYNCED or SOURCE_STALE."""
    detail: str
    """Names the kind and its problem."""


def missing(
    *, snapshot: Snapshot, kinds: Iterable[Kind], max_age: float, now: Instant
) -> Missing | None:
    """Give the first kind, in their own order, that can't be believed; None where all can."""
    wanted = frozenset(kinds)
    for kind in Kind:
        if kind in wanted:
            found = _judge(kind=kind, state=snapshot.sources.get(kind), max_age=max_age, now=now)
            if found is not None:
                return found
    return None


def _judge(
    *, kind: Kind, state: SourceState | None, max_age: float, now: Instant
) -> Missing | None:
    if state is not None and not state.installed:
        if kind in OPTIONAL:
            return None
        return _not_synced(kind, "the API server does not serve the kind")
    if state is None or not state.synced or state.last_alive is None:
        problem = None if state is None else state.problem
        return _not_synced(kind, problem or "no complete list was read yet")
    age = abs(now - state.last_alive)  # a clock that was set back makes no dead watch young
    if age <= max_age:
        return None
    problem = f": {state.problem}" if state.problem else ""
    return Missing(
        kind=kind,
        reason=Reason.SOURCE_STALE,
        detail=f"{kind}: no sign of life for {age:.0f} s (allowed are {max_age:.0f} s){problem}",
    )


def _not_synced(kind: Kind, problem: str) -> Missing:
    return Missing(kind=kind, reason=Reason.NOT_SYNCED, detail=f"{kind} can't be read: {problem}")
