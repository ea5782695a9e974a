"""The status that a look leaves: state, evidence, record, and conditions for whoever waits."""

from dataclasses import replace
from typing import Final

from scaler.core.hold.outcome import Outcome
from scaler.core.hold.scene import NEW_SECONDS, Scene
from scaler.core.hold.steps import SELECTOR
from scaler.core.hold.words import Cause, State
from scaler.core.model import Instant, Mode, ScaleCondition, WorkerScale, WorkerScaleStatus

_READY: Final = "Ready"
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


def forbidden_write(status: WorkerScaleStatus) -> ScaleCondition | None:
    """Give the condition that tells of a write which the API server forbids; None without one."""
    ready = _of(status, _READY)
    return ready if ready is not None and ready.reason == Cause.FORBIDDEN else None


def with_forbidden(scale: WorkerScale, *, message: str, now: Instant) -> WorkerScaleStatus:
    """Say in a status that the API server forbids a write which is needed.

    It stays until a look finds nothing to write, which is after the write came through.
    """
    before, status = _of(scale.status, _READY), scale.status
    ready = ScaleCondition(
        type=_READY,
        status="False",
        reason=Cause.FORBIDDEN,
        message=message[:_LONGEST],
        changed=before.changed if before is not None and before.status == "False" else now,
        observed_generation=scale.generation,
    )
    others = (one for one in status.conditions if one.type != _READY)
    return replace(status, conditions=(ready, *others))


def _conditions(scene: Scene, outcome: Outcome) -> tuple[ScaleCondition, ...]:
    state = outcome.state
    away = "Held" if scene.scale.mode is Mode.HOLD else "Released"
    wanted = (
        (away, "Unknown" if state in _GOING else _away(scene, outcome, away)),
        ("Refused", _word(state is State.REFUSED)),
        ("Conflict", _word(state is State.CONFLICT)),
    )
    others = (_condition(scene, outcome, kind=kind, status=word) for kind, word in wanted)
    return (_ready(scene, outcome), *others)


def _ready(scene: Scene, outcome: Outcome) -> ScaleCondition:
    """Keep what was forbidden for as long as there is something to write."""
    before = forbidden_write(scene.scale.status)
    if before is not None and (outcome.first or outcome.writes or outcome.last):
        return replace(before, observed_generation=scene.scale.generation)
    word = _word(outcome.state not in _NOT_READY)
    return _condition(scene, outcome, kind=_READY, status=word)


def _of(status: WorkerScaleStatus, kind: str) -> ScaleCondition | None:
    return next((one for one in status.conditions if one.type == kind), None)


def _away(scene: Scene, outcome: Outcome, kind: str) -> str:
    """Say whether the workers are away; what can't be read now is as it was."""
    if outcome.state in _AWAY:
        return "True"
    if outcome.hold is None or outcome.hold.waking_at is not None:
        return "False"
    before = _of(scene.scale.status, kind)
    return "False" if before is None else before.status


def _word(value: bool) -> str:  # noqa: FBT001 - it is what the word says
    return "True" if value else "False"


def _condition(scene: Scene, outcome: Outcome, *, kind: str, status: str) -> ScaleCondition:
    """Keep the time while the status is the same; one that never changed is as old as its object.

    By that a hold-now annotation is told from one that a hold has used up. Where the status of a
    WorkerScale that is no new one is lost, so is what it used up: all that was ordered before.
    """
    scale = scene.scale
    before = _of(scale.status, kind)
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
