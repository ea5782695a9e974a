"""All that is known at one moment, immutable, cut into the partitions that decisions read."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import TypeAlias

from scaler.core.memo import Memo
from scaler.core.model import (
    AdmissionCheck,
    Amounts,
    ClusterQueue,
    Cohort,
    Controlled,
    Hpa,
    Instant,
    Kind,
    LocalQueue,
    Name,
    Node,
    Pod,
    PodSet,
    ResourceFlavor,
    ScaledObject,
    SourceState,
    Target,
    WorkerScale,
    Workload,
)
from scaler.core.reasons import WorkloadClass
from scaler.core.usage import IdleStart, QueryAnswer, QueryKey, Usage, UsageKey


class Part(StrEnum):
    """Name the sorts of partition."""

    SOURCE = "source"
    """One kind's SourceState (name: the kind), but for its last_alive."""
    QUEUE = "queue"
    """One ClusterQueue and the Workloads in it (name: the ClusterQueue)."""
    QUOTA = "quota"
    """ClusterQueues, Cohorts, LocalQueues, ResourceFlavors and AdmissionChecks (name: empty)."""
    NODES = "nodes"
    """All nodes and what is requested on them (name: empty)."""
    PODS = "pods"
    """The whole pods of a namespace (name: the namespace)."""
    TARGETS = "targets"
    """ScaledObjects, targets, WorkerScales and HPAs of a namespace (name: the namespace)."""
    HOLDS = "holds"
    """Which podsets WorkerScales hold, and which of those are wanted back (name: empty)."""
    USAGE = "usage"
    """All usage and query answers (name: empty)."""
    POLICY = "policy"
    """The policy in force (name: empty)."""
    OWNERS = "owners"
    """Who controls RayClusters, Jobs, JobSets and Notebooks; not their parts and marks, which
    change with every status (name: empty)."""


Partition: TypeAlias = tuple[Part, str]
"""What a Decision read and a change touches: (sort, name)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupKey:
    """What the Workloads of one group have in common."""

    standing: WorkloadClass
    pod_sets: tuple[PodSet, ...]
    plain: bool = False
    """No member needs a look of its own (`is_plain`); False where nobody made sure."""

    def __hash__(self) -> int:
        """Hash a part only: a first sync asks 100,000 times, and equal keys agree on the part."""
        first = self.pod_sets[0] if self.pod_sets else None
        shallow = (first.name, first.count, first.shape.requests) if first else ()
        return hash((self.standing, len(self.pod_sets), shallow))


def is_plain(workload: Workload) -> bool:
    """Say whether standing and podsets alone tell what a Workload needs.

    Not so where the clock, another Workload or an annotation has a say. A group of plain ones can
    be counted without looking at its members.
    """
    for owner in workload.owners:
        if owner.kind == "Workload":
            return False
    return not (
        workload.requeue_at is not None
        or workload.deleting
        or workload.replaces is not None
        or workload.variant_parent
        or workload.allowed_flavors is not None
        or workload.reclaimable
        or workload.cluster_name is not None
        or (
            (workload.reserved or workload.admitted or workload.admission is not None)
            and workload.standing not in _WITH_QUOTA
        )
    )


_WITH_QUOTA = (WorkloadClass.RUNNING, WorkloadClass.CHECKS)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuePartition:
    """The Workloads of one ClusterQueue, grouped by standing and shape.

    A Workload is in the ClusterQueue of its admission, else in that of its LocalQueue.
    Finished ones are left out.
    """

    groups: Mapping[GroupKey, tuple[Workload, ...]] = field(default_factory=dict)
    """Each tuple is in Kueue's order: priority descending, then queued_at, then uid."""


EMPTY_QUEUE = QueuePartition()


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """All sources joined; mappings are never written after publication."""

    at: Instant
    sources: Mapping[Kind, SourceState] = field(default_factory=dict)
    queues: Mapping[str, QueuePartition] = field(default_factory=dict)
    unroutable: Mapping[GroupKey, tuple[Workload, ...]] = field(default_factory=dict)
    """Workloads without admission whose LocalQueue does not exist: class G, in no ClusterQueue."""
    workloads_by_owner: Mapping[str, tuple[Workload, ...]] = field(default_factory=dict)
    """Workloads by the uid of each of their owners."""
    workloads_by_owner_name: Mapping[Name, tuple[Workload, ...]] = field(default_factory=dict)
    """The same by namespace and name of each, whatever their kinds and uids."""
    bystanders: frozenset[Name] = frozenset()
    """Live pods without devices that usage names, as an exporter's own: no user of a device."""
    workload_index: Mapping[Name, Workload] = field(default_factory=dict)
    """Workloads by namespace and name, Finished ones left out."""
    cluster_queues: Mapping[str, ClusterQueue] = field(default_factory=dict)
    local_queues: Mapping[Name, LocalQueue] = field(default_factory=dict)
    cohorts: Mapping[str, Cohort] = field(default_factory=dict)
    flavors: Mapping[str, ResourceFlavor] = field(default_factory=dict)
    checks: Mapping[str, AdmissionCheck] = field(default_factory=dict)
    owners: Mapping[str, Controlled] = field(default_factory=dict)
    """RayClusters, Jobs, JobSets and Notebooks by uid."""
    nodes: Mapping[str, Node] = field(default_factory=dict)
    node_requests: Mapping[str, Amounts] = field(default_factory=dict)
    """Requests of a node's unfinished pods that are no placeholders; `pods` = their number."""
    pods: Mapping[str, Mapping[str, Pod]] = field(default_factory=dict)
    """Whole pods: namespace -> name -> Pod."""
    pods_by_workload: Mapping[Name, tuple[Pod, ...]] = field(default_factory=dict)
    """Whole pods by the Workload that they name, or whose owner controls them."""
    gpu_pods_by_node: Mapping[str, tuple[Pod, ...]] = field(default_factory=dict)
    targets: Mapping[tuple[str, str, str], Target] = field(default_factory=dict)
    """Deployments and StatefulSets by (kind, namespace, name)."""
    scaled_objects: Mapping[Name, ScaledObject] = field(default_factory=dict)
    hpas: Mapping[Name, Hpa] = field(default_factory=dict)
    worker_scales: Mapping[Name, WorkerScale] = field(default_factory=dict)
    usage: Mapping[UsageKey, Usage] = field(default_factory=dict)
    answers: Mapping[QueryKey, QueryAnswer] = field(default_factory=dict)
    idle_starts: tuple[IdleStart, ...] | None = None
    """When each idle trigger's workload fell quiet, by `idle_starts` once for this usage;
    None = each decision that needs them works them out."""
    skipped: Mapping[Kind, int] = field(default_factory=lambda: MappingProxyType({}))
    """Objects that could not be decoded, by kind: they count for nothing, and are seen."""
    bundle: bool = False
    """Out of a folder: without a ScaledObject the size is what is present (DESIGN section 3)."""
    memo: Memo = field(default_factory=Memo, compare=False, repr=False)
    """What was derived from the parts; the next Snapshot may take it over."""
