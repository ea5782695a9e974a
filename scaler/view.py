"""One Decision as people and programs are shown it: `explain`, `/decisions` and the page alike."""

import re
from typing import assert_never

import msgspec

from scaler.core.decision import (
    ActiveWithoutValue,
    Decision,
    DeviceEvidence,
    EffectiveValue,
    IdleEvidence,
    QueueEvidence,
    Status,
    Unavailable,
    Value,
    answer,
)
from scaler.core.quantity import format_duration, format_instant, several
from scaler.core.reasons import CLASS_WORDS


class ShownAnswer(msgspec.Struct, rename="camel", omit_defaults=True, frozen=True, kw_only=True):
    """What KEDA gets from each RPC."""

    code: str
    """Status code of GetMetrics and IsActive."""
    is_active: bool | None = None
    metric_values: tuple[int, ...] | None = None
    """Empty = no value at all: the HPA keeps its size."""
    message: str = ""
    get_metric_spec: str = "OK"
    """Status code of GetMetricSpec."""


class ShownEvidence(msgspec.Struct, rename="camel", omit_defaults=True, frozen=True, kw_only=True):
    """What the decision was made from."""

    detail: str
    size: int | None = None
    queue: object = None
    """QueueEvidence with its names in camelCase."""
    idle: object = None
    """IdleEvidence with its names in camelCase."""
    problems: tuple[str, ...] = ()


class Shown(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """A Decision with everything that explains it."""

    namespace: str
    name: str
    metric: str
    status: Status
    active: bool | None
    value: int | None
    reason: str
    evidence: ShownEvidence
    answer: ShownAnswer
    effective: tuple[EffectiveValue, ...]
    at: str


def shown(decision: Decision) -> Shown:
    """Give a Decision in the form that is shown."""
    return Shown(
        namespace=decision.namespace,
        name=decision.name,
        metric=decision.metric,
        status=decision.status,
        active=decision.active,
        value=decision.value,
        reason=decision.reason,
        evidence=ShownEvidence(
            detail=decision.detail,
            size=decision.size,
            queue=camel(msgspec.to_builtins(decision.queue)),
            idle=camel(msgspec.to_builtins(decision.idle)),
            problems=decision.problems,
        ),
        answer=shown_answer(decision),
        effective=decision.effective,
        at=format_instant(decision.at),
    )


def camel(value: object) -> object:
    """Give a tree of built-in values with its keys in camelCase, as Kubernetes writes JSON."""
    match value:
        case dict():
            return {
                re.sub(r"_(\w)", lambda found: found[1].upper(), str(key)): camel(item)
                for key, item in value.items()
            }
        case list() | tuple():
            return [camel(item) for item in value]
        case _:
            return value


def shown_answer(decision: Decision) -> ShownAnswer:
    """Give what KEDA gets for a Decision."""
    spec = Status.INVALID if decision.status is Status.INVALID else Status.OK
    found = answer(decision)
    match found:
        case Value(active=active, value=value):
            return ShownAnswer(
                code="OK", is_active=active, metric_values=(value,), get_metric_spec=spec
            )
        case ActiveWithoutValue():
            return ShownAnswer(code="OK", is_active=True, metric_values=(), get_metric_spec=spec)
        case Unavailable(message=message):
            return ShownAnswer(code="UNAVAILABLE", message=message, get_metric_spec=spec)
        case _:
            assert_never(found)


def lines(decision: Decision) -> tuple[str, ...]:
    """Give a Decision as lines for a terminal."""
    return (
        f"{decision.namespace}/{decision.name}  {_headline(decision)}",
        f"  reason    {decision.reason}: {decision.detail}",
        f"  KEDA gets {_told(shown_answer(decision))}",
        *_size(decision),
        *_queue(decision.queue),
        *_idle(decision.idle),
        *(f"  problem   {problem}" for problem in decision.problems),
        *(f"  setting   {v.key} = {v.value}  ({v.rule})" for v in decision.effective),
    )


def _headline(decision: Decision) -> str:
    if decision.status is not Status.OK:
        return decision.status
    return f"{'active' if decision.active else 'inactive'}, value {decision.value}"


def _told(told: ShownAnswer) -> str:
    if told.code != "OK":
        return f"{told.code} ({told.message})"
    values = ", ".join(str(value) for value in told.metric_values or ())
    return f"IsActive {str(told.is_active).lower()}, GetMetrics {values or 'without a value'}"


def _size(decision: Decision) -> tuple[str, ...]:
    return () if decision.size is None else (f"  size now  {decision.size}",)


def _queue(queue: QueueEvidence | None) -> tuple[str, ...]:
    if queue is None:
        return ()
    found = [
        f"  class     {_class(c.workload_class)}: {several(c.workloads, 'Workload')}, "
        f"{several(c.gpus, 'GPU')}, {c.cluster_queue}"
        for c in queue.classes
    ]
    if queue.missing_cluster_queues:
        found.append(f"  missing   ClusterQueues {', '.join(queue.missing_cluster_queues)}")
    if queue.not_routable:
        found.append(
            f"  unroutable {several(queue.not_routable, 'Workload')}: LocalQueue missing or stopped"
        )
    if queue.not_counted_dra:
        pods = several(queue.not_counted_dra, "pod")
        found.append(f"  not counted: {pods} with DRA claims only")
    if queue.skipped_objects:
        objects = several(queue.skipped_objects, "object")
        found.append(f"  skipped   {objects} that could not be decoded")
    if queue.pool is not None:
        pool = queue.pool
        found.append(
            f"  pool      {pool.pool}: {several(pool.present, 'node')} ({pool.usable} usable, "
            f"{pool.coming} coming, {pool.broken} broken), {pool.new} new, {pool.empty} empty, "
            f"spare {pool.spare}, at most {pool.max_nodes}{', capped' if pool.capped else ''}"
        )
    return tuple(found)


def _class(letter: str) -> str:
    words = CLASS_WORDS.get(letter)
    return f"{letter} ({words})" if words else letter


def _idle(idle: IdleEvidence | None) -> tuple[str, ...]:
    if idle is None:
        return ()
    since = "unknown" if idle.idle_seconds is None else format_duration(round(idle.idle_seconds))
    limit = format_duration(idle.idle_after_seconds)
    subject = f"  workload  {idle.workload}{_component(idle)}: {idle.verdict}"
    if not idle.pods:
        return (subject, "  pods      none")
    return (
        subject,
        f"  idle for  {since}, limit {limit}",
        f"  GPUs      {idle.physical_gpus} seen, {idle.gpus_requested} requested",
        f"  pods      {len(idle.pods)}: {', '.join(idle.pods[:5])}",
        *(_device(device) for device in idle.devices),
    )


def _component(idle: IdleEvidence) -> str:
    return f" ({idle.component})" if idle.component else ""


def _device(device: DeviceEvidence) -> str:
    peak = "no sample" if device.peak_percent is None else f"peak {device.peak_percent:.1f} %"
    signal = f" ({device.signal})" if device.signal else ""
    return f"  device    {device.device}: {peak}{signal}, {several(device.samples, 'sample')}"
