"""What is wanted of the workers: taken, kept away, given back, or left alone, and by whom."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from scaler.core.decision import Decision, Status
from scaler.core.hold.breaches import PATIENCE
from scaler.core.hold.latches import closed, latch_of
from scaler.core.hold.scene import NEW_SECONDS, Scene
from scaler.core.hold.words import Cause
from scaler.core.model import Instant, ScaleCondition
from scaler.core.policy import DEFAULT_THRESHOLDS
from scaler.core.quantity import format_duration, format_instant
from scaler.core.reasons import Reason

_IGNORE: Final = "kueue-gpu-scaler.dev/ignore"
_WAKES: Final = (Reason.WAKE, Reason.SCHEDULED)
_ALWAYS: Final = 0.0
"""An annotation's value `now`: it has no time, and counts for as long as it is there."""


class Want(StrEnum):
    """What is wanted."""

    GIVE = "give"
    """The workers are to be there."""
    KEEP = "keep"
    """They are away, and nobody wants them back."""
    TAKE = "take"
    WAIT = "wait"
    """Zero is wanted, and not granted now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What is wanted, and the evidence."""

    want: Want
    cause: Cause
    message: str
    lasting: str = ""
    """The message without what changes with each look; empty where it is the same."""


def wish_of(scene: Scene, *, taken: bool) -> Wish:
    """Ask in the order of who outranks whom: `taken` says whether the workers are away."""
    wish = (
        _leaving(scene)
        or _over(scene)
        or _ordered(scene)
        or _woken(scene)
        or _wanted(scene, taken=taken)
    )
    if wish is not None:
        return wish
    if taken:
        return Wish(want=Want.KEEP, cause=Cause.IDLE, message="nobody wants the workers back")
    return _granted(scene)


def _leaving(scene: Scene) -> Wish | None:
    scale = scene.scale
    if scale.deleting:
        return _give(Cause.DELETED, f"WorkerScale/{scale.name} is being deleted")
    if scale.opted_out:
        return _give(Cause.OPTED_OUT, f"{_IGNORE} is true on WorkerScale/{scale.name}")
    if scene.workload is not None and scene.workload.opted_out:
        return _give(Cause.OPTED_OUT, f"{_IGNORE} is true on Workload {scene.workload.name}")
    return None


def _over(scene: Scene) -> Wish | None:
    hold, most = scene.hold, scene.scale.max_hold
    # A clock that was set back makes no hold endless.
    if hold is None or most is None or abs(scene.now - hold.since) < most:
        return None
    since = format_instant(int(hold.since))
    return _give(
        Cause.MAX_HOLD, f"away since {since}, which maxHold ends at {format_duration(most)}"
    )


def _ordered(scene: Scene) -> Wish | None:
    """Hear a person's order; it is used up by the hold that it made.

    So an eviction, a maxHold or another writer's word ends it, and the next order has a new time.
    """
    at, wake = scene.scale.hold_now, scene.scale.wake_at
    if at is None or at > scene.now or (wake is not None and (wake == _ALWAYS or wake > at)):
        return None
    if closed(latch_of(scene)) or not _is_new(scene, at):
        return None
    when = "" if at == _ALWAYS else f" at {format_instant(at)}"
    message = f"a person asked for it by hold-now{when}"
    return Wish(want=Want.TAKE, cause=Cause.HOLD_NOW, message=message)


def _is_new(scene: Scene, at: Instant) -> bool:
    """Say whether an order speaks of this hold or of the next one, and of none before.

    One that is older than the WorkerScale came with it from somewhere else, as from a backup.
    """
    hold, scale = scene.hold, scene.scale
    if hold is not None:
        return hold.ordered == at or at >= hold.since
    known = [one for one in scale.status.conditions if one.type in ("Held", "Released")]
    if not known or _ALWAYS < at < scale.created - NEW_SECONDS:
        return False
    return all(at > one.changed for one in known if _was_held(one, scale.created))


def _was_held(condition: ScaleCondition, created: Instant) -> bool:
    """Say whether a hold ended; where there was none, the condition is as old as its object."""
    return condition.status == "False" and condition.changed > created


def _woken(scene: Scene) -> Wish | None:
    at = scene.scale.wake_at
    if at is not None and _wakes(scene, at):
        name = scene.scale.name
        return _give(Cause.WAKE, f"kueue-gpu-scaler.dev/wake on WorkerScale/{name}")
    for one in scene.decisions if not scene.notebook else ():
        if one.status is Status.OK and one.active is True and one.reason in _WAKES:
            return _give(Cause.WAKE, f"{one.reason}: {one.detail}", lasting=f"{one.reason}")
    return None


def _wakes(scene: Scene, at: Instant) -> bool:
    """Say whether a wake annotation counts: one older than the hold woke an earlier one.

    While nothing is held, it keeps the workers as long as a woken workload isn't judged.
    """
    if at == _ALWAYS:
        return True
    if scene.hold is not None:
        since = scene.hold.since
        # Of a hold that is still to come by this clock nobody knows when it was made.
        return at <= scene.now and (since <= at or since - scene.now > PATIENCE)
    return at <= scene.now < at + _judged_after(scene)


def _judged_after(scene: Scene) -> float:
    evidence = [one.idle.idle_after_seconds for one in scene.decisions if one.idle is not None]
    default = scene.policy.defaults.idle_after
    built_in = DEFAULT_THRESHOLDS.idle_after or 0.0
    return max([*evidence, built_in if default is None else default])


def _wanted(scene: Scene, *, taken: bool) -> Wish | None:
    replicas = scene.scale.replicas
    # A number above zero can't be told from KEDA's own, and a stopped Notebook is a person's.
    if replicas <= 0 or (scene.notebook and taken):
        return None
    return _give(Cause.AS_WANTED if not taken else Cause.WANTED, f"spec.replicas is {replicas}")


def _granted(scene: Scene) -> Wish:
    """Grant zero where nothing speaks against it: every decision has to say idle, now."""
    latch = latch_of(scene)
    if latch is not None and latch.cause != Cause.TAKE_LOST:
        return Wish(want=Want.WAIT, cause=Cause(latch.cause), message=latch.message)
    optout = next((one for one in scene.pods if one.live and one.opted_out), None)
    if optout is not None:
        message = f"{_IGNORE} is true on pod {optout.name}"
        return Wish(want=Want.WAIT, cause=Cause.OPTED_OUT, message=message)
    if not scene.decisions:
        return Wish(want=Want.WAIT, cause=Cause.NOT_IDLE, message="no decision is known yet")
    for one in scene.decisions:
        doubt = _doubt(scene, one)
        if doubt is not None:
            return doubt
    message = "; ".join(dict.fromkeys(one.detail for one in scene.decisions))
    return Wish(want=Want.TAKE, cause=Cause.IDLE, message=message)


def _doubt(scene: Scene, decision: Decision) -> Wish | None:
    idle = (
        decision.status is Status.OK and decision.active is False and decision.reason is Reason.IDLE
    )
    if idle and abs(scene.now - decision.at) <= scene.policy.safety.max_watch_age:
        return None
    said = f"{decision.name} says {decision.reason}"
    message = f"{said}: {decision.detail}"
    if idle:
        said = f"{decision.name} said {decision.reason} too long ago"
        message = f"{said}, at {format_instant(int(decision.at))}"
    return Wish(want=Want.WAIT, cause=Cause.NOT_IDLE, message=message, lasting=said)


def _give(cause: Cause, message: str, *, lasting: str = "") -> Wish:
    return Wish(want=Want.GIVE, cause=cause, message=message, lasting=lasting)
