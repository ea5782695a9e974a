"""WorkerScales: our own scalable handle on the workers of an object that has none."""

from dataclasses import dataclass
from enum import StrEnum

from scaler.core.model.names import Amounts, Instant, Name


class Mode(StrEnum):
    """What becomes of the quota while the workers are away."""

    HOLD = "Hold"
    """The Workload keeps its UID, its admission and its usage."""
    RELEASE = "Release"
    """The Workload stays, its quota goes back to the queue, and a wake queues again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerTarget:
    """spec.target: whose workers, and which of them."""

    api_version: str
    kind: str
    name: str
    component: str | None = None
    """Podset name; given in mode Hold, absent in mode Release."""

    @property
    def group(self) -> str:
        """Give the API group."""
        return self.api_version.rpartition("/")[0]

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldRecord:
    """status.hold: what was true when the workers were taken; written before they are."""

    workload: str
    workload_uid: str
    usage: Amounts
    """What its admission took of the ClusterQueue, reclaimed pods not counted."""
    pod_sets: tuple[tuple[str, int], ...]
    """(podset, pods) that are away, sorted."""
    since: Instant
    reserved_at: Instant | None = None
    evictions: int = 0
    """Of status.schedulingStats: one more means that it lost its quota in between."""
    target_uid: str = ""
    """UID of the object that was changed, a RayJob's child for instance; empty for several."""
    taken_at: Instant | None = None
    """When our marks were first seen on the target; None before, and again once they are gone.

    So a mark that is missing is told from one that was never written.
    """
    gone_at: Instant | None = None
    """Since when no worker pod was left; None while some still end."""
    waking_at: Instant | None = None
    """Since when the workers are wanted back: WakePending, which is demand."""
    reason: str = ""
    """Why they were taken, in words: the evidence of the decision."""
    ordered: Instant | None = None
    """The hold-now annotation that they were taken by; None where they were idle."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Latch:
    """status.latch: why this generation of the WorkerScale is not tried again."""

    cause: str
    message: str
    generation: int
    """It counts for as long as metadata.generation is this one; -1 = until activity is seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleCondition:
    """One of status.conditions."""

    type: str
    status: str
    reason: str
    message: str
    changed: Instant
    """lastTransitionTime."""
    observed_generation: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerScaleStatus:
    """The whole status; the actuator alone writes it."""

    observed_generation: int = 0
    replicas: int = 0
    """Worker pods that live now."""
    selector: str = ""
    size: int | None = None
    """The full size as last read; None = not read yet, and no zero is obeyed."""
    state: str = ""
    reason: str = ""
    message: str = ""
    hold: HoldRecord | None = None
    latch: Latch | None = None
    conditions: tuple[ScaleCondition, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerScale:
    """A WorkerScale; any number of replicas above zero means the full size."""

    namespace: str
    name: str
    uid: str
    created: Instant
    generation: int
    resource_version: str
    target: WorkerTarget
    mode: Mode
    replicas: int
    max_hold: float | None = None
    """Seconds; None = no limit."""
    status: WorkerScaleStatus = WorkerScaleStatus()
    hold_now: Instant | None = None
    """Annotation kueue-gpu-scaler.dev/hold-now: a person takes the workers, idle or not."""
    wake_at: Instant | None = None
    opted_out: bool = False
    deleting: bool = False
    finalized: bool = False
    """Our finalizer is there: a deletion waits until the target is as it was."""
    finalizers: tuple[str, ...] = ()
    """All of metadata.finalizers, ours too: a list is written whole."""

    @property
    def key(self) -> Name:
        """Give namespace and name."""
        return (self.namespace, self.name)
