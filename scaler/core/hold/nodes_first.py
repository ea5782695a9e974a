"""Nodes first, then wake: whether the nodes that are there have room for all held pods.

The wake of a JobSet or TrainJob starts Kueue's recovery clock, which evicts it where nodes are late
(measured). Others that wake and woke earlier have their room before it.
"""

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from scaler.core.demand.granted import assigned_flavor
from scaler.core.demand.need import PodNeed
from scaler.core.hold.scene import Scene
from scaler.core.model import HoldRecord, Instant, Kind, Mode, Name, Node, WorkerScale, Workload
from scaler.core.nodes.node_state import left_of
from scaler.core.nodes.packing import Space, pack
from scaler.core.nodes.room import items_of
from scaler.core.quantity import several
from scaler.core.snapshot import Snapshot
from scaler.core.sources import missing

_DEVICE = "/"

_Turn: TypeAlias = tuple[Instant, Name]
"""When it was wanted back, and its name among those of one moment."""


def clock_runs(scene: Scene) -> bool:
    """Say whether a wake without nodes would cost the quota."""
    kind, workload = scene.kind, scene.workload
    if scene.scale.mode is not Mode.HOLD or kind is None or not kind.recovers:
        return False
    return workload is not None and workload.admitted and workload.pods_ready is not None


def lacking_room(scene: Scene, hold: HoldRecord) -> str:
    """Say why the held pods can't start on the nodes that are there; empty where they can."""
    snapshot, policy = scene.snapshot, scene.policy
    lack = missing(
        snapshot=snapshot,
        kinds=(Kind.NODES, Kind.PODS),
        max_age=policy.safety.max_watch_age,
        now=scene.now,
    )
    if lack is not None:
        return f"{lack.kind} can't be read now"
    if scene.workload is None:
        return ""
    own = _Place(
        turn=(scene.now if hold.waking_at is None else hold.waking_at, scene.scale.key),
        pods=tuple(_needs(scene.workload, hold, bound=0)),
    )
    line = _line(snapshot, own.flavors)
    before = bisect_left(line, own.turn, key=lambda one: one.turn)
    served = _served(snapshot, own.flavors)
    if before < served:
        return ""
    if before > served:
        ahead = several(before - served, "WorkerScale")
        return f"no room on the nodes that are there for {ahead} in line before it"
    wanted, lacking = _packed(snapshot, (*line[:before], own))
    if not lacking:
        return ""
    return f"no room for {several(lacking, 'pod')} of {wanted} on the nodes that are there"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """One that wakes: its place in the line, and its pods that are not bound yet."""

    turn: _Turn
    pods: tuple[PodNeed, ...]

    @property
    def flavors(self) -> frozenset[str]:
        """Give the flavors whose nodes it waits for; none stands for any."""
        return frozenset(flavor for one in self.pods for flavor in one.flavors)


def _line(snapshot: Snapshot, flavors: frozenset[str]) -> tuple[_Place, ...]:
    """Give those that wake and wait for nodes of the same flavors.

    One whose nodes never come must not keep away those that wait for others.
    """
    everyone = _everyone(snapshot)
    return snapshot.memo.recall(
        ("line of those that wake", flavors),
        (everyone,),
        lambda: tuple(one for one in everyone if _compete(one.flavors, flavors)),
    )


def _compete(some: frozenset[str], others: frozenset[str]) -> bool:
    return not some or not others or not some.isdisjoint(others)


def _everyone(snapshot: Snapshot) -> tuple[_Place, ...]:
    """Line up all that wake, by when they were wanted back; made once for each Snapshot.

    A fleet that wakes at once asks as often as it is large.
    """
    scales = snapshot.worker_scales

    def build() -> tuple[_Place, ...]:
        places = (place for one in scales.values() if (place := _place(snapshot, one)))
        return tuple(sorted(places, key=lambda one: one.turn))

    parts = (scales, snapshot.workload_index, snapshot.pods_by_workload)
    return snapshot.memo.recall("all that wake", parts, build)


def _place(snapshot: Snapshot, scale: WorkerScale) -> _Place | None:
    hold = scale.status.hold
    if hold is None or hold.waking_at is None:
        return None
    workload = snapshot.workload_index.get((scale.namespace, hold.workload))
    if workload is None or workload.uid != hold.workload_uid or not workload.admitted:
        return None
    pods = snapshot.pods_by_workload.get(workload.key, ())
    names = {name for name, _ in hold.pod_sets}
    bound = sum(one.live and one.node is not None and one.pod_set in names for one in pods)
    return _Place(turn=(hold.waking_at, scale.key), pods=tuple(_needs(workload, hold, bound=bound)))


def _served(snapshot: Snapshot, flavors: frozenset[str]) -> int:
    """Count those at the head of a line that all have room together."""
    line = _line(snapshot, flavors)
    parts = (line, snapshot.nodes, snapshot.node_requests, snapshot.flavors)
    return snapshot.memo.recall(
        ("those that wake and have room", flavors),
        parts,
        lambda: bisect_left(
            range(1, len(line) + 1),
            1,
            key=lambda number: min(1, _packed(snapshot, line[:number])[1]),
        ),
    )


def _packed(snapshot: Snapshot, line: Iterable[_Place]) -> tuple[int, int]:
    """Give how many pods those in line have, and how many of them find no room."""
    items = items_of(((one.pods, 1) for one in line), snapshot.flavors)
    wanted = sum(one.count for one in items)
    return wanted, wanted - pack(items, tuple(_spaces(snapshot)), node=(), max_new=0).placed


def _needs(workload: Workload, hold: HoldRecord, *, bound: int) -> Iterable[PodNeed]:
    assigned = () if workload.admission is None else workload.admission.assignments
    flavors = {one.pod_set: one.flavors for one in assigned}
    shapes = {one.name: one for one in workload.pod_sets}
    for name, count in hold.pod_sets:
        pod_set = shapes.get(name)
        if pod_set is None or count <= bound:
            continue
        pairs = flavors.get(name, ())
        device = next((one for one, _ in pod_set.shape.requests if _DEVICE in one), "")
        flavor = assigned_flavor(pairs, device)
        yield PodNeed(
            pod_set=name,
            shape=pod_set.shape,
            count=count - bound,
            topology=pod_set.topology,
            flavors=() if flavor is None else (flavor,),
        )


def _spaces(snapshot: Snapshot) -> Iterable[Space]:
    for name, node in sorted(snapshot.nodes.items()):
        if _usable(node):
            requested = snapshot.node_requests.get(name, ())
            yield Space(
                free=left_of(node.allocatable, requested), labels=node.labels, taints=node.taints
            )


def _usable(node: Node) -> bool:
    return node.ready and not node.unschedulable and not node.deleting
