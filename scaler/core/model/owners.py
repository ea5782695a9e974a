"""Objects that own pods or Workloads: who controls them, and what holding needs of them."""

from dataclasses import dataclass
from typing import TypeAlias

from scaler.core.model.names import Name


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """Our annotation `held.kueue-gpu-scaler.dev/COMPONENT`: who took workers, and what was there.

    It is written in one patch with the change itself, so that neither is ever there alone.
    """

    component: str
    by: str
    """Name of the WorkerScale."""
    uid: str
    """Its UID."""
    was: str
    """The original value: of suspend `false`, of parallelism a number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerGroup:
    """One of a RayCluster's workerGroupSpecs."""

    name: str
    """groupName; the podset's name is the same in lower case."""
    pods: int
    """replicas x numOfHosts."""
    suspended: bool | None = None
    """None where the field is absent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RayClusterPart:
    """What holding needs of a RayCluster."""

    groups: tuple[WorkerGroup, ...]
    """In their order: patches are addressed by index."""
    suspended: bool = False
    """spec.suspend: Kueue's own switch."""
    autoscaling: bool = False
    """spec.enableInTreeAutoscaling."""
    recreates: bool = False
    """spec.upgradeStrategy.type is Recreate: a changed group costs the head."""
    observed_generation: int = 0
    desired_workers: int = 0
    """status.desiredWorkerReplicas; absent is 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPart:
    """What holding needs of a Job: it is the child of a JobSet."""

    parallelism: int
    suspended: bool = False
    job_set: str | None = None
    """Label jobset.sigs.k8s.io/jobset-name."""
    replicated_job: str | None = None
    """Label jobset.sigs.k8s.io/replicatedjob-name; the podset's name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotebookPart:
    """What releasing needs of a Notebook."""

    stopped: str | None = None
    """Annotation kubeflow-resource-stopped."""


OwnerPart: TypeAlias = RayClusterPart | JobPart | NotebookPart


@dataclass(frozen=True, slots=True, kw_only=True)
class Controlled:
    """A RayCluster's, Job's, JobSet's or Notebook's metadata: whether another object controls it.

    `serve` reads the metadata alone; the actuator reads the parts too, and the uncontrolled ones.
    """

    uid: str
    kind: str
    namespace: str
    name: str
    controller_uid: str | None
    generation: int = 0
    resource_version: str = ""
    deleting: bool = False
    marks: tuple[Mark, ...] = ()
    part: OwnerPart | None = None

    @property
    def key(self) -> Name:
        """Give namespace and name."""
        return (self.namespace, self.name)
