"""Kueue Workloads and their admissions."""

from dataclasses import dataclass

from scaler.core.model.names import Amounts, Instant, Name
from scaler.core.model.pods import OwnerRef
from scaler.core.model.shapes import PodSet
from scaler.core.reasons import WorkloadClass


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """A podset's part of status.admission."""

    pod_set: str
    count: int
    flavors: tuple[tuple[str, str], ...]
    """(resource, flavor), sorted."""
    usage: Amounts
    """resourceUsage as Kueue wrote it: totals of the podset, reclaimed pods not yet subtracted."""
    topology_assigned: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """A Workload's status.admission."""

    cluster_queue: str
    assignments: tuple[Assignment, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """A Kueue Workload: classed once, from its own status, when it is decoded.

    What its queues, its pods and the clock add to that is the business of `demand`.
    """

    namespace: str
    name: str
    uid: str
    queue_name: str
    standing: WorkloadClass
    """The class by its own spec and status alone; an admitted one stands as RUNNING, or as
    NOT_DEMAND on its way out (evicted, deactivated, waiting for replacement pods)."""
    pod_sets: tuple[PodSet, ...]
    """Shared between equal Workloads, so that a comparison is one of identity."""
    created: Instant
    priority: int = 0
    queued_at: Instant = 0.0
    """Queue order: the eviction's transition (or a later requeue), else creation."""
    waiting_since: Instant = 0.0
    """lastTransitionTime of the QuotaReserved=False condition, else creation."""
    message: str = ""
    """Message of the QuotaReserved condition where it is not True."""
    active: bool = True
    deleting: bool = False
    reserved: bool = False
    """QuotaReserved is True."""
    reserved_at: Instant | None = None
    """Since when it is."""
    admitted: bool = False
    admitted_at: Instant | None = None
    evicted: bool = False
    requeue_at: Instant | None = None
    admission: Admission | None = None
    reclaimable: tuple[tuple[str, int], ...] = ()
    """(podset, pods) whose quota is already given back."""
    owners: tuple[OwnerRef, ...] = ()
    checks: tuple[tuple[str, str], ...] = ()
    """(AdmissionCheck, state)."""
    cluster_name: str | None = None
    """MultiKueue's remote cluster: needs no nodes here."""
    replaces: Name | None = None
    """Elastic slices: the Workload that this one replaces; only the difference is demand."""
    variant_parent: bool = False
    """Concurrent admission: the parent whose variants are Workloads that it owns."""
    allowed_flavors: tuple[str, ...] | None = None
    """Annotation workload-allowed-resource-flavors; None = any."""
    evictions: int = 0
    """Sum of status.schedulingStats.evictions."""
    pods_ready: str | None = None
    """Status of the PodsReady condition and, where it is not True, its reason: `True`,
    `False/WaitForRecovery`; None without the condition (waitForPodsReady is off)."""
    released_by: str | None = None
    """Annotation kueue-gpu-scaler.dev/released-by: the WorkerScale that set active to false."""
    opted_out: bool = False
    wake_at: Instant | None = None
    """Annotation kueue-gpu-scaler.dev/wake: a time; in the past or 'now' = wake."""

    @property
    def key(self) -> Name:
        """Give namespace and name."""
        return (self.namespace, self.name)
