"""Workers that are away, or just going: seen gone, kept, and given back where something broke."""

from dataclasses import replace
from typing import Final

from scaler.core.hold.breaches import PATIENCE, Breach, breach_of, recent
from scaler.core.hold.evidence import away
from scaler.core.hold.giving import ended, give, ours, waking
from scaler.core.hold.latches import after_loss, busy, closed, latch_of, latched
from scaler.core.hold.outcome import Outcome, word_of
from scaler.core.hold.refusals import passing_refusal
from scaler.core.hold.scene import Scene
from scaler.core.hold.sought import Grip
from scaler.core.hold.status import forbidden_write
from scaler.core.hold.steps import Step
from scaler.core.hold.taking import take, takes
from scaler.core.hold.wish import Want, Wish, wish_of
from scaler.core.hold.words import Cause, State
from scaler.core.model import HoldRecord, Instant, Latch, Mode

_HELD_WORDS: Final = frozenset(
    {
        State.HOLDING,
        State.HELD,
        State.WAKE_PENDING,
        State.WAKING,
        State.RELEASING,
        State.RELEASED,
        State.QUEUED,
        State.CONFLICT,
    }
)
"""What a hold's state may be while nothing new is known."""


def held(scene: Scene, hold: HoldRecord) -> Outcome:
    """Plan for workers that were taken, by how far that, or giving them back, has come."""
    if scene.lack is not None or scene.unread:
        return _unseen(scene, hold)
    if hold.waking_at is None:
        going = hold.taken_at is None and not _is_gone(scene, hold)
        return _going(scene, hold) if going else _kept(scene, hold)
    if _called_off(scene, hold):
        return _kept(scene, replace(hold, waking_at=None))
    return waking(scene, hold)


def _unseen(scene: Scene, hold: HoldRecord) -> Outcome:
    """Keep what is held and judge nothing of it; what is wanted back is given all the same."""
    wish = wish_of(scene, taken=True)
    begun = hold.waking_at is not None and scene.scale.status.state != State.WAKE_PENDING
    if scene.marked and (begun or wish.want is Want.GIVE):
        return give(scene, hold, wish.cause, wish.message, lasting=wish.lasting)
    if scene.lack is not None:
        message, lasting = scene.lack.detail, f"{scene.lack.kind} can't be read now"
    else:
        message = lasting = "" if scene.gap is None else scene.gap.message
    return _standing(scene, hold, Cause.SOURCE_UNKNOWN, message, lasting=lasting)


def _going(scene: Scene, hold: HoldRecord) -> Outcome:
    """See to it that all is taken, or none: what is lost within the patience is done again."""
    if scene.whole:
        return _kept(scene, replace(hold, taken_at=scene.now))
    wish, breach = wish_of(scene, taken=True), breach_of(scene, hold)
    waits = recent(scene, hold)
    if breach is not None or wish.want is Want.GIVE:
        cause, message = (
            (wish.cause, wish.message) if breach is None else (breach.cause, breach.message)
        )
        if ours(scene, hold):
            return give(scene, hold, cause, message, at_once=True)
        return _waiting(scene, hold) if waits else ended(scene, cause, message)
    if any(one.grip is Grip.UNDONE for one in scene.pieces):
        return _undone(scene, hold)
    denied = _denied(scene)
    if denied is not None:
        return _broken_off(scene, hold, denied)
    return replace(_waiting(scene, hold), writes=_again(scene)) if waits else _lost(scene, hold)


def _denied(scene: Scene) -> Wish | None:
    """Say why what was begun is not granted any more; None where it may go on.

    Once a part is gone the readings of the rest say little, but work is work.
    """
    wish = wish_of(scene, taken=False)
    begun = any(one.grip is Grip.OURS for one in scene.pieces)
    if wish.want is Want.TAKE or (begun and not busy(scene)):
        return None
    return wish


def _broken_off(scene: Scene, hold: HoldRecord, denied: Wish) -> Outcome:
    """Give back the part that was taken; where none is seen, wait until surely none is there."""
    if ours(scene, hold):
        return give(scene, hold, denied.cause, denied.message, at_once=True)
    if recent(scene, hold):
        return _waiting(scene, hold)
    return ended(scene, denied.cause, denied.message)


def _again(scene: Scene) -> tuple[Step, ...]:
    """Repeat what failed, or was cut off, while the evidence for it is that young."""
    if scene.scale.status.size is None or passing_refusal(scene) is not None:
        return ()
    return takes(scene)


def _waiting(scene: Scene, hold: HoldRecord) -> Outcome:
    """Wait until what was written is seen, or surely is not there."""
    return replace(
        _standing(scene, hold, _cause_of(hold), f"taking the workers because {hold.reason}"),
        look_again_in=PATIENCE - abs(scene.now - hold.since),
    )


def _lost(scene: Scene, hold: HoldRecord) -> Outcome:
    """Count a try that did not last; one that was forbidden never was, and is begun anew."""
    wish = wish_of(scene, taken=False)
    forbidden = forbidden_write(scene.scale.status) is not None and not ours(scene, hold)
    if forbidden and wish.want is Want.TAKE:
        refusal = passing_refusal(scene)
        if refusal is not None:
            return ended(scene, refusal.cause, refusal.message)
        return take(scene, wish)
    message = "what was written did not last on the target: a webhook or another writer undoes it"
    latch = after_loss(scene, message)
    cause = Cause(latch.cause)
    return give(scene, hold, cause, message, latch=latch, at_once=True)


