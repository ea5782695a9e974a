"""Turn Workloads into records; both API versions give the same ones."""

from functools import lru_cache
from sys import intern

from scaler.core.classify import standing
from scaler.core.model import (
    Admission,
    Assignment,
    Instant,
    Name,
    Workload,
)
from scaler.kube.decode_meta import (
    FALSE,
    TRUE,
    by_type,
    holds,
    moment,
    moment_or,
    opted_out,
    owner_refs,
    wake_at,
)
from scaler.kube.decode_shapes import (
    PodSetKey,
    amounts_of,
    pod_sets,
    shape_key,
    string_map,
)
from scaler.kube.structs import Condition
from scaler.kube.structs_kueue import (
    SchedulingStats,
    WireAdmission,
    WirePodSet,
    WireWorkload,
    WorkloadAnnotations,
    WorkloadStatus,
)

_DISTINCT = 32768
_NO_STATUS = WorkloadStatus()
_NO_ANNOTATIONS = WorkloadAnnotations()
_REQUEUED_BY_EVICTION = frozenset({"PodsReadyTimeout", "AdmissionCheck"})
"""Evictions that send a Workload to the end of the queue; preempted ones keep their place."""

_AssignmentKey = tuple[str, int, bytes, bytes, bool]


def workload(wire: WireWorkload) -> Workload:
    """Make a Workload's record, classed by its own spec and status.

    Raises:
        ValueError: a quantity or a time is malformed.
    """
    meta, spec, status = wire.metadata, wire.spec, wire.status or _NO_STATUS
    annotations = meta.annotations or _NO_ANNOTATIONS
    conditions = by_type(status.conditions)
    active = spec.active is not False
    checks = tuple(
        [(intern(each.name), intern(each.state)) for each in status.admission_checks or ()]
    )
    created = moment_or(meta.creation_timestamp, 0.0)
    reserved = conditions.get("QuotaReserved")
    is_reserved = holds(conditions, "QuotaReserved")
    is_admitted = holds(conditions, "Admitted")
    requeue = status.requeue_state
    return Workload(
        namespace=intern(meta.namespace),
        name=meta.name,
        uid=meta.uid,
        queue_name=intern(spec.queue_name),
        standing=standing(
            active=active,
            conditions=conditions,
            has_admission=status.admission is not None,
            checks=checks,
        ),
        pod_sets=pod_sets(tuple([_pod_set_key(each) for each in spec.pod_sets])),
        created=created,
        priority=spec.priority or 0,
        queued_at=_queued_at(conditions, created),
        waiting_since=_waiting_since(reserved, created),
        message=_message(reserved),
        active=active,
        deleting=meta.deletion_timestamp is not None,
        reserved=is_reserved,
        reserved_at=moment(reserved.last_transition_time) if reserved and is_reserved else None,
        admitted=is_admitted,
        admitted_at=moment(conditions["Admitted"].last_transition_time) if is_admitted else None,
        evicted=holds(conditions, "Evicted"),
        requeue_at=moment(requeue.requeue_at) if requeue is not None else None,
        admission=_admission(status.admission, spec.pod_sets),
        reclaimable=tuple([(each.name, each.count) for each in status.reclaimable_pods or ()]),
        owners=owner_refs(meta.owner_references),
        checks=checks,
        cluster_name=status.cluster_name or None,
        replaces=_replaced(annotations.replaces, meta.namespace),
        variant_parent=meta.labels is not None and meta.labels.parent == "true",
        allowed_flavors=_flavor_names(annotations.allowed_flavors),
        evictions=_evictions(status.scheduling_stats),
        pods_ready=_pods_ready(conditions.get("PodsReady")),
        released_by=annotations.released_by or None,
        opted_out=opted_out(meta.labels, meta.annotations),
        wake_at=wake_at(meta.annotations),
    )


def _pod_set_key(wire: WirePodSet) -> PodSetKey:
    return (
        wire.name,
        wire.count,
        wire.min_count,
        bytes(wire.topology_request),
        shape_key(wire.template.spec),
    )


def _queued_at(conditions: dict[str, Condition], created: Instant) -> Instant:
    evicted = conditions.get("Evicted")
    if evicted is None or evicted.status != "True" or evicted.reason not in _REQUEUED_BY_EVICTION:
        return created
    return moment_or(evicted.last_transition_time, created)


def _waiting_since(reserved: Condition | None, created: Instant) -> Instant:
    if reserved is None or reserved.status != FALSE:
        return created
    return moment_or(reserved.last_transition_time, created)


def _message(reserved: Condition | None) -> str:
    return intern(reserved.message) if reserved is not None and reserved.status != "True" else ""


def _evictions(stats: SchedulingStats | None) -> int:
    return sum(each.count for each in stats.evictions or ()) if stats is not None else 0


def _pods_ready(condition: Condition | None) -> str | None:
    if condition is None:
        return None
    if condition.status == TRUE:
        return TRUE
    return intern(f"{condition.status}/{condition.reason}")


def _replaced(text: str | None, namespace: str) -> Name | None:
    if not text:
        return None
    before, slash, name = text.partition("/")
    return (intern(before), name) if slash else (intern(namespace), text)


@lru_cache(maxsize=1024)
def _flavor_names(text: str | None) -> tuple[str, ...] | None:
    if text is None:
        return None
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _admission(wire: WireAdmission | None, asked: list[WirePodSet]) -> Admission | None:
    if wire is None:
        return None
    counts = {each.name: each.count for each in asked}
    return _admitted(
        wire.cluster_queue,
        tuple(
            [
                (
                    each.name,
                    each.count if each.count is not None else counts.get(each.name, 0),
                    bytes(each.flavors),
                    bytes(each.resource_usage),
                    each.topology_assignment is not None,
                )
                for each in wire.pod_set_assignments or ()
            ]
        ),
    )


@lru_cache(maxsize=_DISTINCT)
def _admitted(cluster_queue: str, assignments: tuple[_AssignmentKey, ...]) -> Admission:
    return Admission(
        cluster_queue=intern(cluster_queue),
        assignments=tuple(
            Assignment(
                pod_set=name,
                count=count,
                flavors=string_map(flavors),
                usage=amounts_of(usage),
                topology_assigned=topology,
            )
            for name, count, flavors, usage, topology in assignments
        ),
    )
