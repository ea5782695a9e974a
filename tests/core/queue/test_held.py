"""A held Workload buys no node and frees no quota; its wake buys what it lacks, and is told."""

from dataclasses import replace

import pytest

from scaler.core.model import WorkerScale, Workload
from scaler.core.reasons import Reason, WorkloadClass
from scaler.core.snapshot import Snapshot
from tests.builders import NOW, make_hold, make_worker_scale, make_workload
from tests.core.queue_fixture import GPUS, ask, make_cluster, make_nodes


def held(waking_at: float | None = None) -> WorkerScale:
    """Build the WorkerScale that holds both pods of the Workload."""
    hold = make_hold(workload_uid="u", pod_sets={"main": 2}, waking_at=waking_at)
    return make_worker_scale(kind="JobSet", component="main", replicas=0, hold=hold)


def cluster(*scales: WorkerScale, age: float = 60, nodes: int = 0) -> Snapshot:
    """Build a pool of some nodes and a Workload of two whole nodes, admitted so long ago."""
    workload: Workload = make_workload(
        uid="u", pods=2, gpus=8, admitted=True, created=NOW - 7200, admitted_at=NOW - age
    )
    snapshot = make_cluster(workload, size=nodes, nodes=make_nodes(nodes))
    return replace(snapshot, worker_scales={one.key: one for one in scales})


def test_a_held_workload_buys_no_node_and_the_reason_says_so() -> None:
    """Young as it is, its missing pods ask for nothing."""
    assert ask(cluster()).value == 2
    decision = ask(cluster(held()))
    assert (decision.value, decision.reason) == (0, Reason.NO_DEMAND)
    assert "Nodes would not help: 1 whose workers are held at zero." in decision.detail
    assert decision.queue is not None
    assert [one.workload_class for one in decision.queue.classes] == [WorkloadClass.HELD]


@pytest.mark.parametrize(("nodes", "want"), [(0, 2), (1, 2), (2, 2), (3, 3)])
def test_a_wake_buys_what_is_lacking(nodes: int, want: int) -> None:
    """Its pods' nodes come first, less those that have room already."""
    decision = ask(cluster(held(waking_at=NOW - 1), age=7200, nodes=nodes))
    assert decision.value == want
    assert decision.reason is (Reason.DEMAND if want > nodes else Reason.NO_DEMAND)


@pytest.mark.parametrize(("waking_at", "want"), [(None, 0), (NOW - 1, 16)])
def test_gpus_count_what_wakes_and_not_what_is_held(waking_at: float | None, want: int) -> None:
    """`unit: gpus` follows the pods: none while they are held, all of them once they wake."""
    for age in (60, 7200):
        assert ask(cluster(held(waking_at), age=age), GPUS).value == want
