"""Name the objects that an Event about a WorkerScale is written on."""

from collections.abc import Iterator

from scaler.actuator.inputs import RefsOf, owners_by_name
from scaler.core.model import WorkerScale
from scaler.core.snapshot import Snapshot
from scaler.observer.announce import About

API_VERSION = "kueue-gpu-scaler.dev/v1alpha1"


def abouts(snapshot: Snapshot, scale: WorkerScale, *, refs_of: RefsOf) -> tuple[About, ...]:
    """Give the WorkerScale, its target where that is there, and the ScaledObjects that scale it."""
    own = About(
        api_version=API_VERSION,
        kind="WorkerScale",
        namespace=scale.namespace,
        name=scale.name,
        uid=scale.uid,
    )
    return (own, *target_abouts(snapshot, scale), *_scaled_objects(snapshot, scale, refs_of))


def target_abouts(snapshot: Snapshot, scale: WorkerScale) -> Iterator[About]:
    """Give the target alone, where it is there: also that of a WorkerScale that is no more."""
    target = scale.target
    uid = _uid_of_target(snapshot, scale)
    if uid is not None:
        yield About(
            api_version=target.api_version,
            kind=target.kind,
            namespace=scale.namespace,
            name=target.name,
            uid=uid,
        )


def _uid_of_target(snapshot: Snapshot, scale: WorkerScale) -> str | None:
    """Find the target's uid: among the owners that are read, else as its Workload tells it."""
    key = (scale.namespace, scale.target.name)
    for owner in owners_by_name(snapshot).get(key, ()):
        if owner.kind == scale.target.kind:
            return owner.uid
    for workload in snapshot.workloads_by_owner_name.get(key, ()):
        for named in workload.owners:
            if (named.kind, named.name) == (scale.target.kind, scale.target.name):
                return named.uid
    return None


def _scaled_objects(snapshot: Snapshot, scale: WorkerScale, refs_of: RefsOf) -> Iterator[About]:
    for key in dict.fromkeys(ref.key for ref in refs_of(snapshot, scale)):
        found = snapshot.scaled_objects.get(key)
        if found is not None:
            yield About.scaled_object(found)
