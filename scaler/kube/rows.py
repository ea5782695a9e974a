"""What `serve` reads of the API server: a row a kind."""

from dataclasses import dataclass

from scaler.core.model import Kind

KUEUE = "kueue.x-k8s.io"
META = ("metadata.name", "metadata.namespace", "metadata.uid", "metadata.creationTimestamp")


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """One kind as the API server serves it, and what of it is read."""

    kind: Kind
    group: str
    """API group; empty for the core group."""
    versions: tuple[str, ...]
    """In order of preference: the first that is served is read."""
    object_kind: str
    """The `kind` of one object."""
    fields: tuple[str, ...]
    """The fields that are decoded; all else is skipped unread."""
    required: bool
    """Part of every cluster that this can work in; others may be missing without harm."""
    namespaced: bool = True
    metadata_only: bool = False
    """Asked for as PartialObjectMetadata: the rest never crosses the wire."""
    verbs: tuple[str, ...] = ("list", "watch")

    @property
    def plural(self) -> str:
        """Give the name in API paths."""
        return self.kind.value

    @property
    def full_name(self) -> str:
        """Give plural and group, as `kubectl get` takes them."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


_VERSIONS = ("v1beta2", "v1beta1")
_POD_TEMPLATE = (
    "containers[].resources",
    "initContainers[].{resources,restartPolicy}",
    "{overhead,resources,resourceClaims,nodeSelector,tolerations}",
    "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution",
)
_TARGET_FIELDS = (
    *META,
    "metadata.labels[kueue.x-k8s.io/queue-name, kueue-gpu-scaler.dev/ignore]",
    "metadata.annotations[kueue-gpu-scaler.dev/ignore]",
    "spec.{replicas,selector}",
    *(f"spec.template.spec.{part}" for part in _POD_TEMPLATE),
)
_OWNED_FIELDS = ("metadata.{name,namespace,uid,ownerReferences}",)

SERVE_ROWS = (
    Resource(
        kind=Kind.WORKLOADS,
        group=KUEUE,
        versions=_VERSIONS,
        object_kind="Workload",
        required=True,
        fields=(
            *META,
            "metadata.{deletionTimestamp,ownerReferences}",
            (
                "metadata.labels[kueue.x-k8s.io/concurrent-admission-parent, "
                "kueue-gpu-scaler.dev/ignore]"
            ),
            (
                "metadata.annotations[kueue.x-k8s.io/workload-slice-replacement-for, "
                "kueue.x-k8s.io/workload-allowed-resource-flavors, kueue-gpu-scaler.dev/ignore, "
                "kueue-gpu-scaler.dev/wake, kueue-gpu-scaler.dev/released-by]"
            ),
            "spec.{queueName,priority,active}",
            "spec.podSets[].{name,count,minCount,topologyRequest}",
            *(f"spec.podSets[].template.spec.{part}" for part in _POD_TEMPLATE),
            "status.conditions[].{type,status,reason,message,lastTransitionTime}",
            "status.admission.clusterQueue",
            (
                "status.admission.podSetAssignments[].{name,count,flavors,resourceUsage,"
                "topologyAssignment (presence)}"
            ),
            "status.{reclaimablePods,requeueState.requeueAt,clusterName}",
            "status.admissionChecks[].{name,state}",
            "status.schedulingStats.evictions[].count",
        ),
    ),
    Resource(
        kind=Kind.CLUSTER_QUEUES,
        group=KUEUE,
        versions=_VERSIONS,
        object_kind="ClusterQueue",
        required=True,
        namespaced=False,
        fields=(
            "metadata.{name,deletionTimestamp}",
            "spec.{cohortName,cohort,queueingStrategy,stopPolicy,resourceGroups}",
            "status.conditions[].{type,status,reason}",
        ),
    ),
    Resource(
        kind=Kind.LOCAL_QUEUES,
        group=KUEUE,
        versions=_VERSIONS,
        object_kind="LocalQueue",
        required=True,
        fields=(
            "metadata.{name,namespace,deletionTimestamp}",
            "spec.{clusterQueue,stopPolicy}",
        ),
    ),
    Resource(
        kind=Kind.COHORTS,
        group=KUEUE,
        versions=(*_VERSIONS, "v1alpha1"),
        object_kind="Cohort",
        required=False,
        namespaced=False,
        fields=("metadata.name", "spec.{parentName,parent,resourceGroups}"),
    ),
    Resource(
        kind=Kind.RESOURCE_FLAVORS,
        group=KUEUE,
        versions=_VERSIONS,
        object_kind="ResourceFlavor",
        required=True,
        namespaced=False,
        fields=("metadata.name", "spec.{nodeLabels,nodeTaints,tolerations,topologyName}"),
    ),
    Resource(
        kind=Kind.ADMISSION_CHECKS,
        group=KUEUE,
        versions=_VERSIONS,
        object_kind="AdmissionCheck",
        required=False,
        namespaced=False,
        fields=("metadata.name", "spec.controllerName"),
    ),
    Resource(
        kind=Kind.NODES,
        group="",
        versions=("v1",),
        object_kind="Node",
        required=True,
        namespaced=False,
        fields=(
            "metadata.{name,creationTimestamp,deletionTimestamp,labels}",
            "metadata.annotations[machine.openshift.io/machine, cluster.x-k8s.io/machine]",
            "spec.{unschedulable,taints}",
            "status.{allocatable,conditions[Ready]}",
        ),
    ),
    Resource(
        kind=Kind.PODS,
        group="",
        versions=("v1",),
        object_kind="Pod",
        required=True,
        fields=(
            *META,
            "metadata.{deletionTimestamp,labels,ownerReferences}",
            (
                "metadata.annotations[kueue.x-k8s.io/workload, kueue.x-k8s.io/pod-group-name, "
                "kueue-gpu-scaler.dev/ignore]"
            ),
            "spec.{nodeName,priority}",
            *(f"spec.{part}" for part in _POD_TEMPLATE),
            "status.{phase,conditions[Ready, PodScheduled]}",
        ),
    ),
    Resource(
        kind=Kind.DEPLOYMENTS,
        group="apps",
        versions=("v1",),
        object_kind="Deployment",
        required=True,
        fields=_TARGET_FIELDS,
    ),
    Resource(
        kind=Kind.STATEFUL_SETS,
        group="apps",
        versions=("v1",),
        object_kind="StatefulSet",
        required=True,
        fields=_TARGET_FIELDS,
    ),
    Resource(
        kind=Kind.SCALED_OBJECTS,
        group="keda.sh",
        versions=("v1alpha1",),
        object_kind="ScaledObject",
        required=True,
        fields=(
            *META,
            "metadata.deletionTimestamp",
            (
                "metadata.annotations[autoscaling.keda.sh/paused, "
                "autoscaling.keda.sh/paused-replicas, kueue-gpu-scaler.dev/ignore, "
                "kueue-gpu-scaler.dev/wake]"
            ),
            "metadata.labels[kueue-gpu-scaler.dev/ignore]",
            "spec.{scaleTargetRef,minReplicaCount,maxReplicaCount,idleReplicaCount}",
            "spec.triggers[].{type,metadata}",
            "status.hpaName",
        ),
    ),
    Resource(
        kind=Kind.HPAS,
        group="autoscaling",
        versions=("v2",),
        object_kind="HorizontalPodAutoscaler",
        required=True,
        fields=(
            "metadata.{name,namespace,ownerReferences}",
            "metadata.labels[scaledobject.keda.sh/name, app.kubernetes.io/managed-by]",
            "spec.behavior.scaleUp.tolerance",
            "status.{currentReplicas,desiredReplicas,lastScaleTime}",
            "status.conditions[ScalingActive, AbleToScale]",
        ),
    ),
    Resource(
        kind=Kind.RAY_CLUSTERS,
        group="ray.io",
        versions=("v1", "v1alpha1"),
        object_kind="RayCluster",
        required=False,
        metadata_only=True,
        fields=_OWNED_FIELDS,
    ),
    Resource(
        kind=Kind.JOBS,
        group="batch",
        versions=("v1",),
        object_kind="Job",
        required=False,
        metadata_only=True,
        fields=_OWNED_FIELDS,
    ),
)
