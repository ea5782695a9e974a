"""A ClusterQueue's Workloads, lined up: batches that ask alike, and those that hold quota."""

from collections.abc import Mapping
from dataclasses import dataclass

from scaler.core.model import Instant, Name, PodSet, Workload
from scaler.core.reasons import WorkloadClass
from scaler.core.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Waiting Workloads of one class that ask for the same, in Kueue's order."""

    workload_class: WorkloadClass
    pod_sets: tuple[PodSet, ...]
    members: tuple[Workload, ...]
    allowed_flavors: tuple[str, ...] | None = None
    reclaimable: tuple[tuple[str, int], ...] = ()
    replaces: Name | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineup:
    """The Workloads of one ClusterQueue, each in exactly one place."""

    waiting: tuple[Batch, ...]
    holding: tuple[Workload, ...]
    """Those with quota, admitted or not."""
    duplicates: frozenset[str]
    """Uids of those that count with another Workload, holding ones too."""
    remote: frozenset[str]
    """AdmissionChecks of MultiKueue."""
    not_routable: int
    """Waiting ones whose LocalQueue is stopped or deleting."""
    since: Instant
    until: Instant
    """It holds from `since` to before `until`: back-offs end then."""


def is_remote(workload: Workload, remote: frozenset[str]) -> bool:
    """Say whether MultiKueue runs it elsewhere; `remote` are the names of such checks."""
    return workload.cluster_name is not None or (
        bool(remote) and any(name in remote for name, _ in workload.checks)
    )


def replaced_counts(snapshot: Snapshot, replaces: Name | None) -> Mapping[str, int]:
    """Give pods by podset of the Workload that an elastic slice replaces, while that is there."""
    old = snapshot.workload_index.get(replaces) if replaces is not None else None
    if old is None or old.deleting:
        return {}
    if old.admission is not None:
        return {one.pod_set: one.count for one in old.admission.assignments}
    return {one.name: one.count for one in old.pod_sets}


def asked_counts(snapshot: Snapshot, batch: Batch) -> tuple[int, ...]:
    """Give the pods that each podset of a batch's members needs: new ones, not yet reclaimed."""
    given_back = dict(batch.reclaimable)
    old = replaced_counts(snapshot, batch.replaces)
    return tuple(
        max(0, one.count - given_back.get(one.name, 0) - old.get(one.name, 0))
        for one in batch.pod_sets
    )
