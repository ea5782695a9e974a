"""S, the target's size now, and whether HOLD has to take it for running.

Sources: spec.replicas of a Deployment, StatefulSet or WorkerScale, else currentReplicas of the
HorizontalPodAutoscaler that KEDA made (absent at zero, where ScalingActive is False with reason
ScalingDisabled), or its desiredReplicas where it has just grown the target. A bundle without a
ScaledObject has what is present: nodes of the pool, or pods.
"""

from dataclasses import dataclass

from scaler.core.model import Hpa, Instant, Kind, Node, ScaledObject, Target, WorkerScale
from scaler.core.policy import Policy
from scaler.core.profile import metric_profile
from scaler.core.scales import KIND, is_scale, scale_of
from scaler.core.snapshot import Snapshot
from scaler.core.sources import missing
from scaler.core.trigger import IdleTrigger, QueueTrigger, Trigger
from scaler.core.workers.component import APPS, SELECTED, Component, component_of
from scaler.core.workers.lookup import pods_selected


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """S, and how HOLD answers for it."""

    value: int | None
    """None = not known."""
    running: bool
    """S > 0, or S unknown while pods live or the ScaledObject's minimum keeps one."""
    detail: str
    """Where the number is from, or why there is none."""


def size_of(
    *,
    snapshot: Snapshot,
    scaled_object: ScaledObject | None,
    policy: Policy,
    trigger: Trigger | None,
    now: Instant,
    namespace: str = "",
    scale: WorkerScale | None = None,
) -> Size:
    """Read the target's size; a source that can't be believed gives none.

    `trigger` is None where the metadata is malformed. `namespace` and `scale`, the WorkerScale
    that a trigger of our own speaks of, are asked of only where there is no ScaledObject.
    """
    reading = _Reading(
        snapshot=snapshot,
        policy=policy,
        trigger=trigger,
        scaled_object=scaled_object,
        namespace=namespace if scaled_object is None else scaled_object.namespace,
        now=now,
        scale=scale if scaled_object is None else scale_of(snapshot, scaled_object),
    )
    value, detail = reading.size()
    running = reading.seems_running() if value is None else value > 0
    return Size(value=value, running=running, detail=detail)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    """One question about the size, and what it is asked of."""

    snapshot: Snapshot
    policy: Policy
    trigger: Trigger | None
    scaled_object: ScaledObject | None
    namespace: str
    now: Instant
    scale: WorkerScale | None

    def size(self) -> tuple[int | None, str]:
        """Give S and where it is from, or None and why it is not known."""
        if self.scale is not None and self._believed(Kind.WORKER_SCALES):
            return self.scale.replicas, f"spec.replicas of {KIND}/{self.scale.name}"
        if self.scaled_object is not None:
            return self._of_target(self.scaled_object)
        if self.scale is not None:
            return None, f"{KIND}/{self.scale.name} can't be read"
        if self.snapshot.bundle:
            return self._present()
        return None, "the ScaledObject is not known"

    def seems_running(self) -> bool:
        """Judge by the last that was seen, however old: an error answer could end what runs."""
        if self.scaled_object is not None and self.scaled_object.kept_by_minimum:
            return True
        if self._last_known() > 0 or self._live_pods() > 0:
            return True
        return isinstance(self.trigger, QueueTrigger) and self._pool_nodes(self.trigger) > 0

    def _believed(self, *kinds: Kind) -> bool:
        max_age = self.policy.safety.max_watch_age
        lack = missing(snapshot=self.snapshot, kinds=kinds, max_age=max_age, now=self.now)
        return lack is None

    def _of_target(self, scaled_object: ScaledObject) -> tuple[int | None, str]:
        kind, name = scaled_object.target.kind, scaled_object.target.name
        target = self._watched(scaled_object)
        if target is not None and self._believed(SELECTED[kind]):
            return target.replicas, f"spec.replicas of {kind}/{name}"
        hpa = self._hpa(scaled_object)
        read = None if hpa is None else _of_hpa(hpa)
        if hpa is not None and read is not None and self._believed(Kind.HPAS):
            return read[0], f"{read[1]} of HPA {hpa.name}"
        known = kind in SELECTED or is_scale(scaled_object.target)
        watched = "can't be read" if known else "is of no watched kind"
        return None, f"{kind}/{name} {watched}, and {self._hpa_lacks(scaled_object, hpa)}"

    def _hpa_lacks(self, scaled_object: ScaledObject, hpa: Hpa | None) -> str:
        """Say why the HPA gives no size, by what has to be mended."""
        if scaled_object.hpa_name is None:
            return "the ScaledObject's status.hpaName names no HPA"
        if hpa is None and self._believed(Kind.HPAS):
            return f"HPA {scaled_object.hpa_name}, labelled or owned as KEDA's, is not there"
        return f"HPA {scaled_object.hpa_name} gives no size"

    def _watched(self, scaled_object: ScaledObject) -> Target | None:
        ref = scaled_object.target
        if ref.group != APPS:
            return None
        return self.snapshot.targets.get((ref.kind, scaled_object.namespace, ref.name))

    def _hpa(self, scaled_object: ScaledObject) -> Hpa | None:
        if scaled_object.hpa_name is None:
            return None
        return self.snapshot.hpas.get((scaled_object.namespace, scaled_object.hpa_name))

    def _present(self) -> tuple[int | None, str]:
        match self.trigger:
            case QueueTrigger() if self._tells_pool(self.trigger) and self._believed(Kind.NODES):
                return self._pool_nodes(self.trigger), "present nodes of the pool"
            case IdleTrigger() if self._believed(Kind.PODS):
                return self._live_pods(), "live pods"
            case _:
                return None, "there is no ScaledObject, and what is present can't be counted"

    def _tells_pool(self, trigger: QueueTrigger) -> bool:
        return trigger.pool in self.policy.pools or trigger.gpus_per_node is not None

    def _pool_nodes(self, trigger: QueueTrigger) -> int:
        nodes = self.snapshot.nodes.values()
        if trigger.pool is not None:
            pool = self.policy.pools.get(trigger.pool)
            return 0 if pool is None else sum(_in(node, pool.node_selector) for node in nodes)
        if trigger.gpus_per_node is None:
            return 0
        labels = labels_asked(snapshot=self.snapshot, trigger=trigger)
        return sum(
            dict(node.allocatable).get(trigger.resource, 0) > 0 and _in(node, labels)
            for node in nodes
        )

    def _live_pods(self) -> int:
        """Count live pods of an idle trigger's component, else of the target's selector."""
        if isinstance(self.trigger, IdleTrigger):
            found = component_of(
                snapshot=self.snapshot,
                namespace=self.namespace,
                trigger=self.trigger,
                scaled_object=self.scaled_object,
                profile=metric_profile(self.policy.prometheus),
                scale=self.scale,
            )
            return len(found.pods) if isinstance(found, Component) else 0
        if self.scaled_object is None:
            return 0
        target = self._watched(self.scaled_object)
        if target is None:
            return 0
        pods = pods_selected(
            snapshot=self.snapshot, namespace=self.namespace, selector=target.selector
        )
        return sum(pod.live for pod in pods)

    def _last_known(self) -> int:
        """Give the size as it was last read, even from a source that went silent since."""
        if self.scale is not None:
            return self.scale.replicas
        if self.scaled_object is None:
            return 0
        target = self._watched(self.scaled_object)
        if target is not None:
            return target.replicas
        hpa = self._hpa(self.scaled_object)
        read = None if hpa is None else _of_hpa(hpa)
        return 0 if read is None else read[0]


def labels_asked(*, snapshot: Snapshot, trigger: QueueTrigger) -> tuple[tuple[str, str], ...]:
    """Give the node labels of the trigger's ResourceFlavor; () = any, as where it is not there."""
    flavor = None if trigger.flavor is None else snapshot.flavors.get(trigger.flavor)
    return () if flavor is None else flavor.node_labels


def _of_hpa(hpa: Hpa) -> tuple[int, str] | None:
    """Give what the last sync left, and what tells it, None = not known.

    Until the next sync currentReplicas is what the last one began with.

    Nodes may be there and run jobs before that next one: a smaller size would take them for more
    than is wanted. What is desired is what was written, limits of speed and number applied.
    Source: Kubernetes pkg/controller/podautoscaler/horizontal.go.
    """
    if hpa.scaling_disabled:
        return 0, "ScalingDisabled"
    found, left = hpa.current_replicas, hpa.desired_replicas
    if found is None:
        return None
    if left is None or left <= found or hpa.scaling_failed:
        return found, "currentReplicas"
    return left, "desiredReplicas"


def _in(node: Node, selector: tuple[tuple[str, str], ...]) -> bool:
    return all(node.labels.get(key) == value for key, value in selector)
