"""What breaks a hold: looked for at each look, on what is known for sure.

The Workload's name, QuotaReserved and Admitted all look right after a loss (measured): its UID, its
usage, and the traces of an eviction tell.
"""

from dataclasses import dataclass, replace
from typing import Final

from scaler.core.demand.granted import usage
from scaler.core.hold.scene import Scene
from scaler.core.hold.sought import Grip
from scaler.core.hold.words import Cause
from scaler.core.model import Amounts, HoldRecord, Mode, Workload
from scaler.core.quantity import format_amount, format_instant, plus

PATIENCE: Final = 10.0
"""Seconds in which a write is seen, and in which KubeRay follows a change: under one, measured."""
_LOST: Final = "False/WaitForRecovery"


@dataclass(frozen=True, slots=True, kw_only=True)
class Breach:
    """Why the workers are given back although nobody wants them."""

    cause: Cause
    message: str
    waits: bool = False
    """Until Kueue suspended the owner: before that, workers would start for a moment."""
    whole: bool = False
    """Nothing of the hold is lost yet: its nodes come first, as with any wake."""


def recent(scene: Scene, hold: HoldRecord) -> bool:
    """Say whether a hold is so young that what was written for it may not be seen yet.

    A clock that was set back, or another leader's, makes no old one young.
    """
    return abs(scene.now - hold.since) < PATIENCE


def usage_of(workload: Workload, away: frozenset[str]) -> Amounts:
    """Sum what an admission holds of its ClusterQueue, by resource.

    Reclaimed pods are subtracted in the podsets that are `away` alone: there they are a loss, as
    pods that ended by the hold and are not coming back; elsewhere they just finished.
    """
    kept = tuple(one for one in workload.reclaimable if one[0] in away)
    total: Amounts = ()
    for (_, resource), amount in usage((replace(workload, reclaimable=kept),)):
        total = plus(total, ((resource, amount),))
    return total


def breach_of(scene: Scene, hold: HoldRecord) -> Breach | None:
    """Give what broke a hold; in mode Release only the Workload's loss does."""
    workload = scene.workload
    if scene.notebook:
        return None
    if workload is None or workload.uid != hold.workload_uid:
        return _replaced(workload, hold)
    if scene.scale.mode is Mode.RELEASE:
        return None
    return (
        _evicted(scene, workload, hold)
        or _forbidden(scene)
        or _usage_lost(workload, hold)
        or _readiness_lost(workload)
        or _not_taken(scene, hold)
    )


def _replaced(workload: Workload | None, hold: HoldRecord) -> Breach:
    if workload is None:
        message = f"Workload {hold.workload} is gone or finished"
    else:
        message = (
            f"Workload {workload.name} has UID {workload.uid}, the held one had {hold.workload_uid}"
        )
    return Breach(cause=Cause.WORKLOAD_REPLACED, message=message)


def _evicted(scene: Scene, workload: Workload, hold: HoldRecord) -> Breach | None:
    """Tell an eviction under way from one that is over: Evicted stands beside Admitted for long."""
    if workload.evicted or not (workload.reserved and workload.admitted):
        suspended = bool(scene.pieces) and all(one.suspended for one in scene.pieces)
        message = f"Workload {workload.name} lost its quota while its workers were away"
        return Breach(cause=Cause.EVICTED_WHILE_HELD, message=message, waits=not suspended)
    if workload.evictions > hold.evictions or _later(workload.reserved_at, hold.reserved_at):
        message = f"Workload {workload.name} was evicted and admitted again while held"
        return Breach(cause=Cause.EVICTED_WHILE_HELD, message=message)
    return None


def _later(now: float | None, before: float | None) -> bool:
    return now is not None and before is not None and now > before


def _forbidden(scene: Scene) -> Breach | None:
    kind = scene.scale.target.kind
    if kind not in scene.allowed:
        message = f"the policy's workerScales.kinds leave {kind} out now"
        return Breach(cause=Cause.KIND_NOT_ALLOWED, message=message, whole=True)
    for one in scene.pieces:
        if one.forbids is not None and one.forbids.cause is Cause.IN_TREE_AUTOSCALING:
            return Breach(cause=one.forbids.cause, message=one.forbids.message)
    return None


def _usage_lost(workload: Workload, hold: HoldRecord) -> Breach | None:
    now = dict(usage_of(workload, frozenset(name for name, _ in hold.pod_sets)))
    for resource, before in hold.usage:
        if now.get(resource, 0) < before:
            message = (
                f"Workload {workload.name} uses {format_amount(resource, now.get(resource, 0))} of "
                f"{resource} now, it was {format_amount(resource, before)} when the workers were "
                "taken"
            )
            return Breach(cause=Cause.USAGE_LOST, message=message)
    return None


def _readiness_lost(workload: Workload) -> Breach | None:
    if workload.pods_ready != _LOST:
        return None
    message = f"PodsReady of Workload {workload.name} is {_LOST}: it would be evicted"
    return Breach(cause=Cause.PODS_READY_LOST, message=message)


def _not_taken(scene: Scene, hold: HoldRecord) -> Breach | None:
    """Tell that the target's controller ignores the change: it is behind, and its pods live on."""
    behind = next((one for one in scene.pieces if one.behind and one.grip is Grip.OURS), None)
    since = hold.since if hold.taken_at is None else hold.taken_at
    if behind is None or not scene.live or scene.now - since < PATIENCE:
        return None
    message = (
        f"KubeRay does not follow since {format_instant(since)}, {behind.behind} for "
        f"{behind.label}; before 1.6 it needs the feature gate RayJobDeletionPolicy"
    )
    return Breach(cause=Cause.NOT_TAKEN, message=message)
