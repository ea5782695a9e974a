"""A RayJob's workers: the group of its child RayCluster.

The RayJob controller never writes the child's spec back (measured), and a retry or a new admission
makes a fresh child of full size: a hold goes with its child.
"""

from scaler.core.hold.owned import controlled_by, marked_by
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
    """Give the child that was held, else the only one; a marked one where no Workload leads there.

    The RayJob's UID is known by its Workload.
    """
    snapshot, scale = sought.snapshot, sought.scale
    hold = scale.status.hold
    marked = marked_by(snapshot, scale.key, kind=KIND)
    children = controlled_by(snapshot, sought.owner_uids, kind=KIND)
    held = [one for one in (*children, *marked) if hold is not None and one.uid == hold.target_uid]
    found = held or marked or children
    return found[0] if held or len({one.uid for one in found}) == 1 else None
