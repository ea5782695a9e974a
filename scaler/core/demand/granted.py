"""What an admission grants a Workload: devices, flavors, usage, less what was given back."""

from collections.abc import Iterator, Sequence

from scaler.core.demand.cohorts import Slot
from scaler.core.model import Assignment, Workload
from scaler.core.shape import is_extended


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
                yield from _usage_of(assignment, workload)


def quota_of(
    workload: Workload, *, resource: str, flavor: str | None, pod_sets: frozenset[str | None]
) -> int:
    """Give what some podsets of a Workload hold of a resource, on one flavor or (None) on all."""
    if workload.admission is None:
        return 0
    return sum(
        amount
        for assignment in workload.admission.assignments
        if assignment.pod_set in pod_sets
        for (on, name), amount in _usage_of(assignment, workload)
        if name == resource and flavor in (None, on)
    )


def _usage_of(assignment: Assignment, workload: Workload) -> Iterator[tuple[Slot, int]]:
    flavors = dict(assignment.flavors)
    for resource, amount in assignment.usage:
        if resource in flavors:
            yield (flavors[resource], resource), _less_reclaimed(amount, assignment, workload)


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
