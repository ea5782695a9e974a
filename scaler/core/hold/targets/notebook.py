"""A Notebook, stopped by the annotation that its own controller reads.

Starting it again is a person's: its page takes the annotation off and leaves our mark.
"""

from typing import Final

from scaler.core.hold.owned import named
from scaler.core.hold.sought import Piece, Refusal, Sought
from scaler.core.hold.steps import DropMark, SetNotebook
from scaler.core.hold.words import Cause
from scaler.core.model import Controlled, Mark, NotebookPart

KIND: Final = "Notebook"
COMPONENT: Final = "notebook"
"""What its mark calls its only podset."""
_WAS: Final = "running"


def pieces(sought: Sought) -> tuple[Piece, ...] | Refusal:
    """Take the Notebook of the target's name as the one piece."""
    scale = sought.scale
    name = scale.target.name
    found = named(sought.snapshot, kind=KIND, namespace=scale.namespace, name=name)
    if found is None or found.deleting:
        end = "does not exist" if found is None else "is being deleted"
        return Refusal(cause=Cause.TARGET_MISSING, message=f"{KIND}/{name} {end}")
    return of(sought, found)


def of(sought: Sought, found: Controlled) -> tuple[Piece, ...] | Refusal:
    """Take a Notebook as the one piece."""
    label = f"{KIND}/{found.name}"
    if not isinstance(found.part, NotebookPart):
        return Refusal(cause=Cause.SOURCE_UNKNOWN, message=f"{label} was not read")
    mark = next((one for one in found.marks if one.component == COMPONENT), None)
    own = mark or sought.mark(component=COMPONENT, was=_WAS)
    return (
        Piece(
            uid=found.uid,
            label=label,
            grip=sought.grip(mark, zero=found.part.stopped is not None),
            take=(_write(found, own, stop=True),),
            give=(_write(found, own, stop=False),),
            drop=() if mark is None else (DropMark(kind=KIND, object=found.key, mark=mark),),
        ),
    )


def _write(notebook: Controlled, mark: Mark, *, stop: bool) -> SetNotebook:
    return SetNotebook(
        notebook=notebook.key,
        resource_version=notebook.resource_version,
        stop=stop,
        mark=mark,
    )
