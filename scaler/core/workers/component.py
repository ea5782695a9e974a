"""Find the pods that an idle trigger speaks of: its component.

A Deployment or StatefulSet has the pods of its selector, also where Kueue makes one Workload a
pod. All else is found through its Kueue Workload: the podsets that request the profile's
resources, without Ray's head and submitter, or the one podset that the trigger names. A trigger
on a WorkerScale speaks of the WorkerScale's target and component.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from scaler.core.model import Kind, Mode, Pod, ScaledObject, Target, WorkerScale, Workload
from scaler.core.profile import MetricProfile
from scaler.core.scales import KIND, aimed, is_scale
from scaler.core.snapshot import Snapshot
from scaler.core.trigger import IdleTrigger
from scaler.core.workers import podsets
from scaler.core.workers.lookup import pods_selected, workloads_owned

SELECTED: Mapping[str, Kind] = {
    "Deployment": Kind.DEPLOYMENTS,
    "StatefulSet": Kind.STATEFUL_SETS,
}
"""Kinds whose pods are found by selector, and what has to be watched for it."""
APPS = "apps"
"""The API group of those kinds."""
_SELECTED_AS: Mapping[str, str] = {"Notebook": "StatefulSet"}
"""Kinds whose pods are those of another kind's object that has their name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """Whom a trigger speaks of: an owner by kind and name, or a Workload (no kind)."""

    kind: str | None
    name: str
    foreign: bool = False
    """It is of another API group than the watched kind of that name."""

    @property
    def watched(self) -> Kind | None:
        """Give what has to be watched to find its pods by selector; None where a Workload does."""
        return None if self.foreign else SELECTED.get(self.selected)

    @property
    def selected(self) -> str:
        """Give the kind whose selector finds its pods, where one does."""
        kind = self.kind or ""
        return _SELECTED_AS.get(kind, kind)

    def __str__(self) -> str:
        return self.name if self.kind is None else f"{self.kind}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """What an idle trigger judges."""

    namespace: str
    subject: Subject
    name: str
    """Its podsets, joined with commas; empty where a selector finds the pods."""
    kind: str | None
    """Kind of the owner, for the policy's `kinds`."""
    pods: tuple[Pod, ...]
    """Live pods, by name."""
    lacking: int
    """Pods that should live and don't."""
    wanted: int
    """Pods of its full size."""
    measurable: bool
    """A pod of it, live or to come, requests devices that the profile speaks of."""
    workloads: tuple[Workload, ...] = ()
    target: Target | None = None


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
    target = scaled_object.target
    return Subject(kind=target.kind, name=target.name, foreign=target.group != APPS)


