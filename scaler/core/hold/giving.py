"""Give workers back: first written down, then the target, then wait until they are there."""

from dataclasses import replace
from typing import Final

from scaler.core.hold.breaches import PATIENCE, breach_of, recent
from scaler.core.hold.latches import after_loss, closed, closed_word, latch_of, until_activity
from scaler.core.hold.nodes_first import clock_runs, lacking_room
from scaler.core.hold.outcome import Outcome, left_alone, put_back, word_of
from scaler.core.hold.scene import Scene
from scaler.core.hold.sought import Grip, Piece
from scaler.core.hold.steps import Step
from scaler.core.hold.wish import Want, wish_of
from scaler.core.hold.words import Cause, State
from scaler.core.model import HoldRecord, Latch, Mode
from scaler.core.quantity import several

DELETION_WAITS: Final = 900.0
"""Seconds for which a deletion waits for nodes; a namespace must be able to go."""
RETRY: Final = 10.0


def give(
    scene: Scene,
    hold: HoldRecord,
    cause: Cause,
    message: str,
    *,
    latch: Latch | None = None,
    at_once: bool = False,
    lasting: str = "",
) -> Outcome:
    """Give back what bears our mark, and what somebody took only the mark off.

    `at_once` is for breaches: waiting for nodes would not save what is broken already.
    """
    pieces = ours(scene, hold)
    if not pieces:
        return ended(scene, cause, message, latch=latch)
    kept = latch or _kept_latch(scene, cause, message)
    waking = hold.waking_at if hold.waking_at is not None else scene.now
    begun = replace(hold, waking_at=waking, taken_at=hold.taken_at or scene.now)
    lack = "" if at_once else _wait_for_nodes(scene, hold)
    if lack:
        return _pending(scene, begun, f"{message}; {lack}", kept)
    return Outcome(
        state=_coming(scene, cause),
        cause=cause,
        message=message,
        lasting=lasting,
        hold=begun,
        latch=kept,
        size=scene.scale.status.size,
        writes=tuple(step for one in pieces for step in back(one)),
        look_again_in=RETRY,
    )


def adopted(scene: Scene, hold: HoldRecord) -> Outcome:
    """Give back marks that no record speaks of: status was lost, or an old object came back.

    Whoever brings them back again and again is not fought, except by a deletion.
    """
    message = f"{scene.marked[0].label} bears our mark, and nothing is written down of it"
    if closed(latch_of(scene)) and not scene.scale.deleting:
        return left_alone(scene, State.CONFLICT, Cause.UNDONE, message)
    latch = after_loss(scene, message)
    begun = replace(hold, waking_at=scene.now, taken_at=scene.now)
    return give(scene, begun, Cause.TAKE_LOST, message, latch=latch, at_once=True)


def waking(scene: Scene, hold: HoldRecord) -> Outcome:
    """Go on giving back: marks that are left, then pods that are missing."""
    wish, breach = wish_of(scene, taken=True), breach_of(scene, hold)
    if ours(scene, hold):
        if hold.taken_at is None:
            return adopted(scene, hold)
        cause = wish.cause if wish.want is Want.GIVE else _last_cause(scene)
        message = wish.message if wish.want is Want.GIVE else scene.scale.status.message
        if breach is not None:
            cause, message = breach.cause, breach.message
        at_once = breach is not None and not breach.whole
        return give(scene, hold, cause, message, at_once=at_once)
    if recent(scene, hold) and hold.taken_at is None:
        return _missing(scene, hold, PATIENCE)
    if scene.scale.deleting or breach is not None or not _awaited(scene):
        return ended(scene, _last_cause(scene), "the target is as it was")
    return _missing(scene, replace(hold, taken_at=None), None)


