"""Climb from what bears a mark to the target that a person knows, without any WorkerScale."""

from collections.abc import Iterator
from typing import Final, TypeAlias

from scaler.core.model import Controlled, WorkerTarget, Workload
from scaler.core.snapshot import Snapshot

Marked: TypeAlias = Controlled | Workload

_API_VERSIONS: Final = {
    "RayCluster": "ray.io/v1",
    "Job": "batch/v1",
    "JobSet": "jobset.x-k8s.io/v1alpha2",
    "Notebook": "kubeflow.org/v1",
}
"""Of targets that no Workload names as its owner."""


def above(snapshot: Snapshot, thing: Marked) -> tuple[WorkerTarget, Workload | None]:
    """Give the topmost owner that is known, a RayJob for its RayCluster, and its Workload.

    RayJobs and TrainJobs are not read: their Workloads name them.
    """
    if isinstance(thing, Workload):
        return _owner(thing, uid=None), thing
    chain = [thing, *_controllers(snapshot, thing)]
    uids = [one.uid for one in chain]
    if chain[-1].controller_uid is not None:
        uids.append(chain[-1].controller_uid)
    for uid in reversed(uids):
        found = snapshot.workloads_by_owner.get(uid, ())
        if found:
            newest = max(found, key=lambda one: (one.admitted, one.created, one.uid))
            return _owner(newest, uid=uid), newest
    top = chain[-1]
    version = _API_VERSIONS.get(top.kind, "")
    return WorkerTarget(api_version=version, kind=top.kind, name=top.name), None


def _controllers(snapshot: Snapshot, thing: Controlled) -> Iterator[Controlled]:
    """Give those that are read, from below; an object that names itself ends it."""
    seen = {thing.uid}
    while thing.controller_uid is not None and thing.controller_uid not in seen:
        found = snapshot.owners.get(thing.controller_uid)
        if found is None:
            return
        seen.add(found.uid)
        thing = found
        yield found


def _owner(workload: Workload, *, uid: str | None) -> WorkerTarget:
    owners = sorted(workload.owners, key=lambda one: (one.uid != uid, not one.controller))
    if not owners:
        return WorkerTarget(api_version="kueue.x-k8s.io", kind="Workload", name=workload.name)
    one = owners[0]
    return WorkerTarget(api_version=one.api_version, kind=one.kind, name=one.name)
