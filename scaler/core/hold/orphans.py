"""Marks that no WorkerScale speaks for: its finalizer was taken off while workers were away.

Nobody else would ever give such workers back.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from scaler.core.hold.above import Marked, above
from scaler.core.hold.scene import pieces_for
from scaler.core.hold.targets import notebook
from scaler.core.model import (
    Instant,
    Kind,
    Mark,
    Mode,
    WorkerScale,
    WorkerTarget,
    Workload,
)
from scaler.core.policy import Policy
from scaler.core.snapshot import Snapshot
from scaler.core.sources import missing

Key: TypeAlias = tuple[str, str, str, str, str, str]
"""Namespace, kind and name of the target, and the mark's component, WorkerScale and uid."""

_SOURCES: Final = {
    "RayCluster": frozenset({Kind.RAY_CLUSTERS}),
    "Job": frozenset({Kind.JOBS, Kind.JOB_SETS}),
    "Notebook": frozenset({Kind.NOTEBOOKS}),
}
"""What has to be fresh beside Workloads, by the kind that bears the mark."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Orphan:
    """What a WorkerScale that is no more left behind on one target."""

    target: WorkerTarget
    """The topmost owner that is known: a RayJob, not its RayCluster."""
    mark: Mark
    """Of each object; `was` may differ."""
    things: tuple[Marked, ...]
    """What bears the mark, by name."""

    @property
    def namespace(self) -> str:
        """Give the namespace of all of it."""
        return self.things[0].namespace

    @property
    def key(self) -> Key:
        """Tell it from others, though its objects are deleted and restored."""
        mark, target = self.mark, self.target
        return (self.namespace, target.kind, target.name, mark.component, mark.by, mark.uid)

    @property
    def uids(self) -> frozenset[str]:
        """Give the UIDs of what bears the mark."""
        return frozenset(one.uid for one in self.things)


def believable(snapshot: Snapshot, *, policy: Policy, now: Instant) -> bool:
    """Say whether all WorkerScales are known: one that was not read may speak for any mark."""
    state = snapshot.sources.get(Kind.WORKER_SCALES)
    if state is None or not state.installed or snapshot.skipped.get(Kind.WORKER_SCALES):
        return False
    return _fresh(snapshot, frozenset({Kind.WORKER_SCALES}), policy=policy, now=now)


def orphans(snapshot: Snapshot, *, policy: Policy, now: Instant) -> tuple[Orphan, ...]:
    """Find the marks that no WorkerScale speaks for, neither by its UID nor by its target.

    A WorkerScale that was made anew has its own ways with the marks that it finds on its target.
    The policy's list of kinds has no say: a kind that is taken out of it is given back too.
    """
    if not believable(snapshot, policy=policy, now=now):
        return ()
    strays = [
        (thing, mark)
        for thing, mark in _strays(snapshot)
        if _fresh(snapshot, _sources(snapshot, thing), policy=policy, now=now)
    ]
    spoken = _spoken_for(snapshot, {thing.namespace for thing, _ in strays})
    alone = (one for one in strays if (one[0].uid, one[1].component) not in spoken)
    return tuple(_grouped(snapshot, alone))


def _strays(snapshot: Snapshot) -> Iterator[tuple[Marked, Mark]]:
    """Give the marks whose UID no WorkerScale has; a Workload's annotation knows a name alone."""
    alive = {one.uid for one in snapshot.worker_scales.values()}
    for one in snapshot.owners.values():
        if one.marks and not one.deleting:
            yield from ((one, mark) for mark in one.marks if mark.uid not in alive)
    for workload in snapshot.workload_index.values():
        by = workload.released_by
        if by is None or workload.deleting:
            continue
        scale = snapshot.worker_scales.get((workload.namespace, by))
        if scale is None or not _releases(scale, workload):
            yield workload, Mark(component="", by=by, uid="", was="true")


def _releases(scale: WorkerScale, workload: Workload) -> bool:
    target = scale.target
    return scale.mode is Mode.RELEASE and any(
        (one.kind, one.name) == (target.kind, target.name) for one in workload.owners
    )


def _sources(snapshot: Snapshot, thing: Marked) -> frozenset[Kind]:
    """Give what has to be fresh; without Kueue there is no Workload to know of."""
    if isinstance(thing, Workload):
        return frozenset({Kind.WORKLOADS})
    state = snapshot.sources.get(Kind.WORKLOADS)
    served = state is None or state.installed
    workloads = frozenset({Kind.WORKLOADS}) if served else frozenset[Kind]()
    return workloads | _SOURCES.get(thing.kind, frozenset())


def _fresh(snapshot: Snapshot, kinds: frozenset[Kind], *, policy: Policy, now: Instant) -> bool:
    age = policy.safety.max_watch_age
    return missing(snapshot=snapshot, kinds=kinds, max_age=age, now=now) is None


def _spoken_for(snapshot: Snapshot, namespaces: set[str]) -> set[tuple[str, str]]:
    """Give (uid, component) of all that a WorkerScale in some namespaces has for its target."""
    found: set[tuple[str, str]] = set()
    for scale in snapshot.worker_scales.values():
        if scale.namespace in namespaces:
            found |= {(uid, _component(scale)) for uid in _uids(snapshot, scale)}
    return found


def _component(scale: WorkerScale) -> str:
    if scale.target.kind == notebook.KIND:
        return notebook.COMPONENT
    return (scale.target.component or "").lower() if scale.mode is Mode.HOLD else ""


def _uids(snapshot: Snapshot, scale: WorkerScale) -> Iterator[str]:
    """Give the UIDs of its pieces, and of all Workloads that its target owns in mode Release."""
    yield from (one.uid for one in pieces_for(snapshot, scale))
    owned = snapshot.workloads_by_owner_name.get((scale.namespace, scale.target.name), ())
    yield from (one.uid for one in owned if _releases(scale, one))


def _grouped(snapshot: Snapshot, strays: Iterable[tuple[Marked, Mark]]) -> Iterator[Orphan]:
    """Put together what one WorkerScale left on one target, as all Jobs of a JobSet."""
    found: defaultdict[Key, list[Orphan]] = defaultdict(list)
    for thing, mark in strays:
        target, _ = above(snapshot, thing)
        one = Orphan(target=target, mark=mark, things=(thing,))
        found[one.key].append(one)
    for _, each in sorted(found.items()):
        things = sorted((one.things[0] for one in each), key=lambda one: one.name)
        yield Orphan(target=each[0].target, mark=each[0].mark, things=tuple(things))
