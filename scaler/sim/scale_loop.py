"""KEDA's work for one ScaledObject: its polls, its pushes, and the HPA's reads."""

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from scaler.core.model import Instant, Kind, Name
from scaler.core.quantity import instant
from scaler.sim.clock import Clock
from scaler.sim.conditions import is_true, set_condition
from scaler.sim.hpa import Autoscaler, Metric, hpa_document, hpa_name
from scaler.sim.objects import NotFoundError, Objects, timestamp
from scaler.sim.patches import Document
from scaler.sim.pods import owner_reference
from scaler.sim.scale import scale_of, write_scale
from scaler.sim.scaledobject import Activity, Ready, Spec, Step, step
from scaler.sim.trigger_calls import CallFailedError, Target, TriggerCalls


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """What differs between releases of KEDA and Kubernetes, and what HPAs are set to."""

    race: bool = True
    """KEDA 2.20 and 2.21: an HPA read that fails while a poll is under way makes the poll count
    as inactive, without an error."""
    tolerance: bool = True
    """The cluster's HPA has the field `tolerance`."""
    sync: float = 15.0
    """Seconds between an HPA's reads."""
    read_deadline: float = 60.0
    """Wall seconds; the HPA's reads have a deadline, polls have none."""


class ScaleLoop:
    """Do what KEDA does for one ScaledObject.

    `_scaling` is held through a poll and through a push, so that they never cross. The HPA's
    reads don't take it: they run beside a poll, which is what the race is made of.
    """

    def __init__(
        self,
        *,
        objects: Objects,
        clock: Clock,
        spec: Spec,
        calls: Sequence[TriggerCalls],
        version: Version,
    ) -> None:
        self.spec = spec
        self.calls = tuple(calls)
        self.failed_polls = 0
        self._objects = objects
        self._clock = clock
        self._version = version
        self._autoscaler = Autoscaler(spec=spec)
        self._scaling = threading.Lock()
        self._closed_caches = 0

    # --- creation ------------------------------------------------------------------------------

    def create(self) -> bool:
        """Make the HPA; False where the target or a trigger's spec can't be had (yet)."""
        scaled_object = self._objects.get(Kind.SCALED_OBJECTS, self.spec.name)
        if scaled_object is None:
            return False
        try:
            scale = self._scale()
            targets = [each.targets(timeout=None) for each in self.calls]
        except (CallFailedError, NotFoundError) as error:
            self._say(Ready.ERROR, reason="ScaledObjectCheckFailed", message=str(error))
            return False
        named = [
            (f"s{index}-{target.name}", target.per_replica)
            for index, trigger in enumerate(targets)
            for target in trigger
        ]
        api_version = self._objects.resources[self._plural()].api_version
        document = hpa_document(
            self.spec,
            owner=owner_reference(scaled_object),
            api_version=api_version,
            metrics=named,
            keeps_tolerance=self._version.tolerance,
        )
        self._put_hpa(document, replicas=scale["spec"]["replicas"])

        def write(after: Document) -> None:
            after.setdefault("status", {}).update(
                hpaName=hpa_name(self.spec), externalMetricNames=[name for name, _ in named]
            )

        self._write(Kind.SCALED_OBJECTS, self.spec.name, write)
        return True

    def remove_hpa(self) -> None:
        """Delete the HPA, as a pause and the ScaledObject's end do."""
        with suppress(NotFoundError):
            self._objects.delete(Kind.HPAS, self._hpa())

    def hold_at(self, replicas: int) -> None:
        """Bring the target to the size that the annotation paused-replicas asks for."""
        self._resize(replicas)

    def _put_hpa(self, document: Document, *, replicas: int) -> None:
        if self._objects.get(Kind.HPAS, self._hpa()) is None:
            self._objects.create(Kind.HPAS, document)
        else:
            self._write(Kind.HPAS, self._hpa(), lambda d: d.update(spec=document["spec"]))
        if replicas == 0:
            self._report_hpa(replicas=0, reason="ScalingDisabled")

    # --- the operator's side -------------------------------------------------------------------

    def poll(self) -> None:
        """Ask all triggers, and step from or to zero."""
        with self._scaling:
            activity = self._activity()
            if activity is not None:
                self._act(activity)

    def pushed(self) -> None:
        """Take a pushed `true`; it waits for a poll that is under way, and asks nothing."""
        with self._scaling:
            self._act(Activity(active=True))

    def _activity(self) -> Activity | None:
        """Give what the triggers say; None where only the HPA matters (KEDA 2.21)."""
        hpa = self._objects.get(Kind.HPAS, self._hpa())
        if self.spec.minimum and self.spec.idle is None and hpa and is_true(hpa, "ScalingActive"):
            self._specs_only()
            return None
        active = error = False
        for calls in self.calls:
            caches = self._closed_caches
            try:
                answers = calls.read(calls.targets(timeout=None), timeout=None)
                said, failed = any(answer.active for answer in answers), False
            except CallFailedError:
                said, failed = False, True
            if self._version.race and caches != self._closed_caches:
                said, failed = False, False
            active, error = active or said, error or failed
        self.failed_polls += error
        return Activity(active=active, error=error)

    def _specs_only(self) -> None:
        for calls in self.calls:
            try:
                calls.targets(timeout=None)
            except CallFailedError:
                self.failed_polls += 1

    def _act(self, activity: Activity) -> None:
        try:
            replicas = self._scale()["spec"]["replicas"]
        except NotFoundError:
            return
        done = step(
            self.spec,
            activity,
            replicas=replicas,
            last_active=self._last_active(),
            now=self._clock.now(),
        )
        if done.replicas is not None:
            self._resize(done.replicas)
        self._record(activity, done)

    def _last_active(self) -> Instant | None:
        document = self._objects.get(Kind.SCALED_OBJECTS, self.spec.name)
        written = (document or {}).get("status", {}).get("lastActiveTime")
        return instant(written) if written else None

    def _record(self, activity: Activity, done: Step) -> None:
        if done.refreshed:

            def write(after: Document) -> None:
                status = after.setdefault("status", {})
                status["lastActiveTime"] = timestamp(self._clock.now())

            self._write(Kind.SCALED_OBJECTS, self.spec.name, write)
        self._say(done.ready, reason=done.ready, message="", active=activity.active)

    def _say(self, ready: Ready, *, reason: str, message: str, active: bool = False) -> None:
        now = self._clock.now()

        def write(after: Document) -> None:
            good = ready is Ready.READY
            set_condition(after, "Ready", status=good, reason=reason, message=message, now=now)
            scaler = "ScalerActive" if active else "ScalerNotActive"
            set_condition(after, "Active", status=active, reason=scaler, message="", now=now)

        self._write(Kind.SCALED_OBJECTS, self.spec.name, write)

    # --- the HPA's side ------------------------------------------------------------------------

    def sync_hpa(self) -> None:
        """Let the HPA read its metrics once, and size the target."""
        try:
            scale = self._scale()
        except NotFoundError:
            return
        replicas, present = scale["spec"]["replicas"], scale["status"]["replicas"]
        if replicas == 0:
            self._report_hpa(replicas=0, reason="ScalingDisabled")
            return
        metrics, reason = self._metrics(), "ValidMetricFound"
        if any(metric.usage is None for metric in metrics):
            reason = "FailedGetExternalMetric"
        if not scale["status"]["selector"]:
            metrics, reason = [], "InvalidSelector"
        now = self._clock.now()
        desired = self._autoscaler.desired(metrics, replicas=replicas, present=present, now=now)
        if desired != replicas:
            self._resize(desired, expected=replicas)
        self._report_hpa(replicas=replicas, desired=desired, reason=reason)

    def _metrics(self) -> list[Metric]:
        """Read every trigger live; one spec that can't be had fails them all."""
        deadline = self._version.read_deadline
        try:
            targets = [calls.targets(timeout=deadline) for calls in self.calls]
        except CallFailedError:
            self._closed_caches += 1
            return [Metric(usage=None, target=1.0)]
        pairs = zip(self.calls, targets, strict=True)
        return [metric for calls, each in pairs for metric in self._read(calls, each)]

    def _read(self, calls: TriggerCalls, targets: tuple[Target, ...]) -> list[Metric]:
        try:
            answers = calls.read(targets, timeout=self._version.read_deadline)
        except CallFailedError:
            self._closed_caches += 1
            return [Metric(usage=None, target=1.0)]
        return [Metric(usage=a.value, target=a.target.per_replica) for a in answers]

    def _report_hpa(self, *, replicas: int, desired: int = 0, reason: str) -> None:
        now = self._clock.now()

        def write(after: Document) -> None:
            status = after.setdefault("status", {})
            status.pop("currentReplicas", None)
            if replicas:
                status["currentReplicas"] = replicas
            status["desiredReplicas"] = desired
            if desired != replicas:
                status["lastScaleTime"] = timestamp(now)
            good = reason == "ValidMetricFound"
            set_condition(after, "ScalingActive", status=good, reason=reason, message="", now=now)

        self._write(Kind.HPAS, self._hpa(), write)

    # --- the target ----------------------------------------------------------------------------

    def _hpa(self) -> Name:
        return (self.spec.name[0], hpa_name(self.spec))

    def _plural(self) -> str:
        for resource in self._objects.resources.values():
            if resource.kind == self.spec.target_kind and resource.scale:
                return resource.plural
        raise NotFoundError(f"{self.spec.target_kind} has no /scale subresource")

    def _scale(self) -> Document:
        name = (self.spec.name[0], self.spec.target_name)
        document = self._objects.get(self._plural(), name)
        if document is None:
            raise NotFoundError(f"target {self.spec.target_name} doesn't exist")
        return scale_of(document)

    def _resize(self, replicas: int, *, expected: int | None = None) -> None:
        """Write the size; with `expected` only where nobody else has written it meanwhile."""

        def write(document: Document) -> None:
            scale = scale_of(document)
            if expected in (None, scale["spec"]["replicas"]):
                scale["spec"]["replicas"] = replicas
                write_scale(document, scale)

        name = (self.spec.name[0], self.spec.target_name)
        self._write(self._plural(), name, write)

    def _write(self, plural: str, name: Name, change: Callable[[Document], None]) -> None:
        """Write to an object; where it is deleted meanwhile there is nothing more to say of it."""
        with suppress(NotFoundError):
            self._objects.modify(plural, name, change)
