"""Find the pods and podsets that an idle trigger speaks of: its component.

A Deployment or StatefulSet has the pods of its selector, also where Kueue makes one Workload a
pod. All else is found through its Kueue Workload: the podsets that request the profile's
resources, without Ray's head and submitter, or the one podset that the trigger names.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from scaler.core.model import (
    Amounts,
    Kind,
    NodeRequirement,
    Pod,
    PodSet,
    ScaledObject,
    Target,
    Workload,
)
from scaler.core.profile import MetricProfile
from scaler.core.snapshot import Snapshot
from scaler.core.trigger import IdleTrigger

SELECTED = {"Deployment": Kind.DEPLOYMENTS, "StatefulSet": Kind.STATEFUL_SETS}
"""Kinds whose pods are found by selector, and what has to be watched for it."""

_RAY_KINDS = frozenset({"RayCluster", "RayJob", "RayService"})
_RAY_WITHOUT_WORKERS = frozenset({"head", "submitter"})
"""Kueue's names of the podsets of a Ray owner that hold no workers."""
_RAY_NODE_TYPE = "ray.io/node-type"
_RAY_GROUP = "ray.io/group"


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """Whom a trigger speaks of: an owner by kind and name, or a Workload (no kind)."""

    kind: str | None
    name: str

    def __str__(self) -> str:
        return self.name if self.kind is None else f"{self.kind}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """What an idle trigger judges."""

    namespace: str
    subject: Subject
    name: str
    """Podsets, joined with commas; empty where a selector finds the pods."""
    kind: str | None
    """Kind of the owner, for the policy's `kinds`."""
    pods: tuple[Pod, ...]
    """Live pods, by name."""
    lacking: int
    """Pods that should be there and are not."""
    gpus: int
    """Devices that the whole component requests at its full size."""
    workloads: tuple[Workload, ...] = ()
    target: Target | None = None

    @property
    def queue_name(self) -> str | None:
        """Give the LocalQueue's name; None without Kueue."""
        if self.workloads:
            return self.workloads[0].queue_name
        return None if self.target is None else self.target.queue_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Unfound:
    """Why a trigger's component can't be told."""

    detail: str


Found: TypeAlias = Component | Unfound


def subject_of(*, trigger: IdleTrigger, scaled_object: ScaledObject | None) -> Subject | None:
    """Name whom the trigger speaks of; None where it names none and has no ScaledObject."""
    if trigger.workload is not None:
        kind, slash, name = trigger.workload.partition("/")
        return Subject(kind=kind, name=name) if slash else Subject(kind=None, name=kind)
    if scaled_object is None:
        return None
    return Subject(kind=scaled_object.target.kind, name=scaled_object.target.name)


def kinds_needed(subject: Subject | None) -> frozenset[Kind]:
    """Give the kinds that finding a component needs."""
    if subject is not None and subject.kind in SELECTED:
        return frozenset({Kind.PODS, SELECTED[subject.kind]})
    return frozenset({Kind.PODS, Kind.WORKLOADS})


def component_of(
    *,
    snapshot: Snapshot,
    namespace: str,
    trigger: IdleTrigger,
    scaled_object: ScaledObject | None,
    profile: MetricProfile,
) -> Found:
    """Find a trigger's component; sources are taken for synced."""
    subject = subject_of(trigger=trigger, scaled_object=scaled_object)
    if subject is None:
        return Unfound(detail="the trigger names no workload, and there is no ScaledObject")
    if subject.kind in SELECTED:
        target = snapshot.targets.get((subject.kind, namespace, subject.name))
        if target is None:
            return Unfound(detail=f"{subject} does not exist in namespace {namespace}")
        return _by_selector(
            snapshot=snapshot, target=target, subject=subject, trigger=trigger, profile=profile
        )
    workloads = _workloads(snapshot=snapshot, namespace=namespace, subject=subject)
    if not workloads:
        return Unfound(detail=f"no Workload of {subject} exists in namespace {namespace}")
    return _by_workloads(
        snapshot=snapshot,
        namespace=namespace,
        subject=subject,
        workloads=workloads,
        trigger=trigger,
        profile=profile,
    )


def devices_requested(*, requests: Amounts, profile: MetricProfile) -> int:
    """Count the devices that the profile's metrics speak of."""
    return sum(count for resource, count in requests if profile.covers(resource))


# --- by selector -------------------------------------------------------------------------------


def _by_selector(
    *,
    snapshot: Snapshot,
    target: Target,
    subject: Subject,
    trigger: IdleTrigger,
    profile: MetricProfile,
) -> Component:
    chosen = [
        pod
        for pod in snapshot.pods.get(target.namespace, {}).values()
        if selects(selector=target.selector, labels=pod.labels)
        and (trigger.component is None or pod.pod_set == trigger.component)
    ]
    live = _live(chosen)
    return Component(
        namespace=target.namespace,
        subject=subject,
        name=trigger.component or "",
        kind=target.kind,
        pods=live,
        lacking=max(0, target.replicas - len(live)),
        gpus=devices_requested(requests=target.shape.requests, profile=profile) * target.replicas,
        workloads=_workloads_of_pods(snapshot=snapshot, pods=live),
        target=target,
    )


def selects(*, selector: tuple[NodeRequirement, ...], labels: Mapping[str, str]) -> bool:
    """Say whether a label selector fits; an empty one selects nothing."""
    return bool(selector) and all(_holds(part, labels) for part in selector)


