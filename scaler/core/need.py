"""What a Workload still needs: the records between demand and packing."""

from dataclasses import dataclass

from scaler.core.model import Instant, PodShape, TopologyRequest, Workload
from scaler.core.reasons import WorkloadClass


@dataclass(frozen=True, slots=True, kw_only=True)
class PodNeed:
    """Pods of one podset that have no place yet."""

    pod_set: str
    shape: PodShape
    count: int
    topology: TopologyRequest | None
    flavors: tuple[str, ...]
    """The assigned one, else the candidates in order, those with quota first; empty = any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """A Workload that counts, and the pods that it needs."""

    workload: Workload
    workload_class: WorkloadClass
    cluster_queue: str
    pods: tuple[PodNeed, ...]
    since: Instant
    """When it began to wait: scaleUpDelay counts from here."""
