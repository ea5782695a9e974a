"""Look at all idle triggers of a snapshot at once: when did the workload of each fall quiet?"""

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from scaler.core.idle.join import DeviceUse, join
from scaler.core.metadata import parse
from scaler.core.model import Instant, Name, ScaledObject, WorkerScale
from scaler.core.policy import Policy
from scaler.core.profile import metric_profile
from scaler.core.scales import default_refs, scale_of
from scaler.core.snapshot import Snapshot
from scaler.core.trigger import IdleTrigger
from scaler.core.usage import IdleStart, Usage
from scaler.core.workers.component import Unfound
from scaler.core.workers.resolve import Resolved, resolve


def idle_starts(*, snapshot: Snapshot, policy: Policy) -> tuple[IdleStart, ...]:
    """Give the idle start of each workload with samples that an idle trigger speaks of."""
    found = (
        _idle_start(snapshot=snapshot, resolved=resolved, policy=policy)
        for namespace, trigger, scaled_object, scale in _asked(snapshot)
        for resolved in (
            resolve(
                snapshot=snapshot,
                namespace=namespace,
                trigger=trigger,
                scaled_object=scaled_object,
                policy=policy,
                scale=scale,
            ),
        )
        if not isinstance(resolved, Unfound)
    )
    return tuple(start for start in found if start is not None)


_Asked: TypeAlias = tuple[str, IdleTrigger, ScaledObject | None, WorkerScale | None]


def _asked(snapshot: Snapshot) -> Iterator[_Asked]:
    """Give all idle triggers: those of ScaledObjects, and our own."""
    for scaled_object in snapshot.scaled_objects.values():
        scale = scale_of(snapshot, scaled_object)
        for trigger in idle_triggers(scaled_object):
            yield scaled_object.namespace, trigger, scaled_object, scale
    for ref in default_refs(snapshot):
        own = parse(dict(ref.metadata))
        if isinstance(own, IdleTrigger):
            yield ref.namespace, own, None, scale_of(snapshot, ref)


def idle_triggers(scaled_object: ScaledObject) -> Iterator[IdleTrigger]:
    """Give the well-formed idle triggers of a ScaledObject."""
    for spec in scaled_object.triggers:
        if spec.signal == "idle":
            trigger = parse(dict(spec.metadata))
            if isinstance(trigger, IdleTrigger):
                yield trigger


def devices_of(
    *, snapshot: Snapshot, resolved: Resolved, usage: Usage, policy: Policy
) -> tuple[DeviceUse, ...]:
    """Give the devices of a component.

    A series that names a pod without devices, as the exporter's own where the user's label was
    lost, says as little of who worked on the device as one that names none.
    """

    def live(pod: Name) -> bool:
        known = snapshot.pods.get(pod[0], {}).get(pod[1])
        return known.live if known is not None else pod in snapshot.bystanders

    profile = metric_profile(policy.prometheus)
    return join(pods=resolved.component.pods, usage=usage, profile=profile, live=live)


def quiet_since(devices: Iterable[DeviceUse], *, busy_from_percent: float) -> Instant | None:
    """Give the newest busy sample of all devices; None where one is busy, or none ever was."""
    known = tuple(devices)
    if any((one.peak or 0.0) >= busy_from_percent for one in known):
        return None
    return max((one.last_busy for one in known if one.last_busy is not None), default=None)


def _idle_start(*, snapshot: Snapshot, resolved: Resolved, policy: Policy) -> IdleStart | None:
    usage = snapshot.usage.get(resolved.key)
    if usage is None or usage.problem is not None:
        return None
    devices = devices_of(snapshot=snapshot, resolved=resolved, usage=usage, policy=policy)
    if all(one.peak is None for one in devices):
        return None
    component = resolved.component
    return IdleStart(
        namespace=component.namespace,
        workload=f"{component.subject} {component.name}".strip(),
        at=quiet_since(devices, busy_from_percent=resolved.key.busy_from_percent),
    )
