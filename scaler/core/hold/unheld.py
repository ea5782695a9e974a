"""Workers that are not away: read their size, leave them, refuse, wait, or take them."""

from dataclasses import replace

from scaler.core.hold.latches import closed_word, latch_of
from scaler.core.hold.outcome import Outcome, left_alone, put_back
from scaler.core.hold.refusals import lasting_refusal, passing_refusal
from scaler.core.hold.scene import Scene
from scaler.core.hold.sought import Refusal
from scaler.core.hold.steps import SetReplicas
from scaler.core.hold.taking import take
from scaler.core.hold.wish import Want, Wish, wish_of
from scaler.core.hold.words import Cause, State

_DEFAULT_REPLICAS = 1
"""Of the CRD, which KEDA asks for."""


def unheld(scene: Scene) -> Outcome:
    """Plan for workers of which nothing is taken, and take our finalizer off where that is sure."""
    outcome = _look(scene)
    if outcome.hold is not None or scene.lack is not None or scene.unread:
        return outcome
    return replace(outcome, last=put_back(scene))


def _look(scene: Scene) -> Outcome:
    if scene.scale.deleting:
        message = "the target is as it was"
        return left_alone(scene, State.RESTORING, Cause.DELETED, message)
    refusal = lasting_refusal(scene)
    if refusal is not None:
        return _refused(scene, refusal)
    if scene.scale.status.size is None:
        return _read_size(scene)
    latch = latch_of(scene)
    word = closed_word(latch)
    if latch is not None and word is not None:
        return left_alone(scene, word, Cause(latch.cause), latch.message)
    return _answer(scene, wish_of(scene, taken=False))


def _answer(scene: Scene, wish: Wish) -> Outcome:
    if wish.want is Want.GIVE:
        return left_alone(scene, State.RUNNING, wish.cause, wish.message, lasting=wish.lasting)
    if scene.lack is None:
        refusal = passing_refusal(scene)
        if refusal is not None:
            return _refused(scene, refusal)
    if wish.want is Want.WAIT:
        return left_alone(scene, State.NOT_IDLE, wish.cause, wish.message, lasting=wish.lasting)
    if scene.lack is not None:
        lasting = f"{scene.lack.kind} can't be read now"
        return left_alone(
            scene, State.REFUSED, Cause.SOURCE_UNKNOWN, scene.lack.detail, lasting=lasting
        )
    return take(scene, wish)


def _refused(scene: Scene, refusal: Refusal) -> Outcome:
    return left_alone(scene, State.REFUSED, refusal.cause, refusal.message)


def _read_size(scene: Scene) -> Outcome:
    """Give spec.replicas the size that is there; until that is written no zero is obeyed."""
    size = scene.size if scene.lack is None else None
    if not size:
        return _not_read(scene)
    replicas = scene.scale.replicas
    wrong = replicas <= 0 or (replicas == _DEFAULT_REPLICAS and size != replicas)
    outcome = left_alone(scene, State.RUNNING, Cause.AS_WANTED, f"its size was read: {size}")
    return replace(outcome, size=size, first=(SetReplicas(replicas=size),) if wrong else ())


def _not_read(scene: Scene) -> Outcome:
    if scene.lack is not None:
        message, lasting = scene.lack.detail, f"{scene.lack.kind} can't be read now"
    else:
        refusal = passing_refusal(scene)
        message = "no pods are wanted" if refusal is None else refusal.message
        lasting = ""
    return left_alone(scene, State.UNREAD, Cause.SIZE_NOT_READ, message, lasting=lasting)
