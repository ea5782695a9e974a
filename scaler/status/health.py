"""Say whether KEDA may be sent here, and what is wrong with the sources."""

from collections.abc import Collection, Iterable
from enum import StrEnum

import msgspec

from scaler.core.model import Instant, Kind, SourceState
from scaler.core.snapshot import Snapshot
from scaler.policyfile import PolicyState
from scaler.store import State

SYNCED_ONCE = (
    Kind.SCALED_OBJECTS,
    Kind.DEPLOYMENTS,
    Kind.STATEFUL_SETS,
    Kind.HPAS,
)
"""What HOLD needs to tell its two faces apart: the sizes of targets."""


EVERY_KIND = frozenset(Kind)


class Readiness(StrEnum):
    """The word that /readyz begins with."""

    READY = "ready"
    STARTING = "starting"
    STOPPING = "stopping"


class Ready(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """The body of /readyz."""

    status: Readiness
    waiting_for: tuple[str, ...]
    """Kinds whose first list is still missing."""
    details: tuple[str, ...]
    """What is wrong with sources, policy and certificates; it never makes unready."""


def ready(
    state: State,
    *,
    seen: Iterable[Kind],
    stopping: bool,
    now: Instant,
    needed: Iterable[Kind] = SYNCED_ONCE,
    reads: Collection[Kind] = EVERY_KIND,
    also: Iterable[str] = (),
) -> Ready:
    """Judge readiness: `seen` are the kinds that synced once, whatever became of them since.

    `also` are further details.

    The process is ready once all that are `needed` did; of kinds that it does not read (`reads`)
    nothing is missed.
    A source that is down stays ready: no endpoint would be an error to KEDA, and HOLD is not.
    """
    waiting = tuple(str(kind) for kind in needed if kind not in set(seen))
    status = Readiness.STARTING if waiting else Readiness.READY
    return Ready(
        status=Readiness.STOPPING if stopping else status,
        waiting_for=waiting,
        details=(
            *_sources(state.snapshot, reads, state.policy.policy.safety.max_watch_age, now),
            *_usage(state.snapshot),
            *_policy(state.policy),
            *also,
        ),
    )


def settled(snapshot: Snapshot) -> frozenset[Kind]:
    """Give the kinds that are synced, or that this API server does not serve at all."""
    return frozenset(
        kind for kind, source in snapshot.sources.items() if source.synced or not source.installed
    )


def _sources(
    snapshot: Snapshot, reads: Collection[Kind], max_age: float, now: Instant
) -> Iterable[str]:
    for kind in (one for one in Kind if one in reads):
        source = snapshot.sources.get(kind)
        if source is None:
            yield f"{kind}: not started"
        elif source.problem is not None:
            yield f"{kind}: {source.problem}"
        elif not source.synced:
            yield f"{kind}: not listed yet"
        elif stale(source, max_age, now):
            yield f"{kind}: no sign of life for over {max_age:.0f} s"
    for kind, number in snapshot.skipped.items():
        yield f"{kind}: {number} objects could not be decoded and count for nothing"


def stale(source: SourceState, max_age: float, now: Instant) -> bool:
    """Say whether a watch showed no sign of life for too long."""
    return source.last_alive is not None and abs(now - source.last_alive) > max_age


def _usage(snapshot: Snapshot) -> Iterable[str]:
    problems = {usage.problem for usage in snapshot.usage.values() if usage.problem}
    problems |= {answer.problem for answer in snapshot.answers.values() if answer.problem}
    return (f"prometheus: {problem}" for problem in sorted(problems))


def _policy(policy: PolicyState) -> Iterable[str]:
    for problem in policy.problems:
        yield f"policy: refused, the last good one stays in force: {problem}"
    if policy.warning:
        yield f"policy: {policy.warning}"
