"""What Workloads with quota hold, and which of their pods have no place yet."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scaler.core.demand.granted import assigned_flavor, holding_pods, quota_of
from scaler.core.demand.holds import NOT_HELD, HeldSets, held_sets
from scaler.core.demand.lineup import Lineup, is_remote, replaced_counts
from scaler.core.model import Amounts, Assignment, Instant, Kind, Pod, PodSet, Workload
from scaler.core.reasons import WorkloadClass
from scaler.core.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Unplaced:
    """Pods of an admitted podset that wait for a node or are not made yet."""

    pod_set: PodSet
    count: int
    """Above 0."""
    flavors: tuple[tuple[str, str], ...]
    """(resource, flavor) as admitted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A Workload with quota, looked at together with its pods."""

    workload: Workload
    workload_class: WorkloadClass
    unplaced: tuple[Unplaced, ...] = ()
    counts: bool = False
    """It is admitted, here to stay, runs in this cluster and counts for itself."""
    young: bool = False
    """Admitted no longer ago than the provisioning timeout."""
    held: HeldSets = NOT_HELD


def place(
    *,
    snapshot: Snapshot,
    workload: Workload,
    lineup: Lineup,
    provisioning_timeout: float,
    now: Instant,
) -> Placed:
    """Class a Workload with quota: class A where pods of it have no place.

    Those are its pods that the scheduler could not place; for the provisioning timeout (seconds)
    after the admission also those that are not bound or not even made, so that nothing is lost
    on the way from the queue to the nodes. Pods that are held are none of them; once they are
    wanted back they are, however long ago the admission was. Without pods to read, none is
    missing.
    """
    workload_class = _class(snapshot, workload, lineup, now)
    if workload_class is not WorkloadClass.RUNNING:
        return Placed(workload=workload, workload_class=workload_class)
    counts = not workload.deleting and not is_remote(workload, lineup.remote)
    admitted_at = workload.admitted_at
    young = admitted_at is not None and now - admitted_at <= provisioning_timeout
    held = held_sets(snapshot).get((workload.namespace, workload.uid), NOT_HELD)
    unplaced = tuple(_unplaced(snapshot, workload, young=young, held=held)) if counts else ()
    if unplaced:
        workload_class = WorkloadClass.UNPLACED
    elif held.away:
        workload_class = WorkloadClass.HELD
    return Placed(
        workload=workload,
        workload_class=workload_class,
        unplaced=unplaced,
        counts=counts,
        young=young,
        held=held,
    )


def devices(
    *, snapshot: Snapshot, placed: Placed, lineup: Lineup, resource: str, flavor: str | None
) -> int:
    """Count the devices that a Workload with quota takes, of one flavor or of all.

    While it is young the larger of its quota and its live pods' requests, later its live pods
    alone: quota that nothing uses (pods long gone, an eviction under way) holds no node. A held
    podset counts as an old one does, one that is wanted back as a young one.
    """
    workload = placed.workload
    if workload.uid in lineup.duplicates or is_remote(workload, lineup.remote):
        return 0
    live = [
        (_pod_set_of(workload, pod), dict(pod.requests).get(resource, 0))
        for pod in _pods(snapshot, workload)
        if pod.live and (flavor is None or _flavor_of(workload, pod, resource) == flavor)
    ]
    if not placed.counts:
        return sum(number for _, number in live)
    awaited = _awaited(placed)
    quota = quota_of(workload, resource=resource, flavor=flavor, pod_sets=awaited)
    old = snapshot.workload_index.get(workload.replaces) if workload.replaces else None
    if old is not None and not old.deleting:
        quota -= quota_of(old, resource=resource, flavor=flavor, pod_sets=awaited)
    present = sum(number for name, number in live if name in awaited)
    return max(quota, present) + sum(number for name, number in live if name not in awaited)


def _awaited(placed: Placed) -> frozenset[str | None]:
    """Give the podsets whose pods may be on their way; None are pods that belong to none."""
    names: set[str | None] = set()
    if placed.young:
        names = {None, *(one.name for one in placed.workload.pod_sets)} - placed.held.away
    return frozenset(names | placed.held.waking)


def _class(snapshot: Snapshot, workload: Workload, lineup: Lineup, now: Instant) -> WorkloadClass:
    if workload.deleting:
        live = any(pod.live for pod in _pods(snapshot, workload))
        return WorkloadClass.RUNNING if live else WorkloadClass.FINISHED
    if workload.standing is WorkloadClass.CONTRADICTORY:
        return WorkloadClass.CONTRADICTORY
    if (
        workload.uid in lineup.duplicates
        or workload.evicted
        or not workload.active
        or (workload.requeue_at is not None and workload.requeue_at > now)
    ):
        return WorkloadClass.NOT_DEMAND
    return workload.standing


def _unplaced(
    snapshot: Snapshot, workload: Workload, *, young: bool, held: HeldSets
) -> Iterator[Unplaced]:
    state = snapshot.sources.get(Kind.PODS)
    if workload.admission is None or state is None or not state.synced:
        return
    pods = _pods(snapshot, workload)
    if not (pods or young or held.waking):
        return
    pod_sets = {one.name: one for one in workload.pod_sets}
    old = replaced_counts(snapshot, workload.replaces)
    for assignment in workload.admission.assignments:
        pod_set = pod_sets.get(assignment.pod_set)
        if pod_set is None or pod_set.name in held.away:
            continue
        own = [pod for pod in pods if _belongs(pod, pod_set, workload)]
        waking = pod_set.name in held.waking
        count = sum(pod.phase == "Pending" and pod.unschedulable and pod.live for pod in own)
        if young or waking:
            # Of a podset that wakes, pods that still end or failed on the way are made anew.
            over = [pod.phase == "Succeeded" if waking else not pod.live for pod in own]
            lacking = _lacking(own, assignment, workload, over=sum(over))
            count = max(count, lacking - old.get(pod_set.name, 0))
        if count > 0:
            yield Unplaced(pod_set=pod_set, count=count, flavors=assignment.flavors)


def _lacking(pods: Sequence[Pod], assignment: Assignment, workload: Workload, *, over: int) -> int:
    """Count the pods still to come: neither bound nor over, nor given back."""
    bound = sum(pod.live and (pod.node is not None or pod.phase != "Pending") for pod in pods)
    return min(assignment.count - over, holding_pods(assignment, workload)) - bound


def _pods(snapshot: Snapshot, workload: Workload) -> Sequence[Pod]:
    """Give the Workload's pods; those of a slice that it replaced name that slice for ever."""
    pods = snapshot.pods_by_workload.get(workload.key, ())
    replaced = workload.replaces
    if replaced is not None and replaced not in snapshot.workload_index:
        return (*pods, *snapshot.pods_by_workload.get(replaced, ()))
    return pods


def _belongs(pod: Pod, pod_set: PodSet, workload: Workload) -> bool:
    """Go by the podset's label, else by what the pod requests."""
    if pod.pod_set is not None or len(workload.pod_sets) == 1:
        return pod.pod_set in (None, pod_set.name)
    alike = (one for one in workload.pod_sets if _same_devices(one.shape.requests, pod.requests))
    return next(alike, None) is pod_set


def _same_devices(left: Amounts, right: Amounts) -> bool:
    return [one for one in left if "/" in one[0]] == [one for one in right if "/" in one[0]]


def _flavor_of(workload: Workload, pod: Pod, resource: str) -> str | None:
    name = _pod_set_of(workload, pod)
    for assignment in workload.admission.assignments if workload.admission is not None else ():
        if assignment.pod_set == name:
            return assigned_flavor(assignment.flavors, resource)
    return None


def _pod_set_of(workload: Workload, pod: Pod) -> str | None:
    found = (one.name for one in workload.pod_sets if _belongs(pod, one, workload))
    return next(found, None)
