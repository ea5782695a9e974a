"""Simulate Kueue's next admissions in one cohort tree: for which waiting Workloads quota is free.

One pass in Kueue's order (priority, then queue timestamp) over all ClusterQueues of the tree,
whole Workloads or their minCount. Where order does not bind (BestEffortFIFO) class B goes first:
Kueue has just found quota for each of them alone, so what they take is no guess.
The heads of the batches are merged by a heap, and a batch is dropped with its first member that
does not fit, as usage only grows and its members ask alike: the cost is about the admitted
Workloads and the batches, whatever the number that waits.
(With several podsets and flavors a later member might still fit by another choice of flavors;
it is left out until Kueue admits it.)
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heapreplace

from scaler.core.demand.admissibility import line_up
from scaler.core.demand.asks import Ask, GroupAsk, asks, known_flavors
from scaler.core.demand.cohorts import Ledger, Slot, Tree, trees
from scaler.core.demand.granted import usage
from scaler.core.demand.grants import Choice, Grant, Stream
from scaler.core.demand.lineup import Lineup
from scaler.core.model import Instant
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

_LOOKS_AGAIN = 30.0
"""Seconds for Kueue to judge those that wait anew, after it gave quota to another."""

_NEVER = frozenset({WorkloadClass.EXCEEDS, WorkloadClass.NO_FLAVOR})
"""Classes that never fit, and stop a StrictFIFO queue."""


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

    The snapshot's memo keeps the simulations for all that ask, until a part that they read
    changes: under one key, so that the mappings of one snapshot alone are held on to.
    """
    tree = trees(snapshot).get(cluster_queue)
    if tree is None:
        return None
    simulations: dict[str, Simulation] = snapshot.memo.recall(
        "simulations of a snapshot",
        (
            snapshot.queues,
            snapshot.cluster_queues,
            snapshot.cohorts,
            snapshot.local_queues,
            snapshot.owners,
            snapshot.workloads_by_owner,
            snapshot.checks,
            known_flavors(snapshot),
        ),
        dict,
    )
    simulation = simulations.get(tree.root)
    if simulation is None or not simulation.since <= now < simulation.until:
        simulation = simulations[tree.root] = _simulated(snapshot, tree, now)
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
        lambda: simulate(snapshot=snapshot, tree=tree, lineups=lineups, now=now),
        valid=lambda found: found.since <= now < found.until,
    )


def simulate(
    *, snapshot: Snapshot, tree: Tree, lineups: Mapping[str, Lineup], now: Instant
) -> Simulation:
    """Admit what fits, tree-wide; `lineups` has every ClusterQueue of the tree."""
    queues = snapshot.cluster_queues
    streams = {
        name: [
            Stream(
                batch=batch,
                queue=queues[name],
                asks=asks(snapshot=snapshot, cluster_queue=queues[name], batch=batch),
            )
            for batch in lineup.waiting
        ]
        for name, lineup in lineups.items()
    }
    running = [one for each in streams.values() for one in each if _takes_part(one)]
    held = [
        (name, slot, amount)
        for name, lineup in lineups.items()
        for slot, amount in usage(lineup.holding)
    ]
    settles = _last_reserved(lineups.values()) + _LOOKS_AGAIN
    if not tree.cyclic and not _admit_all(running, _ledger(snapshot, tree, held)):
        _admit(running, _ledger(snapshot, tree, held), settled=now >= settles)
    start, end = (settles, math.inf) if now >= settles else (-math.inf, settles)
    return Simulation(
        queues={
            name: QueueGrants(
                lineup=lineups[name],
                asks=tuple(one.asks for one in each),
                grants=tuple(tuple(one.grants) for one in each),
            )
            for name, each in streams.items()
        },
        since=max(start, *(one.since for one in lineups.values())),
        until=min(end, *(one.until for one in lineups.values())),
    )


def _last_reserved(lineups: Iterable[Lineup]) -> Instant:
    """Give when Kueue last gave quota away, as far as it is still held."""
    times = (one.reserved_at for lineup in lineups for one in lineup.holding)
    return max((time for time in times if time is not None), default=-math.inf)


def _ledger(snapshot: Snapshot, tree: Tree, held: Sequence[tuple[str, Slot, int]]) -> Ledger:
    ledger = Ledger(tree=tree, cluster_queues=snapshot.cluster_queues, cohorts=snapshot.cohorts)
    for name, slot, amount in held:
        ledger.take(name, slot, amount)
    return ledger


def _takes_part(stream: Stream) -> bool:
    workload_class = stream.batch.workload_class
    return workload_class in _BEFORE_OTHERS or (
        stream.queue.strict_fifo and workload_class in _NEVER
    )


