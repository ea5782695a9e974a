"""What can be done for a WorkerScale: one write each, done in the plan's order.

The first that fails ends the plan; the next plan begins with what is there then.
"""

from dataclasses import dataclass
from typing import TypeAlias

from scaler.core.hold.words import Cause, State
from scaler.core.model import Mark, Name, WorkerScale, WorkerScaleStatus, WorkerTarget

FINALIZER = "kueue-gpu-scaler.dev/restore"
SELECTOR = "kueue-gpu-scaler.dev/worker-scale-of=nothing"
"""status.selector: not empty, and matches no pod (KEDA and the HPA want one)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetGroup:
    """Set or take off a RayCluster's workerGroupSpecs[index].suspend, with our mark.

    A JSON patch that tests the cluster's uid, groupName at `index`, and the presence of the mark
    that goes.
    """

    cluster: Name
    uid: str
    """Another cluster of that name was never judged."""
    index: int
    group: str
    suspend: bool
    mark: Mark
    """Added where `suspend` is True; removed where it is False, and suspend set to `mark.was`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetParallelism:
    """Set a child Job's parallelism, with our mark; a merge patch on one resourceVersion."""

    job: Name
    resource_version: str
    parallelism: int
    mark: Mark
    taking: bool
    """True: the mark is added; False: it is removed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DropMark:
    """Take our mark off an object that somebody else put back; nothing else is written."""

    kind: str
    """RayCluster, Job or Notebook; or Workload: then the mark is annotation released-by."""
    object: Name
    mark: Mark


@dataclass(frozen=True, slots=True, kw_only=True)
class SetActive:
    """Set a Workload's spec.active, with our annotation; a JSON patch that tests uid and active."""

    workload: Name
    uid: str
    active: bool
    by: str
    """The WorkerScale: value of annotation kueue-gpu-scaler.dev/released-by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetNotebook:
    """Set or remove a Notebook's annotation kubeflow-resource-stopped, with our mark."""

    notebook: Name
    resource_version: str
    stop: bool
    mark: Mark


@dataclass(frozen=True, slots=True, kw_only=True)
class SetReplicas:
    """Give a new WorkerScale its target's present size as spec.replicas; never 0."""

    replicas: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SetFinalizer:
    """Add our finalizer before anything is taken; take it off when the target is as it was."""

    present: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteStatus:
    """Replace status; a merge patch on the WorkerScale's resourceVersion."""

    status: WorkerScaleStatus


Step: TypeAlias = (
    SetGroup
    | SetParallelism
    | DropMark
    | SetActive
    | SetNotebook
    | SetReplicas
    | SetFinalizer
    | WriteStatus
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a WorkerScale is, what is done for it now, and why."""

    scale: WorkerScale
    target: WorkerTarget
    state: State
    cause: Cause
    message: str
    """The evidence in one sentence."""
    steps: tuple[Step, ...] = ()
    status: WorkerScaleStatus
    """What status becomes with this plan; written by a WriteStatus step where it differs."""
    look_again_in: float | None = None
    """Seconds until a look is due although nothing changes: a maxHold or a patience runs out."""
