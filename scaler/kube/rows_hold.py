"""What is read for WorkerScales: they themselves, and the objects that the actuator changes."""

from scaler.core.model import Kind
from scaler.kube.rows import META, Resource

OWN_GROUP = "kueue-gpu-scaler.dev"
_WHOLE_FIELDS = (
    "metadata.{name,namespace,uid,ownerReferences,generation,resourceVersion,deletionTimestamp}",
    "metadata.annotations[held.kueue-gpu-scaler.dev/*]",
)

WORKER_SCALE_ROW = Resource(
    kind=Kind.WORKER_SCALES,
    group=OWN_GROUP,
    versions=("v1alpha1",),
    object_kind="WorkerScale",
    required=False,
    fields=(
        *META,
        "metadata.{generation,resourceVersion,deletionTimestamp,finalizers}",
        "metadata.labels[kueue-gpu-scaler.dev/ignore]",
        (
            "metadata.annotations[kueue-gpu-scaler.dev/ignore, kueue-gpu-scaler.dev/wake, "
            "kueue-gpu-scaler.dev/hold-now]"
        ),
        "spec.{target,mode,replicas,maxHold}",
        "status",
    ),
)

ACTUATOR_ROWS = (
    Resource(
        kind=Kind.RAY_CLUSTERS,
        group="ray.io",
        versions=("v1", "v1alpha1"),
        object_kind="RayCluster",
        required=False,
        fields=(
            *_WHOLE_FIELDS,
            "spec.workerGroupSpecs[].{groupName,replicas,numOfHosts,suspend}",
            "spec.{suspend,enableInTreeAutoscaling,upgradeStrategy.type}",
            "status.{observedGeneration,desiredWorkerReplicas}",
        ),
    ),
    Resource(
        kind=Kind.JOBS,
        group="batch",
        versions=("v1",),
        object_kind="Job",
        required=False,
        fields=(
            *_WHOLE_FIELDS,
            (
                "metadata.labels[jobset.sigs.k8s.io/jobset-name, "
                "jobset.sigs.k8s.io/replicatedjob-name]"
            ),
            "spec.{parallelism,suspend}",
        ),
    ),
    Resource(
        kind=Kind.JOB_SETS,
        group="jobset.x-k8s.io",
        versions=("v1alpha2",),
        object_kind="JobSet",
        required=False,
        metadata_only=True,
        fields=_WHOLE_FIELDS,
    ),
    Resource(
        kind=Kind.NOTEBOOKS,
        group="kubeflow.org",
        versions=("v1", "v1beta1"),
        object_kind="Notebook",
        required=False,
        metadata_only=True,
        fields=(*_WHOLE_FIELDS, "metadata.annotations[kubeflow-resource-stopped]"),
    ),
)
"""Instead of the rows of `serve`, or beside them."""
