"""Decide again on changed copies of what a Decision was made from."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from scaler.core.decide import decide
from scaler.core.decision import Decision
from scaler.core.demand.cohorts import Slot, quotas_of
from scaler.core.memo import Memo
from scaler.core.model import Cohort, Instant, Quota, ResourceGroup
from scaler.core.policy import Policy
from scaler.core.remedy.remedy import Outcome
from scaler.core.snapshot import QueuePartition, Snapshot
from scaler.core.trigger import TriggerRef


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A trigger and all that it was decided on."""

    snapshot: Snapshot
    """With a memo of its own: what is derived from changed copies is nobody else's."""
    ref: TriggerRef
    policy: Policy
    now: Instant
    decision: Decision

    def decide(
        self,
        *,
        snapshot: Snapshot | None = None,
        ref: TriggerRef | None = None,
        policy: Policy | None = None,
        now: Instant | None = None,
    ) -> Decision:
        """Decide with some of it replaced."""
        return decide(
            snapshot=self.snapshot if snapshot is None else snapshot,
            ref=self.ref if ref is None else ref,
            policy=self.policy if policy is None else policy,
            now=self.now if now is None else now,
        )


def set_apart(snapshot: Snapshot) -> Snapshot:
    """Give the snapshot with a memo of its own, which its changed copies share."""
    return replace(snapshot, memo=Memo())


def outcome_of(decision: Decision) -> Outcome:
    """Give a Decision's outcome."""
    return Outcome(status=decision.status, reason=decision.reason, value=decision.value)


def least(changes: Callable[[int], bool], *, start: int = 1, most: int) -> int | None:
    """Find a number that changes the answer while the one before does not; None up to `most`.

    By doubling and bisection: where more never undoes the change, it is the smallest of all.
    """
    low, high = 0, max(1, start)
    while not changes(high):
        if high >= most:
            return None
        low, high = high, min(most, high * 2)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if changes(middle) else (middle, high)
    return high


def with_quota(snapshot: Snapshot, cluster_queue: str, more: Mapping[Slot, int]) -> Snapshot:
    """Raise nominal quotas of a ClusterQueue."""
    return _with_queue(snapshot, cluster_queue, more, _nominal)


def with_borrowing(snapshot: Snapshot, cluster_queue: str, more: Mapping[Slot, int]) -> Snapshot:
    """Raise borrowing limits of a ClusterQueue, where it has any."""
    return _with_queue(snapshot, cluster_queue, more, _borrowing)


def with_cohort_quota(snapshot: Snapshot, cohort: str, more: Mapping[Slot, int]) -> Snapshot:
    """Give a cohort quota of its own, or more of it, for all its ClusterQueues to borrow."""
    there = snapshot.cohorts.get(cohort, Cohort(name=cohort))
    known = quotas_of(there.groups)
    groups = tuple(_raised(group, more, _nominal) for group in there.groups)
    added = tuple(
        ResourceGroup(
            resources=(resource,), flavors=((flavor, ((resource, Quota(nominal=amount)),)),)
        )
        for (flavor, resource), amount in more.items()
        if (flavor, resource) not in known
    )
    changed = {**snapshot.cohorts, cohort: replace(there, groups=(*groups, *added))}
    return replace(snapshot, cohorts=changed)


def without_workloads(snapshot: Snapshot, uids: frozenset[str]) -> Snapshot:
    """Take Workloads out of their ClusterQueues."""
    queues = {
        name: QueuePartition(
            groups={
                key: kept
                for key, members in partition.groups.items()
                if (kept := tuple(one for one in members if one.uid not in uids))
            }
        )
        for name, partition in snapshot.queues.items()
    }
    return replace(snapshot, queues=queues)


def _with_queue(
    snapshot: Snapshot,
    cluster_queue: str,
    more: Mapping[Slot, int],
    by: Callable[[Quota, int], Quota],
) -> Snapshot:
    queue = snapshot.cluster_queues[cluster_queue]
    groups = tuple(_raised(group, more, by) for group in queue.groups)
    changed = {**snapshot.cluster_queues, cluster_queue: replace(queue, groups=groups)}
    return replace(snapshot, cluster_queues=changed)


def _raised(
    group: ResourceGroup, more: Mapping[Slot, int], by: Callable[[Quota, int], Quota]
) -> ResourceGroup:
    flavors = tuple(
        (
            flavor,
            tuple((name, by(quota, more.get((flavor, name), 0))) for name, quota in quotas),
        )
        for flavor, quotas in group.flavors
    )
    return replace(group, flavors=flavors)


def _nominal(quota: Quota, more: int) -> Quota:
    return replace(quota, nominal=quota.nominal + more)


def _borrowing(quota: Quota, more: int) -> Quota:
    limit = quota.borrowing_limit
    return quota if limit is None else replace(quota, borrowing_limit=limit + more)
