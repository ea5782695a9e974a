"""What waiting or unplaced Workloads ask of nodes: what packing places, and what units count."""

from dataclasses import dataclass

from scaler.core.decision import ClassCount
from scaler.core.model import Instant, PodShape, TopologyRequest, Workload
from scaler.core.reasons import WorkloadClass


@dataclass(frozen=True, slots=True, kw_only=True)
class PodNeed:
    """Pods of one podset that need a place."""

    pod_set: str
    shape: PodShape
    count: int
    """Above 0."""
    topology: TopologyRequest | None
    flavors: tuple[str, ...]
    """The assigned flavor, else the candidates in order, one with quota first; () = any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """One Workload whose pods need a place."""

    workload: Workload
    workload_class: WorkloadClass
    """UNPLACED, TOPOLOGY, QUOTA or NOT_EVALUATED."""
    cluster_queue: str
    pods: tuple[PodNeed, ...]
    """Never empty; shared between equal Needs."""
    since: Instant
    """Start of the wait, from which scaleUpDelay counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """What the Workloads of some ClusterQueues need and hold."""

    needs: tuple[Need, ...]
    """By ClusterQueue in the given order: first class A, then in Kueue's order within a class."""
    classes: tuple[ClassCount, ...]
    """Every unfinished Workload of the ClusterQueues, in exactly one class."""
    counted: tuple[ClassCount, ...]
    """The needs, summed up."""
    missing_cluster_queues: tuple[str, ...]
    not_routable: int
    """Waiting Workloads whose LocalQueue is missing (anywhere), or stopped or deleting."""
    not_counted_dra: int
    """Pods left out of the needs because they ask for devices by DRA claims only."""
    admitted_gpus: int
    """Devices of admitted Workloads."""
    admitted_workloads: int
    """Admitted Workloads that are not on their way out; known without pods."""
