"""A Workload that gives its quota back: Kueue's own switch spec.active, for all kinds alike.

Kueue deactivates Workloads too: only one that our annotation names is ever set active again.
"""

from scaler.core.hold.sought import Piece, Refusal, Sought
from scaler.core.hold.steps import DropMark, SetActive
from scaler.core.hold.words import Cause
from scaler.core.model import Mark, Workload


def pieces(sought: Sought) -> tuple[Piece, ...] | Refusal:
    """Take the target's Workload as the one piece."""
    workload, scale = sought.workload, sought.scale
    if workload is None:
        message = f"no Workload of {scale.target} is there"
        return Refusal(cause=Cause.NOT_ADMITTED, message=message)
    by = workload.released_by
    # The annotation holds a name alone, so an empty uid stands for whichever bears that name.
    mark = None if by is None else Mark(component="", by=by, uid="", was="true")
    drop = () if mark is None else (DropMark(kind="Workload", object=workload.key, mark=mark),)
    return (
        Piece(
            uid=workload.uid,
            label=f"Workload {workload.name}",
            grip=sought.grip(mark, zero=not workload.active),
            take=(_switch(workload, active=False, by=scale.name),),
            give=(_switch(workload, active=True, by=by or scale.name),),
            drop=drop,
        ),
    )


def _switch(workload: Workload, *, active: bool, by: str) -> SetActive:
    return SetActive(workload=workload.key, uid=workload.uid, active=active, by=by)
