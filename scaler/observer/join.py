"""Join the records of all kinds into Snapshots."""

from collections.abc import Iterable
from dataclasses import replace
from typing import cast

from scaler.core.memo import Memo
from scaler.core.model import (
    AdmissionCheck,
    ClusterQueue,
    Cohort,
    Controlled,
    Hpa,
    Instant,
    Kind,
    LocalQueue,
    Name,
    Node,
    PlacedPod,
    Pod,
    ResourceFlavor,
    ScaledObject,
    SourceState,
    Target,
    WorkerScale,
    Workload,
)
from scaler.core.snapshot import Part, Partition, Snapshot
from scaler.kube.forms import Key, Record
from scaler.observer.changes import (
    Change,
    Changed,
    Deleted,
    Listed,
    SourceChanged,
    UsageRead,
)
from scaler.observer.holds import HoldWatch
from scaler.observer.pods import PodIndex
from scaler.observer.table import Table
from scaler.observer.workloads import WorkloadIndex


def key_of(record: Record) -> Key | tuple[str, str, str]:
    """Give the key under which a Snapshot holds a record."""
    match record:
        case Target():
            return (record.kind, record.namespace, record.name)
        case Controlled():
            return record.uid
        case Workload() | Pod() | PlacedPod() | ScaledObject() | WorkerScale():
            return record.key
        case Hpa() | LocalQueue():
            return (record.namespace, record.name)
        case ClusterQueue() | Cohort() | ResourceFlavor() | AdmissionCheck() | Node():
            return record.name


QUOTA_KINDS = frozenset(
    {
        Kind.CLUSTER_QUEUES,
        Kind.COHORTS,
        Kind.LOCAL_QUEUES,
        Kind.RESOURCE_FLAVORS,
        Kind.ADMISSION_CHECKS,
    }
)
TARGET_KINDS = {Kind.DEPLOYMENTS: "Deployment", Kind.STATEFUL_SETS: "StatefulSet"}
OWNER_KINDS = {
    Kind.RAY_CLUSTERS: "RayCluster",
    Kind.JOBS: "Job",
    Kind.JOB_SETS: "JobSet",
    Kind.NOTEBOOKS: "Notebook",
}


