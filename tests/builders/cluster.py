"""Build pods, nodes, and what KEDA scales."""

from collections.abc import Mapping

from scaler.core.model import (
    Hpa,
    Instant,
    Node,
    NodeRequirement,
    OwnerRef,
    PlacedPod,
    Pod,
    PodShape,
    ScaledObject,
    Taint,
    Target,
    TargetRef,
    TriggerSpec,
)
from tests.builders.values import LONG_AGO, POOL_LABELS, amounts, make_shape, next_uid


def make_pod(
    *,
    name: str = "pod",
    namespace: str = "ml",
    uid: str | None = None,
    phase: str = "Running",
    created: Instant = LONG_AGO,
    gpus: int = 1,
    requests: Mapping[str, int] | None = None,
    node: str | None = None,
    deleting: bool = False,
    gone_by: Instant | None = None,
    ready_since: Instant | None = None,
    unschedulable: bool = False,
    placeholder: bool = False,
    labels: Mapping[str, str] | None = None,
    workload: str | None = None,
    pod_set: str | None = None,
    owners: tuple[OwnerRef, ...] = (),
    opted_out: bool = False,
) -> Pod:
    """Build a whole Pod; a Running one is Ready since it was created unless told otherwise."""
    running = phase == "Running"
    return Pod(
        namespace=namespace,
        name=name,
        uid=uid or next_uid(name),
        phase=phase,
        created=created,
        requests=amounts(requests, gpu=gpus),
        node=node,
        deleting=deleting,
        gone_by=gone_by,
        ready_since=created if running and ready_since is None else ready_since,
        unschedulable=unschedulable,
        placeholder=placeholder,
        labels=labels or {},
        workload=workload,
        pod_set=pod_set,
        owners=owners,
        opted_out=opted_out,
    )


def make_placed_pod(
    *,
    name: str = "daemon",
    namespace: str = "kube-system",
    node: str | None = "node-0",
    requests: Mapping[str, int] | None = None,
) -> PlacedPod:
    """Build a pod of which only its claim on a node counts."""
    return PlacedPod(namespace=namespace, name=name, node=node, requests=amounts(requests))


def make_node(
    *,
    name: str = "node-0",
    labels: Mapping[str, str] | None = None,
    gpus: int = 8,
    allocatable: Mapping[str, int] | None = None,
    created: Instant = LONG_AGO,
    ready: bool = True,
    ready_changed: Instant | None = None,
    unschedulable: bool = False,
    deleting: bool = False,
    taints: tuple[Taint, ...] = (),
    machine: str | None = None,
) -> Node:
    """Build a Node of the pool `pool=gpu` with 8 GPUs, 188 cpus, 1900Gi and 110 pods."""
    rest = {"cpu": 188_000, "memory": 1900 << 30, "pods": 110}
    return Node(
        name=name,
        labels={**dict(POOL_LABELS), "kubernetes.io/hostname": name} if labels is None else labels,
        allocatable=amounts(rest if allocatable is None else allocatable, gpu=gpus),
        created=created,
        ready=ready,
        ready_changed=created if ready_changed is None else ready_changed,
        unschedulable=unschedulable,
        deleting=deleting,
        taints=taints,
        machine=machine,
    )


def make_target(
    *,
    kind: str = "Deployment",
    namespace: str = "ml",
    name: str = "workers",
    replicas: int = 1,
    selector: tuple[NodeRequirement, ...] | None = None,
    shape: PodShape | None = None,
    uid: str | None = None,
    queue_name: str | None = None,
    opted_out: bool = False,
) -> Target:
    """Build a Deployment or StatefulSet that selects `app=NAME`."""
    by_app = (NodeRequirement(key="app", operator="In", values=(name,)),)
    return Target(
        kind=kind,
        namespace=namespace,
        name=name,
        replicas=replicas,
        selector=by_app if selector is None else selector,
        shape=shape or make_shape(),
        uid=uid or next_uid(name),
        queue_name=queue_name,
        opted_out=opted_out,
    )


def make_scaled_object(
    *,
    name: str = "so",
    namespace: str = "ml",
    created: Instant = LONG_AGO,
    target: TargetRef | None = None,
    metadata: Mapping[str, str] | None = None,
    triggers: tuple[TriggerSpec, ...] | None = None,
    min_replicas: int = 0,
    max_replicas: int = 100,
    idle_replicas: int | None = None,
    paused: bool = False,
    hpa_name: str | None = None,
    opted_out: bool = False,
    wake_at: Instant | None = None,
    deleting: bool = False,
) -> ScaledObject:
    """Build a ScaledObject on Deployment `workers` with one external-push trigger."""
    one = TriggerSpec(type="external-push", metadata=tuple(sorted((metadata or {}).items())))
    return ScaledObject(
        namespace=namespace,
        name=name,
        uid=next_uid(name),
        created=created,
        target=target or TargetRef(name="workers"),
        triggers=(one,) if triggers is None else triggers,
        min_replicas=min_replicas,
        max_replicas=max_replicas,
        idle_replicas=idle_replicas,
        paused=paused,
        hpa_name=hpa_name,
        opted_out=opted_out,
        wake_at=wake_at,
        deleting=deleting,
    )


def make_hpa(
    *,
    name: str = "keda-hpa-so",
    namespace: str = "ml",
    current_replicas: int | None = 1,
    scaling_disabled: bool = False,
    scaling_active_changed: Instant | None = LONG_AGO,
    last_scale: Instant | None = None,
    tolerance_up: float | None = 0.0,
) -> Hpa:
    """Build the HorizontalPodAutoscaler of a ScaledObject."""
    return Hpa(
        namespace=namespace,
        name=name,
        current_replicas=current_replicas,
        scaling_disabled=scaling_disabled,
        scaling_active_changed=scaling_active_changed,
        last_scale=last_scale,
        tolerance_up=tolerance_up,
    )
