"""Simulate Kueue's next admissions in one cohort tree: for which waiting Workloads quota is free.

One pass in Kueue's order (priority, then queue timestamp) over all ClusterQueues of the tree,
whole Workloads or their minCount. The heads of the batches are merged by a heap, and a batch is
dropped with its first member that does not fit, as usage only grows and its members ask alike:
the cost is about the admitted Workloads and the batches, whatever the number that waits.
(With several podsets and flavors a later member might still fit by another choice of flavors;
it is left out until Kueue admits it.)
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heapreplace
from typing import TypeAlias

from scaler.core.admissibility import Batch, Lineup, line_up
from scaler.core.asks import Ask, GroupAsk, asks, known_flavors
from scaler.core.cohorts import Ledger, Slot, Tree, trees
from scaler.core.model import ClusterQueue, Instant, PodSet
from scaler.core.placed import usage
from scaler.core.reasons import WorkloadClass
from scaler.core.snapshot import Snapshot

COUNTED = frozenset({WorkloadClass.TOPOLOGY, WorkloadClass.QUOTA, WorkloadClass.NOT_EVALUATED})
"""Classes that need nodes once they have quota."""

_BEFORE_OTHERS = COUNTED | {
    WorkloadClass.PREEMPTING,
    WorkloadClass.BLOCKED,
    WorkloadClass.CONTRADICTORY,
}
"""Classes that take quota in their turn: what they take, nobody behind them can have."""

_NEVER = frozenset({WorkloadClass.EXCEEDS, WorkloadClass.NO_FLAVOR})
"""Classes that never fit, and stop a StrictFIFO queue."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Granted:
    """A podset as it would be admitted."""

    pod_set: PodSet
    count: int
    flavors: tuple[tuple[str, str], ...]
    """(resource, flavor); without the resources that the ClusterQueue does not cover."""


Grant: TypeAlias = tuple[Granted, ...]
"""A Workload's podsets as they would be admitted; shared between equal ones."""


