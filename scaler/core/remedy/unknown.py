"""What would let a value come out where the answer is HOLD or the metadata is malformed."""

from collections.abc import Iterable, Iterator
from difflib import get_close_matches

from scaler.core.queue.claims import owner_of
from scaler.core.reasons import Reason
from scaler.core.remedy.remedy import Lever, Remedy
from scaler.core.remedy.what_if import Asked
from scaler.core.trigger import IdleTrigger, InvalidTrigger, QueueTrigger, Trigger

_SHOWN = 10


_LACKS = {
    Reason.NOT_SYNCED: (Lever.SOURCE, "the API server has to be read"),
    Reason.SOURCE_STALE: (Lever.SOURCE, "the API server has to be heard again"),
    Reason.PROMETHEUS_FAILED: (Lever.SOURCE, "Prometheus has to answer"),
    Reason.SIZE_UNKNOWN: (Lever.SOURCE, "the size of the target has to be known"),
    Reason.TARGET_MISSING: (Lever.OBJECT, "the target has to be there"),
    Reason.INTERNAL: (Lever.SOURCE, "this is a fault of ours, and the log has it"),
}
"""What is missing, with the decision's own detail behind it."""


def unknown_remedies(asked: Asked, trigger: Trigger | InvalidTrigger) -> Iterator[Remedy]:
    """Give what has to be there or readable first."""
    decision = asked.decision
    if decision.reason in _LACKS:
        lever, said = _LACKS[decision.reason]
        yield Remedy(lever=lever, text=f"{said}: {decision.detail.rstrip('.')}")
    elif decision.reason is Reason.BAD_METADATA:
        for problem in decision.problems:
            yield Remedy(lever=Lever.METADATA, text=problem)
    elif isinstance(trigger, QueueTrigger):
        yield from _queues_and_pools(asked, trigger)
    elif decision.reason is Reason.QUERY_MISSING and isinstance(trigger, IdleTrigger):
        queries = ", ".join(sorted(asked.policy.queries)) or "none"
        text = f"{decision.detail}; the policy's queries are {queries}"
        yield Remedy(lever=Lever.QUERY, text=text)


def _queues_and_pools(asked: Asked, trigger: QueueTrigger) -> Iterator[Remedy]:
    """Name what is not there, and what may have been meant."""
    reason, queues = asked.decision.reason, asked.snapshot.cluster_queues
    pool = trigger.pool or ""
    for name in trigger.cluster_queues:
        if name not in queues and reason is not Reason.POOL_MISSING:
            said = known("ClusterQueue", name, queues)
            yield Remedy(lever=Lever.OBJECT, subject=f"clusterqueue/{name}", text=said)
    if reason is Reason.POOL_MISSING:
        said = known("pool of the policy", pool, asked.policy.pools)
        yield Remedy(lever=Lever.OBJECT, subject=f"pool/{pool}", text=said)
    elif reason is Reason.POOL_TAKEN:
        yield _taken(asked, pool)


def known(what: str, name: str, names: Iterable[str]) -> str:
    """Say which name would be right: close ones, else those that there are."""
    there = sorted(names)
    close = get_close_matches(name, there, n=3)
    if close:
        return f"there is no {what} {name}; do you mean {' or '.join(close)}?"
    if not there:
        return f"there is no {what} {name}, and no other"
    more = f" and {len(there) - _SHOWN} more" if len(there) > _SHOWN else ""
    return f"there is no {what} {name}; there are {', '.join(there[:_SHOWN])}{more}"


def _taken(asked: Asked, pool: str) -> Remedy:
    owner = owner_of(asked.snapshot, pool)
    name = "another one" if owner is None else "/".join(owner.key)
    return Remedy(
        lever=Lever.OBJECT,
        subject=f"pool/{pool}",
        text=f"ScaledObject {name} would have to leave pool {pool}, or be paused: one sizes it",
    )
