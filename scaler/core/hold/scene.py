"""Everything that a plan looks at, looked up once: target, Workload, podsets, pods, pieces."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from scaler.core.decision import Decision
from scaler.core.hold.kinds import TargetKind, kind_of
from scaler.core.hold.owned import named
from scaler.core.hold.sought import Grip, Piece, Refusal, Sought
from scaler.core.hold.targets import pieces_of
from scaler.core.hold.targets.notebook import KIND
from scaler.core.hold.words import Cause
from scaler.core.model import (
    HoldRecord,
    Instant,
    Kind,
    Mode,
    Pod,
    PodSet,
    WorkerScale,
    WorkerTarget,
    Workload,
)
from scaler.core.policy import Policy
from scaler.core.profile import metric_profile
from scaler.core.snapshot import Snapshot
from scaler.core.sources import Missing, missing
from scaler.core.workers import podsets
from scaler.core.workers.lookup import workloads_owned

_NOTEBOOK_LABEL = "notebook-name"

NEW_SECONDS: Final = 300.0
"""For so long a WorkerScale without a status is one that never had any; so may clocks differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One WorkerScale at one moment."""

    snapshot: Snapshot
    scale: WorkerScale
    decisions: tuple[Decision, ...]
    policy: Policy
    now: Instant
    allowed: frozenset[str]
    kind: TargetKind | None
    workload: Workload | None
    """The held one while it is there, else the target's admitted one, else its newest."""
    pod_sets: tuple[PodSet, ...]
    """The component in mode Hold, every podset with devices in mode Release."""
    pods: tuple[Pod, ...]
    """Of those podsets, in any phase, by name."""
    pieces: tuple[Piece, ...]
    gap: Refusal | None
    """Why there are no pieces."""
    lack: Missing | None
    """A kind that is needed and can't be believed now: nothing is taken or judged then."""

    @property
    def hold(self) -> HoldRecord | None:
        """Give what was written down when the workers were taken."""
        return self.scale.status.hold

    @property
    def notebook(self) -> bool:
        """Say whether the target is a Notebook, whose wake is a person's."""
        return self.scale.target.kind == KIND

    @property
    def unread(self) -> bool:
        """Say whether the target's own spec was not read: nothing is sure of it then."""
        return self.gap is not None and self.gap.cause is Cause.SOURCE_UNKNOWN

    @property
    def marked(self) -> tuple[Piece, ...]:
        """Give the pieces that bear our mark."""
        return tuple(one for one in self.pieces if one.marked)

    @property
    def whole(self) -> bool:
        """Say whether every piece is at zero under our mark."""
        return bool(self.pieces) and all(one.grip is Grip.OURS for one in self.pieces)

    @property
    def live(self) -> int:
        """Count the worker pods that run or may run."""
        return sum(one.live for one in self.pods)

    @property
    def ending(self) -> int:
        """Count the worker pods that hold something on a node, those on their way out too."""
        return sum(not one.finished for one in self.pods)

    @property
    def size(self) -> int | None:
        """Give the full size; None where it can't be read."""
        if self.notebook:
            return 1
        if self.workload is None or not self.pod_sets:
            return None
        return sum(podsets.size(one, workload=self.workload) for one in self.pod_sets)

    @property
    def lacking(self) -> int:
        """Count the worker pods that should live and don't."""
        if self.workload is None:
            return 0
        profile = metric_profile(self.policy.prometheus)
        return sum(
            podsets.lacking(
                one,
                workload=self.workload,
                pods=podsets.members(one, workload=self.workload, pods=self.pods, profile=profile),
            )
            for one in self.pod_sets
        )

    @property
    def devices(self) -> int:
        """Count the devices that the full size requests."""
        if self.workload is None:
            return 0
        profile = metric_profile(self.policy.prometheus)
        return sum(
            profile.devices(one.shape.requests) * podsets.size(one, workload=self.workload)
            for one in self.pod_sets
        )


def pieces_for(snapshot: Snapshot, scale: WorkerScale) -> tuple[Piece, ...]:
    """Give the pieces that a plan of a WorkerScale sees; none where it can't tell them."""
    if kind_of(scale.target) is None:
        return ()
    workload = _workload(snapshot, scale)
    found = pieces_of(Sought(snapshot=snapshot, scale=scale, workload=workload))
    return () if isinstance(found, Refusal) else found


