"""How a ClusterQueue's Workloads line up: whom queues, the clock and others leave out."""

from dataclasses import replace

import pytest

from scaler.core.demand.admissibility import line_up, lost
from scaler.core.demand.lineup import Lineup, asked_counts
from scaler.core.model import ClusterQueue, StopPolicy, Workload
from scaler.core.reasons import WorkloadClass
from scaler.core.snapshot import QueuePartition, Snapshot, is_plain
from tests.builders import (
    NOW,
    make_cluster_queue,
    make_controlled,
    make_local_queue,
    make_owner,
    make_pod_set,
    make_snapshot,
    make_workload,
)


def _lined_up(snapshot: Snapshot, *, now: float = NOW) -> Lineup:
    return line_up(snapshot=snapshot, cluster_queue="gpu-cq", now=now)


def _classes(lineup: Lineup) -> dict[str, WorkloadClass]:
    return {one.name: batch.workload_class for batch in lineup.waiting for one in batch.members}


@pytest.mark.parametrize(
    "queues",
    [
        pytest.param([], id="missing"),
        pytest.param([make_cluster_queue(stop_policy=StopPolicy.HOLD)], id="held"),
        pytest.param([make_cluster_queue(stop_policy=StopPolicy.HOLD_AND_DRAIN)], id="drained"),
        pytest.param([make_cluster_queue(deleting=True)], id="deleting"),
        pytest.param([make_cluster_queue(inactive="FlavorNotFound")], id="inactive"),
    ],
)
def test_closed_cluster_queue(queues: list[ClusterQueue]) -> None:
    """Nothing that waits for a ClusterQueue which admits nothing is demand; oddities stay seen."""
    waiting = [
        make_workload(name="j"),
        make_workload(name="b", standing=WorkloadClass.TOPOLOGY),
        make_workload(name="odd", standing=WorkloadClass.CONTRADICTORY),
        make_workload(name="later", requeue_at=NOW - 1),
    ]
    lineup = _lined_up(make_snapshot(workloads=waiting, cluster_queues=queues))
    assert _classes(lineup) == {
        "j": WorkloadClass.NOT_DEMAND,
        "b": WorkloadClass.NOT_DEMAND,
        "odd": WorkloadClass.CONTRADICTORY,
        "later": WorkloadClass.NOT_DEMAND,
    }
    assert lineup.not_routable == 0


def test_one_of_two_local_queues_is_stopped() -> None:
    """Only those behind the stopped LocalQueue are left out, and said to be cut off."""
    links = [make_local_queue(), make_local_queue(name="shut", stop_policy=StopPolicy.HOLD)]
    waiting = [
        make_workload(name="in"),
        make_workload(name="out", queue_name="shut"),
        make_workload(name="off", queue_name="shut", active=False),
        make_workload(name="gone", queue_name="shut", deleting=True),
    ]
    lineup = _lined_up(make_snapshot(workloads=waiting, local_queues=links))
    assert _classes(lineup) == {
        "in": WorkloadClass.NOT_EVALUATED,
        "out": WorkloadClass.NOT_DEMAND,
        "off": WorkloadClass.NOT_DEMAND,
        "gone": WorkloadClass.FINISHED,
    }
    assert lineup.not_routable == 1


def test_a_stopped_queue_elsewhere() -> None:
    """A stopped LocalQueue of another ClusterQueue changes nothing here."""
    links = [
        make_local_queue(),
        make_local_queue(name="shut", cluster_queue="other", stop_policy=StopPolicy.HOLD),
    ]
    snapshot = make_snapshot(workloads=[make_workload()], local_queues=links)
    assert _classes(_lined_up(snapshot)) == {"wl": WorkloadClass.NOT_EVALUATED}


def test_lost_workloads() -> None:
    """Workloads without LocalQueue are counted, but for those that ask for nothing anyway."""
    workloads = [
        make_workload(name="a", queue_name="none"),
        make_workload(name="b", queue_name="none", active=False),
        make_workload(name="c", queue_name="none", deleting=True),
    ]
    snapshot = make_snapshot(workloads=workloads)
    assert lost(snapshot) == 1
    assert not _lined_up(snapshot).waiting


