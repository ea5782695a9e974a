"""Find what would have to change for another answer to a trigger."""

from collections.abc import Iterator
from typing import assert_never

from scaler.core.decision import Decision, Status
from scaler.core.idle.question import Question
from scaler.core.metadata import parse
from scaler.core.model import Instant
from scaler.core.policy import Policy
from scaler.core.remedy.doubts import doubt_remedies
from scaler.core.remedy.growing import Growing
from scaler.core.remedy.growth import growth_remedies
from scaler.core.remedy.quiet import Resting, quiet_remedies
from scaler.core.remedy.remedy import Lever, Remedy
from scaler.core.remedy.unknown import unknown_remedies
from scaler.core.remedy.what_if import Asked, set_apart
from scaler.core.scales import scale_of
from scaler.core.snapshot import Snapshot
from scaler.core.trigger import IdleTrigger, InvalidTrigger, QueueTrigger, TriggerRef
from scaler.core.workers.component import Unfound
from scaler.core.workers.resolve import resolve


def remedies(
    *, snapshot: Snapshot, ref: TriggerRef, policy: Policy, now: Instant, decision: Decision
) -> tuple[Remedy, ...]:
    """Give what would have to change for another answer than `decision`, made of the same.

    It decides many times over: for someone who asks, not for each poll.
    """
    asked = Asked(snapshot=set_apart(snapshot), ref=ref, policy=policy, now=now, decision=decision)
    return (*_paused(asked), *_found(asked))


def _found(asked: Asked) -> Iterator[Remedy]:
    trigger = parse(dict(asked.ref.metadata))
    yield from unknown_remedies(asked, trigger)
    match trigger:
        case InvalidTrigger():
            return
        case QueueTrigger():
            if asked.decision.status is Status.OK:
                yield from growth_remedies(Growing(asked=asked, trigger=trigger))
        case IdleTrigger():
            resting = _resting(asked, trigger)
            if resting is not None:
                yield from quiet_remedies(resting)
                yield from doubt_remedies(resting)
        case _:
            assert_never(trigger)


def _resting(asked: Asked, trigger: IdleTrigger) -> Resting | None:
    """Look up what the trigger speaks of; None where the decision could not either."""
    if asked.decision.idle is None:
        return None
    scale = scale_of(asked.snapshot, asked.ref)
    scaled_object = asked.snapshot.scaled_objects.get(asked.ref.key)
    resolved = resolve(
        snapshot=asked.snapshot,
        namespace=asked.ref.namespace,
        trigger=trigger,
        scaled_object=scaled_object,
        policy=asked.policy,
        scale=scale,
    )
    if isinstance(resolved, Unfound):
        return None
    question = Question(
        snapshot=asked.snapshot,
        resolved=resolved,
        size=asked.decision.size,
        scaled_object=scaled_object,
        policy=asked.policy,
        now=asked.now,
        scale=scale,
    )
    return Resting(asked=asked, trigger=trigger, question=question)


def _paused(asked: Asked) -> Iterator[Remedy]:
    scaled_object = asked.snapshot.scaled_objects.get(asked.ref.key)
    if scaled_object is not None and scaled_object.paused:
        text = (
            "KEDA asks nothing while annotation autoscaling.keda.sh/paused is on the ScaledObject"
        )
        yield Remedy(lever=Lever.PAUSE, text=text)