def _kept(scene: Scene, hold: HoldRecord) -> Outcome:
    """Keep the workers away as long as the Workload is as it was and nobody wants them."""
    breach = breach_of(scene, hold)
    if _is_gone(scene, hold):
        cause, message = _end_of(scene, breach)
        return ended(scene, cause, message)
    wish = wish_of(scene, taken=True)
    if breach is not None and breach.waits and not scene.scale.deleting:
        return _standing(scene, hold, breach.cause, breach.message)
    if breach is not None:
        latch = _latch_for(scene, breach)
        at_once = not breach.whole
        return give(scene, hold, breach.cause, breach.message, latch=latch, at_once=at_once)
    if wish.want is Want.GIVE:
        return give(scene, hold, wish.cause, wish.message, lasting=wish.lasting)
    if any(one.grip is not Grip.OURS for one in scene.pieces):
        return _undone(scene, hold)
    kept = replace(hold, gone_at=_gone_at(scene, hold))
    return _standing(scene, kept, _cause_of(hold), away(scene, kept))


def _is_gone(scene: Scene, hold: HoldRecord) -> bool:
    """Say whether what was changed is no more: another object of that name was never taken."""
    if not scene.pieces:
        return True
    return bool(hold.target_uid) and all(one.uid != hold.target_uid for one in scene.pieces)


def _end_of(scene: Scene, breach: Breach | None) -> tuple[Cause, str]:
    if breach is not None:
        return breach.cause, breach.message
    if scene.gap is not None:
        return scene.gap.cause, scene.gap.message
    return Cause.TARGET_MISSING, "the object that was changed is no more, another has its name"


def _latch_for(scene: Scene, breach: Breach) -> Latch | None:
    if breach.cause is not Cause.NOT_TAKEN:
        return None
    return latched(scene, Cause.NOT_TAKEN, breach.message)


def _undone(scene: Scene, hold: HoldRecord) -> Outcome:
    """Yield to another writer; a Notebook that a person started again is no quarrel."""
    stripped = [one for one in scene.pieces if one.grip is Grip.ZEROED]
    others = [one for one in scene.pieces if one.grip not in (Grip.OURS, Grip.ZEROED)]
    if scene.notebook and not stripped:
        return give(scene, hold, Cause.WAKE, "a person started it again")
    if not others:
        message = f"another writer took our mark off {stripped[0].label} and left it at zero"
        if scene.scale.mode is Mode.RELEASE:
            return ended(scene, Cause.DEACTIVATED_BY_OTHERS, message)
        latch = latched(scene, Cause.UNDONE, message)
        return replace(_standing(scene, hold, Cause.UNDONE, message), latch=latch)
    message = f"another writer set {others[0].label} back while it was held"
    latch = latched(scene, Cause.UNDONE, message)
    if not scene.marked and not stripped:
        return ended(scene, Cause.UNDONE, message, latch=latch)
    return give(scene, hold, Cause.UNDONE, message, latch=latch, at_once=True)


def _standing(
    scene: Scene, hold: HoldRecord, cause: Cause, message: str, *, lasting: str = ""
) -> Outcome:
    """Leave the target as it is, and say how far it has come."""
    latch = latch_of(scene)
    seen = hold.taken_at is not None
    return Outcome(
        state=_state(scene, hold, cause),
        cause=cause,
        message=message,
        lasting=lasting,
        hold=hold,
        latch=latch if closed(latch) or not seen else None,
        size=scene.scale.status.size,
        look_again_in=_next_look(scene, hold),
    )


def _state(scene: Scene, hold: HoldRecord, cause: Cause) -> State:
    if cause is Cause.UNDONE:
        return State.CONFLICT
    if scene.scale.deleting:
        return State.RESTORING
    before = scene.scale.status.state
    if cause is Cause.SOURCE_UNKNOWN and before in _HELD_WORDS:
        return State(before)
    if hold.gone_at is None:
        return word_of(scene, State.HOLDING, State.RELEASING)
    return word_of(scene, State.HELD, State.RELEASED)


def _gone_at(scene: Scene, hold: HoldRecord) -> Instant | None:
    """Give since when no worker is left, and in mode Release no quota either."""
    workload = scene.workload
    released = scene.scale.mode is Mode.RELEASE and not scene.notebook
    quota = released and workload is not None and workload.reserved
    if scene.ending or quota:
        return None
    return hold.gone_at if hold.gone_at is not None else scene.now


def _called_off(scene: Scene, hold: HoldRecord) -> bool:
    """Say whether a wake that nothing was given for yet is wanted no more."""
    return (
        scene.scale.status.state == State.WAKE_PENDING
        and scene.whole
        and wish_of(scene, taken=True).want is not Want.GIVE
        and breach_of(scene, hold) is None
    )


def _cause_of(hold: HoldRecord) -> Cause:
    return Cause.IDLE if hold.ordered is None else Cause.HOLD_NOW


def _next_look(scene: Scene, hold: HoldRecord) -> float | None:
    """Give when maxHold, or the patience with a controller that stays behind, is over."""
    ends = [] if scene.scale.max_hold is None else [hold.since + scene.scale.max_hold]
    if hold.taken_at is not None and any(one.behind for one in scene.pieces):
        ends.append(hold.taken_at + PATIENCE)
    return min((end - scene.now for end in ends if end > scene.now), default=None)
