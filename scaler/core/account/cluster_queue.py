"""Give account of a ClusterQueue: its quota, who waits for what, and who reads it."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from scaler.core.account.readers import Reader, readers_of
from scaler.core.decision import ClassCount
from scaler.core.demand.admissibility import line_up
from scaler.core.demand.cohorts import Ledger, Slot, quotas_of, trees
from scaler.core.demand.granted import requested, usage
from scaler.core.demand.quota import COUNTED
from scaler.core.demand.total import demand
from scaler.core.model import ClusterQueue, Instant, Kind, StopPolicy, Workload
from scaler.core.policy import PROVISIONING_TIMEOUT, Policy
from scaler.core.reasons import WorkloadClass
from scaler.core.remedy.growth import quota_changes
from scaler.core.remedy.quota import queue_order, stuck
from scaler.core.remedy.remedy import Remedy
from scaler.core.remedy.what_if import set_apart
from scaler.core.shape import is_extended
from scaler.core.snapshot import Snapshot
from scaler.core.sources import missing

WAITING_SHOWN = 10
_LET_IN = 3
"""Workloads of which it is found out what would let them in."""
_GPU = "nvidia.com/gpu"
_KINDS = (Kind.WORKLOADS, Kind.CLUSTER_QUEUES, Kind.LOCAL_QUEUES, Kind.COHORTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaRow:
    """One resource of one flavor: what there is, what is taken, what may still be had."""

    flavor: str
    resource: str
    nominal: int
    used: int
    free: int
    """What may still be used, borrowed quota included; negative where more is used than there is.
    """
    borrowing_limit: int | None
    lending_limit: int | None

    @property
    def borrowed(self) -> int:
        """Give what is used beyond the nominal quota."""
        return max(0, self.used - self.nominal)

    @property
    def borrowable(self) -> int:
        """Give what may still be borrowed of the cohort."""
        return max(0, self.free - max(0, self.nominal - self.used))


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingRow:
    """One Workload that waits, and what would let it in."""

    workload: Workload
    workload_class: WorkloadClass
    gpus: int
    granted: bool
    """Quota is free for it: what it needs are nodes."""
    remedies: tuple[Remedy, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueAccount:
    """All of a ClusterQueue."""

    queue: ClusterQueue
    closed: str
    """Why Kueue admits nothing into it; empty = it does."""
    relatives: tuple[str, ...]
    """The other ClusterQueues of its cohort tree."""
    quotas: tuple[QuotaRow, ...]
    classes: tuple[ClassCount, ...]
    waiting: tuple[WaitingRow, ...]
    """In Kueue's order, at most WAITING_SHOWN."""
    waiting_in_all: int
    readers: tuple[Reader, ...]
    unknown: str = ""
    """Why the numbers are no more than a guess; empty = all that they need was read."""


def account_of_queue(
    *, snapshot: Snapshot, name: str, policy: Policy, now: Instant
) -> QueueAccount:
    """Give account of a ClusterQueue that exists."""
    queue = snapshot.cluster_queues[name]
    tree = trees(snapshot)[name]
    waiting = tuple(waiting_rows(snapshot, name, now))
    lack = missing(snapshot=snapshot, kinds=_KINDS, max_age=policy.safety.max_watch_age, now=now)
    return QueueAccount(
        queue=queue,
        closed=_closed(queue, cyclic=tree.cyclic),
        relatives=tuple(one for one in tree.cluster_queues if one != name),
        quotas=tuple(quota_rows(snapshot, name, now)),
        classes=_classes(snapshot, name, now),
        waiting=waiting,
        waiting_in_all=sum(
            len(batch.members)
            for batch in line_up(snapshot=snapshot, cluster_queue=name, now=now).waiting
            if batch.workload_class is not WorkloadClass.FINISHED
        ),
        readers=tuple(readers_of(snapshot=snapshot, cluster_queue=name, policy=policy, now=now)),
        unknown="" if lack is None else lack.detail,
    )


def quota_rows(snapshot: Snapshot, name: str, now: Instant) -> Iterator[QuotaRow]:
    """Give the quota of a ClusterQueue, with what is used all over its cohort tree."""
    tree = trees(snapshot)[name]
    ledger = Ledger(tree=tree, cluster_queues=snapshot.cluster_queues, cohorts=snapshot.cohorts)
    used: dict[Slot, int] = {}
    for each in tree.cluster_queues:
        lineup = line_up(snapshot=snapshot, cluster_queue=each, now=now)
        for slot, amount in usage(lineup.holding):
            ledger.take(each, slot, amount)
            if each == name:
                used[slot] = used.get(slot, 0) + amount
    for (flavor, resource), quota in quotas_of(snapshot.cluster_queues[name].groups).items():
        yield QuotaRow(
            flavor=flavor,
            resource=resource,
            nominal=quota.nominal,
            used=used.get((flavor, resource), 0),
            free=ledger.free(name, (flavor, resource)),
            borrowing_limit=quota.borrowing_limit,
            lending_limit=quota.lending_limit,
        )


def waiting_rows(snapshot: Snapshot, name: str, now: Instant) -> Iterator[WaitingRow]:
    """Give the first that wait in Kueue's order, and what would let some of them in."""
    lineup = line_up(snapshot=snapshot, cluster_queue=name, now=now)
    members = (
        (one, batch.workload_class)
        for batch in lineup.waiting
        if batch.workload_class is not WorkloadClass.FINISHED
        for one in batch.members
    )
    first = sorted(members, key=lambda one: queue_order(one[0]))[:WAITING_SHOWN]
    changed = set_apart(snapshot)
    lacking = {one.workload.uid: one for one in stuck(changed, name, now)}
    let_in = {
        uid: tuple(remedy for remedy, _ in quota_changes(changed, one, now))
        for uid, one in islice(lacking.items(), _LET_IN)
    }
    for workload, workload_class in first:
        yield WaitingRow(
            workload=workload,
            workload_class=workload_class,
            gpus=requested(workload, device_of(snapshot.cluster_queues[name])),
            granted=workload_class in COUNTED and workload.uid not in lacking,
            remedies=let_in.get(workload.uid, ()),
        )


def device_of(queue: ClusterQueue | None) -> str:
    """Give the devices that a ClusterQueue has quota for: its first extended resource."""
    groups = () if queue is None else queue.groups
    names = (name for group in groups for name in group.resources if is_extended(name))
    return next(names, _GPU)


def _classes(snapshot: Snapshot, name: str, now: Instant) -> tuple[ClassCount, ...]:
    return demand(
        snapshot=snapshot,
        cluster_queues=(name,),
        resource=device_of(snapshot.cluster_queues[name]),
        flavor=None,
        quota_follows_nodes=False,
        provisioning_timeout=PROVISIONING_TIMEOUT,
        now=now,
    ).classes


def _closed(queue: ClusterQueue, *, cyclic: bool) -> str:
    if queue.deleting:
        return "it is being deleted"
    if queue.stop_policy is not StopPolicy.NONE:
        return f"its stopPolicy is {queue.stop_policy}"
    if queue.inactive is not None:
        return f"it is not Active: {queue.inactive}"
    return "its Cohorts are each other's parents" if cyclic else ""
