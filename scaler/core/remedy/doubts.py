"""What would let readings be believed that are doubted now."""

import math
from collections.abc import Iterator

from scaler.core.idle.doubt import Demand
from scaler.core.idle.measure import burst_of
from scaler.core.model import Pod
from scaler.core.profile import metric_profile
from scaler.core.quantity import format_duration, several
from scaler.core.reasons import Reason
from scaler.core.remedy.quiet import Resting
from scaler.core.remedy.remedy import Lever, Remedy, moment_told
from scaler.core.usage import Usage

_PODS_SHOWN = 3


def doubt_remedies(resting: Resting) -> Iterator[Remedy]:
    """Give what of the readings is missing, and who would have to bring it."""
    match resting.asked.decision.reason:
        case Reason.NO_SAMPLES | Reason.STALE_SAMPLES | Reason.DEVICE_MISMATCH:
            found = tuple(_unseen(resting))
            yield from found[:_PODS_SHOWN] or (_fresh(resting),)
        case Reason.LOW_COVERAGE:
            yield from _more_samples(resting)
        case Reason.SHARING_SUSPECTED:
            text = f"{resting.asked.decision.detail}; it needs a series of its own, or to end"
            yield Remedy(lever=Lever.SAMPLES, text=text)
        case Reason.MASS_IDLE:
            yield from _brake(resting)
        case _:
            return


def _unseen(resting: Resting) -> Iterator[Remedy]:
    """Name each pod with fewer devices that report than it requests, and why that may be."""
    question, devices = resting.question, resting.devices
    usage = question.snapshot.usage.get(question.resolved.key)
    profile = metric_profile(question.policy.prometheus)
    for pod in question.resolved.component.pods if usage is not None else ():
        wanted = profile.devices(pod.requests)
        seen = sum(pod.name in one.pods for one in devices)
        if not wanted or wanted == seen or usage is None:
            continue
        if not seen:
            said = (
                f"pod {pod.name} has no {_metrics(resting)} samples: {_cause(resting, pod, usage)}"
            )
        elif seen < wanted:
            more = several(wanted - seen, "more device")
            said = f"{more} of pod {pod.name} would have to report: it requests {wanted}"
        else:
            said = f"{seen} devices name pod {pod.name}, which requests {wanted}: one too many"
        yield Remedy(
            lever=Lever.SAMPLES,
            subject=f"pod/{pod.namespace}/{pod.name}",
            more=(("devices", wanted - seen),),
            text=said,
        )


def _metrics(resting: Resting) -> str:
    profile = resting.question.policy.prometheus.profile
    return "DCGM" if profile.startswith("dcgm") else "GPU"


def _cause(resting: Resting, pod: Pod, usage: Usage) -> str:
    """Say no more than the readings do: who else on the node, and elsewhere, has samples."""
    question = resting.question
    profile = metric_profile(question.policy.prometheus)
    every = [one for readings in usage.by_device.values() for one in readings if one.recent]
    unlabelled = len({one.device for one in every if one.pod is None})
    neighbours = [
        one
        for one in question.snapshot.gpu_pods_by_node.get(pod.node or "", ())
        if one.live and profile.devices(one.requests)
    ]
    heard = [one.name for one in neighbours if _recent(usage, one)]
    if not every:
        chosen = question.policy.prometheus.profile
        return f"nor has any other; no exporter is scraped, or not of profile {chosen}"
    if pod.node is None:
        return "it is on no node"
    if heard:
        return f"exporter on node {pod.node} is up, since pod {heard[0]} has; its own are lost"
    if unlabelled:
        without = several(unlabelled, "device")
        verb = "reports" if unlabelled == 1 else "report"
        return f"{without} {verb} without a pod: the exporter does not map devices to pods"
    alone = "" if len(neighbours) <= 1 else f", as none of its {len(neighbours)} GPU pods has any"
    return f"exporter on node {pod.node} is down or not scraped{alone}"


def _recent(usage: Usage, pod: Pod) -> bool:
    return any(one.recent for one in usage.by_pod.get(pod.key, ()))


def _fresh(resting: Resting) -> Remedy:
    age = format_duration(resting.asked.policy.safety.max_sample_age)
    text = f"{resting.asked.decision.detail}; a sample of the last {age} lets it be judged"
    return Remedy(lever=Lever.SAMPLES, text=text)


def _more_samples(resting: Resting) -> Iterator[Remedy]:
    """Count what each device lacks of a window that is covered."""
    question = resting.question
    window = question.resolved.key.window_seconds
    demand = Demand.of(policy=question.policy, window=window, now=question.now)
    for one in resting.devices:
        fresh = [
            each.samples
            for each in one.signals
            if each.vouches and each.peak is not None and demand.fresh(each.latest)
        ]
        best = max(fresh, default=0)
        lack = max(1, math.ceil(demand.samples - 1)) - best
        if lack > 0:
            yield Remedy(
                lever=Lever.SAMPLES,
                subject=f"device/{one.device.uuid}",
                more=(("samples", lack),),
                text=f"{several(lack, 'more sample')} of device {one.device.uuid} in a window of "
                f"{format_duration(window)} let it be judged: it has {best}",
            )


def _brake(resting: Resting) -> Iterator[Remedy]:
    """Tell when the mass-idle brake lets go by itself."""
    question, burst = resting.question, burst_of(resting.question)
    if burst is None:
        return
    held = question.policy.safety.mass_idle.hold_for
    at = burst + question.resolved.effective.idle_after + held
    yield Remedy(
        lever=Lever.TIME,
        at=at,
        more=(("seconds", math.ceil(at - question.now)),),
        text=f"the mass-idle brake lets go at {moment_told(at, question.now)}, or as soon as the "
        "temperature or energy of its GPUs moves",
    )
