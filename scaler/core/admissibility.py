"""Line up a ClusterQueue's Workloads: what queues, other Workloads and the clock add to standing.

Cost: groups of plain Workloads are taken whole; every other member, and all of a ClusterQueue
that a stopped LocalQueue or a duplicate leads to, is looked at once per change of the partition.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from scaler.core.duplicates import owner_duplicates, parent_uid, variant_duplicates
from scaler.core.model import Instant, Name, PodSet, StopPolicy, Workload
from scaler.core.reasons import WorkloadClass
from scaler.core.snapshot import EMPTY_QUEUE, GroupKey, QueuePartition, Snapshot

MULTIKUEUE: Final = "kueue.x-k8s.io/multikueue"
"""controllerName of AdmissionChecks that send a Workload to another cluster."""

_WITH_QUOTA = (WorkloadClass.RUNNING, WorkloadClass.CHECKS)
_LASTING = (WorkloadClass.CONTRADICTORY, WorkloadClass.FINISHED)
_FOREVER: Final = float("inf")


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Waiting Workloads of one class that ask for the same, in Kueue's order."""

    workload_class: WorkloadClass
    pod_sets: tuple[PodSet, ...]
    members: tuple[Workload, ...]
    allowed_flavors: tuple[str, ...] | None = None
    reclaimable: tuple[tuple[str, int], ...] = ()
    replaces: Name | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineup:
    """The Workloads of one ClusterQueue, each in exactly one place."""

    waiting: tuple[Batch, ...]
    holding: tuple[Workload, ...]
    """Those with quota, admitted or not."""
    duplicates: frozenset[str]
    """Uids of those that count with another Workload, holding ones too."""
    remote: frozenset[str]
    """AdmissionChecks of MultiKueue."""
    not_routable: int
    """Waiting ones whose LocalQueue is stopped or deleting."""
    since: Instant
    until: Instant
    """It holds from `since` to before `until`: back-offs end then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Frame:
    """What is known of the queues around the Workloads."""

    closed: bool
    """Kueue admits nothing into the ClusterQueue."""
    closed_links: frozenset[Name]
    owner_duplicates: frozenset[str]
    remote: frozenset[str]
    now: Instant


_Sort: TypeAlias = tuple[
    WorkloadClass, int, tuple[str, ...] | None, tuple[tuple[str, int], ...], Name | None
]


def line_up(*, snapshot: Snapshot, cluster_queue: str, now: Instant) -> Lineup:
    """Class the Workloads of a ClusterQueue that wait, and tell them from those with quota."""
    partition = snapshot.queues.get(cluster_queue, EMPTY_QUEUE)
    links = _closed_links(snapshot).get(cluster_queue, frozenset())
    duplicates = owner_duplicates(snapshot)
    remote = _remote_checks(snapshot)
    queue = snapshot.cluster_queues.get(cluster_queue)

    def build() -> Lineup:
        frame = _Frame(
            closed=queue is None
            or queue.deleting
            or queue.stop_policy is not StopPolicy.NONE
            or queue.inactive is not None,
            closed_links=links,
            owner_duplicates=duplicates,
            remote=remote,
            now=now,
        )
        return _lineup(partition, frame)

    return snapshot.memo.recall(
        ("lineup", cluster_queue),
        (partition, queue, links, duplicates, remote),
        build,
        valid=lambda lineup: lineup.since <= now < lineup.until,
    )


def lost(snapshot: Snapshot) -> int:
    """Count the Workloads whose LocalQueue does not exist: they are in no ClusterQueue."""
    return snapshot.memo.recall(
        "lost",
        (snapshot.unroutable,),
        lambda: sum(
            one.active and not one.deleting
            for members in snapshot.unroutable.values()
            for one in members
        ),
    )


def replaced_counts(snapshot: Snapshot, replaces: Name | None) -> Mapping[str, int]:
    """Give pods by podset of the Workload that an elastic slice replaces, while that is there."""
    old = snapshot.workload_index.get(replaces) if replaces is not None else None
    if old is None or old.deleting:
        return {}
    if old.admission is not None:
        return {one.pod_set: one.count for one in old.admission.assignments}
    return {one.name: one.count for one in old.pod_sets}


def asked_counts(snapshot: Snapshot, batch: Batch) -> tuple[int, ...]:
    """Give the pods that each podset of a batch's members needs: new ones, not yet reclaimed."""
    given_back = dict(batch.reclaimable)
    old = replaced_counts(snapshot, batch.replaces)
    return tuple(
        max(0, one.count - given_back.get(one.name, 0) - old.get(one.name, 0))
        for one in batch.pod_sets
    )