def test_back_off_turns() -> None:
    """A line-up is good until the next back-off ends, and not before the last one did."""
    waiting = [
        make_workload(name="soon", requeue_at=NOW + 5),
        make_workload(name="late", requeue_at=NOW + 50),
        make_workload(name="past", requeue_at=NOW - 5),
    ]
    snapshot = make_snapshot(workloads=waiting)
    lineup = _lined_up(snapshot)
    assert (lineup.since, lineup.until) == (NOW - 5, NOW + 5)
    assert _lined_up(snapshot, now=NOW + 4.9) is lineup
    assert _classes(_lined_up(snapshot, now=NOW + 5))["soon"] is WorkloadClass.NOT_EVALUATED
    assert _classes(_lined_up(snapshot, now=NOW - 6))["past"] is WorkloadClass.NOT_DEMAND


def test_kept_across_snapshots() -> None:
    """A Snapshot that takes the memo over keeps the line-ups of queues that did not change."""
    snapshot = make_snapshot(workloads=[make_workload()])
    lineup = _lined_up(snapshot)
    assert _lined_up(replace(snapshot, at=NOW + 1)) is lineup
    moved = replace(snapshot, queues={"gpu-cq": QueuePartition(groups={})})
    assert _lined_up(moved) is not lineup


def test_duplicates_among_plain_ones() -> None:
    """A duplicate is left out, the plain Workloads of its group are not."""
    waiting = [
        make_workload(name="job", owners=(make_owner(uid="a", kind="RayJob"),)),
        make_workload(name="cluster", owners=(make_owner(uid="b", kind="RayCluster"),)),
        make_workload(name="other", owners=(make_owner(uid="c"),)),
    ]
    owners = [
        make_controlled(uid="b", controller_uid="a"),
        make_controlled(uid="c", controller_uid="unknown"),
    ]
    assert _classes(_lined_up(make_snapshot(workloads=waiting, owners=owners))) == {
        "job": WorkloadClass.NOT_EVALUATED,
        "cluster": WorkloadClass.NOT_DEMAND,
        "other": WorkloadClass.NOT_EVALUATED,
    }


def test_duplicates_through_a_chain() -> None:
    """An owner's owner's owner counts as well, and a circle of owners ends."""
    waiting = [
        make_workload(name="top", owners=(make_owner(uid="a"),)),
        make_workload(name="bottom", owners=(make_owner(uid="c"),)),
        make_workload(name="round", owners=(make_owner(uid="x"),)),
    ]
    owners = [
        make_controlled(uid="c", controller_uid="b"),
        make_controlled(uid="b", controller_uid="a"),
        make_controlled(uid="x", controller_uid="y"),
        make_controlled(uid="y", controller_uid="x"),
    ]
    lineup = _lined_up(make_snapshot(workloads=waiting, owners=owners))
    assert lineup.duplicates == {waiting[1].uid}


@pytest.mark.parametrize(
    "workload",
    [
        make_workload(requeue_at=NOW),
        make_workload(deleting=True),
        make_workload(replaces=("ml", "old")),
        make_workload(variant_parent=True),
        make_workload(allowed_flavors=()),
        make_workload(reclaimable=(("main", 1),)),
        make_workload(cluster_name="far"),
        make_workload(owners=(make_owner(uid="p", kind="Workload"),)),
        make_workload(admitted=True, standing=WorkloadClass.CONTRADICTORY),
        make_workload(reserved=True, standing=WorkloadClass.NOT_DEMAND),
    ],
)
def test_not_plain(workload: Workload) -> None:
    """What the clock, others or an annotation bear on is looked at by itself."""
    assert not is_plain(workload)


@pytest.mark.parametrize(
    "workload",
    [
        make_workload(),
        make_workload(admitted=True),
        make_workload(reserved=True, checks=(("a", "Pending"),)),
        make_workload(owners=(make_owner(uid="job"),), evicted=True, message="text"),
    ],
)
def test_plain(workload: Workload) -> None:
    """An ordinary job's Workload needs no look of its own."""
    assert is_plain(workload)


def test_reclaimed_pods_are_not_asked_again() -> None:
    """A Workload that waits again asks without the pods that finished before."""
    waits = make_workload(
        pod_sets=(make_pod_set(name="a", count=4), make_pod_set(name="b", count=2)),
        reclaimable=(("a", 3),),
    )
    snapshot = make_snapshot(workloads=[waits])
    (batch,) = _lined_up(snapshot).waiting
    assert asked_counts(snapshot, batch) == (1, 2)
