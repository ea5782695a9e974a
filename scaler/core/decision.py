"""The record that every way of asking shows: value, reason, evidence, and what it read."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from scaler.core.model import Instant, Name
from scaler.core.reasons import Reason
from scaler.core.snapshot import Partition


class Status(StrEnum):
    """Whether a decision came out."""

    OK = "OK"
    HOLD = "HOLD"
    INVALID = "INVALID_ARGUMENT"


class Verdict(StrEnum):
    """What the readings say of a component."""

    BUSY = "BUSY"
    IDLE = "IDLE"
    UNKNOWN = "UNKNOWN"


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectiveValue:
    """A setting in force and the rule that gave it."""

    key: str
    value: str
    rule: str
    """`trigger`, `namespaces.NAME`, `clusterQueues.NAME`, `kinds.KIND`, `defaults`, `built-in`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassCount:
    """Workloads and requested devices of one class in one ClusterQueue."""

    cluster_queue: str
    workload_class: str
    workloads: int
    gpus: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolEvidence:
    """How a pool's number of nodes came about."""

    pool: str
    present: int
    """Nodes that match the pool's selector."""
    usable: int
    coming: int
    broken: int
    new: int
    """Nodes to be opened beyond those."""
    empty: int
    """Usable or coming nodes that hold no work after packing."""
    spare: int
    max_nodes: int
    size: int | None
    """S, the target's size now."""
    capped: bool = False
    pods_placed: int = 0
    """Needed pods that found room on usable or coming nodes."""
    pods_fit_no_node: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueEvidence:
    """What a queue signal saw."""

    classes: tuple[ClassCount, ...]
    counted: tuple[ClassCount, ...] = ()
    """The part of the classes that made demand: A, B, and D and J as far as quota is free."""
    pool: PoolEvidence | None = None
    missing_cluster_queues: tuple[str, ...] = ()
    not_routable: int = 0
    """Workloads whose LocalQueue is missing, stopped or deleting."""
    not_counted_dra: int = 0
    """Pods that ask for devices by DRA claims only."""
    skipped_objects: int = 0
    """Objects that could not be decoded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceEvidence:
    """One device of a component, as it was judged."""

    device: str
    pods: tuple[str, ...]
    peak_percent: float | None
    signal: str | None
    """The signal of the peak."""
    samples: int
    """Of the best covered signal."""
    sample_age_seconds: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleEvidence:
    """What an idle signal saw."""

    workload: str
    component: str
    verdict: Verdict
    pods: tuple[str, ...] = ()
    gpus_requested: int = 0
    devices: tuple[DeviceEvidence, ...] = ()
    """The busiest first, at most 16."""
    physical_gpus: int = 0
    idle_seconds: float | None = None
    """Since the newest busy sample, as far back as it was looked for; None = not known."""
    idle_after_seconds: float = 0.0
    keep_alive: str | None = None
    wake: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What is answered for one trigger, and why."""

    namespace: str
    name: str
    """The ScaledObject's."""
    metric: str
    """The metric's name; empty where the metadata is malformed."""
    status: Status
    active: bool | None
    """None unless status is OK."""
    value: int | None
    """None unless status is OK; never negative."""
    reason: Reason
    detail: str
    """One sentence for a person."""
    at: Instant
    size: int | None = None
    """S, the target's size now; None = not known."""
    running: bool = False
    """S > 0, or S unknown while pods live or the ScaledObject's minimum keeps one.

    HOLD answers by it; a plain decision has it too, since it becomes HOLD when it is outdated.
    """
    queue: QueueEvidence | None = None
    idle: IdleEvidence | None = None
    effective: tuple[EffectiveValue, ...] = ()
    read: frozenset[Partition] = field(default_factory=frozenset)
    problems: tuple[str, ...] = ()
    """INVALID only: every bad key with its value and what is allowed."""

    @property
    def key(self) -> Name:
        """Give the ScaledObject's namespace and name."""
        return (self.namespace, self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """KEDA gets an activity and a number."""

    active: bool
    value: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ActiveWithoutValue:
    """KEDA gets IsActive true and no value: the HPA keeps its size, the cooldown starts anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unavailable:
    """KEDA gets the status UNAVAILABLE: at zero this wakes nothing and claims nothing."""

    message: str


Answer: TypeAlias = Value | ActiveWithoutValue | Unavailable


def answer(decision: Decision) -> Answer:
    """Give what KEDA gets from GetMetrics and IsActive for a Decision.

    An error is no safe hold while anything runs (a failing HPA read can make a poll under way
    count as inactive), and `true` at zero would wake the target: so HOLD has two faces.
    """
    if decision.status is Status.OK and decision.active is not None and decision.value is not None:
        return Value(active=decision.active, value=decision.value)
    if decision.running:
        return ActiveWithoutValue()
    return Unavailable(message=f"{decision.reason}: {decision.detail}")
