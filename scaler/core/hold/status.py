"""The status that a look leaves: state, evidence, record, and conditions for whoever waits."""

from dataclasses import replace
from typing import Final

from scaler.core.hold.outcome import Outcome
from scaler.core.hold.scene import NEW_SECONDS, Scene
from scaler.core.hold.steps import SELECTOR
from scaler.core.hold.words import State
from scaler.core.model import Mode, ScaleCondition, WorkerScaleStatus

_NOT_READY: Final = frozenset({State.UNREAD, State.REFUSED, State.CONFLICT, State.RESTORING})
_AWAY: Final = frozenset({State.HELD, State.RELEASED, State.WAKE_PENDING})
_LONGEST: Final = 32_000
"""A longer message the schema does not take, and with it not the status."""
_GOING: Final = frozenset({State.HOLDING, State.RELEASING})


def status_of(scene: Scene, outcome: Outcome) -> WorkerScaleStatus:
    """Build the status; it is equal to the one before where nothing happened."""
    before = scene.scale.status
    outcome = replace(outcome, message=(outcome.lasting or outcome.message)[:_LONGEST], lasting="")
    return WorkerScaleStatus(
        observed_generation=scene.scale.generation,
        replicas=scene.live if scene.lack is None else before.replicas,
        selector=SELECTOR,
        size=outcome.size,
        state=outcome.state,
        reason=outcome.cause,
        message=outcome.message,
        hold=outcome.hold,
        latch=outcome.latch,
        conditions=_conditions(scene, outcome),
    )


def _conditions(scene: Scene, outcome: Outcome) -> tuple[ScaleCondition, ...]:
    state = outcome.state
    away = "Held" if scene.scale.mode is Mode.HOLD else "Released"
    wanted = (
        ("Ready", _word(state not in _NOT_READY)),
        (away, "Unknown" if state in _GOING else _away(scene, outcome, away)),
        ("Refused", _word(state is State.REFUSED)),
        ("Conflict", _word(state is State.CONFLICT)),
    )
    return tuple(_condition(scene, outcome, kind=kind, status=word) for kind, word in wanted)


def _away(scene: Scene, outcome: Outcome, kind: str) -> str:
    """Say whether the workers are away; what can't be read now is as it was."""
    if outcome.state in _AWAY:
        return "True"
    if outcome.hold is None or outcome.hold.waking_at is not None:
        return "False"
    before = (one.status for one in scene.scale.status.conditions if one.type == kind)
    return next(before, "False")


def _word(value: bool) -> str:  # noqa: FBT001 - it is what the word says
    return "True" if value else "False"


def _condition(scene: Scene, outcome: Outcome, *, kind: str, status: str) -> ScaleCondition:
    """Keep the time while the status is the same; one that never changed is as old as its object.

    By that a hold-now annotation is told from one that a hold has used up. Where the status of a
    WorkerScale that is no new one is lost, so is what it used up: all that was ordered before.
    """
    scale = scene.scale
    before = next((one for one in scale.status.conditions if one.type == kind), None)
    if before is None:
        new = abs(scene.now - scale.created) < NEW_SECONDS
        changed = scale.created if new and status == "False" else scene.now
    else:
        changed = before.changed if before.status == status else scene.now
    return ScaleCondition(
        type=kind,
        status=status,
        reason=outcome.cause,
        message=outcome.message,
        changed=changed,
        observed_generation=scale.generation,
    )
