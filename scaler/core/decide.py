"""Decide a trigger: parse it, find its ScaledObject and size, and ask the signal that it names."""

from typing import assert_never

from scaler.core.decision import Decision, Status
from scaler.core.idle.signal import decide_idle
from scaler.core.metadata import parse
from scaler.core.model import Instant, Kind
from scaler.core.policy import Policy
from scaler.core.queue.signal import decide_queue
from scaler.core.reasons import Reason
from scaler.core.scales import scale_of
from scaler.core.size import Size, size_of
from scaler.core.snapshot import Part, Snapshot
from scaler.core.trigger import IdleTrigger, InvalidTrigger, QueueTrigger, TriggerRef


def decide(*, snapshot: Snapshot, ref: TriggerRef, policy: Policy, now: Instant) -> Decision:
    """Give the Decision for any metadata on any state of the sources.

    A paused ScaledObject is decided like any other: KEDA does not ask, and whoever looks sees
    what it will get once it does. An opted-out one is always BUSY for an idle signal; a queue
    signal never takes anything away, so the opt-out says nothing to it.
    """
    trigger = parse(dict(ref.metadata))
    scaled_object = snapshot.scaled_objects.get(ref.key)
    scale = scale_of(snapshot, ref)
    size = size_of(
        snapshot=snapshot,
        scaled_object=scaled_object,
        policy=policy,
        trigger=None if isinstance(trigger, InvalidTrigger) else trigger,
        now=now,
        namespace=ref.namespace,
        scale=scale,
    )
    match trigger:
        case InvalidTrigger():
            return _invalid(ref=ref, trigger=trigger, size=size, now=now)
        case QueueTrigger():
            return decide_queue(
                snapshot=snapshot,
                ref=ref,
                trigger=trigger,
                policy=policy,
                now=now,
                scaled_object=scaled_object,
                size=size,
            )
        case IdleTrigger():
            return decide_idle(
                snapshot=snapshot,
                ref=ref,
                trigger=trigger,
                policy=policy,
                now=now,
                scaled_object=scaled_object,
                size=size,
                scale=scale,
            )
        case _:
            assert_never(trigger)


def _invalid(*, ref: TriggerRef, trigger: InvalidTrigger, size: Size, now: Instant) -> Decision:
    """Refuse malformed metadata; a target that it is live on is held."""
    problems = tuple(str(problem) for problem in trigger.problems)
    return Decision(
        namespace=ref.namespace,
        name=ref.name,
        metric="",
        status=Status.INVALID,
        active=None,
        value=None,
        reason=Reason.BAD_METADATA,
        detail="; ".join(problems),
        at=now,
        size=size.value,
        running=size.running,
        read=frozenset(
            {
                (Part.TARGETS, ref.namespace),
                (Part.PODS, ref.namespace),
                (Part.SOURCE, Kind.SCALED_OBJECTS),
                (Part.SOURCE, Kind.HPAS),
                (Part.SOURCE, Kind.WORKER_SCALES),
                (Part.POLICY, ""),
            }
        ),
        problems=problems,
    )
