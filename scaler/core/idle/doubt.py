"""Say what keeps the readings of a component from being believed.

Missing never means idle: each device that is requested must report, a signal that can vouch for
its quiet must have covered the window and be fresh, and no pod on its node may be without series,
since such a pod may share the device of one that has them.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from scaler.core.idle.join import DeviceUse, SignalUse
from scaler.core.model import Instant, Pod
from scaler.core.policy import Policy, Safety
from scaler.core.profile import MetricProfile, metric_profile
from scaler.core.quantity import several
from scaler.core.reasons import Reason
from scaler.core.usage import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubt:
    """Why readings can't be believed."""

    reason: Reason
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """What a window's samples have to come up to."""

    samples: float
    """Least number of samples that a window of full coverage would have, by the policy's share."""
    max_age: float
    """Seconds."""
    now: Instant

    @classmethod
    def of(cls, *, policy: Policy, window: float, now: Instant) -> "Demand":
        """Read the demand of a policy on a window of so many seconds."""
        full = math.floor(window / policy.prometheus.scrape_interval + 1e-9)
        return cls(
            samples=full * policy.safety.min_coverage_percent / 100,
            max_age=policy.safety.max_sample_age,
            now=now,
        )

    def covers(self, samples: int) -> bool:
        """Say whether a window is covered; one sample may be missing at its edge."""
        return samples >= 1 and samples + 1 >= self.samples

    def fresh(self, latest: Instant | None) -> bool:
        """Say whether a newest sample is fresh; one from the future has a wrong clock."""
        return latest is not None and abs(self.now - latest) <= self.max_age


def doubt_pods(
    *, pods: Iterable[Pod], devices: Iterable[DeviceUse], profile: MetricProfile
) -> Doubt | None:
    """Hold the devices that report against those that each pod requests."""
    known = tuple(devices)
    for pod in pods:
        wanted = profile.devices(pod.requests)
        reporting = sum(pod.name in one.pods for one in known)
        if wanted and not reporting:
            return Doubt(reason=Reason.NO_SAMPLES, detail=f"pod {pod.name} has no series")
        if wanted != reporting:
            detail = f"pod {pod.name} requests {wanted} devices, {reporting} report"
            return Doubt(reason=Reason.DEVICE_MISMATCH, detail=detail)
    return None


def doubt_devices(*, devices: Iterable[DeviceUse], demand: Demand) -> Doubt | None:
    """Ask of each device for one signal that can vouch for it, covers the window and is fresh."""
    return next(filter(None, (_doubt_device(one, demand) for one in devices)), None)


def _doubt_device(device: DeviceUse, demand: Demand) -> Doubt | None:
    usable = [one for one in device.signals if one.vouches and one.peak is not None]
    fresh = [one for one in usable if demand.fresh(one.latest)]
    if any(demand.covers(one.samples) for one in fresh):
        return None
    name = _name(device)
    if not usable:
        detail = f"device {name} has no usable sample of a signal that tells quiet from gone"
        return Doubt(reason=Reason.NO_SAMPLES, detail=detail)
    if not fresh:
        return Doubt(reason=Reason.STALE_SAMPLES, detail=_stale(name, usable, demand))
    best = max(one.samples for one in fresh)
    seen = several(best, "sample")
    detail = f"device {name} has {seen} in the window, {demand.samples:g} are needed"
    return Doubt(reason=Reason.LOW_COVERAGE, detail=detail)


def _stale(name: str, signals: Iterable[SignalUse], demand: Demand) -> str:
    newest = max((one.latest for one in signals if one.latest is not None), default=None)
    if newest is None:
        return f"device {name} has no recent sample"
    age = demand.now - newest
    return f"the newest sample of device {name} is {age:.0f} s old, {demand.max_age:g} s at most"


def doubt_power(
    *, devices: Iterable[DeviceUse], profile: MetricProfile, safety: Safety
) -> Doubt | None:
    """Miss the power of whole devices that the policy sets a limit for: no sample vetoes nothing.

    A device without a model may be one of those.
    """
    limits = safety.power_veto_watts
    if not limits or profile.power_metric is None or profile.model_label is None:
        return None
    for one in devices:
        if one.whole and one.watts is None and (not one.model or one.model in limits):
            detail = f"device {_name(one)} has no sample of its power, which may veto"
            return Doubt(reason=Reason.NO_SAMPLES, detail=detail)
    return None


def doubt_nodes(
    *,
    pods: Iterable[Pod],
    gpu_pods_by_node: Mapping[str, tuple[Pod, ...]],
    usage: Usage,
    policy: Policy,
    now: Instant,
) -> Doubt | None:
    """Look for pods with devices on the same nodes that should have series by now."""
    profile = metric_profile(policy.prometheus)
    nodes = sorted({pod.node for pod in pods if pod.node is not None})
    for other in (pod for node in nodes for pod in gpu_pods_by_node.get(node, ())):
        if not other.live or other.ready_since is None or not profile.devices(other.requests):
            continue
        seen = any(one.recent for one in usage.by_pod.get(other.key, ()))
        if now - other.ready_since > policy.safety.max_sample_age and not seen:
            detail = (
                f"pod {other.namespace}/{other.name} on node {other.node} has devices but no "
                "series: it may share one that is measured for another pod"
            )
            return Doubt(reason=Reason.SHARING_SUSPECTED, detail=detail)
    return None


def _name(device: DeviceUse) -> str:
    uuid, instance = device.device.uuid, device.device.instance
    return f"{uuid}/{instance}" if instance else uuid
