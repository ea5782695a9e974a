"""WorkerScales, and owners that are read whole, in the Snapshot."""

from dataclasses import replace

import pytest

from scaler.core.demand.duplicates import owner_duplicates
from scaler.core.model import (
    Controlled,
    JobPart,
    Kind,
    Mark,
    NotebookPart,
    OwnerPart,
    RayClusterPart,
    WorkerGroup,
)
from scaler.core.snapshot import Part
from scaler.observer.changes import Changed, Deleted, Listed
from scaler.observer.join import OWNER_KINDS, Joiner
from tests.builders import NOW, make_local_queue, make_owner, make_pod, make_workload
from tests.kube.worker_scales import a_scale

PARTS: dict[Kind, OwnerPart | None] = {
    Kind.RAY_CLUSTERS: RayClusterPart(groups=(WorkerGroup(name="gpu", pods=2),)),
    Kind.JOBS: JobPart(parallelism=2),
    Kind.JOB_SETS: None,
    Kind.NOTEBOOKS: NotebookPart(),
}
each_owner_kind = pytest.mark.parametrize("kind", list(OWNER_KINDS))


def whole(kind: Kind, *, controller_uid: str | None = None) -> Controlled:
    """Make an owner as the actuator reads it."""
    return Controlled(
        uid=f"uid-{kind}",
        kind=OWNER_KINDS[kind],
        namespace="ml",
        name="x",
        controller_uid=controller_uid,
        generation=1,
        resource_version="1",
        part=PARTS[kind],
    )


def test_a_workerscale_comes_changes_and_goes() -> None:
    """Triggers of its namespace are decided anew each time, and no others."""
    joiner, scale = Joiner(), a_scale()
    joiner.apply(Listed(kind=Kind.WORKER_SCALES, records=[scale]))
    snapshot, touched = joiner.snapshot(at=NOW)
    assert snapshot.worker_scales == {("ml", "ws"): scale}
    assert touched == {(Part.TARGETS, "ml")}
    asleep = replace(scale, replicas=0, generation=4)
    joiner.apply(Changed(kind=Kind.WORKER_SCALES, record=asleep))
    snapshot, touched = joiner.snapshot(at=NOW)
    assert snapshot.worker_scales == {("ml", "ws"): asleep}
    assert touched == {(Part.TARGETS, "ml")}
    joiner.apply(Changed(kind=Kind.WORKER_SCALES, record=replace(asleep)))
    assert joiner.snapshot(at=NOW)[1] == frozenset()
    joiner.apply(Deleted(kind=Kind.WORKER_SCALES, key=("ml", "ws")))
    snapshot, touched = joiner.snapshot(at=NOW)
    assert not snapshot.worker_scales
    assert touched == {(Part.TARGETS, "ml")}


@each_owner_kind
def test_a_status_of_an_owner_decides_nothing_anew(kind: Kind) -> None:
    """It is in the Snapshot all the same: the actuator looks at it."""
    joiner, owner = Joiner(), whole(kind)
    joiner.apply(Changed(kind=kind, record=owner))
    assert joiner.snapshot(at=NOW)[1] == {(Part.OWNERS, "")}
    mark = Mark(component="gpu", by="ws", uid="u", was="false")
    held = replace(owner, resource_version="2", generation=2, marks=(mark,))
    joiner.apply(Changed(kind=kind, record=held))
    snapshot, touched = joiner.snapshot(at=NOW)
    assert snapshot.owners == {owner.uid: held}
    assert touched == frozenset()


@each_owner_kind
def test_another_controller_does(kind: Kind) -> None:
    """The chain from pods to Workloads leads elsewhere."""
    joiner = Joiner()
    joiner.apply(Changed(kind=kind, record=whole(kind)))
    joiner.snapshot(at=NOW)
    for controller in ("uid-a", "uid-b", None):
        joiner.apply(Changed(kind=kind, record=whole(kind, controller_uid=controller)))
        assert joiner.snapshot(at=NOW)[1] == {(Part.OWNERS, "")}
    joiner.apply(Deleted(kind=kind, key=("ml", "x")))
    snapshot, touched = joiner.snapshot(at=NOW)
    assert not snapshot.owners
    assert touched == {(Part.OWNERS, "")}


def test_kinds_that_share_a_table_are_listed_apart() -> None:
    """A list of one says nothing of the others of the same name."""
    joiner = Joiner()
    for kind in OWNER_KINDS:
        joiner.apply(Listed(kind=kind, records=[whole(kind)]))
    for kind in OWNER_KINDS:
        joiner.apply(Listed(kind=kind, records=[]))
        snapshot, _ = joiner.snapshot(at=NOW)
        assert f"uid-{kind}" not in snapshot.owners
        joiner.apply(Listed(kind=kind, records=[whole(kind)]))
        joiner.apply(Deleted(kind=kind, key=("ml", "x")))
        assert joiner.snapshot(at=NOW)[0].owners == snapshot.owners
        joiner.apply(Listed(kind=kind, records=[whole(kind)]))
    assert len(joiner.snapshot(at=NOW)[0].owners) == len(OWNER_KINDS)


def test_a_train_jobs_pod_finds_its_workload_three_steps_up() -> None:
    """Pod, Job, JobSet, TrainJob; where the JobSet is read the chain is whole."""
    joiner = Joiner()
    joiner.apply(Changed(kind=Kind.LOCAL_QUEUES, record=make_local_queue()))
    workload = make_workload(name="train", owners=(make_owner(uid="uid-train"),))
    joiner.apply(Changed(kind=Kind.WORKLOADS, record=workload))
    job = whole(Kind.JOBS, controller_uid="uid-jobsets")
    pod = make_pod(name="w", owners=(make_owner(uid=job.uid),))
    joiner.apply(Changed(kind=Kind.PODS, record=pod))
    joiner.apply(Changed(kind=Kind.JOBS, record=job))
    assert dict(joiner.snapshot(at=NOW)[0].pods_by_workload) == {}
    job_set = whole(Kind.JOB_SETS, controller_uid="uid-train")
    joiner.apply(Changed(kind=Kind.JOB_SETS, record=job_set))
    assert dict(joiner.snapshot(at=NOW)[0].pods_by_workload) == {workload.key: (pod,)}


def test_an_owner_that_nobody_controls_ends_the_chain() -> None:
    """Its own Workload is found, and is no duplicate of anybody's."""
    joiner = Joiner()
    joiner.apply(Changed(kind=Kind.LOCAL_QUEUES, record=make_local_queue()))
    cluster = whole(Kind.RAY_CLUSTERS)
    joiner.apply(Changed(kind=Kind.RAY_CLUSTERS, record=cluster))
    workload = make_workload(name="ray", owners=(make_owner(uid=cluster.uid),))
    pod = make_pod(name="w", owners=(make_owner(uid=cluster.uid),))
    joiner.apply(Changed(kind=Kind.WORKLOADS, record=workload))
    joiner.apply(Changed(kind=Kind.PODS, record=pod))
    snapshot, _ = joiner.snapshot(at=NOW)
    assert dict(snapshot.pods_by_workload) == {workload.key: (pod,)}
    assert owner_duplicates(snapshot) == frozenset()
