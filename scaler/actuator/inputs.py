"""Tell which WorkerScales have to be planned anew: those whose inputs are no longer the same.

Only what a plan reads is compared, most of it by identity: a Snapshot shares with the one before
it whatever did not change.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias, TypeVar, assert_never

from scaler.core.hold.steps import (
    DropMark,
    SetActive,
    SetFinalizer,
    SetGroup,
    SetNotebook,
    SetParallelism,
    SetReplicas,
    Step,
    WriteStatus,
)
from scaler.core.hold.words import State as Stand
from scaler.core.model import Controlled, Name, Pod, WorkerScale, Workload
from scaler.core.snapshot import Snapshot
from scaler.core.trigger import TriggerRef
from scaler.store import State

Inputs: TypeAlias = tuple[object, ...]
"""All that a plan reads; equal for as long as planning anew is in vain, but for the clock."""

RefsOf: TypeAlias = Callable[[Snapshot, WorkerScale], Iterable[TriggerRef]]
"""Gives the triggers whose Decisions speak of a WorkerScale."""

_WORKLOAD = "Workload"

R = TypeVar("R")
K = TypeVar("K")


class Surroundings:
    """What one State says around each WorkerScale; belongs to one look."""

    def __init__(self, state: State, *, refs_of: RefsOf) -> None:
        """Index the State; what did not change since the last one is taken over."""
        snapshot = state.snapshot
        self.state = state
        self._refs_of = refs_of
        self._snapshot = snapshot
        self._general = (
            state.policy,
            snapshot.checks,
            snapshot.skipped,
            tuple(
                (kind, source.synced, source.installed, source.problem)
                for kind, source in snapshot.sources.items()
            ),
        )
        owners, scales = snapshot.owners, snapshot.worker_scales
        recall = snapshot.memo.recall
        self._named = owners_by_name(snapshot)
        self._controlled = recall(
            "owners by controller",
            (owners,),
            lambda: _grouped(owners.values(), lambda one: one.controller_uid),
        )
        self._rivals = recall(
            "worker scales by target", (scales,), lambda: _grouped(scales.values(), _same_target)
        )

    def inputs(self, scale: WorkerScale, *, stand: Stand | None) -> Inputs:
        """Give what a plan of a WorkerScale reads; nodes only where it waits for them."""
        workloads = self._workloads(scale)
        waits = stand is Stand.WAKE_PENDING
        return (
            scale,
            self._general,
            self._rivals.get(_same_target(scale), ()),
            tuple(self._said(ref) for ref in self._refs_of(self._snapshot, scale)),
            workloads,
            self._pods(workloads),
            tuple(self._queue(workload) for workload in workloads),
            self.kin(scale, workloads),
            (self._snapshot.nodes, self._snapshot.node_requests) if waits else None,
        )

    def kin(self, scale: WorkerScale, workloads: Iterable[Workload]) -> tuple[Controlled, ...]:
        """Give the target and what it controls, down to the grandchildren."""
        own = self._named.get((scale.namespace, scale.target.name), ())
        roots = {one.uid for one in own}
        roots |= {owner.uid for workload in workloads for owner in workload.owners}
        children = [child for uid in sorted(roots) for child in self._controlled.get(uid, ())]
        further = [last for child in children for last in self._controlled.get(child.uid, ())]
        return (*own, *children, *further)

    def written(self, step: Step) -> object:
        """Give the record of the object that a step writes, None where it is not there.

        A WorkerScale's own writes are told by their resourceVersion instead.
        """
        match step:
            case SetGroup():
                return self._owner("RayCluster", step.cluster)
            case SetParallelism():
                return self._owner("Job", step.job)
            case DropMark():
                return self._owner(step.kind, step.object)
            case SetNotebook():
                return self._owner("Notebook", step.notebook)
            case SetActive():
                return self._snapshot.workload_index.get(step.workload)
            case SetReplicas() | SetFinalizer() | WriteStatus():
                return None
            case _:
                assert_never(step)

    def _owner(self, kind: str, name: Name) -> Controlled | Workload | None:
        if kind == _WORKLOAD:
            return self._snapshot.workload_index.get(name)
        return next((one for one in self._named.get(name, ()) if one.kind == kind), None)

    def _workloads(self, scale: WorkerScale) -> tuple[Workload, ...]:
        snapshot = self._snapshot
        found = snapshot.workloads_by_owner_name.get((scale.namespace, scale.target.name), ())
        hold = scale.status.hold
        held = snapshot.workload_index.get((scale.namespace, hold.workload)) if hold else None
        return found if held is None or held in found else (*found, held)

    def _pods(self, workloads: Iterable[Workload]) -> tuple[tuple[Pod, ...], ...]:
        by_workload = self._snapshot.pods_by_workload
        return tuple(by_workload.get(workload.key, ()) for workload in workloads)

    def _queue(self, workload: Workload) -> object:
        if workload.admission is None:
            return None
        return self._snapshot.cluster_queues.get(workload.admission.cluster_queue)

    def _said(self, ref: TriggerRef) -> object:
        """Give what a Decision says, without the words that change by themselves."""
        decision = self.state.decisions.get(ref)
        if decision is None:
            return None
        return (decision.status, decision.active, decision.reason)


def owners_by_name(snapshot: Snapshot) -> Mapping[Name, tuple[Controlled, ...]]:
    """Give RayClusters, Jobs, JobSets and Notebooks by namespace and name, of whatever kind."""
    owners = snapshot.owners
    return snapshot.memo.recall(
        "owners by name", (owners,), lambda: _grouped(owners.values(), lambda one: one.key)
    )


def _same_target(scale: WorkerScale) -> tuple[str, str, str]:
    return (scale.namespace, scale.target.kind, scale.target.name)


def _grouped(records: Iterable[R], key: Callable[[R], K]) -> dict[K, tuple[R, ...]]:
    found: defaultdict[K, list[R]] = defaultdict(list)
    for record in records:
        found[key(record)].append(record)
    return {name: tuple(members) for name, members in found.items()}
