"""What is decoded of WorkerScales, and of the objects that own pods or Workloads."""

import msgspec

from scaler.kube.structs import NOTHING, Count, Marks, Metadata, Owned, Time, Wire

# --- WorkerScales ------------------------------------------------------------------------------


class WorkerScaleAnnotations(Marks):
    """The annotations of a WorkerScale that mean something here."""

    hold_now: str | None = msgspec.field(default=None, name="kueue-gpu-scaler.dev/hold-now")


class WorkerScaleMetadata(Metadata):
    """A WorkerScale's metadata."""

    generation: int = 0
    resource_version: str = ""
    finalizers: list[str] | None = None
    labels: Marks | None = None
    annotations: WorkerScaleAnnotations | None = None


class WireWorkerTarget(Wire):
    """spec.target."""

    api_version: str
    kind: str
    name: str
    component: str | None = None


class WorkerScaleSpec(Wire):
    """A WorkerScale's spec."""

    target: WireWorkerTarget
    mode: str | None = None
    replicas: Count | None = None
    max_hold: str | None = None


class WireWorkerScale(Wire):
    """A WorkerScale; its status is read part by part, so that no part spoils another."""

    metadata: WorkerScaleMetadata
    spec: WorkerScaleSpec
    status: msgspec.Raw = NOTHING


class WireHeldPods(Wire):
    """One of status.hold.podSets."""

    name: str
    pods: Count


class WireHold(Wire):
    """status.hold."""

    workload: str
    workload_uid: str
    usage: dict[str, str | int | float]
    pod_sets: list[WireHeldPods]
    since: Time
    reserved_at: Time | None = None
    evictions: int = 0
    target_uid: str = ""
    taken_at: Time | None = None
    gone_at: Time | None = None
    waking_at: Time | None = None
    reason: str = ""
    ordered: Time | None = None


class WireLatch(Wire):
    """status.latch."""

    cause: str
    message: str
    generation: int


class WireScaleCondition(Wire):
    """One of status.conditions."""

    type: str
    status: str
    reason: str
    message: str
    last_transition_time: Time
    observed_generation: int = 0


class WireScaleStatus(Wire):
    """A WorkerScale's status."""

    observed_generation: int = 0
    replicas: int = 0
    selector: str = ""
    size: int | None = None
    state: str = ""
    reason: str = ""
    message: str = ""
    hold: WireHold | None = None
    latch: WireLatch | None = None
    conditions: list[WireScaleCondition] | None = None


# --- owners ------------------------------------------------------------------------------------


class OwnerMetadata(Owned):
    """An owner's metadata; of the annotations only our marks are looked for."""

    generation: int = 0
    resource_version: str = ""
    annotations: msgspec.Raw = NOTHING


class WireOwned(Wire):
    """Any object by its metadata alone."""

    metadata: OwnerMetadata
    kind: str = ""


class WireWorkerGroup(Wire):
    """One of a RayCluster's spec.workerGroupSpecs."""

    group_name: str
    replicas: Count | None = None
    num_of_hosts: Count | None = None
    suspend: bool | None = None


class WireUpgradeStrategy(Wire):
    """spec.upgradeStrategy of a RayCluster."""

    type: str | None = None


class RayClusterSpec(Wire):
    """A RayCluster's spec."""

    worker_group_specs: list[WireWorkerGroup] | None = None
    suspend: bool | None = None
    enable_in_tree_autoscaling: bool | None = None
    upgrade_strategy: WireUpgradeStrategy | None = None


class RayClusterStatus(Wire):
    """A RayCluster's status."""

    observed_generation: int | None = None
    desired_worker_replicas: int | None = None


class WireRayCluster(WireOwned):
    """A RayCluster; without spec where its metadata alone was asked for."""

    spec: RayClusterSpec | None = None
    status: RayClusterStatus | None = None


class JobLabels(Wire):
    """The labels by which a Job names its JobSet."""

    job_set: str | None = msgspec.field(default=None, name="jobset.sigs.k8s.io/jobset-name")
    replicated_job: str | None = msgspec.field(
        default=None, name="jobset.sigs.k8s.io/replicatedjob-name"
    )


class JobMetadata(OwnerMetadata):
    """A Job's metadata."""

    labels: JobLabels | None = None


class JobSpec(Wire):
    """A Job's spec."""

    parallelism: Count | None = None
    suspend: bool | None = None


class WireJob(WireOwned):
    """A Job; without spec where its metadata alone was asked for."""

    metadata: JobMetadata
    spec: JobSpec | None = None
