"""A Plan as people and programs are shown it: what a WorkerScale is, why, and what is done now."""

from collections.abc import Iterator, Sequence
from typing import TypeAlias, assert_never

import msgspec

from scaler.core.decision import Decision
from scaler.core.hold.status import forbidden_write
from scaler.core.hold.steps import (
    DropMark,
    Plan,
    SetActive,
    SetFinalizer,
    SetGroup,
    SetNotebook,
    SetParallelism,
    SetReplicas,
    Step,
    WriteStatus,
)
from scaler.core.model import HoldRecord, Instant, WorkerScale
from scaler.core.quantity import format_amount, format_duration, format_instant, several
from scaler.core.remedy.remedy import Remedy
from scaler.view import camel
from scaler.view_remedy import ShownExplained, explained_lines, shown_explained

Explained: TypeAlias = tuple[Decision, tuple[Remedy, ...]]
"""A Decision, and what would have to change for another."""


class ShownHold(msgspec.Struct, rename="camel", omit_defaults=True, frozen=True, kw_only=True):
    """What was true when the workers were taken."""

    workload: str
    workload_uid: str
    usage: dict[str, int]
    pod_sets: dict[str, int]
    """Pods that are away, by podset."""
    since: str
    gone_at: str | None = None
    waking_at: str | None = None
    reason: str = ""


class ShownPlan(msgspec.Struct, rename="camel", omit_defaults=True, frozen=True, kw_only=True):
    """A Plan with all that it rests on."""

    namespace: str
    name: str
    target: str
    component: str | None = None
    mode: str
    desired: int
    observed: int
    state: str
    cause: str
    message: str
    steps: tuple[str, ...]
    """What is done now, in words and in this order."""
    hold: ShownHold | None = None
    latch: object = None
    forbidden: str = ""
    """Which write the API server forbids."""
    decisions: tuple[ShownExplained, ...]
    look_again_in_seconds: float | None = None


def shown_plan(plan: Plan, decisions: Sequence[Explained]) -> ShownPlan:
    """Give a Plan in the form that is shown."""
    scale, status = plan.scale, plan.status
    return ShownPlan(
        namespace=scale.namespace,
        name=scale.name,
        target=str(plan.target),
        component=plan.target.component,
        mode=scale.mode,
        desired=scale.replicas,
        observed=status.replicas,
        state=plan.state,
        cause=plan.cause,
        message=plan.message,
        steps=tuple(told(step, scale) for step in plan.steps),
        hold=None if status.hold is None else _hold(status.hold),
        latch=camel(msgspec.to_builtins(status.latch)),
        forbidden=_forbidden(plan),
        decisions=tuple(shown_explained(*one) for one in decisions),
        look_again_in_seconds=plan.look_again_in,
    )


def plan_lines(plan: Plan, decisions: Sequence[Explained], *, now: Instant) -> tuple[str, ...]:
    """Give a Plan as lines for a terminal."""
    scale = plan.scale
    component = f" ({plan.target.component})" if plan.target.component else ""
    return (
        f"{scale.namespace}/{scale.name}  {plan.state}",
        f"  reason    {plan.cause}: {plan.message}",
        f"  workers   {plan.target}{component}, mode {scale.mode}",
        f"  replicas  {scale.replicas} wanted, {plan.status.replicas} there, {_size(plan)}",
        *_held(plan.status.hold, now),
        *_latched(plan),
        *(f"  forbidden {said}" for said in (_forbidden(plan),) if said),
        *_steps(plan),
        "decided by",
        *(f"  {line}" for one in decisions for line in explained_lines(*one)),
    )


def told(step: Step, scale: WorkerScale) -> str:  # noqa: PLR0911  # one return a step
    """Say in words what a step does."""
    match step:
        case SetGroup():
            verb = "suspend" if step.suspend else "give back"
            return f"{verb} worker group {step.group} of RayCluster {_name(step.cluster)}"
        case SetParallelism():
            return f"set parallelism {step.parallelism} on Job {_name(step.job)}"
        case DropMark():
            return f"take our mark off {step.kind} {_name(step.object)}, which another put back"
        case SetActive():
            verb = "activate" if step.active else "deactivate"
            return f"{verb} Workload {_name(step.workload)}"
        case SetNotebook():
            verb = "stop" if step.stop else "let start"
            return f"{verb} Notebook {_name(step.notebook)}"
        case SetReplicas():
            return f"set spec.replicas {step.replicas}, the target's present size"
        case SetFinalizer():
            return "add our finalizer" if step.present else "take our finalizer off"
        case WriteStatus():
            return f"write the status: {_changed(step, scale)}"
        case _:
            assert_never(step)


def _changed(step: WriteStatus, scale: WorkerScale) -> str:
    """Name what of the status becomes another."""
    before, after = scale.status, step.status
    names = [
        name
        for name in ("state", "reason", "size", "replicas", "hold", "latch", "conditions")
        if getattr(before, name) != getattr(after, name)
    ]
    return ", ".join(names) or "message"


def _name(name: tuple[str, str]) -> str:
    return "/".join(name)


def _size(plan: Plan) -> str:
    size = plan.status.size
    return "full size not read yet" if size is None else f"full size {size}"


def _steps(plan: Plan) -> Iterator[str]:
    if not plan.steps:
        yield "  now       nothing is done"
    for number, step in enumerate(plan.steps, 1):
        yield f"  {'now' if number == 1 else '':10}{number}. {told(step, plan.scale)}"
    if plan.look_again_in is not None:
        yield f"  next look in {format_duration(round(plan.look_again_in))} at the latest"


def _held(hold: HoldRecord | None, now: Instant) -> Iterator[str]:
    if hold is None:
        return
    since = f"{format_instant(int(hold.since))}, for {_ago(hold.since, now)}"
    yield f"  held      Workload {hold.workload} ({hold.workload_uid}) since {since}"
    away = ", ".join(f"{several(pods, 'pod')} of {name}" for name, pods in hold.pod_sets)
    usage = ", ".join(f"{name} {format_amount(name, amount)}" for name, amount in hold.usage)
    yield f"  away      {away}; quota in use {usage or 'none'}"
    if hold.reason:
        yield f"  taken for {hold.reason}"
    if hold.waking_at is not None:
        yield f"  waking    for {_ago(hold.waking_at, now)}"


def _latched(plan: Plan) -> Iterator[str]:
    latch = plan.status.latch
    if latch is not None:
        until = "until it was busy" if latch.generation < 0 else "until its spec changes"
        yield f"  not again {latch.cause}: {latch.message}; {until}"


def _forbidden(plan: Plan) -> str:
    told = forbidden_write(plan.status)
    return "" if told is None else told.message


def _ago(then: Instant, now: Instant) -> str:
    return format_duration(max(0, round(now - then)))


def _hold(hold: HoldRecord) -> ShownHold:
    return ShownHold(
        workload=hold.workload,
        workload_uid=hold.workload_uid,
        usage=dict(hold.usage),
        pod_sets=dict(hold.pod_sets),
        since=format_instant(int(hold.since)),
        gone_at=_written(hold.gone_at),
        waking_at=_written(hold.waking_at),
        reason=hold.reason,
    )


def _written(moment: Instant | None) -> str | None:
    return None if moment is None else format_instant(int(moment))
