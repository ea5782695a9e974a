"""Resolve an idle trigger: its component, the thresholds in force, and what to ask Prometheus."""

from dataclasses import dataclass

from scaler.core.effective import Effective, effective
from scaler.core.model import Kind, Pod, ScaledObject, WorkerScale
from scaler.core.policy import Policy
from scaler.core.profile import metric_profile
from scaler.core.scales import aimed, is_scale
from scaler.core.snapshot import Snapshot
from scaler.core.trigger import IdleTrigger
from scaler.core.usage import UsageKey
from scaler.core.workers.component import Component, Unfound, component_of, subject_of
from scaler.core.workers.query import Query, bind

_KUEUE = "kueue.x-k8s.io/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """An idle trigger with everything that it names looked up."""

    component: Component
    cluster_queue: str | None
    effective: Effective
    key: UsageKey
    keep_alive: Query | None
    wake: Query | None


def resolve(
    *,
    snapshot: Snapshot,
    namespace: str,
    trigger: IdleTrigger,
    scaled_object: ScaledObject | None,
    policy: Policy,
    scale: WorkerScale | None = None,
) -> Resolved | Unfound:
    """Look up what a trigger names in what was last seen, whatever its age.

    `scale` is the WorkerScale that the trigger speaks of, by `scales.scale_of`.
    """
    component = component_of(
        snapshot=snapshot,
        namespace=namespace,
        trigger=trigger,
        scaled_object=scaled_object,
        profile=metric_profile(policy.prometheus),
        scale=scale,
    )
    if isinstance(component, Unfound):
        return component
    cluster_queue = _cluster_queue(snapshot, component)
    values = effective(
        policy=policy,
        trigger=trigger,
        namespace=namespace,
        cluster_queue=cluster_queue,
        kind=component.kind,
    )

    def bound(text: str | None) -> Query | None:
        if text is None:
            return None
        workload = component.subject.name
        return bind(text=text, namespace=namespace, workload=workload, policy=policy)

    return Resolved(
        component=component,
        cluster_queue=cluster_queue,
        effective=values,
        key=UsageKey(window_seconds=values.idle_after, busy_from_percent=values.busy_from_percent),
        keep_alive=bound(values.keep_alive),
        wake=bound(values.wake),
    )


def kinds_needed(
    *,
    snapshot: Snapshot,
    namespace: str,
    trigger: IdleTrigger,
    scaled_object: ScaledObject | None,
    scale: WorkerScale | None = None,
) -> frozenset[Kind]:
    """Give the kinds without which a trigger's component can't be told, or an opt-out be seen."""
    subject = subject_of(trigger=aimed(trigger, scale), scaled_object=scaled_object)
    own = frozenset[Kind]() if snapshot.bundle else frozenset({Kind.SCALED_OBJECTS})
    if scale is not None or (scaled_object is not None and is_scale(scaled_object.target)):
        own |= {Kind.WORKER_SCALES}
    watched = None if subject is None else subject.watched
    if subject is None or watched is None:
        return own | {Kind.PODS, Kind.WORKLOADS}
    target = snapshot.targets.get((subject.selected, namespace, subject.name))
    if target is not None and target.queue_name is not None:
        own |= {Kind.WORKLOADS}
    return own | {Kind.PODS, watched}


def queue_kinds_needed(*, resolved: Resolved, policy: Policy) -> frozenset[Kind]:
    """Ask for what an opt-out or a rule for the ClusterQueue may be missed without.

    Pods can be under Kueue by their own labels, where the target says nothing of it.
    """
    component = resolved.component
    under_kueue = any(_under_kueue(pod) for pod in component.pods)
    needed = frozenset({Kind.WORKLOADS}) if under_kueue else frozenset[Kind]()
    queued = _queue_name(component) is not None
    if policy.cluster_queues and queued and not _admitted_to(component):
        needed |= {Kind.LOCAL_QUEUES}
    return needed


def _cluster_queue(snapshot: Snapshot, component: Component) -> str | None:
    admitted_to = _admitted_to(component)
    if admitted_to is not None:
        return admitted_to
    queue = snapshot.local_queues.get((component.namespace, _queue_name(component) or ""))
    return None if queue is None else queue.cluster_queue


def _admitted_to(component: Component) -> str | None:
    for workload in component.workloads:
        if workload.admission is not None:
            return workload.admission.cluster_queue
    return None


def _under_kueue(pod: Pod) -> bool:
    return pod.workload is not None or any(key.startswith(_KUEUE) for key in pod.labels)


def _queue_name(component: Component) -> str | None:
    if component.workloads:
        return component.workloads[0].queue_name
    return None if component.target is None else component.target.queue_name