class Joiner:
    """Hold all records and turn them into Snapshots; owned by one thread."""

    def __init__(self, *, bundle: bool = False) -> None:
        self._bundle = bundle
        self._workloads = WorkloadIndex()
        self._pods = PodIndex()
        self._cluster_queues: Table[str, ClusterQueue] = Table()
        self._local_queues: Table[Name, LocalQueue] = Table()
        self._cohorts: Table[str, Cohort] = Table()
        self._flavors: Table[str, ResourceFlavor] = Table()
        self._checks: Table[str, AdmissionCheck] = Table()
        self._nodes: Table[str, Node] = Table()
        self._scaled_objects: Table[Name, ScaledObject] = Table()
        self._hpas: Table[Name, Hpa] = Table()
        self._worker_scales: Table[Name, WorkerScale] = Table()
        self._targets: Table[tuple[str, str, str], Target] = Table()
        self._owners: Table[str, Controlled] = Table()
        self._owner_uids: dict[tuple[str, str, str], str] = {}
        """(kind, namespace, name) -> uid of each of `_owners`: deletions come by name."""
        self._sources: Table[Kind, SourceState] = Table()
        self._skipped: Table[Kind, int] = Table()
        self._usage = UsageRead(usage={}, answers={})
        self._holds = HoldWatch()
        self._touched: set[Partition] = set()
        # Shared by all Snapshots: what was derived from parts that did not change stays good.
        self._memo = Memo()

    def apply(self, change: Change) -> None:
        """Take one change."""
        match change:
            case Listed():
                self._skipped.put(change.kind, change.skipped or None)
                self._list(change.kind, change.records)
            case Changed():
                self._change(change.kind, change.record)
            case Deleted():
                self._delete(change.kind, change.key)
            case SourceChanged():
                self._source(change.kind, change.state)
            case UsageRead():
                self._usage = change
                self._touched.add((Part.USAGE, ""))

    def snapshot(self, *, at: Instant) -> tuple[Snapshot, frozenset[Partition]]:
        """Give the Snapshot of this moment and the partitions that changed since the last one."""
        self._touched |= self._workloads.freeze()
        self._touched |= self._pods.freeze(
            workloads_by_owner=self._workloads.by_owner, owners=self._owners.rows
        )
        self._touched |= self._holds.touched(self._worker_scales.rows)
        touched = frozenset(self._touched)
        self._touched.clear()
        return (
            Snapshot(
                at=at,
                sources=self._sources.rows,
                queues=self._workloads.partitions,
                unroutable=self._workloads.unroutable,
                workloads_by_owner=self._workloads.by_owner,
                workloads_by_owner_name=self._workloads.by_owner_name,
                bystanders=self._pods.bystanders(self._usage.usage.values()),
                workload_index=self._workloads.index,
                cluster_queues=self._cluster_queues.rows,
                local_queues=self._local_queues.rows,
                cohorts=self._cohorts.rows,
                flavors=self._flavors.rows,
                checks=self._checks.rows,
                owners=self._owners.rows,
                nodes=self._nodes.rows,
                node_requests=self._pods.node_requests,
                pods=self._pods.pods,
                pods_by_workload=self._pods.by_workload,
                gpu_pods_by_node=self._pods.by_node,
                targets=self._targets.rows,
                scaled_objects=self._scaled_objects.rows,
                hpas=self._hpas.rows,
                worker_scales=self._worker_scales.rows,
                usage=self._usage.usage,
                answers=self._usage.answers,
                skipped=self._skipped.rows,
                bundle=self._bundle,
                memo=self._memo,
            ),
            touched,
        )

    def _source(self, kind: Kind, state: SourceState) -> None:
        before = self._sources.get(kind)
        self._sources.put(kind, state)
        if state.skipped != (0 if before is None else before.skipped):
            # A watch can bring a malformed object too, or the mended one.
            self._skipped.put(kind, state.skipped or None)
        if before is None or replace(before, last_alive=None) != replace(state, last_alive=None):
            self._touched.add((Part.SOURCE, kind))

    def _list(self, kind: Kind, records: Iterable[Record]) -> None:
        rows = tuple(records)
        if kind is Kind.WORKLOADS:
            workloads = cast("tuple[Workload, ...]", rows)
            self._rejoin({w.namespace for w in self._workloads.index.values()})
            self._workloads.replace(workloads)
            self._rejoin({workload.namespace for workload in workloads})
            return
        if kind is Kind.PODS:
            self._pods.replace(cast("tuple[Pod | PlacedPod, ...]", rows))
            return
        table = self._table(kind)
        kept = {key: row for key, row in table.rows.items() if not _of_kind(kind, row)}
        self._announce(kind, (row for row in table.rows.values() if _of_kind(kind, row)))
        table.replace({**kept, **{key_of(row): row for row in rows}})
        if kind in OWNER_KINDS:
            every = self._owners.rows.values()
            self._owner_uids = {(one.kind, one.namespace, one.name): one.uid for one in every}
        self._announce(kind, rows)

    def _change(self, kind: Kind, record: Record) -> None:
        match record:
            case Workload():
                self._workloads.put(record)
                self._rejoin({record.namespace})
            case Pod() | PlacedPod():
                self._pods.put(record)
            case _:
                before = None
                if isinstance(record, Controlled):
                    self._name_owner(kind, record)
                    before = self._owners.get(record.uid)
                if self._table(kind).put(key_of(record), record) and not _same_link(before, record):
                    self._announce(kind, (record,))

    def _name_owner(self, kind: Kind, record: Controlled) -> None:
        """Note an owner's uid; another one of the same name went without a word of it."""
        name = (record.kind, record.namespace, record.name)
        if self._owner_uids.get(name, record.uid) != record.uid:
            self._delete(kind, (record.namespace, record.name))
        self._owner_uids[name] = record.uid

    def _delete(self, kind: Kind, key: Key) -> None:
        if kind is Kind.WORKLOADS:
            name = cast("Name", key)
            self._workloads.remove(name)
            self._rejoin({name[0]})
        elif kind is Kind.PODS:
            self._pods.remove(cast("Name", key))
        else:
            table = self._table(kind)
            full = self._full_key(kind, key)
            row = table.get(full)
            if row is not None and table.put(full, None):
                self._announce(kind, (row,))

    def _full_key(self, kind: Kind, key: Key) -> Key | tuple[str, str, str]:
        if kind in TARGET_KINDS and isinstance(key, tuple):
            return (TARGET_KINDS[kind], *key)
        if kind in OWNER_KINDS and isinstance(key, tuple):
            return self._owner_uids.pop((OWNER_KINDS[kind], *key), "")
        return key

    def _table(self, kind: Kind) -> Table[Key | tuple[str, str, str], Record]:
        tables: dict[Kind, object] = {
            Kind.CLUSTER_QUEUES: self._cluster_queues,
            Kind.LOCAL_QUEUES: self._local_queues,
            Kind.COHORTS: self._cohorts,
            Kind.RESOURCE_FLAVORS: self._flavors,
            Kind.ADMISSION_CHECKS: self._checks,
            Kind.NODES: self._nodes,
            Kind.SCALED_OBJECTS: self._scaled_objects,
            Kind.HPAS: self._hpas,
            Kind.DEPLOYMENTS: self._targets,
            Kind.STATEFUL_SETS: self._targets,
            Kind.WORKER_SCALES: self._worker_scales,
            **dict.fromkeys(OWNER_KINDS, self._owners),
        }
        return cast("Table[Key | tuple[str, str, str], Record]", tables[kind])

    def _announce(self, kind: Kind, records: Iterable[Record]) -> None:
        """Note what a change of these records touches, and follow it into the indexes."""
        if kind is Kind.LOCAL_QUEUES:
            self._workloads.route(self._local_queues.rows)
        if kind in OWNER_KINDS:
            self._touched.add((Part.OWNERS, ""))
            self._rejoin({r.namespace for r in records if isinstance(r, Controlled)})
        elif kind in QUOTA_KINDS:
            self._touched.add((Part.QUOTA, ""))
        elif kind is Kind.NODES:
            self._touched.add((Part.NODES, ""))
        else:
            self._touched.update(
                (Part.TARGETS, record.namespace)
                for record in records
                if isinstance(record, Target | ScaledObject | Hpa | WorkerScale)
            )

    def _rejoin(self, namespaces: set[str]) -> None:
        self._pods.touch(namespaces)


def _same_link(before: Controlled | None, after: Record) -> bool:
    """Say whether an owner stands as before in the chain from pods to Workloads.

    Read whole, owners change with each status; who controls them does not.
    """
    if before is None or not isinstance(after, Controlled):
        return False
    return (before.key, before.controller_uid) == (after.key, after.controller_uid)


def _of_kind(kind: Kind, record: Record) -> bool:
    """Tell apart the two kinds that share a table."""
    if isinstance(record, Target):
        return TARGET_KINDS.get(kind) == record.kind
    if isinstance(record, Controlled):
        return OWNER_KINDS.get(kind) == record.kind
    return True
