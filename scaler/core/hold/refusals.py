"""What a WorkerScale is refused: for good by its kind and target, or for as long as it lasts."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Final

from scaler.core.hold.kinds import KINDS, SUPPORTED
from scaler.core.hold.scene import Scene
from scaler.core.hold.sought import Grip, Refusal
from scaler.core.hold.words import Cause
from scaler.core.model import Mode, WorkerScale, Workload
from scaler.core.snapshot import Snapshot

PROVISIONING: Final = "kueue.x-k8s.io/provisioning-request"
MULTIKUEUE: Final = "kueue.x-k8s.io/multikueue"
_RAY: Final = frozenset({"RayCluster", "RayJob"})
_HEADS: Final = frozenset({"head", "submitter"})
_TRUE: Final = "True"

_Rule = Callable[[Scene], Refusal | None]


def lasting_refusal(scene: Scene) -> Refusal | None:
    """Give what refuses a WorkerScale as it is written, whatever its replicas."""
    rules: tuple[_Rule, ...] = (_kind, _allowed, _head, _another, _forbidden)
    return _first(rules, scene)


def passing_refusal(scene: Scene) -> Refusal | None:
    """Give what keeps the workers from being taken now, and may pass."""
    if scene.gap is not None:
        return scene.gap
    if scene.notebook:
        return _grips(scene)
    rules: tuple[_Rule, ...] = (_remote, _deactivated, _evicted, _admitted, _component, _grips)
    if scene.scale.mode is Mode.HOLD:
        rules = (*rules, _revocable, _ready)
    return _first(rules, scene)


def _first(rules: tuple[_Rule, ...], scene: Scene) -> Refusal | None:
    return next((found for rule in rules for found in (rule(scene),) if found is not None), None)


def _kind(scene: Scene) -> Refusal | None:
    target, mode = scene.scale.target, scene.scale.mode
    known = KINDS.get(target.kind)
    if known is None or known.group != target.group:
        message = (
            f"{target.api_version} {target.kind} is no kind that workers are taken from; those are "
            f"{', '.join(sorted(SUPPORTED))}"
        )
        return Refusal(cause=Cause.KIND_UNKNOWN, message=message)
    if mode in known.modes:
        return None
    if mode is Mode.HOLD:
        message = f"Kueue would not keep the Workload of a {target.kind} whose workers go"
        cause = Cause.KIND_NOT_HOLDABLE
    else:
        message = f"a {target.kind} has no Workload of its own that could give its quota back"
        cause = Cause.KIND_NOT_RELEASABLE
    return Refusal(cause=cause, message=f"{message}; {known.instead}")


def _allowed(scene: Scene) -> Refusal | None:
    kind = scene.scale.target.kind
    if kind in scene.allowed:
        return None
    named = ", ".join(sorted(scene.allowed)) or "none"
    message = f"the policy's workerScales.kinds leave {kind} out (allowed are {named})"
    return Refusal(cause=Cause.KIND_NOT_ALLOWED, message=message)


def _head(scene: Scene) -> Refusal | None:
    target = scene.scale.target
    if scene.scale.mode is Mode.RELEASE:
        return None
    if not target.component:
        message = "mode Hold needs spec.target.component, the podset whose workers may go"
        return Refusal(cause=Cause.COMPONENT_MISSING, message=message)
    if target.kind in _RAY and target.component.lower() in _HEADS:
        message = f"podset {target.component} of {target} holds no workers; name a worker group"
        return Refusal(cause=Cause.HEAD_ONLY, message=message)
    return None


def _another(scene: Scene) -> Refusal | None:
    """Refuse the younger of two that speak of the same workers."""
    own = scene.scale
    rivals = [one for one in _of_target(scene.snapshot, own) if _is_rival(one, own)]
    first = min(rivals, key=_age, default=own)
    if _age(own) <= _age(first):
        return None
    message = f"WorkerScale/{first.name} is older and speaks of the same workers of {own.target}"
    return Refusal(cause=Cause.ANOTHER_WORKER_SCALE, message=message)


_Key = tuple[str, str, str]


def _of_target(snapshot: Snapshot, own: WorkerScale) -> tuple[WorkerScale, ...]:
    """Give the WorkerScales of a target, out of an index of all that is built once."""
    scales = snapshot.worker_scales

    def build() -> Mapping[_Key, tuple[WorkerScale, ...]]:
        found: defaultdict[_Key, list[WorkerScale]] = defaultdict(list)
        for one in scales.values():
            found[_key(one)].append(one)
        return {key: tuple(some) for key, some in found.items()}

    index = snapshot.memo.recall(("worker scales by target",), (scales,), build)
    return index.get(_key(own), ())


def _key(scale: WorkerScale) -> _Key:
    return (scale.namespace, scale.target.kind, scale.target.name)


def _is_rival(other: WorkerScale, own: WorkerScale) -> bool:
    if other.uid == own.uid:
        return False
    if Mode.RELEASE in (other.mode, own.mode):
        return True
    return (other.target.component or "").lower() == (own.target.component or "").lower()


def _age(scale: WorkerScale) -> tuple[float, str, str]:
    return (scale.created, scale.name, scale.uid)


def _forbidden(scene: Scene) -> Refusal | None:
    return next((one.forbids for one in scene.pieces if one.forbids is not None), None)


def _remote(scene: Scene) -> Refusal | None:
    workload = scene.workload
    if workload is None:
        return None
    if workload.cluster_name is None and MULTIKUEUE not in _controllers(scene, workload):
        return None
    message = f"MultiKueue runs Workload {workload.name} in another cluster; act on it there"
    return Refusal(cause=Cause.REMOTE, message=message)


def _deactivated(scene: Scene) -> Refusal | None:
    workload = scene.workload
    if workload is None or workload.active:
        return None
    message = f"Workload {workload.name} was set inactive, and not by this WorkerScale"
    return Refusal(cause=Cause.DEACTIVATED_BY_OTHERS, message=message)


def _evicted(scene: Scene) -> Refusal | None:
    workload = scene.workload
    if workload is None or not workload.evicted:
        return None
    message = f"Workload {workload.name} is being evicted"
    return Refusal(cause=Cause.EVICTED, message=message)


def _admitted(scene: Scene) -> Refusal | None:
    workload, target = scene.workload, scene.scale.target
    if workload is None:
        message = (
            f"no Workload of {target} is there; where another object controls {target}, that one "
            "is to be named"
        )
        return Refusal(cause=Cause.NOT_ADMITTED, message=message)
    if workload.admitted and workload.reserved and not workload.deleting:
        return None
    message = f"Workload {workload.name} is not admitted"
    return Refusal(cause=Cause.NOT_ADMITTED, message=message)


def _component(scene: Scene) -> Refusal | None:
    workload = scene.workload
    if workload is None or scene.pod_sets:
        return None
    names = ", ".join(one.name for one in workload.pod_sets)
    if scene.scale.mode is Mode.RELEASE:
        message = f"no podset of Workload {workload.name} requests devices ({names})"
    else:
        wanted = scene.scale.target.component
        message = f"Workload {workload.name} has no podset {wanted}, but {names}"
    return Refusal(cause=Cause.COMPONENT_MISSING, message=message)


def _grips(scene: Scene) -> Refusal | None:
    for one in scene.pieces:
        if one.grip is Grip.OTHERS:
            message = f"another WorkerScale holds {one.label}"
            return Refusal(cause=Cause.ANOTHER_WORKER_SCALE, message=message)
        if one.grip is Grip.ZEROED:
            message = f"{one.label} is at zero already, and not by this WorkerScale"
            return Refusal(cause=Cause.ALREADY_ZERO, message=message)
    return None


def _revocable(scene: Scene) -> Refusal | None:
    """Refuse where capacity can be revoked; a check that is not there may be of such a kind."""
    workload = scene.workload
    if workload is None or not {PROVISIONING, None} & _controllers(scene, workload):
        return None
    message = (
        f"an admission check of Workload {workload.name} provisions its capacity, which can be "
        "revoked while held, and that deactivates it; mode: Release can be chosen"
    )
    return Refusal(cause=Cause.CAPACITY_REVOCABLE, message=message)


def _controllers(scene: Scene, workload: Workload) -> frozenset[str | None]:
    """Give the controllers of a Workload's admission checks; None for a check that is not there."""
    checks = (scene.snapshot.checks.get(name) for name, _ in workload.checks)
    return frozenset(None if one is None else one.controller for one in checks)


def _ready(scene: Scene) -> Refusal | None:
    workload = scene.workload
    if workload is None or workload.pods_ready in (None, _TRUE):
        return None
    message = (
        f"PodsReady of Workload {workload.name} is {workload.pods_ready}: its recovery clock runs"
    )
    return Refusal(cause=Cause.PODS_NOT_READY, message=message)