def _admit_all(streams: Sequence[Stream], ledger: Ledger) -> bool:
    """Grant everything at once where it fits together: then no order would change a thing."""
    choices = [_choose(stream, ledger, least=False) for stream in streams]
    chosen = [one for one in choices if one is not None]
    if len(chosen) < len(streams):
        return False
    for stream, (_, taken) in zip(streams, chosen, strict=True):
        for slot, amount in taken.items():
            whole = amount * len(stream.batch.members)
            if whole > ledger.free(stream.queue.name, slot):
                return False
            ledger.take(stream.queue.name, slot, whole)
    for stream, (choice, _) in zip(streams, chosen, strict=True):
        stream.grants = [stream.granted(choice, least=False)] * len(stream.batch.members)
    return True


def _admit(streams: Sequence[Stream], ledger: Ledger, *, settled: bool) -> None:
    """Take the earliest head again and again, until none is left.

    `settled` says that Kueue has judged all that wait since it last gave quota away.
    """
    heads = [_head(stream, index, 0) for index, stream in enumerate(streams)]
    heapify(heads)
    stopped: set[str] = set()
    untouched = settled
    while heads:
        *_, index, position = heads[0]
        stream = streams[index]
        fits = stream.queue.name not in stopped and (
            _grant(stream, ledger) or (untouched and _trust(stream, ledger))
        )
        untouched = untouched and not fits
        if not fits and stream.queue.strict_fifo:
            stopped.add(stream.queue.name)
        if fits and position + 1 < len(stream.batch.members):
            heapreplace(heads, _head(stream, index, position + 1))
        else:
            heappop(heads)


def _head(stream: Stream, index: int, position: int) -> tuple[int, int, Instant, str, int, int]:
    member = stream.batch.members[position]
    first = stream.batch.workload_class is WorkloadClass.TOPOLOGY and not stream.queue.strict_fifo
    rank = 0 if first else 1
    return (rank, -member.priority, member.queued_at, member.uid, index, position)


def _trust(stream: Stream, ledger: Ledger) -> bool:
    """Grant a class B Workload against the ledger while nothing else was granted.

    Kueue found quota for it as things stand. Where this simulation does not, it is the one that
    is wrong, and without the node the Workload would wait for ever.
    """
    groups = [group for ask in stream.asks for group in ask.groups]
    if stream.batch.workload_class is not WorkloadClass.TOPOLOGY or not all(
        group.flavors for group in groups
    ):
        return False
    choice = []
    for ask in stream.asks:
        pairs = [(name, group.flavors[0]) for group in ask.groups for name, _ in group.each]
        for group in ask.groups:
            for resource, each in group.each:
                ledger.take(stream.queue.name, (group.flavors[0], resource), each * ask.count)
        choice.append(tuple(pairs))
    stream.grants.append(stream.granted(tuple(choice), least=False))
    return True


def _grant(stream: Stream, ledger: Ledger) -> bool:
    """Give quota to a stream's next member, whole or with its least pods, if it is there."""
    found, least = _choose(stream, ledger, least=False), False
    if found is None and any(ask.least < ask.count for ask in stream.asks):
        found, least = _choose(stream, ledger, least=True), True
    if found is None:
        return False
    choice, taken = found
    for slot, amount in taken.items():
        ledger.take(stream.queue.name, slot, amount)
    stream.grants.append(stream.granted(choice, least=least))
    return True


def _choose(
    stream: Stream, ledger: Ledger, *, least: bool
) -> tuple[Choice, dict[Slot, int]] | None:
    """Choose each podset's flavors and sum up what they take; None where one finds none."""
    if stream.batch.workload_class in _NEVER or _is_kueue_s_secret(stream):
        return None
    taken: dict[Slot, int] = {}
    choice: list[tuple[tuple[str, str], ...]] = []
    for ask in stream.asks:
        count = ask.least if least else ask.count
        flavors: list[tuple[str, str]] = []
        for group in ask.groups if count else ():
            flavor = _flavor(group, count, stream.queue.name, ledger, taken)
            if flavor is None:
                return None
            for resource, each in group.each:
                slot = (flavor, resource)
                taken[slot] = taken.get(slot, 0) + each * count
                flavors.append((resource, flavor))
        choice.append(tuple(flavors))
    return tuple(choice), taken


def _is_kueue_s_secret(stream: Stream) -> bool:
    """Say whether nobody but Kueue knows if quota is free: then its word is waited for.

    Class B has its word; what waits or was not looked at has not.
    """
    has_word = stream.batch.workload_class is WorkloadClass.TOPOLOGY
    return not has_word and any(ask.transformed for ask in stream.asks)


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
