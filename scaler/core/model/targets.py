"""Nodes, scale targets, and what KEDA keeps about them."""

from collections.abc import Mapping
from dataclasses import dataclass

from scaler.core.model.names import Amounts, Instant, Name
from scaler.core.model.shapes import NodeRequirement, PodShape, Taint


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A Node, as far as pods may be placed on it."""

    name: str
    labels: Mapping[str, str]
    allocatable: Amounts
    created: Instant
    ready: bool
    ready_changed: Instant | None = None
    """lastTransitionTime of the Ready condition."""
    unschedulable: bool = False
    deleting: bool = False
    taints: tuple[Taint, ...] = ()
    machine: str | None = None
    """Name of the Machine that it stands on; None where nothing says that there is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A Deployment or StatefulSet: its wanted size, its pods and what one pod asks."""

    kind: str
    namespace: str
    name: str
    replicas: int
    selector: tuple[NodeRequirement, ...]
    """matchLabels and matchExpressions as requirements; empty selects nothing."""
    shape: PodShape
    uid: str = ""
    queue_name: str | None = None
    """Label kueue.x-k8s.io/queue-name: Kueue manages it."""
    opted_out: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetRef:
    """A ScaledObject's scaleTargetRef, with KEDA's default kind."""

    name: str
    kind: str = "Deployment"
    api_version: str = "apps/v1"

    @property
    def group(self) -> str:
        """Give the API group: other groups have a StatefulSet too, which is another object."""
        return self.api_version.rpartition("/")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerSpec:
    """One trigger of a ScaledObject."""

    type: str
    metadata: tuple[tuple[str, str], ...]

    @property
    def signal(self) -> str | None:
        """Give the key `signal` of an external trigger, which makes it ours; else None."""
        return dict(self.metadata).get("signal") if self.type.startswith("external") else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaledObject:
    """A KEDA ScaledObject."""

    namespace: str
    name: str
    uid: str
    created: Instant
    target: TargetRef
    triggers: tuple[TriggerSpec, ...]
    min_replicas: int = 0
    max_replicas: int = 100
    idle_replicas: int | None = None
    paused: bool = False
    """Annotation paused or paused-replicas: KEDA asks nothing."""
    hpa_name: str | None = None
    opted_out: bool = False
    wake_at: Instant | None = None
    deleting: bool = False

    @property
    def key(self) -> Name:
        """Give namespace and name."""
        return (self.namespace, self.name)

    @property
    def kept_by_minimum(self) -> bool:
        """Say whether KEDA keeps pods when nothing is active: idleReplicaCount undoes a minimum.

        Source: KEDA pkg/scaling/executor/scale_scaledobjects.go.
        """
        return self.min_replicas >= 1 and self.idle_replicas is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hpa:
    """The HorizontalPodAutoscaler that KEDA made for a ScaledObject."""

    namespace: str
    name: str
    current_replicas: int | None = None
    """As its last sync found it. Absent at zero (Kubernetes 1.37, measured)."""
    desired_replicas: int | None = None
    """As its last sync left it; while it fails, an old number. None where its write was refused."""
    scaling_disabled: bool = False
    """ScalingActive=False with reason ScalingDisabled: the target is at zero."""
    scaling_failed: bool = False
    """ScalingActive=False for another reason: it may be so since the target was at zero."""
    scaling_active_changed: Instant | None = None
    last_scale: Instant | None = None
    tolerance_up: float | None = None
    """spec.behavior.scaleUp.tolerance; None where this cluster's HPA has dropped it."""
