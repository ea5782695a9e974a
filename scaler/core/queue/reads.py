"""What a queue signal reads: the kinds that it can't do without, and the partitions."""

from collections.abc import Iterable, Iterator

from scaler.core.demand.cohorts import trees
from scaler.core.demand.quota import COUNTED
from scaler.core.model import Kind, Name, ScaledObject, Workload
from scaler.core.queue.claims import claim_of
from scaler.core.reasons import WorkloadClass
from scaler.core.snapshot import EMPTY_QUEUE, Part, Partition, Snapshot
from scaler.core.trigger import QueueTrigger, Scope, Unit

_OF_THE_SIZE = (Kind.SCALED_OBJECTS, Kind.HPAS, Kind.DEPLOYMENTS, Kind.STATEFUL_SETS)
"""Kinds that tell the target's size: without them it may be unknown, which is judged itself."""

_MAY_COUNT = COUNTED | {WorkloadClass.RUNNING}


def needed_kinds(snapshot: Snapshot, trigger: QueueTrigger) -> frozenset[Kind]:
    """Give the kinds without which the value would be a guess, as few as are safe."""
    queues = [
        snapshot.cluster_queues[name]
        for name in trigger.cluster_queues
        if name in snapshot.cluster_queues
    ]
    nodes = trigger.unit is Unit.NODES
    pods = nodes or trigger.unit is Unit.GPUS or trigger.scope is Scope.PENDING
    conditional = {
        Kind.COHORTS: any(one.cohort is not None for one in queues),
        Kind.RESOURCE_FLAVORS: nodes
        and (trigger.pool is not None or trigger.flavor is not None)
        and any(one.groups for one in queues),
        Kind.ADMISSION_CHECKS: any(_checked(snapshot, name) for name in trigger.cluster_queues),
        Kind.NODES: nodes,
        Kind.PODS: pods,
    }
    always = (Kind.WORKLOADS, Kind.CLUSTER_QUEUES, Kind.LOCAL_QUEUES)
    return frozenset((*always, *(kind for kind, needed in conditional.items() if needed)))


def partitions(
    snapshot: Snapshot, trigger: QueueTrigger, *, key: Name, every_queue: bool
) -> frozenset[Partition]:
    """Give what a decision for the ScaledObject `key` reads.

    `every_queue`: Workloads of all ClusterQueues competed for the pools.
    """
    related = frozenset(
        snapshot.cluster_queues if every_queue else _relatives(snapshot, trigger.cluster_queues)
    )
    kinds = needed_kinds(snapshot, trigger)
    queues = related | frozenset(trigger.cluster_queues)
    read: set[Partition] = {(Part.SOURCE, kind) for kind in (*kinds, *_OF_THE_SIZE)}
    read |= {(Part.QUEUE, name) for name in (*queues, "")}
    read |= {(part, "") for part in (Part.QUOTA, Part.POLICY, Part.OWNERS)}
    targets = _target_namespaces(snapshot, trigger, key=key, every_pool=every_queue)
    read |= {(Part.TARGETS, namespace) for namespace in targets}
    if Kind.NODES in kinds:
        read.add((Part.NODES, ""))
    if Kind.PODS in kinds:
        own = queues if every_queue else trigger.cluster_queues
        read |= {(Part.PODS, namespace) for namespace in _pod_namespaces(snapshot, own)}
        read.add((Part.HOLDS, ""))
    return frozenset(read)


def _relatives(snapshot: Snapshot, names: Iterable[str]) -> frozenset[str]:
    """Give the ClusterQueues that share quota with those named, themselves included."""
    wanted, known = frozenset(names), trees(snapshot)
    sharing = (known[name].cluster_queues for name in wanted if name in known)
    return wanted.union(*sharing)


def _target_namespaces(
    snapshot: Snapshot, trigger: QueueTrigger, *, key: Name, every_pool: bool
) -> Iterator[str]:
    yield key[0]
    if trigger.pool is None:
        return
    for one in snapshot.scaled_objects.values():
        if _names_pool(one) if every_pool else claim_of(one, trigger.pool) is not None:
            yield one.namespace


def _names_pool(scaled_object: ScaledObject) -> bool:
    return any(key == "pool" for spec in scaled_object.triggers for key, _ in spec.metadata)


def _pod_namespaces(snapshot: Snapshot, cluster_queues: Iterable[str]) -> Iterator[str]:
    names = frozenset(cluster_queues)
    for link in snapshot.local_queues.values():
        if link.cluster_queue in names:
            yield link.namespace
    yield from {one.namespace for one in _workloads(snapshot, names)}


def _checked(snapshot: Snapshot, cluster_queue: str) -> bool:
    """Say whether it matters who answers the checks of a Workload: MultiKueue needs no nodes."""
    partition = snapshot.queues.get(cluster_queue, EMPTY_QUEUE)
    return snapshot.memo.recall(
        ("checked", cluster_queue),
        (partition,),
        lambda: any(
            bool(one.checks)
            for group, members in partition.groups.items()
            if group.standing in _MAY_COUNT
            for one in members
        ),
    )


def _workloads(snapshot: Snapshot, cluster_queues: Iterable[str]) -> Iterator[Workload]:
    """Give the admitted Workloads of the ClusterQueues: the ones that have pods."""
    for name in cluster_queues:
        for group, members in snapshot.queues.get(name, EMPTY_QUEUE).groups.items():
            if group.standing is WorkloadClass.RUNNING:
                yield from members
