"""What one look comes to: a state, its evidence, what is remembered, and what is written."""

from dataclasses import dataclass

from scaler.core.hold.latches import latch_of
from scaler.core.hold.scene import Scene
from scaler.core.hold.steps import SetFinalizer, Step
from scaler.core.hold.words import Cause, State
from scaler.core.model import HoldRecord, Latch, Mode


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The answer of one look; steps are done in the order `first`, status, `writes`, `last`."""

    state: State
    cause: Cause
    message: str
    """The evidence in one sentence."""
    hold: HoldRecord | None
    latch: Latch | None
    size: int | None
    first: tuple[Step, ...] = ()
    writes: tuple[Step, ...] = ()
    """To the target, after the status that says so."""
    last: tuple[Step, ...] = ()
    lasting: str = ""
    """The message for status, where the whole one changes with each look."""
    look_again_in: float | None = None


def left_alone(
    scene: Scene, state: State, cause: Cause, message: str, *, lasting: str = ""
) -> Outcome:
    """Write nothing to the target, and remember what was remembered."""
    return Outcome(
        state=state,
        cause=cause,
        message=message,
        lasting=lasting,
        hold=scene.hold,
        latch=latch_of(scene),
        size=size_of(scene),
    )


def size_of(scene: Scene) -> int | None:
    """Give the size once it was read: the newest one, as long as nothing is away."""
    known = scene.scale.status.size
    if known is None or scene.lack is not None or scene.hold is not None:
        return known
    return scene.size or known


def put_back(scene: Scene) -> tuple[Step, ...]:
    """Take our finalizer off: the target is as it was."""
    return (SetFinalizer(present=False),) if scene.scale.finalized else ()


def word_of(scene: Scene, held: State, released: State) -> State:
    """Choose the word of the WorkerScale's mode."""
    return held if scene.scale.mode is Mode.HOLD else released
