"""Join what this process remembers with what Prometheus has, for charts."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from scaler.core.decision import Decision, Status
from scaler.core.model import Instant
from scaler.core.policy import PrometheusSettings
from scaler.core.trigger import TriggerRef
from scaler.prometheus.history import (
    Window,
    device_name,
    device_peaks,
    peaks,
    reasons,
    reporting,
    values,
)
from scaler.prometheus.series import Matrix, RawSeries
from scaler.status.page.activity import Points
from scaler.status.page.axis import Axis
from scaler.status.page.past import Found, Past
from scaler.status.page.ring import Ring
from scaler.status.page.timeline import Timeline, Told, over, seen_from, spans

Trigger = tuple[str, str, str]
"""Namespace, ScaledObject and metric: the labels of our own metrics."""

FEW, MANY = 120, 240
"""Steps of a small chart and of a large one."""
LEAST_STEP = 15.0
"""Seconds; no scrape of ours is expected to come more often."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chronicle:
    """What was decided in the time of an axis."""

    timelines: Mapping[TriggerRef, Timeline]
    problem: str | None = None
    """Why Prometheus adds nothing."""
    waiting: bool = False
    """Prometheus was not heard yet; the next look may see more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """What the GPUs of a workload did in the time of an axis."""

    step: float
    peaks: Points = ()
    counts: Points = ()
    devices: Mapping[str, Points] = field(default_factory=dict)
    problem: str | None = None
    waiting: bool = False


def chronicle(
    decisions: Mapping[TriggerRef, Decision],
    axis: Axis,
    *,
    ring: Ring,
    past: Past,
    steps: int,
) -> Chronicle:
    """Give each trigger's timeline: this process' own, and before it what Prometheus has."""
    start, end = axis.start, axis.end
    own = {ref: ring.timeline(ref, start=start, end=end) for ref in decisions}
    if all(seen_from(one) == axis.start for one in own.values()):
        return Chronicle(timelines=own)
    window = Window(seconds=axis.seconds, step=max(LEAST_STEP, axis.seconds / steps))
    names = sorted({ref.name for ref in decisions})
    told, valued = past.ask(reasons(names, window)), past.ask(values(names, window))
    if told is None or valued is None:
        return Chronicle(timelines=own, waiting=True)
    points = tellings(told.matrix, valued.matrix, step=window.step)
    return Chronicle(
        timelines={
            ref: over(below=_spans(points.get(_labels(decision), ()), axis), above=own[ref])
            for ref, decision in decisions.items()
        },
        problem=told.problem or valued.problem,
    )


def tellings(
    told: Matrix, valued: Matrix, *, step: float
) -> Mapping[Trigger, Sequence[tuple[Instant, Told | None]]]:
    """Read what most replicas told at each step; of two that disagree, the one that holds."""
    numbers = {_trigger(row): dict(row.points) for row in valued.series}
    found: defaultdict[Trigger, dict[int, tuple[float, bool, Told]]] = defaultdict(dict)
    for row in told.series:
        trigger = _trigger(row)
        status, reason = row.labels.get("status", ""), row.labels.get("reason", "")
        for at, count in row.points:
            value = numbers.get(trigger, {}).get(at) if status == Status.OK else None
            one = Told(status=status, reason=reason, value=None if value is None else round(value))
            best = found[trigger].get(at)
            if best is None or (count, status != Status.OK) > best[:2]:
                found[trigger][at] = (count, status != Status.OK, one)
    return {
        trigger: _lasting({at: one for at, (_, _, one) in points.items()}, step=step)
        for trigger, points in found.items()
    }


def activity(
    decision: Decision,
    pods: Iterable[str],
    axis: Axis,
    *,
    settings: PrometheusSettings,
    past: Past,
) -> Activity:
    """Give what the GPUs of these pods did; empty while Prometheus was not heard."""
    step = max(settings.scrape_interval, axis.seconds / MANY)
    names = sorted(pods)
    if not names:
        return Activity(step=step)
    window = Window(seconds=axis.seconds, step=step)
    where = decision.namespace
    shown = [] if decision.idle is None else [one.device for one in decision.idle.devices]
    found = [
        past.ask(expression)
        for expression in (
            peaks(settings, namespace=where, pods=names, window=window),
            reporting(settings, namespace=where, pods=names, window=window),
            device_peaks(settings, namespace=where, pods=names, devices=shown, window=window),
        )
        if expression
    ]
    return _activity(found, settings, step=step)


def _activity(
    found: Sequence[Found | None], settings: PrometheusSettings, *, step: float
) -> Activity:
    heard = [one for one in found if one is not None]
    if len(heard) < len(found) or not heard:
        return Activity(step=step, waiting=bool(found))
    most, count, *rest = heard
    return Activity(
        step=step,
        peaks=_only(most.matrix),
        counts=_only(count.matrix),
        devices={
            device_name(settings, row.labels): _points(row)
            for each in rest
            for row in each.matrix.series
        },
        problem=next((one.problem for one in heard if one.problem), None),
    )


def _labels(decision: Decision) -> Trigger:
    return (decision.namespace, decision.name, decision.metric)


def _trigger(row: RawSeries) -> Trigger:
    """Name a row's trigger: where the scrape has a namespace of its own, ours is `exported_`."""
    labels = row.labels
    namespace = labels.get("exported_namespace") or labels.get("namespace", "")
    return (namespace, labels.get("scaled_object", ""), labels.get("metric", ""))


def _lasting(points: Mapping[int, Told], *, step: float) -> Sequence[tuple[Instant, Told | None]]:
    """Let each telling last one step; a longer pause is one in which nothing was recorded."""
    found: list[tuple[Instant, Told | None]] = []
    for at in sorted(points):
        moment = at / 1000
        if found and moment - found[-1][0] > 1.5 * step:
            found.append((found[-1][0] + step, None))
        found.append((moment, points[at]))
    if found:
        found.append((found[-1][0] + step, None))
    return found


def _spans(points: Sequence[tuple[Instant, Told | None]], axis: Axis) -> Timeline:
    return spans(points, start=axis.start, end=axis.end)


def _only(matrix: Matrix) -> Points:
    return _points(matrix.series[0]) if matrix.series else ()


def _points(row: RawSeries) -> Points:
    return tuple((at / 1000, value) for at, value in row.points)
