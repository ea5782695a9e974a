"""Plan for what a WorkerScale that is no more left behind: give it back, or leave it.

Each object is given back by its own mark: only what bears one is written.
"""

from collections.abc import Iterable
from dataclasses import replace

from scaler.core.hold.above import Marked, above
from scaler.core.hold.giving import back
from scaler.core.hold.orphans import Orphan
from scaler.core.hold.sought import Piece, Refusal, Sought
from scaler.core.hold.steps import Plan
from scaler.core.hold.targets import job_set, notebook, ray_cluster, release
from scaler.core.hold.words import Cause, State
from scaler.core.model import (
    Controlled,
    Instant,
    JobPart,
    Mark,
    Mode,
    NotebookPart,
    RayClusterPart,
    WorkerScale,
)
from scaler.core.snapshot import Snapshot


def give_back(snapshot: Snapshot, orphan: Orphan, *, now: Instant) -> Plan:
    """Plan what gives it back at once; nothing where its object is being deleted or is not read.

    No node is waited for, as with any mark that no record speaks of: nobody holds the quota.
    """
    scale = _stand_in(orphan, now=now)
    pieces = [piece for thing in orphan.things for piece in _pieces(snapshot, scale, thing)]
    labels = ", ".join(piece.label for piece in pieces)
    message = f"taken for {_holder(orphan.mark)}, which is no more, and given back: {labels}"
    return _plan(scale, State.RESTORING, message, pieces)


def leave(orphan: Orphan, *, now: Instant) -> Plan:
    """Plan nothing, and say that somebody brings it back again and again."""
    message = (
        f"taken for {_holder(orphan.mark)}, which is no more; another writer brought that back "
        "each time that it was given back, so it is left alone"
    )
    return _plan(_stand_in(orphan, now=now), State.CONFLICT, message, ())


def _plan(scale: WorkerScale, state: State, message: str, pieces: Iterable[Piece]) -> Plan:
    return Plan(
        scale=scale,
        target=scale.target,
        state=state,
        cause=Cause.WORKER_SCALE_LOST,
        message=message,
        steps=tuple(step for piece in pieces for step in back(piece)),
        status=scale.status,
    )


def _stand_in(orphan: Orphan, *, now: Instant) -> WorkerScale:
    """Build a WorkerScale to plan with: it is nowhere, and no step writes it."""
    return WorkerScale(
        namespace=orphan.namespace,
        name=orphan.mark.by,
        uid=orphan.mark.uid,
        created=now,
        generation=0,
        resource_version="",
        target=replace(orphan.target, component=orphan.mark.component or None),
        mode=Mode.HOLD if _held(orphan.things[0]) else Mode.RELEASE,
        replicas=1,
        deleting=True,
    )


def _held(thing: Marked) -> bool:
    return isinstance(thing, Controlled) and not isinstance(thing.part, NotebookPart)


def _holder(mark: Mark) -> str:
    return f"WorkerScale/{mark.by}" + (f" (UID {mark.uid})" if mark.uid else "")


def _pieces(snapshot: Snapshot, scale: WorkerScale, thing: Marked) -> tuple[Piece, ...]:
    """Give the one piece that a marked object is."""
    found = _found(snapshot, scale, thing)
    pieces = () if isinstance(found, Refusal) else found
    return tuple(one for one in pieces if one.marked and one.uid == thing.uid)


def _found(snapshot: Snapshot, scale: WorkerScale, thing: Marked) -> tuple[Piece, ...] | Refusal:
    _, workload = above(snapshot, thing)
    sought = Sought(snapshot=snapshot, scale=scale, workload=workload)
    if not isinstance(thing, Controlled):
        return release.pieces(sought)
    match thing.part:
        case RayClusterPart():
            return ray_cluster.group_in(sought, thing)
        case NotebookPart():
            return notebook.of(sought, thing)
        case JobPart():
            parent = snapshot.owners.get(thing.controller_uid or "")
            if parent is not None and parent.deleting:
                return ()
            return job_set.jobs_in(sought, parent, label=str(scale.target))
        case None:
            return ()