_Choice: TypeAlias = tuple[tuple[tuple[str, str], ...], ...]
"""For each podset, its (resource, flavor) pairs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueGrants:
    """What one ClusterQueue's Workloads would be granted."""

    lineup: Lineup
    asks: tuple[tuple[Ask, ...], ...]
    """For each batch of `lineup.waiting`."""
    grants: tuple[tuple[Grant, ...], ...]
    """For each batch, the grants of its first members; the others have none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """One simulated admission; immutable, and good as long as the line-ups are."""

    queues: Mapping[str, QueueGrants]
    since: Instant
    until: Instant
    """It holds from `since` to before `until`, as the line-ups do."""


def simulated(*, snapshot: Snapshot, cluster_queue: str, now: Instant) -> QueueGrants | None:
    """Give a ClusterQueue's part of its tree's simulation; None where it does not exist.

    The snapshot's memo keeps the simulation for all that ask, until a part that it read changes.
    """
    tree = trees(snapshot).get(cluster_queue)
    if tree is None:
        return None
    simulation = snapshot.memo.recall(
        ("simulation of a snapshot", tree.root),
        (
            tree,
            snapshot.queues,
            snapshot.local_queues,
            snapshot.owners,
            snapshot.workloads_by_owner,
            snapshot.checks,
            known_flavors(snapshot),
        ),
        lambda: _simulated(snapshot, tree, now),
        valid=lambda found: found.since <= now < found.until,
    )
    return simulation.queues[cluster_queue]


def _simulated(snapshot: Snapshot, tree: Tree, now: Instant) -> Simulation:
    """Simulate again only where a line-up of the tree has changed."""
    lineups = {
        name: line_up(snapshot=snapshot, cluster_queue=name, now=now)
        for name in tree.cluster_queues
    }
    return snapshot.memo.recall(
        ("simulation", tree.root),
        (tree, known_flavors(snapshot), *lineups.values()),
        lambda: simulate(snapshot=snapshot, tree=tree, lineups=lineups),
    )


def simulate(*, snapshot: Snapshot, tree: Tree, lineups: Mapping[str, Lineup]) -> Simulation:
    """Admit what fits, tree-wide; `lineups` has every ClusterQueue of the tree."""
    queues = snapshot.cluster_queues
    ledger = Ledger(tree=tree, cluster_queues=queues, cohorts=snapshot.cohorts)
    for name, lineup in lineups.items():
        for slot, amount in usage(lineup.holding):
            ledger.take(name, slot, amount)
    streams = {
        name: [
            _Stream(
                batch=batch,
                queue=queues[name],
                asks=asks(snapshot=snapshot, cluster_queue=queues[name], batch=batch),
            )
            for batch in lineup.waiting
        ]
        for name, lineup in lineups.items()
    }
    if not tree.cyclic:
        _admit([one for each in streams.values() for one in each if _takes_part(one)], ledger)
    return Simulation(
        queues={
            name: QueueGrants(
                lineup=lineups[name],
                asks=tuple(one.asks for one in each),
                grants=tuple(tuple(one.grants) for one in each),
            )
            for name, each in streams.items()
        },
        since=max((one.since for one in lineups.values()), default=-math.inf),
        until=min((one.until for one in lineups.values()), default=math.inf),
    )


class _Stream:
    """A batch on its way through the simulation."""

    __slots__ = ("asks", "batch", "grants", "queue", "shared")

    def __init__(self, *, batch: Batch, queue: ClusterQueue, asks: tuple[Ask, ...]) -> None:
        self.batch = batch
        self.queue = queue
        self.asks = asks
        self.grants: list[Grant] = []
        self.shared: dict[tuple[_Choice, bool], Grant] = {}


def _takes_part(stream: _Stream) -> bool:
    workload_class = stream.batch.workload_class
    return workload_class in _BEFORE_OTHERS or (
        stream.queue.strict_fifo and workload_class in _NEVER
    )


def _admit(streams: Sequence[_Stream], ledger: Ledger) -> None:
    """Take the earliest head again and again, until none is left."""
    heads = [_head(stream, index, 0) for index, stream in enumerate(streams)]
    heapify(heads)
    stopped: set[str] = set()
    while heads:
        *_, index, position = heads[0]
        stream = streams[index]
        fits = stream.queue.name not in stopped and _grant(stream, ledger)
        if not fits and stream.queue.strict_fifo:
            stopped.add(stream.queue.name)
        if fits and position + 1 < len(stream.batch.members):
            heapreplace(heads, _head(stream, index, position + 1))
        else:
            heappop(heads)


def _head(stream: _Stream, index: int, position: int) -> tuple[int, Instant, str, int, int]:
    member = stream.batch.members[position]
    return (-member.priority, member.queued_at, member.uid, index, position)


def _grant(stream: _Stream, ledger: Ledger) -> bool:
    """Give quota to a stream's next member, whole or with its least pods, if it is there."""
    if stream.batch.workload_class in _NEVER:
        return False
    choice, least = _fit(stream, ledger, least=False), False
    if choice is None and any(ask.least < ask.count for ask in stream.asks):
        choice, least = _fit(stream, ledger, least=True), True
    if choice is None:
        return False
    grant = stream.shared.get((choice, least))
    if grant is None:
        grant = stream.shared[(choice, least)] = tuple(
            Granted(pod_set=ask.pod_set, count=ask.least if least else ask.count, flavors=flavors)
            for ask, flavors in zip(stream.asks, choice, strict=True)
        )
    stream.grants.append(grant)
    return True


def _fit(stream: _Stream, ledger: Ledger, *, least: bool) -> _Choice | None:
    """Choose each podset's flavors and take their quota; None where some podset finds none."""
    queue, taken = stream.queue.name, dict[Slot, int]()
    choice: list[tuple[tuple[str, str], ...]] = []
    for ask in stream.asks:
        count = ask.least if least else ask.count
        flavors: list[tuple[str, str]] = []
        for group in ask.groups if count else ():
            flavor = _flavor(group, count, queue, ledger, taken)
            if flavor is None:
                return None
            for resource, each in group.each:
                slot = (flavor, resource)
                taken[slot] = taken.get(slot, 0) + each * count
                flavors.append((resource, flavor))
        choice.append(tuple(flavors))
    for slot, amount in taken.items():
        ledger.take(queue, slot, amount)
    return tuple(choice)


def _flavor(
    group: GroupAsk, count: int, queue: str, ledger: Ledger, taken: Mapping[Slot, int]
) -> str | None:
    """Give the first flavor that has room for all of the group's resources."""
    for flavor in group.flavors:
        if all(
            taken.get((flavor, resource), 0) + each * count
            <= ledger.free(queue, (flavor, resource))
            for resource, each in group.each
        ):
            return flavor
    return None
