"""Nodes first, then wake: whether the nodes that are there have room for all held pods.

The wake of a JobSet or TrainJob starts Kueue's recovery clock, which evicts it where nodes are late
(measured). Others that wake and woke earlier have their room before it.
"""

from collections.abc import Iterable

from scaler.core.demand.granted import assigned_flavor
from scaler.core.demand.need import PodNeed
from scaler.core.hold.scene import Scene
from scaler.core.model import HoldRecord, Kind, Mode, Node, WorkerScale, Workload
from scaler.core.nodes.node_state import left_of
from scaler.core.nodes.packing import Space, pack
from scaler.core.nodes.room import items_of
from scaler.core.quantity import several
from scaler.core.snapshot import Snapshot
from scaler.core.sources import missing

_DEVICE = "/"


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
    own = _needs(scene.workload, hold)
    pods = tuple(own) + tuple(_earlier(scene, hold))
    items = items_of([(pods, 1)], snapshot.flavors)
    wanted = sum(one.count for one in items)
    placed = pack(items, tuple(_spaces(snapshot)), node=(), max_new=0).placed
    if placed >= wanted:
        return ""
    return f"no room for {several(wanted - placed, 'pod')} of {wanted} on the nodes that are there"


def _needs(workload: Workload, hold: HoldRecord, *, bound: int = 0) -> Iterable[PodNeed]:
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


def _earlier(scene: Scene, hold: HoldRecord) -> Iterable[PodNeed]:
    """Give the pods of those that wake, wanted their room earlier, and are not bound yet."""
    own = scene.scale
    turn = (hold.waking_at or scene.now, own.key)
    for other in scene.snapshot.worker_scales.values():
        theirs = other.status.hold
        if theirs is None or theirs.waking_at is None or other.uid == own.uid:
            continue
        if (theirs.waking_at, other.key) < turn:
            yield from _of_other(scene.snapshot, other, theirs)


def _of_other(snapshot: Snapshot, other: WorkerScale, theirs: HoldRecord) -> Iterable[PodNeed]:
    workload = snapshot.workload_index.get((other.namespace, theirs.workload))
    if workload is None or workload.uid != theirs.workload_uid or not workload.admitted:
        return
    pods = snapshot.pods_by_workload.get(workload.key, ())
    names = {name for name, _ in theirs.pod_sets}
    bound = sum(one.live and one.node is not None and one.pod_set in names for one in pods)
    yield from _needs(workload, theirs, bound=bound)


def _spaces(snapshot: Snapshot) -> Iterable[Space]:
    for name, node in sorted(snapshot.nodes.items()):
        if _usable(node):
            requested = snapshot.node_requests.get(name, ())
            yield Space(
                free=left_of(node.allocatable, requested), labels=node.labels, taints=node.taints
            )


def _usable(node: Node) -> bool:
    return node.ready and not node.unschedulable and not node.deleting
