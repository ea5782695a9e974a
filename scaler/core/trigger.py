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
    flavor: str | None = None
    resource: str = "nvidia.com/gpu"
    unit: Unit = Unit.NODES
    scope: Scope = Scope.TOTAL
    pool: str | None = None
    gpus_per_node: int | None = None
    quota_follows_nodes: bool = False
    scale_up_delay: float = 0.0
    """Seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleTrigger:
    """`signal: idle`: one workload's workers; None = not given by the trigger."""

    workload: str | None = None
    component: str | None = None
    idle_after: float | None = None
    busy_from_percent: float | None = None
    grace_after_start: float | None = None
    keep_alive: str | None = None
    wake: str | None = None
    replicas: int | None = None
    dry_run: bool | None = None


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
