"""Build Workloads and their admissions."""

from scaler.core.model import (
    Admission,
    Assignment,
    Instant,
    Name,
    OwnerRef,
    PodSet,
    Workload,
)
from scaler.core.reasons import WorkloadClass
from tests.builders.values import LONG_AGO, make_pod_set, next_uid


def make_assignment(
    *, pod_set: PodSet, count: int | None = None, flavor: str = "gpu", topology: bool = False
) -> Assignment:
    """Build a PodSet's admission: every resource from `flavor`, usage = requests x count."""
    pods = pod_set.count if count is None else count
    return Assignment(
        pod_set=pod_set.name,
        count=pods,
        flavors=tuple((resource, flavor) for resource, _ in pod_set.shape.requests),
        usage=tuple((resource, value * pods) for resource, value in pod_set.shape.requests),
        topology_assigned=topology,
    )


def make_admission(
    *, pod_sets: tuple[PodSet, ...], cluster_queue: str = "gpu-cq", flavor: str = "gpu"
) -> Admission:
    """Build a whole admission of all PodSets into one flavor."""
    return Admission(
        cluster_queue=cluster_queue,
        assignments=tuple(make_assignment(pod_set=one, flavor=flavor) for one in pod_sets),
    )


def _default_standing(*, active: bool, admitted: bool, reserved: bool) -> WorkloadClass:
    if admitted:
        return WorkloadClass.RUNNING
    if not active:
        return WorkloadClass.NOT_DEMAND
    return WorkloadClass.CHECKS if reserved else WorkloadClass.NOT_EVALUATED


def make_workload(
    *,
    name: str = "wl",
    namespace: str = "ml",
    uid: str | None = None,
    queue_name: str = "lq",
    pods: int = 1,
    gpus: int = 1,
    pod_sets: tuple[PodSet, ...] | None = None,
    standing: WorkloadClass | None = None,
    created: Instant = LONG_AGO,
    priority: int = 0,
    queued_at: Instant | None = None,
    waiting_since: Instant | None = None,
    message: str = "",
    active: bool = True,
    deleting: bool = False,
    reserved: bool | None = None,
    admitted: bool = False,
    admitted_at: Instant | None = None,
    evicted: bool = False,
    requeue_at: Instant | None = None,
    cluster_queue: str = "gpu-cq",
    flavor: str = "gpu",
    admission: Admission | None = None,
    reclaimable: tuple[tuple[str, int], ...] = (),
    owners: tuple[OwnerRef, ...] = (),
    checks: tuple[tuple[str, str], ...] = (),
    cluster_name: str | None = None,
    replaces: Name | None = None,
    variant_parent: bool = False,
    allowed_flavors: tuple[str, ...] | None = None,
    opted_out: bool = False,
    wake_at: Instant | None = None,
) -> Workload:
    """Build a Workload, by default one that Kueue has not looked at yet.

    `admitted=True` also reserves quota and, unless given, makes the admission (into
    `cluster_queue` and `flavor`) at `created`.
    """
    sets = (make_pod_set(count=pods, gpus=gpus),) if pod_sets is None else pod_sets
    has_quota = admitted if reserved is None else reserved
    if has_quota and admission is None:
        admission = make_admission(pod_sets=sets, cluster_queue=cluster_queue, flavor=flavor)
    return Workload(
        namespace=namespace,
        name=name,
        uid=uid or next_uid(name),
        queue_name=queue_name,
        standing=standing
        or _default_standing(active=active, admitted=admitted, reserved=has_quota),
        pod_sets=sets,
        created=created,
        priority=priority,
        queued_at=created if queued_at is None else queued_at,
        waiting_since=created if waiting_since is None else waiting_since,
        message=message,
        active=active,
        deleting=deleting,
        reserved=has_quota,
        admitted=admitted,
        admitted_at=created if admitted and admitted_at is None else admitted_at,
        evicted=evicted,
        requeue_at=requeue_at,
        admission=admission,
        reclaimable=reclaimable,
        owners=owners,
        checks=checks,
        cluster_name=cluster_name,
        replaces=replaces,
        variant_parent=variant_parent,
        allowed_flavors=allowed_flavors,
        opted_out=opted_out,
        wake_at=wake_at,
    )
