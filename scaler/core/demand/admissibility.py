"""Line up a ClusterQueue's Workloads: what queues, other Workloads and the clock add to standing.

Cost: groups of plain Workloads are taken whole, with one cheap pass where a LocalQueue is stopped
or Workloads count with others; the rest is looked at one by one, once per change of the partition.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from scaler.core.demand.duplicates import owner_duplicates, parent_uid, variant_duplicates
from scaler.core.demand.lineup import Batch, Lineup, is_remote
from scaler.core.model import Instant, Name, StopPolicy, Workload
from scaler.core.reasons import WorkloadClass
from scaler.core.snapshot import EMPTY_QUEUE, GroupKey, QueuePartition, Snapshot

MULTIKUEUE: Final = "kueue.x-k8s.io/multikueue"
"""controllerName of AdmissionChecks that send a Workload to another cluster."""

_WITH_QUOTA = (WorkloadClass.RUNNING, WorkloadClass.CHECKS)
_LASTING = (WorkloadClass.CONTRADICTORY, WorkloadClass.FINISHED)
_NO_LINKS: Final[frozenset[Name]] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Frame:
    """What is known of the queues around the Workloads."""

    closed: bool
    """Kueue admits nothing into the ClusterQueue."""
    closed_links: frozenset[Name]
    duplicates: frozenset[str]
    remote: frozenset[str]
    now: Instant


_Sort: TypeAlias = tuple[
    WorkloadClass, int, tuple[str, ...] | None, tuple[tuple[str, int], ...], Name | None
]


def line_up(*, snapshot: Snapshot, cluster_queue: str, now: Instant) -> Lineup:
    """Class the Workloads of a ClusterQueue that wait, and tell them from those with quota."""
    partition = snapshot.queues.get(cluster_queue, EMPTY_QUEUE)
    links = _closed_links(snapshot).get(cluster_queue, _NO_LINKS)
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
            duplicates=duplicates,
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


def _lineup(partition: QueuePartition, frame: _Frame) -> Lineup:
    plain, singles, holding = _split(partition)
    variants = [one for one in (*singles, *holding) if parent_uid(one) is not None]
    if variants:
        everyone = (*singles, *holding, *(one for _, members in plain for one in members))
        frame = replace(frame, duplicates=frame.duplicates | _family_duplicates(variants, everyone))
    waiting = (*_plain_batches(plain, frame), *_single_batches(singles, frame))
    turns = [one.requeue_at for one in singles if one.requeue_at is not None]
    return Lineup(
        waiting=waiting,
        holding=tuple(holding),
        duplicates=frame.duplicates,
        remote=frame.remote,
        not_routable=_cut_off(waiting, frame.closed_links),
        since=max((turn for turn in turns if turn <= frame.now), default=-math.inf),
        until=min((turn for turn in turns if turn > frame.now), default=math.inf),
    )


_Groups: TypeAlias = list[tuple[GroupKey, tuple[Workload, ...]]]


def _split(partition: QueuePartition) -> tuple[_Groups, list[Workload], list[Workload]]:
    """Tell plain groups, other waiting Workloads, and those with quota."""
    plain: _Groups = []
    singles: list[Workload] = []
    holding: list[Workload] = []
    for key, members in partition.groups.items():
        if key.standing in _WITH_QUOTA:
            holding.extend(members)
        elif key.plain:
            plain.append((key, members))
        else:
            for one in members:
                has_quota = one.reserved or one.admitted or one.admission is not None
                (holding if has_quota else singles).append(one)
    return plain, singles, holding


def _family_duplicates(variants: list[Workload], everyone: Iterable[Workload]) -> frozenset[str]:
    """Find those that count with another of their family, its parent labelled or not."""
    parents = {parent_uid(one) for one in variants}
    return variant_duplicates(
        one for one in everyone if one.uid in parents or parent_uid(one) in parents
    )


def _plain_batches(groups: _Groups, frame: _Frame) -> Iterator[Batch]:
    """Take groups whole; where something may bar single members, tell those from the others."""
    for key, members in groups:
        if key.standing in _LASTING:
            barred: tuple[Workload, ...] = ()
        elif frame.closed:
            barred = members
        elif frame.closed_links or frame.duplicates or frame.remote:
            barred = tuple(one for one in members if _is_barred(one, frame))
        else:
            barred = ()
        if barred:
            yield Batch(
                workload_class=WorkloadClass.NOT_DEMAND, pod_sets=key.pod_sets, members=barred
            )
        if len(barred) < len(members):
            out = {one.uid for one in barred}
            rest = tuple(one for one in members if one.uid not in out) if barred else members
            yield Batch(workload_class=key.standing, pod_sets=key.pod_sets, members=rest)


def _single_batches(singles: list[Workload], frame: _Frame) -> Iterator[Batch]:
    sorts: defaultdict[_Sort, list[Workload]] = defaultdict(list)
    for one in singles:
        workload_class = _class_of(one, frame)
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


def _class_of(one: Workload, frame: _Frame) -> WorkloadClass:
    if one.deleting:
        return WorkloadClass.FINISHED
    if one.standing in _LASTING:
        return one.standing
    backs_off = one.requeue_at is not None and one.requeue_at > frame.now
    barred = frame.closed or backs_off or _is_barred(one, frame)
    return WorkloadClass.NOT_DEMAND if barred else one.standing


def _is_barred(one: Workload, frame: _Frame) -> bool:
    """Say whether it counts for nothing by its LocalQueue, another Workload or MultiKueue."""
    return (
        (one.namespace, one.queue_name) in frame.closed_links
        or one.uid in frame.duplicates
        or is_remote(one, frame.remote)
    )


def _cut_off(batches: Iterable[Batch], closed_links: frozenset[Name]) -> int:
    """Count those that a LocalQueue lets not pass, whatever else there is to be said of them."""
    return sum(
        (one.namespace, one.queue_name) in closed_links and one.active and not one.deleting
        for batch in (batches if closed_links else ())
        for one in batch.members
    )


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