def look(
    *,
    snapshot: Snapshot,
    scale: WorkerScale,
    decisions: Sequence[Decision],
    policy: Policy,
    now: Instant,
    allowed: frozenset[str],
) -> Scene:
    """Look up what a WorkerScale speaks of, in what was last seen, whatever its age."""
    kind = kind_of(scale.target)
    workload = None if kind is None else _workload(snapshot, scale)
    sought = Sought(snapshot=snapshot, scale=scale, workload=workload)
    found = () if kind is None else pieces_of(sought)
    pod_sets = _pod_sets(scale, workload, policy)
    return Scene(
        snapshot=snapshot,
        scale=scale,
        decisions=tuple(decisions),
        policy=policy,
        now=now,
        allowed=allowed,
        kind=kind,
        workload=workload,
        pod_sets=pod_sets,
        pods=_pods(snapshot, scale, workload, pod_sets, policy),
        pieces=() if isinstance(found, Refusal) else found,
        gap=found if isinstance(found, Refusal) else None,
        lack=missing(
            snapshot=snapshot,
            kinds=_kinds(snapshot, scale, kind, workload),
            max_age=policy.safety.max_watch_age,
            now=now,
        ),
    )


def _kinds(
    snapshot: Snapshot, scale: WorkerScale, kind: TargetKind | None, workload: Workload | None
) -> frozenset[Kind]:
    needed = frozenset({Kind.WORKER_SCALES})
    if kind is not None and (scale.mode is Mode.HOLD or scale.target.kind == KIND):
        needed |= kind.reads
    if scale.deleting:
        # To put a target back asks for no pods; and without Kueue there is no Workload either.
        return needed | {kind for kind in (Kind.WORKLOADS,) if _served(snapshot, kind)}
    needed |= {Kind.WORKLOADS, Kind.PODS}
    if workload is not None and workload.checks:
        needed |= {Kind.ADMISSION_CHECKS}
    return needed


def _served(snapshot: Snapshot, kind: Kind) -> bool:
    state = snapshot.sources.get(kind)
    return state is None or state.installed


def _workload(snapshot: Snapshot, scale: WorkerScale) -> Workload | None:
    """Choose the target's Workload: the held one, else an admitted one, else the newest."""
    target, hold = scale.target, scale.status.hold
    there = named(snapshot, kind=target.kind, namespace=scale.namespace, name=target.name)
    uid = None if there is None else there.uid
    owned = workloads_owned(
        snapshot=snapshot, kind=target.kind, namespace=scale.namespace, name=target.name
    )
    held = "" if hold is None else hold.workload_uid
    return max(
        (one for one in owned if _owns(one, target, uid)),
        key=lambda one: (one.uid == held, one.admitted, one.created, one.uid),
        default=None,
    )


def _owns(workload: Workload, target: WorkerTarget, uid: str | None) -> bool:
    """Say whether the target owns a Workload; an earlier object of that name is another owner."""
    return any(
        one.kind == target.kind
        and one.name == target.name
        and one.api_version.rpartition("/")[0] == target.group
        and uid in (None, one.uid)
        for one in workload.owners
    )


def _pod_sets(scale: WorkerScale, workload: Workload | None, policy: Policy) -> tuple[PodSet, ...]:
    if workload is None:
        return ()
    if scale.mode is Mode.RELEASE:
        profile = metric_profile(policy.prometheus)
        return podsets.judged(workload, component=None, profile=profile)
    wanted = (scale.target.component or "").lower()
    return tuple(one for one in workload.pod_sets if one.name.lower() == wanted)


def _pods(
    snapshot: Snapshot,
    scale: WorkerScale,
    workload: Workload | None,
    pod_sets: tuple[PodSet, ...],
    policy: Policy,
) -> tuple[Pod, ...]:
    """Give the pods of the podsets; a Notebook's by its own label, as no Workload may be there."""
    if scale.target.kind == KIND:
        mine = snapshot.pods.get(scale.namespace, {}).values()
        name = scale.target.name
        return tuple(one for one in mine if one.labels.get(_NOTEBOOK_LABEL) == name)
    if workload is None:
        return ()
    profile = metric_profile(policy.prometheus)
    pods = snapshot.pods_by_workload.get(workload.key, ())
    found = {
        pod.name: pod
        for one in pod_sets
        for pod in podsets.members(one, workload=workload, pods=pods, profile=profile)
    }
    return tuple(found[name] for name in sorted(found))
