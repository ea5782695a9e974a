"""Plan what is done for a WorkerScale now: one pure function of all that is known."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from scaler.core.decision import Decision
from scaler.core.hold.giving import adopted
from scaler.core.hold.holding import held
from scaler.core.hold.kinds import SUPPORTED
from scaler.core.hold.outcome import Outcome
from scaler.core.hold.scene import Scene, look
from scaler.core.hold.status import status_of
from scaler.core.hold.steps import Plan, SetFinalizer, WriteStatus
from scaler.core.hold.taking import unwritten
from scaler.core.hold.unheld import unheld
from scaler.core.model import Instant, WorkerScale
from scaler.core.policy import Policy
from scaler.core.snapshot import Snapshot


def plan(
    *,
    snapshot: Snapshot,
    scale: WorkerScale,
    decisions: Sequence[Decision],
    policy: Policy,
    now: Instant,
    allowed: frozenset[str] = SUPPORTED,
) -> Plan:
    """Say what a WorkerScale is, what is done for it now, and why.

    `decisions` are those of its idle triggers; none at all means that nothing is known, which is
    not idle. `allowed` are the kinds that the policy lets WorkerScales act on.
    """
    scene = look(
        snapshot=snapshot,
        scale=scale,
        decisions=decisions,
        policy=policy,
        now=now,
        allowed=allowed,
    )
    outcome = _guarded(scene, _outcome(scene))
    status = status_of(scene, outcome)
    # The record is written before the target: a stop between any two steps leaves nothing wrong.
    going = scale.deleting and outcome.hold is None and not scene.marked
    write = () if going or status == scale.status else (WriteStatus(status=status),)
    return Plan(
        scale=scale,
        target=scale.target,
        state=outcome.state,
        cause=outcome.cause,
        message=outcome.message,
        steps=(*outcome.first, *write, *outcome.writes, *outcome.last),
        status=status,
        look_again_in=_soonest(outcome, _due(scene)),
    )


def _outcome(scene: Scene) -> Outcome:
    if scene.hold is not None:
        return held(scene, scene.hold)
    if scene.marked and scene.lack is None:
        return adopted(scene, unwritten(scene))
    return unheld(scene)


def _guarded(scene: Scene, outcome: Outcome) -> Outcome:
    """See to it that our finalizer is there as long as something is held."""
    scale = scene.scale
    if outcome.hold is None or scale.finalized or scale.deleting:
        return outcome
    return replace(outcome, first=(SetFinalizer(present=True),))


def _due(scene: Scene) -> Iterable[float]:
    """Give when annotations with a time to come are due."""
    for at in (scene.scale.hold_now, scene.scale.wake_at):
        if at is not None and at > scene.now:
            yield at - scene.now


def _soonest(outcome: Outcome, due: Iterable[float]) -> float | None:
    own = () if outcome.look_again_in is None else (outcome.look_again_in,)
    return min((*own, *due), default=None)
