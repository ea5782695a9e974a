"""What is decoded of nodes, pods, targets and KEDA's kinds."""

import msgspec

from scaler.kube.structs import (
    Condition,
    Count,
    Expression,
    Labels,
    Marks,
    Metadata,
    Owned,
    PodSpec,
    Quantities,
    Template,
    Time,
    Wire,
    WireTaint,
)


class NodeAnnotations(Wire):
    """The annotations by which a Node names its Machine."""

    openshift: str | None = msgspec.field(default=None, name="machine.openshift.io/machine")
    """`NAMESPACE/NAME`."""
    cluster_api: str | None = msgspec.field(default=None, name="cluster.x-k8s.io/machine")


class NodeMetadata(Metadata):
    """A Node's metadata: packing matches any of its labels."""

    labels: Labels | None = None
    annotations: NodeAnnotations | None = None


class NodeSpec(Wire):
    """A Node's spec."""

    unschedulable: bool | None = None
    taints: list[WireTaint] | None = None


class NodeStatus(Wire):
    """A Node's status."""

    allocatable: Quantities | None = None
    conditions: list[Condition] | None = None


class WireNode(Wire):
    """A Node."""

    metadata: NodeMetadata
    spec: NodeSpec = msgspec.field(default_factory=NodeSpec)
    status: NodeStatus = msgspec.field(default_factory=NodeStatus)


class PodAnnotations(Marks):
    """The annotations of a Pod that mean something here."""

    workload: str | None = msgspec.field(default=None, name="kueue.x-k8s.io/workload")
    group: str | None = msgspec.field(default=None, name="kueue.x-k8s.io/pod-group-name")


class PodMetadata(Owned):
    """A Pod's metadata: targets select by any of its labels."""

    labels: Labels | None = None
    annotations: PodAnnotations | None = None


class PodStatus(Wire):
    """A Pod's status."""

    phase: str = ""
    conditions: list[Condition] | None = None


class WirePod(Wire):
    """A Pod."""

    metadata: PodMetadata
    spec: PodSpec
    status: PodStatus = msgspec.field(default_factory=PodStatus)


# --- targets -----------------------------------------------------------------------------------


class TargetLabels(Marks):
    """The labels of a Deployment or StatefulSet that mean something here."""

    queue_name: str | None = msgspec.field(default=None, name="kueue.x-k8s.io/queue-name")


class TargetMetadata(Metadata):
    """A Deployment's or StatefulSet's metadata."""

    labels: TargetLabels | None = None
    annotations: Marks | None = None


class Selector(Wire):
    """A label selector."""

    match_labels: Labels | None = None
    match_expressions: list[Expression] | None = None


class TargetSpec(Wire):
    """A Deployment's or StatefulSet's spec."""

    replicas: Count | None = None
    selector: Selector = msgspec.field(default_factory=Selector)
    template: Template = msgspec.field(default_factory=Template)


class WireTarget(Wire):
    """A Deployment or StatefulSet."""

    metadata: TargetMetadata
    spec: TargetSpec


# --- KEDA --------------------------------------------------------------------------------------


class ScaledObjectAnnotations(Marks):
    """The annotations of a ScaledObject that mean something here."""

    paused: str | None = msgspec.field(default=None, name="autoscaling.keda.sh/paused")
    paused_replicas: str | None = msgspec.field(
        default=None, name="autoscaling.keda.sh/paused-replicas"
    )


class ScaledObjectMetadata(Metadata):
    """A ScaledObject's metadata."""

    labels: Marks | None = None
    annotations: ScaledObjectAnnotations | None = None


class ScaleTargetRef(Wire):
    """spec.scaleTargetRef."""

    name: str
    kind: str = ""
    api_version: str = ""


class WireTrigger(Wire):
    """One of spec.triggers."""

    type: str
    metadata: Labels | None = None


class ScaleUp(Wire):
    """behavior.scaleUp of an HPA."""

    tolerance: str | int | float | None = None


class Behavior(Wire):
    """spec.behavior of an HPA."""

    scale_up: ScaleUp | None = None


class ScaledObjectSpec(Wire):
    """A ScaledObject's spec."""

    scale_target_ref: ScaleTargetRef
    min_replica_count: Count | None = None
    max_replica_count: Count | None = None
    idle_replica_count: Count | None = None
    triggers: list[WireTrigger] | None = None


class ScaledObjectStatus(Wire):
    """A ScaledObject's status."""

    hpa_name: str | None = None


class WireScaledObject(Wire):
    """A ScaledObject."""

    metadata: ScaledObjectMetadata
    spec: ScaledObjectSpec
    status: ScaledObjectStatus | None = None


class HpaLabels(Wire):
    """The labels that KEDA puts on the HorizontalPodAutoscalers that it makes."""

    scaled_object: str | None = msgspec.field(default=None, name="scaledobject.keda.sh/name")
    managed_by: str | None = msgspec.field(default=None, name="app.kubernetes.io/managed-by")


class HpaMetadata(Owned):
    """A HorizontalPodAutoscaler's metadata."""

    labels: HpaLabels | None = None


class HpaSpec(Wire):
    """A HorizontalPodAutoscaler's spec."""

    behavior: Behavior | None = None


class HpaStatus(Wire):
    """A HorizontalPodAutoscaler's status."""

    current_replicas: Count | None = None
    desired_replicas: Count | None = None
    last_scale_time: Time | None = None
    conditions: list[Condition] | None = None


class WireHpa(Wire):
    """A HorizontalPodAutoscaler."""

    metadata: HpaMetadata
    spec: HpaSpec = msgspec.field(default_factory=HpaSpec)
    status: HpaStatus = msgspec.field(default_factory=HpaStatus)
