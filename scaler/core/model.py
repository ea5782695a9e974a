"""The records that sources decode into and decisions are made from.

Units: an Instant is seconds since the epoch (UTC). Amounts of cpu are millicores, of everything
else whole units (bytes, devices), each rounded up as Kubernetes does.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from scaler.core.reasons import WorkloadClass

Instant: TypeAlias = float
"""Seconds since the epoch, UTC."""

Name: TypeAlias = tuple[str, str]
"""A namespaced object: (namespace, name)."""

Amounts: TypeAlias = tuple[tuple[str, int], ...]
"""Amounts by resource name, sorted, without zeros: hashable, so that shapes can be counted."""


class Kind(StrEnum):
    """Name each kind that is read, by its plural (also the file names of a bundle)."""

    WORKLOADS = "workloads"
    CLUSTER_QUEUES = "clusterqueues"
    LOCAL_QUEUES = "localqueues"
    COHORTS = "cohorts"
    RESOURCE_FLAVORS = "resourceflavors"
    ADMISSION_CHECKS = "admissionchecks"
    NODES = "nodes"
    PODS = "pods"
    DEPLOYMENTS = "deployments"
    STATEFUL_SETS = "statefulsets"
    SCALED_OBJECTS = "scaledobjects"
    HPAS = "horizontalpodautoscalers"
    RAY_CLUSTERS = "rayclusters"
    JOBS = "jobs"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceState:
    """How far a source can be believed."""

    synced: bool
    """A complete list was read once (and the kind is installed)."""
    last_alive: Instant | None = None
    """Newest event, bookmark or complete list; None before the first."""
    problem: str | None = None
    """What is wrong now, in words (`403 on list workloads`); None while all is well."""
    installed: bool = True
    """False where discovery says that the API server does not serve the kind."""
    skipped: int = 0
    """Objects that are there now and could not be decoded."""
    failures: int = 0
    """Calls, streams and lines that went wrong since the start."""


# --- pods and their shapes ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Taint:
    """A node's or flavor's taint."""

    key: str
    value: str = ""
    effect: str = "NoSchedule"


@dataclass(frozen=True, slots=True, kw_only=True)
class Toleration:
    """A toleration; an empty key with Exists tolerates all, an empty effect every effect."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRequirement:
    """One matchExpression of a required node affinity term."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PodShape:
    """What one pod asks of a node."""

    requests: Amounts
    """After the init and sidecar rule, overhead and limits-as-requests; without `pods`."""
    node_selector: tuple[tuple[str, str], ...] = ()
    affinity: tuple[tuple[NodeRequirement, ...], ...] = ()
    """Required node affinity: one of the terms must hold, each with all its requirements."""
    tolerations: tuple[Toleration, ...] = ()
    dra_only: bool = False
    """Asks for devices by DRA claims, and for none as an extended resource."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopologyRequest:
    """A podset's topologyRequest, as far as it bears on packing."""

    required: str | None = None
    """Node label of the level that all pods must share."""
    preferred: str | None = None
    slice_level: str | None = None
    slice_size: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PodSet:
    """A podset of a Workload's spec."""

    name: str
    count: int
    shape: PodShape
    min_count: int | None = None
    topology: TopologyRequest | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """A podset's part of status.admission."""

    pod_set: str
    count: int
    flavors: tuple[tuple[str, str], ...]
    """(resource, flavor), sorted."""
    usage: Amounts
    """resourceUsage as Kueue wrote it: totals of the podset, reclaimed pods not yet subtracted."""
    topology_assigned: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """A Workload's status.admission."""

    cluster_queue: str
    assignments: tuple[Assignment, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerRef:
    """One ownerReference."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """A Kueue Workload: classed once, from its own status, when it is decoded.

    What its queues, its pods and the clock add to that is the business of `demand`.
    """

    namespace: str
    name: str
    uid: str
    queue_name: str
    standing: WorkloadClass
    """The class by its own spec and status alone; an admitted one stands as RUNNING, or as
    NOT_DEMAND on its way out (evicted, deactivated, waiting for replacement pods)."""
    pod_sets: tuple[PodSet, ...]
    """Shared between equal Workloads, so that a comparison is one of identity."""
    created: Instant
    priority: int = 0
    queued_at: Instant = 0.0
    """Queue order: the eviction's transition (or a later requeue), else creation."""
    waiting_since: Instant = 0.0
    """lastTransitionTime of the QuotaReserved=False condition, else creation."""
    message: str = ""
    """Message of the QuotaReserved condition where it is not True."""
    active: bool = True
    deleting: bool = False
    reserved: bool = False
    """QuotaReserved is True."""
    admitted: bool = False
    admitted_at: Instant | None = None
    evicted: bool = False
    requeue_at: Instant | None = None
    admission: Admission | None = None
    reclaimable: tuple[tuple[str, int], ...] = ()
    """(podset, pods) whose quota is already given back."""
    owners: tuple[OwnerRef, ...] = ()
    checks: tuple[tuple[str, str], ...] = ()
    """(AdmissionCheck, state)."""
    cluster_name: str | None = None
    """MultiKueue's remote cluster: needs no nodes here."""
    replaces: Name | None = None
    """Elastic slices: the Workload that this one replaces; only the difference is demand."""
    variant_parent: bool = False
    """Concurrent admission: the parent whose variants are Workloads that it owns."""
    allowed_flavors: tuple[str, ...] | None = None
    """Annotation workload-allowed-resource-flavors; None = any."""
    opted_out: bool = False
    wake_at: Instant | None = None
    """Annotation kueue-gpu-scaler.dev/wake: a time; in the past or 'now' = wake."""

    @property
    def key(self) -> Name:
        """Give namespace and name."""
        return (self.namespace, self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """A pod that is kept whole: it requests GPUs, or belongs to a watched workload."""

    namespace: str
    name: str
    uid: str
    phase: str
    created: Instant
    requests: Amounts
    node: str | None = None
    deleting: bool = False
    ready_since: Instant | None = None
    """lastTransitionTime of Ready=True; None while not Ready."""
    started: Instant | None = None
    """status.startTime."""
    unschedulable: bool = False
    """PodScheduled is False with reason Unschedulable."""
    gated: bool = False
    placeholder: bool = False
    """Negative priority or label kueue-gpu-scaler.dev/placeholder: holds nothing."""
    labels: Mapping[str, str]
    workload: str | None = None
    """Name of its Kueue Workload, by annotation or pod group; None where neither is there."""
    pod_set: str | None = None
    """Label kueue.x-k8s.io/podset."""
    owners: tuple[OwnerRef, ...] = ()
    opted_out: bool = False

    @property
    def key(self) -> Name:
        """Give namespace and name."""
        return (self.namespace, self.name)

    @property
    def live(self) -> bool:
        """Say whether it still runs or may run: not Succeeded, Failed or terminating."""
        return self.phase not in ("Succeeded", "Failed") and not self.deleting

    @property
    def finished(self) -> bool:
        """Say whether it ended, and so holds nothing on its node."""
        return self.phase in ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedPod:
    """A pod of which only its claim on a node counts: no extended resource, not under Kueue."""

    namespace: str
    name: str
    node: str | None
    """None while it is not bound, has finished, or is a placeholder: it holds nothing."""
    requests: Amounts
    """Shared between equal pods."""

    @property
    def key(self) -> Name:
        """Give namespace and name."""
        return (self.namespace, self.name)


# --- queues and quota --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """A flavor's quota for one resource in a ClusterQueue or Cohort; None = no limit."""

    nominal: int
    borrowing_limit: int | None = None
    lending_limit: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceGroup:
    """Resources that are assigned a flavor together, and the flavors in order of preference."""

    resources: tuple[str, ...]
    flavors: tuple[tuple[str, tuple[tuple[str, Quota], ...]], ...]
    """(flavor, ((resource, quota), ...)) in the ClusterQueue's order."""


class StopPolicy(StrEnum):
    """spec.stopPolicy of a ClusterQueue or LocalQueue."""

    NONE = "None"
    HOLD = "Hold"
    HOLD_AND_DRAIN = "HoldAndDrain"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterQueue:
    """A ClusterQueue's spec, both API versions alike."""

    name: str
    cohort: str | None = None
    strict_fifo: bool = False
    stop_policy: StopPolicy = StopPolicy.NONE
    deleting: bool = False
    groups: tuple[ResourceGroup, ...] = ()
    inactive: str | None = None
    """Reason of the condition Active=False; None while Active or not said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalQueue:
    """A LocalQueue: the way from a namespace to a ClusterQueue."""

    namespace: str
    name: str
    cluster_queue: str
    stop_policy: StopPolicy = StopPolicy.NONE
    deleting: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Cohort:
    """A Cohort object; a cohort that only ClusterQueues name has none and no quota of its own."""

    name: str
    parent: str | None = None
    groups: tuple[ResourceGroup, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceFlavor:
    """A ResourceFlavor: the bridge to nodes."""

    name: str
    node_labels: tuple[tuple[str, str], ...] = ()
    taints: tuple[Taint, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    topology: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionCheck:
    """An AdmissionCheck: which controller answers it."""

    name: str
    controller: str


# --- nodes, targets, KEDA ----------------------------------------------------------------------


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


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerSpec:
    """One trigger of a ScaledObject."""

    type: str
    metadata: tuple[tuple[str, str], ...]


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
    tolerance_set: bool = False
    """behavior.scaleUp.tolerance is given."""
    opted_out: bool = False
    wake_at: Instant | None = None
    deleting: bool = False

    @property
    def key(self) -> Name:
        """Give namespace and name."""
        return (self.namespace, self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hpa:
    """The HorizontalPodAutoscaler that KEDA made for a ScaledObject."""

    namespace: str
    name: str
    current_replicas: int | None = None
    """Absent at zero (Kubernetes 1.37, measured)."""
    scaling_disabled: bool = False
    """ScalingActive=False with reason ScalingDisabled: the target is at zero."""
    scaling_active_changed: Instant | None = None
    last_scale: Instant | None = None
    tolerance_up: float | None = None
    """spec.behavior.scaleUp.tolerance; None where this cluster's HPA has dropped it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Controlled:
    """A RayCluster's or Job's metadata: whether another object controls it."""

    uid: str
    kind: str
    namespace: str
    name: str
    controller_uid: str | None
