"""Decide a queue signal: what ClusterQueues need, as nodes of a pool, GPUs or Workloads.

A number of nodes counts from the target's size and never falls below it. GPUs and Workloads are
sums, without size and floor. Where the number would be a guess, the answer is HOLD.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import assert_never

from scaler.core.decision import Decision, PoolEvidence, QueueEvidence, Status
from scaler.core.demand.need import Demand, Need
from scaler.core.metadata import metric_name
from scaler.core.model import Instant, Kind, ScaledObject
from scaler.core.policy import Policy
from scaler.core.queue.claims import owner_of, sizes_pool
from scaler.core.queue.nodes import Nodes, QueueQuestion, nodes_of, pool_asked
from scaler.core.queue.reads import needed_kinds, partitions
from scaler.core.queue.reason import count_reason, nodes_reason
from scaler.core.queue.waiting import demand_of, waiting_of
from scaler.core.reasons import Reason, WorkloadClass
from scaler.core.size import Size
from scaler.core.snapshot import Partition, Snapshot
from scaler.core.sources import missing
from scaler.core.trigger import QueueTrigger, Scope, TriggerRef, Unit


def decide_queue(
    *,
    snapshot: Snapshot,
    ref: TriggerRef,
    trigger: QueueTrigger,
    policy: Policy,
    now: Instant,
    scaled_object: ScaledObject | None,
    size: Size,
) -> Decision:
    """Give the value of a queue trigger, or HOLD where something that it needs is not known."""
    question = QueueQuestion(
        snapshot=snapshot,
        ref=ref,
        trigger=trigger,
        policy=policy,
        now=now,
        scaled_object=scaled_object,
        size=size,
    )
    held = _why_held(question)
    if held is not None:
        return _hold(question, *held)
    found = demand_of(question, flavor=trigger.flavor)
    if len(found.missing_cluster_queues) == len(set(trigger.cluster_queues)):
        names = ", ".join(found.missing_cluster_queues)
        none = _hold(question, Reason.CLUSTER_QUEUE_MISSING, f"There is no ClusterQueue {names}.")
        return replace(none, queue=_evidence(question, found))
    match trigger.unit:
        case Unit.NODES:
            return _decide_nodes(question, found)
        case Unit.GPUS | Unit.WORKLOADS:
            return _decide_count(question, found)
        case _:
            assert_never(trigger.unit)


# --- HOLD --------------------------------------------------------------------------------------


def _why_held(question: QueueQuestion) -> tuple[Reason, str] | None:
    """Give the reason for which no value can be given before the demand is looked at."""
    trigger, policy = question.trigger, question.policy
    if trigger.pool is not None and trigger.pool not in policy.pools:
        known = ", ".join(policy.pools) or "none"
        return Reason.POOL_MISSING, f"The policy has no pool {trigger.pool}; it has {known}."
    lack = missing(
        snapshot=question.snapshot,
        kinds=needed_kinds(question.snapshot, trigger),
        max_age=policy.safety.max_watch_age,
        now=question.now,
    )
    if lack is not None:
        return lack.reason, lack.detail
    if not sizes_pool(trigger):
        return None
    owner = None if trigger.pool is None else owner_of(question.snapshot, trigger.pool)
    if owner is not None and owner.key != question.ref.key:
        return (
            Reason.POOL_TAKEN,
            f"Pool {trigger.pool} is sized by the older ScaledObject {'/'.join(owner.key)}.",
        )
    if question.size.value is None:
        return Reason.SIZE_UNKNOWN, f"The target's size is not known: {question.size.detail}."
    return None


def _hold(question: QueueQuestion, reason: Reason, detail: str) -> Decision:
    return Decision(
        namespace=question.ref.namespace,
        name=question.ref.name,
        metric=metric_name(question.trigger),
        status=Status.HOLD,
        active=None,
        value=None,
        reason=reason,
        detail=detail,
        at=question.now,
        size=question.size.value,
        running=question.size.running,
        read=_read(question, every_queue=False),
    )


# --- a value -----------------------------------------------------------------------------------


def _decide_nodes(question: QueueQuestion, found: Demand) -> Decision:
    pool = pool_asked(question)
    if pool is None:
        detail = "unit nodes needs a pool or gpusPerNode."
        return _hold(question, Reason.POOL_MISSING, detail)
    pending = question.trigger.scope is Scope.PENDING
    size = None if pending else question.size.value
    nodes = nodes_of(question, pool=pool, found=found, size=size)
    reason, detail = nodes_reason(
        value=nodes.value,
        floor=nodes.floor,
        pool=nodes.pool,
        packed=nodes.packed,
        waiting=waiting_of(question, found, value=nodes.value, nodes=nodes),
    )
    return _value(question, found, value=nodes.value, reason=reason, detail=detail, nodes=nodes)


def _decide_count(question: QueueQuestion, found: Demand) -> Decision:
    trigger = question.trigger
    ripe = question.ripened(found.needs)
    # Admitted Workloads are in the total with all their pods, so class A counts once.
    waiting = [one for one in ripe if one.workload_class is not WorkloadClass.UNPLACED]
    if trigger.unit is Unit.GPUS:
        pending, beyond = _gpus(ripe, trigger.resource), _gpus(waiting, trigger.resource)
        admitted, unit = found.admitted_gpus, trigger.resource
    else:
        pending, beyond = len(ripe), len(waiting)
        admitted, unit = found.admitted_workloads, "Workloads"
    value = max(0, pending if trigger.scope is Scope.PENDING else beyond + admitted)
    reason, detail = count_reason(
        value=value,
        pending=pending,
        unit=unit,
        waiting=waiting_of(question, found, value=value, nodes=None),
    )
    return _value(question, found, value=value, reason=reason, detail=detail, nodes=None)


def _value(
    question: QueueQuestion,
    found: Demand,
    *,
    value: int,
    reason: Reason,
    detail: str,
    nodes: Nodes | None,
) -> Decision:
    return Decision(
        namespace=question.ref.namespace,
        name=question.ref.name,
        metric=metric_name(question.trigger),
        status=Status.OK,
        active=value > 0,
        value=value,
        reason=reason,
        detail=detail + _left_out(found),
        at=question.now,
        size=question.size.value,
        running=question.size.running,
        queue=_evidence(question, found, pool=None if nodes is None else nodes.pool),
        read=_read(question, every_queue=nodes is not None and nodes.every_queue),
    )


def _evidence(
    question: QueueQuestion, found: Demand, *, pool: PoolEvidence | None = None
) -> QueueEvidence:
    return QueueEvidence(
        classes=found.classes,
        counted=found.counted,
        pool=pool,
        missing_cluster_queues=found.missing_cluster_queues,
        not_routable=found.not_routable,
        not_counted_dra=found.not_counted_dra,
        skipped_objects=_skipped(question),
    )


def _gpus(needs: Iterable[Need], resource: str) -> int:
    return sum(
        dict(pod.shape.requests).get(resource, 0) * pod.count for one in needs for pod in one.pods
    )


def _left_out(found: Demand) -> str:
    said = ""
    if found.missing_cluster_queues:
        said += f" There is no ClusterQueue {', '.join(found.missing_cluster_queues)}."
    if found.not_routable:
        said += f" Not routable (LocalQueue missing or stopped): {found.not_routable}."
    if found.not_counted_dra:
        said += f" Not counted, as they ask for devices by DRA claims: {found.not_counted_dra}."
    return said


def _skipped(question: QueueQuestion) -> int:
    kinds: frozenset[Kind] = needed_kinds(question.snapshot, question.trigger)
    return sum(number for kind, number in question.snapshot.skipped.items() if kind in kinds)


def _read(question: QueueQuestion, *, every_queue: bool) -> frozenset[Partition]:
    return partitions(
        question.snapshot, question.trigger, key=question.ref.key, every_queue=every_queue
    )
