"""What Workloads with quota hold, and which of their pods have no place yet."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scaler.core.demand.cohorts import Slot
from scaler.core.demand.lineup import Lineup, is_remote, replaced_counts
from scaler.core.model import Amounts, Assignment, Instant, Kind, Pod, PodSet, Workload
from scaler.core.reasons import WorkloadClass
from scaler.core.shape import is_extended
from scaler.core.snapshot import Snapshot

_COUNTED = (WorkloadClass.RUNNING, WorkloadClass.UNPLACED)


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
    on the way from the queue to the nodes. Without pods to read, none is missing.
    """
    workload_class = _class(snapshot, workload, lineup, now)
    if workload_class is not WorkloadClass.RUNNING:
        return Placed(workload=workload, workload_class=workload_class)
    counts = not workload.deleting and not is_remote(workload, lineup.remote)
    admitted_at = workload.admitted_at
    young = admitted_at is not None and now - admitted_at <= provisioning_timeout
    unplaced = tuple(_unplaced(snapshot, workload, young=young)) if counts else ()
    return Placed(
        workload=workload,
        workload_class=WorkloadClass.UNPLACED if unplaced else WorkloadClass.RUNNING,
        unplaced=unplaced,
        counts=counts,
        young=young,
    )


def devices(
    *, snapshot: Snapshot, placed: Placed, lineup: Lineup, resource: str, flavor: str | None
) -> int:
    """Count the devices that a Workload with quota takes, of one flavor or of all.

    While it is young the larger of its quota and its live pods' requests, later its live pods
    alone: quota that nothing uses (pods long gone, an eviction under way) holds no node.
    """
    workload = placed.workload
    if workload.uid in lineup.duplicates or is_remote(workload, lineup.remote):
        return 0
    live = sum(
        dict(pod.requests).get(resource, 0)
        for pod in _pods(snapshot, workload)
        if pod.live and (flavor is None or _flavor_of(workload, pod, resource) == flavor)
    )
    if not (placed.counts and placed.young):
        return live
    quota = _quota(workload, resource, flavor)
    old = snapshot.workload_index.get(workload.replaces) if workload.replaces else None
    if old is not None and not old.deleting:
        quota -= _quota(old, resource, flavor)
    return max(quota, live)


def requested(workload: Workload, resource: str) -> int:
    """Count the devices that a Workload with quota was granted, whatever its pods do."""
    each = {one.name: dict(one.shape.requests).get(resource, 0) for one in workload.pod_sets}
    if workload.admission is None:
        return sum(each[one.name] * one.count for one in workload.pod_sets)
    return sum(
        each.get(one.pod_set, 0) * holding_pods(one, workload)
        for one in workload.admission.assignments
    )


def on_flavor(workload: Workload, resource: str, flavor: str | None) -> bool:
    """Say whether some podset was admitted on the flavor; None stands for any."""
    return flavor is None or any(
        assigned_flavor(one.flavors, resource) == flavor
        for one in (workload.admission.assignments if workload.admission is not None else ())
    )


def assigned_flavor(flavors: tuple[tuple[str, str], ...], resource: str) -> str | None:
    """Give the flavor that tells the nodes: the resource's, else another device's, else the first.

    Kueue may count devices under other names (resources.transformations).
    """
    found = min(
        flavors, key=lambda one: (one[0] != resource, not is_extended(one[0])), default=None
    )
    return None if found is None else found[1]


def usage(workloads: Sequence[Workload]) -> Iterator[tuple[Slot, int]]:
    """Give what the Workloads' admissions hold, less the pods that were reclaimed."""
    for workload in workloads:
        if workload.admission is not None:
            for assignment in workload.admission.assignments:
                flavors = dict(assignment.flavors)
                for resource, amount in assignment.usage:
                    if resource in flavors:
                        held = _less_reclaimed(amount, assignment, workload)
                        yield (flavors[resource], resource), held


def _less_reclaimed(amount: int, assignment: Assignment, workload: Workload) -> int:
    """Scale an assignment's amount down to the pods that still hold quota, rounded up."""
    pods = holding_pods(assignment, workload)
    return amount if pods >= assignment.count else -(-amount * pods // assignment.count)


def holding_pods(assignment: Assignment, workload: Workload) -> int:
    """Give the podset's pods that hold quota.

    Kueue takes reclaimed pods off the podset's count: one that was admitted with fewer pods keeps
    those, as long as the rest of the count is no less.
    """
    given_back = dict(workload.reclaimable).get(assignment.pod_set, 0)
    whole = next(
        (one.count for one in workload.pod_sets if one.name == assignment.pod_set),
        assignment.count,
    )
    return max(0, min(assignment.count, whole - given_back))


def _quota(workload: Workload, resource: str, flavor: str | None) -> int:
    return sum(
        amount
        for (on, name), amount in usage((workload,))
        if name == resource and flavor in (None, on)
    )


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


def _unplaced(snapshot: Snapshot, workload: Workload, *, young: bool) -> Iterator[Unplaced]:
    state = snapshot.sources.get(Kind.PODS)
    if workload.admission is None or state is None or not state.synced:
        return
    pods = _pods(snapshot, workload)
    if not pods and not young:
        return
    pod_sets = {one.name: one for one in workload.pod_sets}
    old = replaced_counts(snapshot, workload.replaces)
    for assignment in workload.admission.assignments:
        pod_set = pod_sets.get(assignment.pod_set)
        if pod_set is None:
            continue
        own = [pod for pod in pods if _belongs(pod, pod_set, workload)]
        count = sum(pod.phase == "Pending" and pod.unschedulable and pod.live for pod in own)
        if young:
            lacking = _lacking(own, assignment, workload) - old.get(pod_set.name, 0)
            count = max(count, lacking)
        if count > 0:
            yield Unplaced(pod_set=pod_set, count=count, flavors=assignment.flavors)


def _lacking(pods: Sequence[Pod], assignment: Assignment, workload: Workload) -> int:
    """Count the pods still to come: neither bound nor over, nor given back."""
    over = sum(pod.finished or pod.deleting for pod in pods)
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
    for assignment in workload.admission.assignments if workload.admission is not None else ():
        pod_set = next((one for one in workload.pod_sets if one.name == assignment.pod_set), None)
        if pod_set is not None and _belongs(pod, pod_set, workload):
            return assigned_flavor(assignment.flavors, resource)
    return None
