"""A RayJob's workers: the group of its child RayCluster.

The RayJob controller never writes the child's spec back (measured), and a retry or a new admission
makes a fresh child of full size: a hold goes with its child.
"""

from scaler.core.hold.owned import controlled_by
from scaler.core.hold.sought import Piece, Refusal, Sought
from scaler.core.hold.targets.ray_cluster import KIND, group_in
from scaler.core.hold.words import Cause
from scaler.core.model import Controlled


def pieces(sought: Sought) -> tuple[Piece, ...] | Refusal:
    """Find the group in the RayCluster that the RayJob controls."""
    child = _child(sought)
    if child is None:
        message = f"RayJob/{sought.scale.target.name} has no RayCluster of its own now"
        return Refusal(cause=Cause.TARGET_MISSING, message=message)
    return group_in(sought, child)


def _child(sought: Sought) -> Controlled | None:
    """Give the child that was held, else a marked one, else the only one.

    The RayJob's UID is known by its Workload, which is gone once the RayJob is finished.
    """
    snapshot, scale = sought.snapshot, sought.scale
    hold = scale.status.hold
    marked = sought.marked(KIND)
    children = controlled_by(snapshot, sought.owner_uids, kind=KIND)
    held = None if hold is None else snapshot.owners.get(hold.target_uid)
    if held is not None and not held.deleting:
        return held
    found = marked or children
    return found[0] if len(found) == 1 else None
