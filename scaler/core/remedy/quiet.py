"""What would change a verdict that the readings allow: BUSY or IDLE, and at zero."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from scaler.core.effective import dry_run_rules
from scaler.core.idle.join import DeviceUse
from scaler.core.idle.judge import opted_out_by
from scaler.core.idle.question import Question
from scaler.core.idle.starts import devices_of
from scaler.core.model import Instant
from scaler.core.policy import Policy, Thresholds
from scaler.core.quantity import format_duration, several
from scaler.core.reasons import Reason
from scaler.core.remedy.remedy import Lever, Remedy, moment_told, outcome_told
from scaler.core.remedy.what_if import Asked, outcome_of
from scaler.core.schedule import kept_active_until
from scaler.core.trigger import IdleTrigger
from scaler.core.usage import QueryAnswer
from scaler.core.workers.query import BoundQuery, Query


@dataclass(frozen=True, slots=True, kw_only=True)
class Resting:
    """An idle trigger and what it was decided on."""

    asked: Asked
    trigger: IdleTrigger
    question: Question

    @property
    def devices(self) -> tuple[DeviceUse, ...]:
        """Give the devices of the component; empty where Prometheus said nothing of them."""
        resolved, snapshot = self.question.resolved, self.question.snapshot
        usage = snapshot.usage.get(resolved.key)
        if usage is None:
            return ()
        return devices_of(
            snapshot=snapshot, resolved=resolved, usage=usage, policy=self.question.policy
        )

    @property
    def queries(self) -> tuple[BoundQuery, ...]:
        """Give the keepAlive and wake queries that can be asked."""
        resolved = self.question.resolved
        both = (resolved.keep_alive, resolved.wake)
        return tuple(one for one in both if isinstance(one, BoundQuery))


def quiet_remedies(resting: Resting) -> Iterator[Remedy]:
    """Give what would change a verdict."""
    match resting.asked.decision.reason:
        case Reason.BUSY:
            yield _falls_idle(resting)
        case Reason.STARTING:
            yield _started(resting)
        case Reason.IDLE:
            yield _works(resting)
        case Reason.DRY_RUN:
            yield _in_earnest(resting)
            yield _works(resting)
        case Reason.AT_ZERO | Reason.WAKE:
            yield _woken(resting)
        case Reason.OPTED_OUT:
            whose = " and off ".join(opted_out_by(resting.question))
            text = f"kueue-gpu-scaler.dev/ignore taken off {whose} has it judged by its GPUs"
            yield Remedy(lever=Lever.OPT_OUT, text=text)
        case Reason.SCHEDULED:
            yield from _out_of_hours(resting)
        case Reason.NOTHING_TO_MEASURE:
            text = "a podset that requests GPUs can be judged; this one is never taken for idle"
            yield Remedy(lever=Lever.PODS, text=text)
        case _:
            return


def _falls_idle(resting: Resting) -> Remedy:
    """Tell when it is idle at the earliest, and under which conditions."""
    question, thresholds = resting.question, resting.question.resolved.effective
    now, threshold = question.now, thresholds.busy_from_percent
    conditions = [f"no GPU reaches {threshold:g} % until then"]
    conditions += [
        f"query {one.key.name} is not above 0" for one in resting.queries if _on(question, one)
    ]
    conditions += [
        f"device {one.device.uuid} draws less than {limit:g} W"
        for one in resting.devices
        if (limit := _vetoed(one, question.policy)) is not None
    ]
    at = max(now, _quiet_from(resting) + thresholds.idle_after)
    told = f"idle at {moment_told(at, now)}" if at > now else "idle at once"
    return Remedy(
        lever=Lever.ACTIVITY,
        subject=f"workload/{question.resolved.component.subject}",
        more=(("seconds", math.ceil(at - now)),) if at > now else (),
        at=at if at > now else None,
        text=f"{told} if {' and '.join(conditions)}",
    )


def _quiet_from(resting: Resting) -> Instant:
    """Give the newest busy sample; where none is known none keeps it busy."""
    threshold = resting.question.resolved.effective.busy_from_percent
    busy = [one for one in resting.devices if (one.peak or 0.0) >= threshold]
    times = (one.last_busy if one.last_busy is not None else one.latest for one in busy)
    return max((one for one in times if one is not None), default=-math.inf)


def _on(question: Question, query: Query) -> bool:
    return bool(question.hear(query).on)


def _vetoed(device: DeviceUse, policy: Policy) -> float | None:
    limit = policy.safety.power_veto_watts.get(device.model)
    veto = device.whole and limit is not None and (device.watts or 0.0) >= limit
    return limit if veto else None


def _started(resting: Resting) -> Remedy:
    """Tell which pods lack, else when the youngest is old enough."""
    question = resting.question
    component, thresholds = question.resolved.component, question.resolved.effective
    lacking = max(component.lacking if question.size != 0 else 0, 0 if component.pods else 1)
    unready = [one.name for one in component.pods if one.ready_since is None]
    wait = thresholds.grace_after_start + thresholds.idle_after
    if lacking or unready:
        verb = "has" if lacking == 1 else "have"
        what = f"{several(lacking, 'more pod')} {verb} to run" if lacking else ""
        ready = f"pod {', '.join(unready)} has to be Ready" if unready else ""
        whole = " and ".join(one for one in (what, ready) if one)
        after = f"; then it is judged after {format_duration(wait)}"
        return Remedy(
            lever=Lever.PODS, more=(("pods", lacking + len(unready)),), text=f"{whole}{after}"
        )
    at = max(one.ready_since or 0.0 for one in component.pods) + wait
    return Remedy(
        lever=Lever.TIME,
        at=at,
        more=(("seconds", math.ceil(at - question.now)),),
        text=f"judged by its GPUs at {moment_told(at, question.now)}, when its youngest pod has "
        f"been Ready for graceAfterStart + idleAfter",
    )


def _works(resting: Resting) -> Remedy:
    threshold = resting.question.resolved.effective.busy_from_percent
    names = [f"query {one.key.name} above 0" for one in resting.queries]
    what = " or ".join([f"a GPU at {threshold:g} % or more", *names])
    return Remedy(
        lever=Lever.ACTIVITY, text=f"{what} makes it busy, and so does a pod that is not Ready"
    )


def _in_earnest(resting: Resting) -> Remedy:
    """Let go of every dryRun, wherever the policy or the trigger says it."""
    asked, resolved = resting.asked, resting.question.resolved
    rules = dry_run_rules(
        policy=asked.policy,
        trigger=resting.trigger,
        namespace=resolved.component.namespace,
        cluster_queue=resolved.cluster_queue,
        kind=resolved.component.kind,
    )
    metadata = dict(asked.ref.metadata)
    metadata.pop("dryRun", None)
    ref = replace(asked.ref, metadata=frozenset(metadata.items()))
    then = outcome_of(asked.decide(policy=without_dry_run(asked.policy, rules), ref=ref))
    levels = ", ".join(rules)
    return Remedy(
        lever=Lever.DRY_RUN,
        subject=levels,
        text=f"held by dryRun from {levels}: without it the verdict is {then.reason}, and "
        f"{outcome_told(then, asked.decision.value)}, inactive",
        then=then,
    )


def without_dry_run(policy: Policy, rules: tuple[str, ...]) -> Policy:
    """Set dryRun to false at the levels that are named."""

    def lets_go(section: str, levels: dict[str, Thresholds]) -> dict[str, Thresholds]:
        return {
            name: replace(one, dry_run=False) if f"{section}.{name}" in rules else one
            for name, one in levels.items()
        }

    defaults = policy.defaults
    return replace(
        policy,
        namespaces=lets_go("namespaces", dict(policy.namespaces)),
        cluster_queues=lets_go("clusterQueues", dict(policy.cluster_queues)),
        kinds=lets_go("kinds", dict(policy.kinds)),
        defaults=replace(defaults, dry_run=False) if "defaults" in rules else defaults,
    )


def _woken(resting: Resting) -> Remedy:
    """Tell what wakes it, or lets it go back to zero."""
    asked, wake = resting.asked, resting.question.resolved.wake
    at_zero = asked.decision.reason is Reason.AT_ZERO
    if not isinstance(wake, BoundQuery):
        annotation = "annotation kueue-gpu-scaler.dev/wake with a time, or `now`,"
        text = f"{annotation} wakes it" if at_zero else f"without the {annotation} it stays at zero"
        return Remedy(lever=Lever.ACTIVITY, text=text)
    answer = QueryAnswer(at=asked.now, on=at_zero, expression=wake.expression)
    snapshot = asked.snapshot
    changed = replace(snapshot, answers={**snapshot.answers, wake.key: answer})
    then = outcome_of(asked.decide(snapshot=changed))
    by = "woken by a request: " if at_zero else "back to zero without requests: "
    above = "above 0" if at_zero else "not above 0, and no wake annotation"
    return Remedy(
        lever=Lever.QUERY,
        subject=f"query/{wake.key.name}",
        text=f"{by}query {wake.key.name} {above}: {outcome_told(then, asked.decision.value)}",
        then=then,
    )


def _out_of_hours(resting: Resting) -> Iterator[Remedy]:
    namespace, asked = resting.question.resolved.component.namespace, resting.asked
    at = kept_active_until(asked.policy, namespace, asked.now)
    if at is None:
        text = f"a schedule always keeps namespace {namespace} active: its keepActive or hours"
        yield Remedy(lever=Lever.SCHEDULE, text=text)
        return
    yield Remedy(
        lever=Lever.SCHEDULE,
        at=at,
        more=(("seconds", math.ceil(at - asked.now)),),
        text=f"judged by its GPUs from {moment_told(at, asked.now)} on, when the schedule ends",
    )
