"""Trigger metadata, parsed once into types that can't be wrong."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from scaler.core.model import Name


class Unit(StrEnum):
    """What a queue signal counts."""

    NODES = "nodes"
    GPUS = "gpus"
    WORKLOADS = "workloads"


class Scope(StrEnum):
    """Whether a queue signal's value holds what is there."""

    TOTAL = "total"
    PENDING = "pending"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueTrigger:
    """`signal: queue`: the demand of one or more ClusterQueues."""

    cluster_queues: tuple[str, ...]
    """Whose demand counts. Of several, those that exist count; with none it is a hold."""
    flavor: str | None = None
    """Count only what goes to this ResourceFlavor; without it, all."""
    resource: str = "nvidia.com/gpu"
    """The extended resource that is counted. MIG slices are resources of their own."""
    unit: Unit = Unit.NODES
    """What the value counts."""
    scope: Scope = Scope.TOTAL
    """With what is there (total), to size a node pool; or what is needed beyond it (pending)."""
    pool: str | None = None
    """A pool of the policy: which nodes, their shape, the most of them."""
    gpus_per_node: int | None = None
    """A node's shape where there is no pool: unit nodes needs one of the two."""
    quota_follows_nodes: bool = False
    """Count work that waits for quota too."""
    scale_up_delay: float = 0.0
    """Work that waits for less does not count yet, counted from the Workload's condition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleTrigger:
    """`signal: idle`: one workload's workers; None = not given by the trigger."""

    workload: str | None = None
    """Whose workers; without it, those of the ScaledObject's scaleTargetRef."""
    component: str | None = None
    """Judge this podset alone; without it, every podset with GPUs."""
    idle_after: float | None = None
    """How long every GPU must be seen idle; moved into the policy's safety bounds."""
    busy_from_percent: float | None = None
    """A GPU at or above this is busy."""
    grace_after_start: float | None = None
    """Time to load after Ready, before idleAfter begins."""
    keep_alive: str | None = None
    """A query: a value above 0 is work that GPUs do not show."""
    wake: str | None = None
    """A query: a value above 0 ends the rest at zero, and keeps what runs."""
    replicas: int | None = None
    """Size to wake to; without it, a WorkerScale's podset, else 1."""
    dry_run: bool | None = None
    """Say what would go, and keep it. True at any level wins."""


Trigger: TypeAlias = QueueTrigger | IdleTrigger


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing wrong with bad input: where, what it was (empty: nothing), what is allowed."""

    path: str
    value: str
    """As it was given; a member of a StrEnum is shown as the text that it is."""
    allowed: str

    def __str__(self) -> str:
        if not self.value:
            return f"{self.path}: {self.allowed}"
        return f"{self.path}: {str(self.value)!r} is not allowed; {self.allowed}"


@dataclass(frozen=True, slots=True, kw_only=True)
class InvalidTrigger:
    """Metadata that is malformed: all problems at once."""

    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerRef:
    """A trigger as KEDA names it, ScaledObject and metadata: the key of the cached Decision."""

    namespace: str
    name: str
    metadata: frozenset[tuple[str, str]]

    @classmethod
    def of(cls, *, namespace: str, name: str, metadata: Mapping[str, str]) -> "TriggerRef":
        """Build one from a ScaledObjectRef's fields."""
        return cls(namespace=namespace, name=name, metadata=frozenset(metadata.items()))

    @property
    def key(self) -> Name:
        """Give namespace and name of the ScaledObject."""
        return (self.namespace, self.name)
