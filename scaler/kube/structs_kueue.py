"""What is decoded of Kueue's kinds; fields that v1beta1 and v1beta2 spell apart are both here."""

import msgspec

from scaler.kube.marks import RELEASED_BY
from scaler.kube.structs import (
    NOTHING,
    Condition,
    Count,
    Labels,
    Marks,
    Metadata,
    Owned,
    Present,
    Template,
    Time,
    Wire,
    WireTaint,
    WireToleration,
)


class WorkloadLabels(Marks):
    """The labels of a Workload that mean something here."""

    parent: str | None = msgspec.field(
        default=None, name="kueue.x-k8s.io/concurrent-admission-parent"
    )


class WorkloadAnnotations(Marks):
    """The annotations of a Workload that mean something here."""

    replaces: str | None = msgspec.field(
        default=None, name="kueue.x-k8s.io/workload-slice-replacement-for"
    )
    allowed_flavors: str | None = msgspec.field(
        default=None, name="kueue.x-k8s.io/workload-allowed-resource-flavors"
    )
    released_by: str | None = msgspec.field(default=None, name=RELEASED_BY)


class WorkloadMetadata(Owned):
    """A Workload's metadata."""

    labels: WorkloadLabels | None = None
    annotations: WorkloadAnnotations | None = None


class WirePodSet(Wire):
    """One of spec.podSets."""

    name: str = "main"
    count: Count = 1
    min_count: Count | None = None
    template: Template = msgspec.field(default_factory=Template)
    topology_request: msgspec.Raw = NOTHING


class WorkloadSpec(Wire):
    """A Workload's spec."""

    pod_sets: list[WirePodSet]
    queue_name: str = ""
    priority: int | None = None
    active: bool | None = None


class WireAssignment(Wire):
    """One of status.admission.podSetAssignments."""

    name: str = "main"
    flavors: msgspec.Raw = NOTHING
    resource_usage: msgspec.Raw = NOTHING
    count: Count | None = None
    topology_assignment: Present | None = None


class WireAdmission(Wire):
    """A Workload's status.admission."""

    cluster_queue: str
    pod_set_assignments: list[WireAssignment] | None = None


class ReclaimablePods(Wire):
    """One of status.reclaimablePods."""

    name: str
    count: Count


class CheckState(Wire):
    """One of status.admissionChecks."""

    name: str
    state: str = "Pending"


class RequeueState(Wire):
    """status.requeueState."""

    requeue_at: Time | None = None


class Eviction(Wire):
    """One of status.schedulingStats.evictions."""

    count: Count = 0


class SchedulingStats(Wire):
    """status.schedulingStats."""

    evictions: list[Eviction] | None = None


class WorkloadStatus(Wire):
    """A Workload's status."""

    conditions: list[Condition] | None = None
    admission: WireAdmission | None = None
    reclaimable_pods: list[ReclaimablePods] | None = None
    admission_checks: list[CheckState] | None = None
    requeue_state: RequeueState | None = None
    cluster_name: str | None = None
    scheduling_stats: SchedulingStats | None = None


class WireWorkload(Wire):
    """A Workload."""

    metadata: WorkloadMetadata
    spec: WorkloadSpec
    status: WorkloadStatus | None = None


# --- queues and quota --------------------------------------------------------------------------


class WireQuota(Wire):
    """A flavor's quota for one resource."""

    name: str
    nominal_quota: str | int | float = 0
    borrowing_limit: str | int | float | None = None
    lending_limit: str | int | float | None = None


class FlavorQuotas(Wire):
    """A flavor and its quotas."""

    name: str
    resources: list[WireQuota] | None = None


class WireResourceGroup(Wire):
    """One of spec.resourceGroups."""

    covered_resources: list[str] | None = None
    flavors: list[FlavorQuotas] | None = None


class ClusterQueueSpec(Wire):
    """A ClusterQueue's spec."""

    cohort_name: str = ""
    cohort: str = ""
    queueing_strategy: str = ""
    stop_policy: str | None = None
    resource_groups: list[WireResourceGroup] | None = None


class QueueStatus(Wire):
    """A ClusterQueue's status."""

    conditions: list[Condition] | None = None


class WireClusterQueue(Wire):
    """A ClusterQueue."""

    metadata: Metadata
    spec: ClusterQueueSpec = msgspec.field(default_factory=ClusterQueueSpec)
    status: QueueStatus | None = None


class LocalQueueSpec(Wire):
    """A LocalQueue's spec."""

    cluster_queue: str
    stop_policy: str | None = None


class WireLocalQueue(Wire):
    """A LocalQueue."""

    metadata: Metadata
    spec: LocalQueueSpec


class CohortSpec(Wire):
    """A Cohort's spec."""

    parent_name: str = ""
    parent: str = ""
    resource_groups: list[WireResourceGroup] | None = None


class WireCohort(Wire):
    """A Cohort."""

    metadata: Metadata
    spec: CohortSpec = msgspec.field(default_factory=CohortSpec)


class ResourceFlavorSpec(Wire):
    """A ResourceFlavor's spec."""

    node_labels: Labels | None = None
    node_taints: list[WireTaint] | None = None
    tolerations: list[WireToleration] | None = None
    topology_name: str | None = None


class WireResourceFlavor(Wire):
    """A ResourceFlavor."""

    metadata: Metadata
    spec: ResourceFlavorSpec = msgspec.field(default_factory=ResourceFlavorSpec)


class AdmissionCheckSpec(Wire):
    """An AdmissionCheck's spec."""

    controller_name: str = ""


class WireAdmissionCheck(Wire):
    """An AdmissionCheck."""

    metadata: Metadata
    spec: AdmissionCheckSpec = msgspec.field(default_factory=AdmissionCheckSpec)
