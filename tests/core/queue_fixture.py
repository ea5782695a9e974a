"""Ask a queue trigger in one small cluster: pool `gpu` of 8-GPU nodes, sized by ScaledObject so."""

from collections.abc import Mapping

from scaler.core.decision import Decision, PoolEvidence
from scaler.core.metadata import parse
from scaler.core.model import Hpa, Instant, Node, Pod, ScaledObject, TargetRef, Workload
from scaler.core.policy import Policy, Pool
from scaler.core.queue.signal import decide_queue
from scaler.core.size import size_of
from scaler.core.snapshot import Snapshot
from scaler.core.trigger import QueueTrigger, TriggerRef
from tests.builders import (
    NOW,
    amounts,
    make_cluster_queue,
    make_hpa,
    make_node,
    make_pod,
    make_scaled_object,
    make_snapshot,
    make_workload,
)

NODES = {"signal": "queue", "clusterQueue": "gpu-cq", "pool": "gpu"}
GPUS = {"signal": "queue", "clusterQueue": "gpu-cq", "unit": "gpus"}
POOL = Pool(
    name="gpu",
    node_selector=(("pool", "gpu"),),
    node=amounts({"cpu": 188_000, "memory": 1900 << 30, "pods": 110}, gpu=8),
    max_nodes=10,
)
POLICY = Policy(pools={"gpu": POOL})


def make_policy(*pools: Pool) -> Policy:
    """Build a policy of these pools."""
    return Policy(pools={pool.name: pool for pool in pools})


def make_sizer(
    metadata: Mapping[str, str] = NODES,
    *,
    name: str = "so",
    created: Instant = NOW - 7200,
    paused: bool = False,
    max_replicas: int = 100,
) -> ScaledObject:
    """Build a ScaledObject on a MachineSet, whose size only its HPA knows."""
    return make_scaled_object(
        name=name,
        created=created,
        target=TargetRef(name="gpu", kind="MachineSet", api_version="machine.openshift.io/v1beta1"),
        metadata=metadata,
        hpa_name=f"keda-hpa-{name}",
        paused=paused,
        max_replicas=max_replicas,
    )


def make_sized(
    size: int, *, name: str = "so", resized: Instant = NOW - 7200, tolerance: float | None = 0.0
) -> Hpa:
    """Build the HPA of a target of that size, as it looks at zero and above."""
    return make_hpa(
        name=f"keda-hpa-{name}",
        current_replicas=size or None,
        scaling_disabled=size == 0,
        scaling_active_changed=resized,
        tolerance_up=tolerance,
    )


def make_nodes(count: int, *, prefix: str = "node") -> list[Node]:
    """Build usable nodes of the pool."""
    return [make_node(name=f"{prefix}-{number}") for number in range(count)]


def make_jobs(count: int, *, gpus: int = 8) -> list[Workload]:
    """Build Workloads of one pod that Kueue has not looked at yet."""
    return [make_workload(name=f"w{number}", gpus=gpus) for number in range(count)]


def make_cluster(
    *workloads: Workload,
    size: int = 0,
    nodes: list[Node] | None = None,
    pods: list[Pod] | None = None,
    sizers: tuple[ScaledObject, ...] | None = None,
    resized: Instant = NOW - 7200,
    tolerance: float | None = 0.0,
    quota: int | None = None,
) -> Snapshot:
    """Build the cluster: the pool's size is `size`, and so many nodes are there unless given."""
    return make_snapshot(
        workloads=workloads,
        cluster_queues=[make_cluster_queue(quota=quota)],
        nodes=make_nodes(size) if nodes is None else nodes,
        pods=pods or [],
        scaled_objects=(make_sizer(),) if sizers is None else sizers,
        hpas=[make_sized(size, resized=resized, tolerance=tolerance)],
    )


def pool_evidence(decision: Decision) -> PoolEvidence:
    """Give the evidence of a decision in nodes."""
    assert decision.queue is not None
    assert decision.queue.pool is not None
    return decision.queue.pool


def make_running(workload: Workload, *nodes: str, gpus: int = 1) -> list[Pod]:
    """Build the running pods of a Workload, one on each of the nodes given."""
    return [
        make_pod(
            name=f"{workload.name}-{number}",
            workload=workload.name,
            pod_set="main",
            node=node,
            gpus=gpus,
        )
        for number, node in enumerate(nodes)
    ]


def ask(
    snapshot: Snapshot,
    metadata: Mapping[str, str] = NODES,
    *,
    policy: Policy = POLICY,
    now: Instant = NOW,
    name: str = "so",
) -> Decision:
    """Decide a trigger as `decide` does for well-formed metadata of a queue signal."""
    trigger = parse(metadata)
    assert isinstance(trigger, QueueTrigger), trigger
    ref = TriggerRef.of(namespace="ml", name=name, metadata=metadata)
    scaled_object = snapshot.scaled_objects.get(ref.key)
    return decide_queue(
        snapshot=snapshot,
        ref=ref,
        trigger=trigger,
        policy=policy,
        now=now,
        scaled_object=scaled_object,
        size=size_of(
            snapshot=snapshot,
            scaled_object=scaled_object,
            policy=policy,
            trigger=trigger,
            now=now,
        ),
    )
