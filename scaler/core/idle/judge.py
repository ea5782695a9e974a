"""Judge a component BUSY, IDLE or UNKNOWN.

The order of the questions is the point: what a person or a schedule says comes first, then
whether anything runs and for how long, and only then what the readings say.
"""

from collections.abc import Callable

from scaler.core.decision import Verdict
from scaler.core.idle.measure import measure
from scaler.core.idle.question import Finding, Question
from scaler.core.profile import metric_profile
from scaler.core.quantity import format_duration, several
from scaler.core.reasons import Reason
from scaler.core.schedule import kept_active_by

_Rule = Callable[[Question], Finding | None]


def judge(question: Question) -> Finding:
    """Ask the questions in their order; the first that has an answer gives it."""
    rules: tuple[_Rule, ...] = (_opted_out, _scheduled, _at_zero, _unmeasurable, _starting)
    for rule in rules:
        finding = rule(question)
        if finding is not None:
            return finding
    return measure(question)


def opted_out_by(question: Question) -> tuple[str, ...]:
    """Name everything that bears kueue-gpu-scaler.dev/ignore for this component."""
    component, scaled_object = question.resolved.component, question.scaled_object
    whose = [f"pod {pod.name}" for pod in component.pods if pod.opted_out]
    whose += [f"Workload {one.name}" for one in component.workloads if one.opted_out]
    if component.target is not None and component.target.opted_out:
        whose.append(str(component.subject))
    if scaled_object is not None and scaled_object.opted_out:
        whose.append("the ScaledObject")
    if question.scale is not None and question.scale.opted_out:
        whose.append("the WorkerScale")
    return tuple(whose)


def _opted_out(question: Question) -> Finding | None:
    whose = opted_out_by(question)
    if not whose:
        return None
    detail = f"kueue-gpu-scaler.dev/ignore is true on {whose[0]}"
    return Finding(verdict=Verdict.BUSY, reason=Reason.OPTED_OUT, detail=detail)


def _scheduled(question: Question) -> Finding | None:
    namespace = question.resolved.component.namespace
    schedule = kept_active_by(question.policy, namespace, question.now)
    if schedule is None:
        return None
    detail = f"schedule {schedule.name} keeps namespace {namespace} active"
    return Finding(verdict=Verdict.BUSY, reason=Reason.SCHEDULED, detail=detail)


def _at_zero(question: Question) -> Finding | None:
    if question.size != 0 or question.resolved.component.pods:
        return None
    annotation = _wake_annotation(question)
    if annotation is not None:
        return Finding(verdict=Verdict.BUSY, reason=Reason.WAKE, detail=annotation, wake=annotation)
    if question.resolved.wake is None:
        detail = "nothing runs, and no wake query is set"
        return Finding(verdict=Verdict.IDLE, reason=Reason.AT_ZERO, detail=detail)
    heard = question.hear(question.resolved.wake)
    verdict, reason = Verdict.IDLE, Reason.AT_ZERO
    if heard.on is None:
        verdict, reason = Verdict.UNKNOWN, heard.reason or Reason.PROMETHEUS_FAILED
    elif heard.on:
        verdict, reason = Verdict.BUSY, Reason.WAKE
    return Finding(verdict=verdict, reason=reason, detail=heard.detail, wake=heard.detail)


def _wake_annotation(question: Question) -> str | None:
    """Read kueue-gpu-scaler.dev/wake: it wakes for idleAfter + graceAfterStart from its time on.

    A workload that it woke is judged after that span at the earliest, so that one annotation
    wakes once and needs not be taken off. `now` has no time: it wakes for as long as it is there.
    """
    thresholds = question.resolved.effective
    span = thresholds.idle_after + thresholds.grace_after_start
    times = [(f"Workload {one.name}", one.wake_at) for one in question.resolved.component.workloads]
    if question.scaled_object is not None:
        times.append(("the ScaledObject", question.scaled_object.wake_at))
    if question.scale is not None:
        times.append(("the WorkerScale", question.scale.wake_at))
    for whose, at in times:
        if at is not None and (at == 0.0 or at <= question.now < at + span):
            return f"kueue-gpu-scaler.dev/wake on {whose}"
    return None


def _unmeasurable(question: Question) -> Finding | None:
    if question.resolved.component.measurable:
        return None
    resources = ", ".join(metric_profile(question.policy.prometheus).resources)
    detail = f"it requests no devices that the metrics speak of ({resources})"
    return Finding(verdict=Verdict.BUSY, reason=Reason.NOTHING_TO_MEASURE, detail=detail)


def _starting(question: Question) -> Finding | None:
    component, thresholds = question.resolved.component, question.resolved.effective
    missing = component.lacking if question.size != 0 else 0
    unready = [pod.name for pod in component.pods if pod.ready_since is None]
    youngest = max((pod.ready_since or 0.0 for pod in component.pods), default=question.now)
    wait = thresholds.grace_after_start + thresholds.idle_after
    if missing or not component.pods:
        lacking = several(max(1, missing), "pod")
        detail = f"{lacking} {'is' if missing <= 1 else 'are'} missing"
    elif unready:
        detail = f"pod {unready[0]} is not Ready"
    elif question.now - youngest < wait:
        detail = f"{_aged(question.now - youngest)}, it is judged after {format_duration(wait)}"
    else:
        return None
    return Finding(verdict=Verdict.BUSY, reason=Reason.STARTING, detail=detail)


def _aged(seconds: float) -> str:
    """Say how old the youngest pod is; a clock that runs behind the cluster's is worth a word."""
    if round(seconds) < 0:
        ahead = format_duration(-round(seconds))
        return f"the youngest pod is Ready from {ahead} after now on, so clocks differ"
    return f"the youngest pod has been Ready for {format_duration(round(seconds))}"