def _lineup(partition: QueuePartition, frame: _Frame) -> Lineup:
    whole, singles, holding = _split(partition, frame, look_at_all=False)
    variants = [one for one in (*singles, *holding) if parent_uid(one) is not None]
    if variants and whole:
        whole, singles, holding = _split(partition, frame, look_at_all=True)
    duplicates = frame.owner_duplicates | _family_duplicates(variants, (*singles, *holding))
    turns = [one.requeue_at for one in singles if one.requeue_at is not None]
    return Lineup(
        waiting=(*_whole_batches(whole, frame), *_single_batches(singles, duplicates, frame)),
        holding=tuple(holding),
        duplicates=duplicates,
        remote=frame.remote,
        not_routable=sum(_is_cut_off(one, frame.closed_links) for one in singles),
        since=max((turn for turn in turns if turn <= frame.now), default=-_FOREVER),
        until=min((turn for turn in turns if turn > frame.now), default=_FOREVER),
    )


_Groups: TypeAlias = list[tuple[GroupKey, tuple[Workload, ...]]]


def _split(
    partition: QueuePartition, frame: _Frame, *, look_at_all: bool
) -> tuple[_Groups, list[Workload], list[Workload]]:
    """Tell groups to be taken whole, waiting Workloads to be looked at, and those with quota."""
    whole: _Groups = []
    singles: list[Workload] = []
    holding: list[Workload] = []
    individual = look_at_all or bool(frame.closed_links or frame.remote)
    for key, members in partition.groups.items():
        if key.standing in _WITH_QUOTA:
            holding.extend(members)
        elif key.plain and not individual and _apart(members, frame.owner_duplicates):
            whole.append((key, members))
        else:
            for one in members:
                has_quota = one.reserved or one.admitted or one.admission is not None
                (holding if has_quota else singles).append(one)
    return whole, singles, holding


def _apart(members: tuple[Workload, ...], duplicates: frozenset[str]) -> bool:
    return not duplicates or duplicates.isdisjoint(one.uid for one in members)


def _family_duplicates(variants: list[Workload], all_seen: Iterable[Workload]) -> frozenset[str]:
    """Find those that count with another of their family, its parent labelled or not."""
    parents = {parent_uid(one) for one in variants}
    if not parents:
        return frozenset()
    return variant_duplicates(
        one for one in all_seen if one.uid in parents or parent_uid(one) in parents
    )


def _whole_batches(groups: _Groups, frame: _Frame) -> Iterator[Batch]:
    for key, members in groups:
        shut = frame.closed and key.standing not in _LASTING
        yield Batch(
            workload_class=WorkloadClass.NOT_DEMAND if shut else key.standing,
            pod_sets=key.pod_sets,
            members=members,
        )


def _single_batches(
    singles: list[Workload], duplicates: frozenset[str], frame: _Frame
) -> Iterator[Batch]:
    sorts: defaultdict[_Sort, list[Workload]] = defaultdict(list)
    for one in singles:
        workload_class = _class_of(one, duplicates, frame)
        sort = (
            workload_class,
            id(one.pod_sets),
            one.allowed_flavors,
            one.reclaimable,
            one.replaces,
        )
        sorts[sort].append(one)
    for (workload_class, _, allowed, reclaimable, replaces), members in sorts.items():
        yield Batch(
            workload_class=workload_class,
            pod_sets=members[0].pod_sets,
            members=tuple(members),
            allowed_flavors=allowed,
            reclaimable=reclaimable,
            replaces=replaces,
        )


def _class_of(one: Workload, duplicates: frozenset[str], frame: _Frame) -> WorkloadClass:
    if one.deleting:
        return WorkloadClass.FINISHED
    if one.standing in _LASTING:
        return one.standing
    if (
        frame.closed
        or (one.namespace, one.queue_name) in frame.closed_links
        or one.uid in duplicates
        or (one.requeue_at is not None and one.requeue_at > frame.now)
        or is_remote(one, frame.remote)
    ):
        return WorkloadClass.NOT_DEMAND
    return one.standing


def is_remote(workload: Workload, remote: frozenset[str]) -> bool:
    """Say whether MultiKueue runs it elsewhere; `remote` are the names of such checks."""
    return workload.cluster_name is not None or any(name in remote for name, _ in workload.checks)


def _is_cut_off(one: Workload, closed_links: frozenset[Name]) -> bool:
    return (one.namespace, one.queue_name) in closed_links and one.active and not one.deleting


def _closed_links(snapshot: Snapshot) -> Mapping[str, frozenset[Name]]:
    """Give the LocalQueues that let nothing pass, by the ClusterQueue that they lead to."""

    def build() -> Mapping[str, frozenset[Name]]:
        found: defaultdict[str, set[Name]] = defaultdict(set)
        for key, link in snapshot.local_queues.items():
            if link.deleting or link.stop_policy is not StopPolicy.NONE:
                found[link.cluster_queue].add(key)
        return {name: frozenset(keys) for name, keys in found.items()}

    return snapshot.memo.recall("closed links", (snapshot.local_queues,), build)


def _remote_checks(snapshot: Snapshot) -> frozenset[str]:
    return snapshot.memo.recall(
        "remote checks",
        (snapshot.checks,),
        lambda: frozenset(
            check.name for check in snapshot.checks.values() if check.controller == MULTIKUEUE
        ),
    )
