"""Which triggers decide for a WorkerScale, and which WorkerScale a trigger speaks of.

Those are the idle triggers of the ScaledObjects that target it. Where none of them speaks of the
workers that it would take, one trigger of our own does, decided by the policy's defaults: no
worker goes without a decision about itself, with or without KEDA.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Final

from scaler.core.model import Name, ScaledObject, TargetRef, WorkerScale, WorkerTarget
from scaler.core.snapshot import Snapshot
from scaler.core.trigger import IdleTrigger, TriggerRef

GROUP: Final = "kueue-gpu-scaler.dev"
"""API group of our own kind."""
KIND: Final = "WorkerScale"
_OWN: Final = "workerscale/"
"""Begins the name of a trigger of our own; a ScaledObject's name can't have a slash."""


def is_scale(target: TargetRef) -> bool:
    """Say whether a scaleTargetRef is a WorkerScale."""
    return target.kind == KIND and target.group == GROUP


def default_ref(scale: WorkerScale) -> TriggerRef:
    """Give the trigger that decides for a WorkerScale which no idle trigger speaks of."""
    return _default_ref(scale.namespace, scale.name, scale.target)


@lru_cache(maxsize=16384)
def _default_ref(namespace: str, name: str, target: WorkerTarget) -> TriggerRef:
    """Build it once: its target never changes, and all are asked for with every change of one."""
    metadata = {"signal": "idle", "workload": str(target)}
    component = _pod_set(target)
    if component is not None:
        metadata["component"] = component
    return TriggerRef.of(namespace=namespace, name=f"{_OWN}{name}", metadata=metadata)


def pod_set_of(scale: WorkerScale) -> str | None:
    """Give the podset that a WorkerScale names: Kueue writes a worker group's name small."""
    return _pod_set(scale.target)


def _pod_set(target: WorkerTarget) -> str | None:
    return None if target.component is None else target.component.lower()


def refs_of_scale(snapshot: Snapshot, scale: WorkerScale) -> tuple[TriggerRef, ...]:
    """Give the triggers whose Decisions speak of a WorkerScale; never empty.

    Malformed ones are among them: their Decision is INVALID, so nothing is taken on a guess of
    what was meant.
    """
    given = _idle_refs(snapshot).get(scale.key, ())
    if any(_speaks_of_target(one, scale) for one in given):
        return given
    return (*given, default_ref(scale))


def default_refs(snapshot: Snapshot) -> tuple[TriggerRef, ...]:
    """Give the triggers of our own among those of all WorkerScales."""
    scales = snapshot.worker_scales
    return snapshot.memo.recall(
        "default refs of worker scales",
        (scales, snapshot.scaled_objects),
        lambda: tuple(
            ref
            for one in scales.values()
            for ref in refs_of_scale(snapshot, one)
            if ref.name.startswith(_OWN)
        ),
    )


def aimed(trigger: IdleTrigger, scale: WorkerScale | None) -> IdleTrigger:
    """Fill in whom a trigger on a WorkerScale speaks of; what it names itself stays."""
    if scale is None:
        return trigger
    target = str(scale.target)
    own = trigger.workload in (None, target)
    return replace(
        trigger,
        workload=target if own else trigger.workload,
        component=trigger.component or (pod_set_of(scale) if own else None),
    )


def _speaks_of_target(ref: TriggerRef, scale: WorkerScale) -> bool:
    """Say whether a trigger judges the very workers that the WorkerScale would take."""
    metadata, target, component = dict(ref.metadata), str(scale.target), pod_set_of(scale)
    return (
        metadata.get("workload", target) == target
        and metadata.get("component", component) == component
    )


def scale_of(snapshot: Snapshot, asked: ScaledObject | TriggerRef) -> WorkerScale | None:
    """Give the WorkerScale that a ScaledObject targets, or that a trigger speaks of.

    None where the target is of another kind, and where the WorkerScale is not there.
    """
    if isinstance(asked, ScaledObject):
        if not is_scale(asked.target):
            return None
        return snapshot.worker_scales.get((asked.namespace, asked.target.name))
    if asked.name.startswith(_OWN):
        name = asked.name.removeprefix(_OWN)
        return snapshot.worker_scales.get((asked.namespace, name))
    scaled_object = snapshot.scaled_objects.get(asked.key)
    return None if scaled_object is None else scale_of(snapshot, scaled_object)


def _idle_refs(snapshot: Snapshot) -> Mapping[Name, tuple[TriggerRef, ...]]:
    """Give the idle triggers by the WorkerScale that their ScaledObject targets."""
    scaled_objects = snapshot.scaled_objects
    return snapshot.memo.recall(
        "idle refs of worker scales", (scaled_objects,), lambda: _by_scale(scaled_objects)
    )


def _by_scale(scaled_objects: Mapping[Name, ScaledObject]) -> Mapping[Name, tuple[TriggerRef, ...]]:
    found: defaultdict[Name, list[TriggerRef]] = defaultdict(list)
    for one in scaled_objects.values():
        if not is_scale(one.target):
            continue
        for spec in one.triggers:
            # A misspelt signal may have meant to keep the workers; `queue` says nothing of them.
            if spec.signal not in (None, "queue"):
                ref = TriggerRef.of(
                    namespace=one.namespace, name=one.name, metadata=dict(spec.metadata)
                )
                found[one.namespace, one.target.name].append(ref)
    return {key: tuple(refs) for key, refs in found.items()}