def component_of(
    *,
    snapshot: Snapshot,
    namespace: str,
    trigger: IdleTrigger,
    scaled_object: ScaledObject | None,
    profile: MetricProfile,
    scale: WorkerScale | None = None,
) -> Found:
    """Find a trigger's component in what was last seen, whatever its age.

    `scale` is the WorkerScale that the trigger speaks of, by `scales.scale_of`.
    """
    if scale is None and scaled_object is not None and is_scale(scaled_object.target):
        missing = f"{KIND} {scaled_object.target.name}"
        return Unfound(detail=f"{missing} does not exist in namespace {namespace}")
    trigger = aimed(trigger, scale)
    subject = subject_of(trigger=trigger, scaled_object=scaled_object)
    if subject is None:
        return Unfound(detail="the trigger names no workload, and there is no ScaledObject")
    search = _Search(
        snapshot=snapshot,
        namespace=namespace,
        subject=subject,
        trigger=trigger,
        profile=profile,
        whole=scale is not None and scale.mode is Mode.RELEASE,
    )
    return search.by_selector() if subject.watched else search.by_workloads()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Search:
    snapshot: Snapshot
    namespace: str
    subject: Subject
    trigger: IdleTrigger
    profile: MetricProfile
    whole: bool

    def by_selector(self) -> Found:
        key = (self.subject.selected, self.namespace, self.subject.name)
        target = self.snapshot.targets.get(key)
        if target is None:
            return Unfound(detail=f"{self.subject} does not exist in namespace {self.namespace}")
        pods = _live(self._selected(target))
        return Component(
            namespace=self.namespace,
            subject=self.subject,
            name=self.trigger.component or "",
            kind=self.subject.kind,
            pods=pods,
            lacking=max(0, target.replicas - len(pods)),
            wanted=target.replicas,
            measurable=self._measurable(pods) or self.profile.devices(target.shape.requests) > 0,
            workloads=self._workloads_of(pods),
            target=target,
        )

    def by_workloads(self) -> Found:
        workloads = self._workloads()
        if not workloads:
            return Unfound(
                detail=f"no Workload of {self.subject} exists in namespace {self.namespace}"
            )
        judged = [
            (workload, one)
            for workload in workloads
            for one in podsets.judged(
                workload,
                component=self.trigger.component,
                profile=self.profile,
                whole=self.whole,
            )
        ]
        if self.trigger.component is not None and not judged:
            return Unfound(detail=f"{self.subject} has no podset {self.trigger.component!r}")
        own: dict[str, Pod] = {}
        lacking = 0
        for workload, pod_set in judged:
            pods = self.snapshot.pods_by_workload.get(workload.key, ())
            members = podsets.members(pod_set, workload=workload, pods=pods, profile=self.profile)
            own.update({pod.name: pod for pod in members})
            lacking += podsets.lacking(pod_set, workload=workload, pods=members)
        live = _live(own.values())
        return Component(
            namespace=self.namespace,
            subject=self.subject,
            name=",".join(sorted({one.name for _, one in judged})),
            kind=self.subject.kind or _owner_kind(workloads[0]),
            pods=live,
            lacking=lacking,
            wanted=sum(podsets.size(one, workload=workload) for workload, one in judged),
            measurable=self._measurable(live)
            or any(self.profile.devices(one.shape.requests) for _, one in judged),
            workloads=workloads,
        )

    def _selected(self, target: Target) -> Iterable[Pod]:
        component = self.trigger.component
        pods = pods_selected(
            snapshot=self.snapshot, namespace=self.namespace, selector=target.selector
        )
        return (pod for pod in pods if component is None or pod.pod_set == component)

    def _measurable(self, pods: Iterable[Pod]) -> bool:
        return any(self.profile.devices(pod.requests) for pod in pods)

    def _workloads(self) -> tuple[Workload, ...]:
        """Give the Workloads of the subject: the admitted ones, and where none is, all."""
        if self.subject.kind is None:
            one = self.snapshot.workload_index.get((self.namespace, self.subject.name))
            return () if one is None else (one,)
        owned = workloads_owned(
            snapshot=self.snapshot,
            kind=self.subject.kind,
            namespace=self.namespace,
            name=self.subject.name,
        )
        return tuple(one for one in owned if one.admitted) or owned

    def _workloads_of(self, pods: Iterable[Pod]) -> tuple[Workload, ...]:
        """Give the Workloads that pods name, or that own them: for opt-outs and queues."""
        found: dict[str, Workload] = {}
        for pod in pods:
            named = self.snapshot.workload_index.get((pod.namespace, pod.workload or ""))
            owned = (
                workload
                for uid in (pod.uid, *(owner.uid for owner in pod.owners))
                for workload in self.snapshot.workloads_by_owner.get(uid, ())
            )
            found.update({one.name: one for one in (named, *owned) if one is not None})
        return tuple(found[name] for name in sorted(found))


def _owner_kind(workload: Workload) -> str | None:
    ordered = sorted(workload.owners, key=lambda owner: not owner.controller)
    return ordered[0].kind if ordered else None


def _live(pods: Iterable[Pod]) -> tuple[Pod, ...]:
    return tuple(sorted((pod for pod in pods if pod.live), key=lambda pod: pod.name))
