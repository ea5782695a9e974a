"""A ScaledObject as KEDA reads it, and KEDA's rule of when to step from or to zero."""

from dataclasses import dataclass
from enum import StrEnum

from scaler.core.model import Instant, Name
from scaler.core.quantity import instant
from scaler.sim.patches import Document

ANNOTATION = "autoscaling.keda.sh/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """The fields that decide; `fallback` and `scalingModifiers` are not played."""

    name: Name
    generation: int
    created: Instant
    target_kind: str
    target_name: str
    triggers: tuple[Document, ...]
    polling_interval: float
    cooldown: float
    initial_cooldown: float
    minimum: int
    maximum: int
    idle: int | None
    behavior: Document
    paused: bool
    paused_replicas: int | None
    """Paused, and at this size."""
    scale_in_paused: bool
    scale_out_paused: bool


def read(document: Document) -> Spec:
    """Read a ScaledObject with KEDA's defaults."""
    metadata, spec = document["metadata"], document["spec"]
    annotations = metadata.get("annotations", {})
    size = annotations.get(f"{ANNOTATION}paused-replicas")
    hpa = spec.get("advanced", {}).get("horizontalPodAutoscalerConfig", {})

    def on(annotation: str) -> bool:
        return bool(annotations.get(f"{ANNOTATION}{annotation}", "false") == "true")

    return Spec(
        name=(metadata["namespace"], metadata["name"]),
        generation=metadata["generation"],
        created=instant(metadata["creationTimestamp"]),
        target_kind=spec["scaleTargetRef"].get("kind", "Deployment"),
        target_name=spec["scaleTargetRef"]["name"],
        triggers=tuple(spec["triggers"]),
        polling_interval=spec.get("pollingInterval", 30),
        cooldown=spec.get("cooldownPeriod", 300),
        initial_cooldown=spec.get("initialCooldownPeriod", 0),
        minimum=spec.get("minReplicaCount", 0),
        maximum=spec.get("maxReplicaCount", 100),
        idle=spec.get("idleReplicaCount"),
        behavior=hpa.get("behavior", {}),
        paused=on("paused") or f"{ANNOTATION}paused-replicas" in annotations,
        paused_replicas=int(size) if size is not None else None,
        scale_in_paused=on("paused-scale-in"),
        scale_out_paused=on("paused-scale-out"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """What one poll of all triggers said, or a pushed `true`."""

    active: bool
    error: bool = False


class Ready(StrEnum):
    """Reason of the ScaledObject's Ready condition."""

    READY = "ScaledObjectReady"
    PARTIAL = "PartialTriggerError"
    ERROR = "TriggerError"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What KEDA does about an Activity."""

    ready: Ready = Ready.READY
    replicas: int | None = None
    """Write this to the target; None = leave it alone."""
    refreshed: bool = False
    """lastActiveTime becomes now."""


def step(
    spec: Spec, activity: Activity, *, replicas: int, last_active: Instant | None, now: Instant
) -> Step:
    """Decide on the target's steps from and to zero, as KEDA 2.21 does; the rest is the HPA's."""
    if activity.active:
        return _step_up(spec, activity, replicas)
    if activity.error:
        return Step(ready=Ready.ERROR)
    floor = spec.idle if spec.idle is not None else 0
    leaves = spec.idle is not None or spec.minimum == 0
    if leaves and replicas > floor:
        rests = not cooled(spec, last_active, now) or spec.scale_in_paused
        return Step(replicas=None if rests else floor)
    if spec.idle is None and replicas < spec.minimum:
        return Step(replicas=spec.minimum)
    return Step()


def cooled(spec: Spec, last_active: Instant | None, now: Instant) -> bool:
    """Say whether the cooldown is over; never seen active, only the initial one counts."""
    if last_active is None:
        return spec.created + spec.initial_cooldown < now
    return last_active + spec.cooldown < now


def _step_up(spec: Spec, activity: Activity, replicas: int) -> Step:
    ready = Ready.PARTIAL if activity.error else Ready.READY
    if replicas == 0 or (spec.idle is not None and replicas < spec.minimum):
        if spec.scale_out_paused:
            return Step(ready=ready)
        return Step(ready=ready, replicas=max(1, spec.minimum), refreshed=True)
    return Step(ready=ready, refreshed=not activity.error)