def _holds(part: NodeRequirement, labels: Mapping[str, str]) -> bool:
    match part.operator:
        case "In":
            return labels.get(part.key) in part.values
        case "NotIn":
            return labels.get(part.key) not in part.values
        case "Exists":
            return part.key in labels
        case "DoesNotExist":
            return part.key not in labels
        case _:
            return False


def _workloads_of_pods(*, snapshot: Snapshot, pods: Iterable[Pod]) -> tuple[Workload, ...]:
    names = {(pod.namespace, pod.workload): None for pod in pods if pod.workload is not None}
    owned = {
        workload.key: workload
        for pod in pods
        for uid in (pod.uid, *(owner.uid for owner in pod.owners))
        for workload in snapshot.workloads_by_owner.get(uid, ())
    }
    named = (snapshot.workload_index.get((space, name)) for space, name in names if name)
    owned.update({workload.key: workload for workload in named if workload is not None})
    return tuple(owned[key] for key in sorted(owned))


# --- by Workload -------------------------------------------------------------------------------


def _workloads(*, snapshot: Snapshot, namespace: str, subject: Subject) -> tuple[Workload, ...]:
    """Give the Workloads of a subject: those with quota, and where none has it, all."""
    if subject.kind is None:
        one = snapshot.workload_index.get((namespace, subject.name))
        return () if one is None else (one,)
    owned = _owned(snapshot=snapshot, kind=subject.kind, namespace=namespace, name=subject.name)
    admitted = tuple(workload for workload in owned if workload.admitted)
    return admitted or owned


def _owned(*, snapshot: Snapshot, kind: str, namespace: str, name: str) -> tuple[Workload, ...]:
    index = snapshot.workloads_by_owner_name
    if index is not None:
        return tuple(sorted(index.get((kind, namespace, name), ()), key=lambda one: one.name))
    return tuple(
        workload
        for key, workload in sorted(snapshot.workload_index.items())
        if key[0] == namespace
        and any(owner.kind == kind and owner.name == name for owner in workload.owners)
    )


def _by_workloads(
    *,
    snapshot: Snapshot,
    namespace: str,
    subject: Subject,
    workloads: tuple[Workload, ...],
    trigger: IdleTrigger,
    profile: MetricProfile,
) -> Found:
    chosen = [(workload, _pod_sets(workload, trigger, profile)) for workload in workloads]
    names = sorted({one.name for _, pod_sets in chosen for one in pod_sets})
    if trigger.component is not None and not names:
        return Unfound(detail=f"{subject} has no podset {trigger.component!r}")
    live: dict[str, Pod] = {}
    lacking = gpus = 0
    for workload, pod_sets in chosen:
        pods = snapshot.pods_by_workload.get(workload.key, ())
        for pod_set in pod_sets:
            members = [pod for pod in pods if _belongs(pod, pod_set, workload, profile)]
            count = _count(workload, pod_set)
            live.update({pod.name: pod for pod in _live(members)})
            lacking += _lacking(workload=workload, pod_set=pod_set, count=count, pods=members)
            gpus += count * devices_requested(requests=pod_set.shape.requests, profile=profile)
    return Component(
        namespace=namespace,
        subject=subject,
        name=",".join(names),
        kind=subject.kind or _owner_kind(workloads[0]),
        pods=tuple(live[name] for name in sorted(live)),
        lacking=lacking,
        gpus=gpus,
        workloads=workloads,
    )


def _pod_sets(
    workload: Workload, trigger: IdleTrigger, profile: MetricProfile
) -> tuple[PodSet, ...]:
    if trigger.component is not None:
        return tuple(one for one in workload.pod_sets if one.name == trigger.component)
    left_out = _RAY_WITHOUT_WORKERS if _is_ray(workload) else frozenset()
    return tuple(
        one
        for one in workload.pod_sets
        if one.name not in left_out
        and devices_requested(requests=one.shape.requests, profile=profile)
    )


def _is_ray(workload: Workload) -> bool:
    return any(owner.kind in _RAY_KINDS for owner in workload.owners)


def _owner_kind(workload: Workload) -> str | None:
    ordered = sorted(workload.owners, key=lambda owner: not owner.controller)
    return ordered[0].kind if ordered else None


def _belongs(pod: Pod, pod_set: PodSet, workload: Workload, profile: MetricProfile) -> bool:
    """Say whether a pod is of a podset; without Kueue's label, one that may be is.

    One pod too many can only show more work, one too few would hide it.
    """
    if pod.pod_set is not None:
        return pod.pod_set == pod_set.name
    if len(workload.pod_sets) == 1:
        return True
    if pod.labels.get(_RAY_NODE_TYPE) == "head":
        return pod_set.name == "head"
    if _RAY_GROUP in pod.labels:
        return pod.labels[_RAY_GROUP].lower() == pod_set.name
    return devices_requested(requests=pod.requests, profile=profile) > 0


def _count(workload: Workload, pod_set: PodSet) -> int:
    """Give a podset's pods: as admitted, where it is admitted."""
    if workload.admission is None:
        return pod_set.count
    counts = {one.pod_set: one.count for one in workload.admission.assignments}
    return counts.get(pod_set.name, pod_set.count)


def _lacking(*, workload: Workload, pod_set: PodSet, count: int, pods: list[Pod]) -> int:
    """Count pods that should live; those that succeeded may be told as reclaimable too."""
    succeeded = sum(pod.phase == "Succeeded" for pod in pods)
    done = max(succeeded, dict(workload.reclaimable).get(pod_set.name, 0))
    return max(0, count - done - len(_live(pods)))


def _live(pods: Iterable[Pod]) -> tuple[Pod, ...]:
    return tuple(sorted((pod for pod in pods if pod.live), key=lambda pod: pod.name))
