"""Judge a component that runs by its readings.

First whether they can be believed, then what they say. The mass-idle brake is asked last, since
all it can do is keep an IDLE back.
"""

from dataclasses import dataclass

from scaler.core.decision import Verdict
from scaler.core.idle.doubt import (
    Demand,
    Doubt,
    doubt_devices,
    doubt_nodes,
    doubt_pods,
    doubt_power,
)
from scaler.core.idle.join import DeviceUse
from scaler.core.idle.massidle import brake, newest_burst
from scaler.core.idle.question import Finding, Question
from scaler.core.idle.starts import devices_of, idle_starts
from scaler.core.model import Instant, Pod
from scaler.core.profile import metric_profile
from scaler.core.quantity import format_duration, several
from scaler.core.reasons import Reason
from scaler.core.usage import Usage
from scaler.core.workers.query import Heard


@dataclass(frozen=True, slots=True, kw_only=True)
class _Readings:
    """A question whose component runs, with its usage."""

    question: Question
    usage: Usage
    devices: tuple[DeviceUse, ...]
    measured: tuple[Pod, ...]
    """Live pods that request devices."""
    keep_alive: Heard | None
    wake: Heard | None
    """A request that would wake the target also keeps it: else it would go, and come at once."""

    @property
    def heard(self) -> tuple[Heard, ...]:
        """Give the answers of the queries that are set."""
        return tuple(one for one in (self.keep_alive, self.wake) if one is not None)

    def finding(self, *, verdict: Verdict, reason: Reason, detail: str) -> Finding:
        """Give a verdict with the devices and the queries' answers as its evidence."""
        return Finding(
            verdict=verdict,
            reason=reason,
            detail=detail,
            devices=self.devices,
            keep_alive=None if self.keep_alive is None else self.keep_alive.detail,
            wake=None if self.wake is None else self.wake.detail,
        )


def measure(question: Question) -> Finding:
    """Judge a component that runs by its readings."""
    resolved, policy = question.resolved, question.policy
    usage = question.snapshot.usage.get(resolved.key)
    if usage is None:
        detail = f"Prometheus was not asked yet for a window of {_window(question)}"
        return Finding(verdict=Verdict.UNKNOWN, reason=Reason.PROMETHEUS_FAILED, detail=detail)
    profile = metric_profile(policy.prometheus)
    readings = _Readings(
        question=question,
        usage=usage,
        devices=devices_of(
            snapshot=question.snapshot, resolved=resolved, usage=usage, policy=policy
        ),
        measured=tuple(pod for pod in resolved.component.pods if profile.devices(pod.requests) > 0),
        keep_alive=None if resolved.keep_alive is None else question.hear(resolved.keep_alive),
        wake=None if resolved.wake is None else question.hear(resolved.wake),
    )
    return _doubted(readings) or _busy(readings) or _braked(readings) or _idle(readings)


def _doubted(readings: _Readings) -> Finding | None:
    doubt = _doubt(readings)
    if doubt is None:
        return None
    return readings.finding(verdict=Verdict.UNKNOWN, reason=doubt.reason, detail=doubt.detail)


def _doubt(readings: _Readings) -> Doubt | None:
    question, usage = readings.question, readings.usage
    policy, now = question.policy, question.now
    if usage.problem is not None:
        return Doubt(reason=Reason.PROMETHEUS_FAILED, detail=usage.problem)
    for heard in readings.heard:
        if heard.on is None:
            return Doubt(reason=heard.reason or Reason.PROMETHEUS_FAILED, detail=heard.detail)
    if not readings.measured:
        detail = "its podset requests devices, but none of its pods does"
        return Doubt(reason=Reason.DEVICE_MISMATCH, detail=detail)
    demand = Demand.of(policy=policy, window=usage.key.window_seconds, now=now)
    profile = metric_profile(policy.prometheus)
    return (
        doubt_pods(pods=readings.measured, devices=readings.devices, profile=profile)
        or doubt_devices(devices=readings.devices, demand=demand)
        or doubt_power(devices=readings.devices, profile=profile, safety=policy.safety)
        or doubt_nodes(
            pods=readings.measured,
            gpu_pods_by_node=question.snapshot.gpu_pods_by_node,
            usage=usage,
            policy=policy,
            now=now,
        )
    )


def _busy(readings: _Readings) -> Finding | None:
    question = readings.question
    threshold = question.resolved.effective.busy_from_percent
    detail = None
    loudest = max(readings.devices, key=lambda one: one.peak or 0.0, default=None)
    if loudest is not None and loudest.loudest is not None and (loudest.peak or 0.0) >= threshold:
        detail = (
            f"{loudest.loudest.name} of device {loudest.device.uuid} reached {loudest.peak:g} % "
            f"within {_window(question)}, busy from {threshold:g} %"
        )
    else:
        asked = next((heard.detail for heard in readings.heard if heard.on), None)
        detail = asked or _power_veto(readings)
    if detail is None:
        return None
    return readings.finding(verdict=Verdict.BUSY, reason=Reason.BUSY, detail=detail)


def _power_veto(readings: _Readings) -> str | None:
    """Compare power with the policy's limit for the model; a slice has no power of its own."""
    limits = readings.question.policy.safety.power_veto_watts
    for one in readings.devices:
        limit = limits.get(one.model)
        if one.whole and limit is not None and one.watts is not None and one.watts >= limit:
            return (
                f"device {one.device.uuid} ({one.model}) drew {one.watts:g} W, "
                f"busy from {limit:g} W"
            )
    return None


def _braked(readings: _Readings) -> Finding | None:
    """Hold back while many fell quiet at once, unless each device's sensors move."""
    question, policy = readings.question, readings.question.policy
    if all(one.moved for one in readings.devices):
        return None
    detail = brake(
        burst=burst_of(question),
        settings=policy.safety.mass_idle,
        scrape_interval=policy.prometheus.scrape_interval,
        idle_after=question.resolved.effective.idle_after,
        now=question.now,
    )
    if detail is None:
        return None
    return readings.finding(verdict=Verdict.UNKNOWN, reason=Reason.MASS_IDLE, detail=detail)


def burst_of(question: Question) -> Instant | None:
    """Look for a burst in the idle starts that the Snapshot brings, or that it holds."""
    snapshot, policy = question.snapshot, question.policy
    starts = snapshot.idle_starts
    if starts is None:
        starts = snapshot.memo.recall(
            "idle starts",
            (
                *(policy, snapshot.usage, snapshot.scaled_objects, snapshot.targets),
                *(snapshot.pods, snapshot.pods_by_workload, snapshot.workload_index),
                *(snapshot.local_queues, snapshot.worker_scales),
            ),
            lambda: idle_starts(snapshot=snapshot, policy=policy),
        )
    known = starts
    return snapshot.memo.recall(
        "newest burst",
        (policy, known),
        lambda: newest_burst(
            starts=known,
            settings=policy.safety.mass_idle,
            scrape_interval=policy.prometheus.scrape_interval,
        ),
    )


def _idle(readings: _Readings) -> Finding:
    devices, pods = len(readings.devices), len(readings.question.resolved.component.pods)
    threshold = readings.question.resolved.effective.busy_from_percent
    detail = (
        f"{several(devices, 'device')} of {several(pods, 'pod')} stayed below {threshold:g} % "
        f"for {_window(readings.question)}"
    )
    return readings.finding(verdict=Verdict.IDLE, reason=Reason.IDLE, detail=detail)


def _window(question: Question) -> str:
    return format_duration(question.resolved.effective.idle_after)