def ended(scene: Scene, cause: Cause, message: str, *, latch: Latch | None = None) -> Outcome:
    """Forget the hold: nothing of ours is on the target any more."""
    kept = latch or _kept_latch(scene, cause, message)
    state = State.RESTORING if scene.scale.deleting else closed_word(kept) or State.RUNNING
    return Outcome(
        state=state,
        cause=cause,
        message=kept.message if kept is not None and closed(kept) else message,
        hold=None,
        latch=kept,
        size=scene.scale.status.size,
        last=() if scene.marked else put_back(scene),
    )


def ours(scene: Scene, hold: HoldRecord) -> tuple[Piece, ...]:
    """Give the marked pieces, and those at zero whose mark somebody took off.

    None was at zero when it was taken; once it was seen given back, it is another's business.
    Of a Workload the annotation alone counts, as Kueue sets it inactive too.
    """
    given = hold.waking_at is not None and hold.taken_at is None
    stripped = scene.scale.mode is Mode.HOLD and not given
    return tuple(
        one
        for one in scene.pieces
        if one.marked or (stripped and one.grip is Grip.ZEROED and _same(one, hold))
    )


def _same(piece: Piece, hold: HoldRecord) -> bool:
    return hold.target_uid in ("", piece.uid)


def back(piece: Piece) -> tuple[Step, ...]:
    """Give the writes that put a marked piece back; of one that is back, just the mark goes."""
    return piece.drop if piece.grip is Grip.UNDONE else piece.give


def _kept_latch(scene: Scene, cause: Cause, message: str) -> Latch | None:
    return until_activity(message) if cause is Cause.MAX_HOLD else latch_of(scene)


def _last_cause(scene: Scene) -> Cause:
    """Give the cause that status has: why they were wanted back when that was written down."""
    try:
        return Cause(scene.scale.status.reason)
    except ValueError:
        return Cause.WANTED


def _coming(scene: Scene, cause: Cause) -> State:
    if scene.scale.deleting:
        return State.RESTORING
    if cause is Cause.UNDONE:
        return State.CONFLICT
    return word_of(scene, State.WAKING, State.QUEUED)


def _wait_for_nodes(scene: Scene, hold: HoldRecord) -> str:
    """Say what a wake waits for: first for its turn, which its own record gives, then for room."""
    if not clock_runs(scene) or any(one.grip is not Grip.OURS for one in scene.pieces):
        return ""
    if hold.waking_at is None:
        return "its room is looked for"
    if scene.scale.deleting and abs(scene.now - hold.waking_at) >= DELETION_WAITS:
        return ""
    return lacking_room(scene, hold)


def _pending(scene: Scene, hold: HoldRecord, message: str, latch: Latch | None) -> Outcome:
    return Outcome(
        state=State.WAKE_PENDING,
        cause=Cause.NODES_FIRST,
        message=message,
        hold=hold,
        latch=latch,
        size=scene.scale.status.size,
        look_again_in=RETRY,
    )


def _awaited(scene: Scene) -> bool:
    """Say whether pods are still to come: those that wait for quota come when it is there."""
    workload = scene.workload
    if scene.notebook:
        return not scene.live
    if workload is None or not workload.active or closed(latch_of(scene)):
        return False
    if workload.evicted and scene.scale.mode is Mode.HOLD:
        return False
    return scene.lacking > 0 or not workload.admitted


def _missing(scene: Scene, hold: HoldRecord, again: float | None) -> Outcome:
    workload = scene.workload
    queued = workload is not None and not workload.admitted and not scene.notebook
    state, cause = word_of(scene, State.WAKING, State.WAKING), _last_cause(scene)
    message = f"given back, {several(scene.lacking, 'pod')} missing"
    if queued and workload is not None:
        state, cause = State.QUEUED, Cause.IN_QUEUE
        message = f"Workload {workload.name} (same UID) waits in its queue"
    if scene.scale.deleting:
        state = State.RESTORING
    return Outcome(
        state=state,
        cause=cause,
        message=message,
        hold=hold,
        latch=latch_of(scene),
        size=scene.scale.status.size,
        look_again_in=again,
    )
