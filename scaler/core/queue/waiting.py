"""What waits in the ClusterQueues of a queue trigger, as far as it bears on the reason."""

from collections.abc import Iterable

from scaler.core.decision import ClassCount
from scaler.core.demand.need import Demand
from scaler.core.demand.total import demand
from scaler.core.policy import PROVISIONING_TIMEOUT
from scaler.core.queue.nodes import Nodes, QueueQuestion, pool_asked
from scaler.core.queue.reason import Waiting, not_helped
from scaler.core.reasons import WorkloadClass

_DEFAULT_TOLERANCE = 0.1
"""The HPA's, where behavior.scaleUp.tolerance is not in force."""

_QUOTA_CLASSES = (WorkloadClass.QUOTA, WorkloadClass.NOT_EVALUATED, WorkloadClass.TOPOLOGY)
"""Classes that make demand as far as quota is free; of B an admission may just have taken it."""


def demand_of(question: QueueQuestion, *, flavor: str | None) -> Demand:
    """Give the demand of the trigger's ClusterQueues, of one flavor or (None) of all."""
    trigger = question.trigger
    pool = pool_asked(question)
    return demand(
        snapshot=question.snapshot,
        cluster_queues=trigger.cluster_queues,
        resource=trigger.resource,
        flavor=flavor,
        quota_follows_nodes=trigger.quota_follows_nodes,
        provisioning_timeout=PROVISIONING_TIMEOUT if pool is None else pool.provisioning_timeout,
        now=question.now,
    )


def waiting_of(
    question: QueueQuestion, found: Demand, *, value: int, nodes: Nodes | None
) -> Waiting:
    """Sum up what the reason of a value is chosen by."""
    ripe = len(question.ripened(found.needs))
    return Waiting(
        workloads=ripe if nodes is None else nodes.workloads,
        for_quota=_for_quota(question, found),
        delayed=len(found.needs) - ripe,
        elsewhere=0 if nodes is None else max(0, ripe - nodes.workloads),
        swallowed=_swallowed(question, value),
        topology_disagrees=nodes is not None and nodes.topology_disagrees,
        not_helped=not_helped(found.classes),
    )


def _for_quota(question: QueueQuestion, found: Demand) -> int:
    """Count the Workloads that wait for quota and make no demand, of every flavor."""
    if question.trigger.flavor is not None:
        found = demand_of(question, flavor=None)
    left = _in_quota_classes(found.classes) - _in_quota_classes(found.counted)
    # Those that ask by DRA claims only are known by their pods, of which each has at least one.
    return max(0, left - found.not_counted_dra)


def _in_quota_classes(counts: Iterable[ClassCount]) -> int:
    return sum(one.workloads for one in counts if one.workload_class in _QUOTA_CLASSES)


def _swallowed(question: QueueQuestion, value: int) -> bool:
    """Say whether the HPA takes value / S for 1: it does within its tolerance, limits included."""
    scaled_object, size = question.scaled_object, question.size.value
    if scaled_object is None or scaled_object.hpa_name is None or not size:
        return False
    hpa = question.snapshot.hpas.get((scaled_object.namespace, scaled_object.hpa_name))
    if hpa is None:
        return False
    tolerance = _DEFAULT_TOLERANCE if hpa.tolerance_up is None else hpa.tolerance_up
    return size < value <= size * (1.0 + tolerance)
