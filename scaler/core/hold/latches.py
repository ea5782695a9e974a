"""Latches: what is remembered of tries that failed, so that nobody is fought."""

from typing import Final

from scaler.core.decision import Status
from scaler.core.hold.scene import Scene
from scaler.core.hold.words import Cause, State
from scaler.core.model import Latch
from scaler.core.reasons import Reason

UNTIL_ACTIVITY: Final = -1
"""Stands for a generation: the latch opens once the workers were seen busy."""


def latch_of(scene: Scene) -> Latch | None:
    """Give the latch that still counts."""
    latch = scene.scale.status.latch
    if latch is None:
        return None
    if latch.generation == UNTIL_ACTIVITY:
        return None if busy(scene) else latch
    return latch if latch.generation == scene.scale.generation else None


def closed(latch: Latch | None) -> bool:
    """Say whether a latch keeps this generation from being tried, a person's order included."""
    return latch is not None and latch.cause in (Cause.UNDONE, Cause.NOT_TAKEN)


def closed_word(latch: Latch | None) -> State | None:
    """Give the state of a closed generation; None where it is open."""
    if latch is None or not closed(latch):
        return None
    return State.CONFLICT if latch.cause == Cause.UNDONE else State.REFUSED


def after_loss(scene: Scene, message: str) -> Latch:
    """Count a try that did not last: after the first there is one more, after that none."""
    before = latch_of(scene)
    again = before is not None and before.cause in (Cause.TAKE_LOST, Cause.UNDONE)
    cause = Cause.UNDONE if again else Cause.TAKE_LOST
    return Latch(cause=cause, message=message, generation=scene.scale.generation)


def latched(scene: Scene, cause: Cause, message: str) -> Latch:
    """Close this generation."""
    return Latch(cause=cause, message=message, generation=scene.scale.generation)


def until_activity(message: str) -> Latch:
    """Close it until the workers are seen busy."""
    return Latch(cause=Cause.NEEDS_ACTIVITY, message=message, generation=UNTIL_ACTIVITY)


def busy(scene: Scene) -> bool:
    """Say whether a decision saw work: a pod that merely starts is none."""
    return any(
        one.status is Status.OK and one.active is True and one.reason is Reason.BUSY
        for one in scene.decisions
    )
