"""Tell what has to be asked of Prometheus for the triggers there are."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from scaler.core.metadata import parse
from scaler.core.model import Instant
from scaler.core.policy import Policy
from scaler.core.scales import scale_of
from scaler.core.snapshot import Snapshot
from scaler.core.trigger import IdleTrigger, TriggerRef
from scaler.core.usage import QueryKey, UsageKey
from scaler.core.workers.component import Unfound
from scaler.core.workers.query import BoundQuery
from scaler.core.workers.resolve import Resolved, resolve


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The fleet queries and bound queries of a refresh; the same for any order of triggers."""

    usage: frozenset[UsageKey]
    queries: Mapping[QueryKey, str]
    """Each with its PromQL, ready to be sent."""


def wanted(snapshot: Snapshot, refs: Iterable[TriggerRef], policy: Policy, now: Instant) -> Wanted:
    """Give one fleet query for each distinct window and threshold, and each bound query once."""
    del now  # part of the contract: what is wanted may come to depend on schedules
    found = [
        resolved
        for ref in refs
        for resolved in (_resolved(snapshot=snapshot, ref=ref, policy=policy),)
        if resolved is not None
    ]
    bound = (query for one in found for query in (one.keep_alive, one.wake))
    return Wanted(
        usage=frozenset(one.key for one in found),
        queries={query.key: query.expression for query in bound if isinstance(query, BoundQuery)},
    )


def _resolved(*, snapshot: Snapshot, ref: TriggerRef, policy: Policy) -> Resolved | None:
    trigger = parse(dict(ref.metadata))
    if not isinstance(trigger, IdleTrigger):
        return None
    resolved = resolve(
        snapshot=snapshot,
        namespace=ref.namespace,
        trigger=trigger,
        scaled_object=snapshot.scaled_objects.get(ref.key),
        policy=policy,
        scale=scale_of(snapshot, ref),
    )
    return None if isinstance(resolved, Unfound) else resolved
