"""Take workers: our finalizer, then what was true, then the target with our mark."""

from scaler.core.hold.breaches import PATIENCE, usage_of
from scaler.core.hold.evidence import reason_of
from scaler.core.hold.latches import latch_of
from scaler.core.hold.outcome import Outcome, word_of
from scaler.core.hold.scene import Scene
from scaler.core.hold.sought import Grip
from scaler.core.hold.steps import Step
from scaler.core.hold.wish import Wish
from scaler.core.hold.words import Cause, State
from scaler.core.model import HoldRecord, Instant
from scaler.core.quantity import several
from scaler.core.workers import podsets


def take(scene: Scene, wish: Wish) -> Outcome:
    """Take every piece, with all that is needed to give it back written down before."""
    what = ", ".join(one.label for one in scene.pieces)
    gpus = several(scene.devices, "GPU")
    reason = reason_of(scene, wish.message)
    ordered = scene.scale.hold_now if wish.cause is Cause.HOLD_NOW else None
    return Outcome(
        state=word_of(scene, State.HOLDING, State.RELEASING),
        cause=wish.cause,
        message=f"taking {what} ({several(scene.live, 'pod')}, {gpus}) because {reason}",
        hold=_record(scene, reason=reason, ordered=ordered),
        latch=latch_of(scene),
        size=scene.scale.status.size,
        writes=takes(scene),
        look_again_in=PATIENCE,
    )


def takes(scene: Scene) -> tuple[Step, ...]:
    """Give the writes that take what is free still."""
    return tuple(step for one in scene.pieces if one.grip is Grip.FREE for step in one.take)


def unwritten(scene: Scene) -> HoldRecord:
    """Build the record of a hold that only marks speak of, to give it back by."""
    return _record(scene, reason="nobody wrote it down", ordered=None)


def _record(scene: Scene, *, reason: str, ordered: Instant | None) -> HoldRecord:
    workload = scene.workload
    away = tuple(
        sorted(
            (one.name, one.count if workload is None else podsets.size(one, workload=workload))
            for one in scene.pod_sets
        )
    )
    return HoldRecord(
        workload="" if workload is None else workload.name,
        workload_uid="" if workload is None else workload.uid,
        usage=() if workload is None else usage_of(workload, frozenset(name for name, _ in away)),
        pod_sets=away,
        since=scene.now,
        reserved_at=None if workload is None else workload.reserved_at,
        evictions=0 if workload is None else workload.evictions,
        target_uid=scene.pieces[0].uid if len(scene.pieces) == 1 else "",
        reason=reason,
        ordered=ordered,
    )
