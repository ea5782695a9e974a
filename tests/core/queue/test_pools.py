"""Queue signals: reports about node pools, each with its right answer."""

from dataclasses import replace

import pytest

from scaler.core.decision import Status
from scaler.core.reasons import Reason, WorkloadClass
from tests.builders import (
    NOW,
    make_node,
    make_pod,
    make_pod_set,
    make_shape,
    make_snapshot,
    make_workload,
)
from tests.core.queue_fixture import (
    GPUS,
    NODES,
    POOL,
    ask,
    make_cluster,
    make_jobs,
    make_nodes,
    make_policy,
    make_running,
    make_sized,
    make_sizer,
    pool_evidence,
)

SO = make_sizer()


def test_scattered_free_gpus_hold_no_large_pod() -> None:
    """N01: 8 free GPUs, 2 on each of 4 nodes, and a pod of 8: one node more."""
    running = [make_workload(name=f"r{one}", gpus=6, admitted=True) for one in range(4)]
    pods = [
        pod
        for number, one in enumerate(running)
        for pod in make_running(one, f"node-{number}", gpus=6)
    ]
    got = ask(make_cluster(*running, *make_jobs(1), size=4, pods=pods))
    assert (got.value, got.reason) == (5, Reason.DEMAND)


ONE_GPU = make_policy(
    replace(POOL, node=(("nvidia.com/gpu", 1),), max_nodes=100, provisioning_timeout=900.0)
)


@pytest.mark.parametrize(
    ("size", "age"), [(0, 0), (1, 5), (40, 15), (40, 45), (40, 300), (40, 600)]
)
def test_coming_nodes_are_not_asked_for_again(size: int, age: int) -> None:
    """N02: 40 jobs on one-GPU nodes: 40 at every poll while the nodes come."""
    snapshot = make_snapshot(
        workloads=make_jobs(40, gpus=1),
        scaled_objects=[SO],
        hpas=[make_sized(size, resized=NOW - age)],
    )
    assert ask(snapshot, policy=ONE_GPU).value == 40


def test_a_bundle_without_target_sizes_by_present_nodes() -> None:
    """N02: out of a folder without target and nodes it is 40 as well."""
    assert (
        ask(make_snapshot(workloads=make_jobs(40, gpus=1), bundle=True), policy=ONE_GPU).value == 40
    )


def test_an_unknown_size_is_hold() -> None:
    """N02: where S can't be read, no number of nodes is safe."""
    snapshot = make_snapshot(workloads=make_jobs(40, gpus=1), scaled_objects=[SO])
    got = ask(snapshot, policy=ONE_GPU)
    assert (got.status, got.reason) == (Status.HOLD, Reason.SIZE_UNKNOWN)


def test_finished_jobs_take_no_node_away() -> None:
    """N02: when 10 of 40 jobs are done, the value stays 40."""
    running = [make_workload(name=f"r{one}", admitted=True) for one in range(30)]
    nodes = [make_node(name=f"node-{one}", gpus=1) for one in range(40)]
    snapshot = make_snapshot(
        workloads=running,
        nodes=nodes,
        pods=[
            pod for number, one in enumerate(running) for pod in make_running(one, f"node-{number}")
        ],
        scaled_objects=[SO],
        hpas=[make_sized(40)],
    )
    got = ask(snapshot, policy=ONE_GPU)
    assert (got.value, got.reason) == (40, Reason.NO_DEMAND)


def test_a_gpu_that_came_free_in_time_needs_no_node() -> None:
    """N03: full at t=0: N+1; a job ended and the pending one runs there: S, be it N or N+1."""
    old = make_workload(name="old", gpus=8, admitted=True)
    young = make_workload(name="young", gpus=8, created=NOW)
    full = make_cluster(old, young, size=1, pods=make_running(old, "node-0", gpus=8))
    assert ask(full).value == 2
    moved = make_workload(name="young", gpus=8, admitted=True, created=NOW)
    pods = make_running(moved, "node-0", gpus=8)
    for size in (1, 2):
        grown = make_cluster(moved, size=size, nodes=make_nodes(1), pods=pods)
        assert ask(grown, now=NOW + 60).value == size


@pytest.mark.parametrize(("waited", "want"), [(0.0, 1), (60.0, 1), (119.9, 1), (120.0, 2)])
def test_a_delay_gives_free_gpus_time(waited: float, want: int) -> None:
    """N03: with scaleUpDelay 120s a Workload asks for nothing in its first two minutes."""
    old = make_workload(name="old", gpus=8, admitted=True)
    young = make_workload(name="young", gpus=8, created=NOW)
    full = make_cluster(old, young, size=1, pods=make_running(old, "node-0", gpus=8))
    got = ask(full, {**NODES, "scaleUpDelay": "120s"}, now=NOW + waited)
    assert got.value == want


def test_a_victim_s_node_is_not_bought_again() -> None:
    """N04: what waits for its preemption victims needs no node; TopologyPlacementFailed does."""
    victim = make_workload(name="victim", gpus=8, admitted=True)
    pods = make_running(victim, "node-0", gpus=8)
    for standing, want in (
        (WorkloadClass.PREEMPTING, 1),
        (WorkloadClass.TOPOLOGY, 2),
    ):
        waiting = make_workload(name="p", gpus=8, standing=standing)
        assert ask(make_cluster(victim, waiting, size=1, pods=pods)).value == want


def test_an_admitted_pod_without_a_place_needs_one() -> None:
    """N04: once Kueue admits it and its pod is Unschedulable, it is one node."""
    victim = make_workload(name="victim", gpus=8, admitted=True)
    admitted = make_workload(name="p", gpus=8, admitted=True)
    pods = [
        *make_running(victim, "node-0", gpus=8),
        make_pod(
            name="p-0", workload="p", pod_set="main", gpus=8, phase="Pending", unschedulable=True
        ),
    ]
    assert ask(make_cluster(victim, admitted, size=1, pods=pods)).value == 2


def test_nodes_are_never_taken_away() -> None:
    """N05: a running pod at 0 % on one node, another node empty: 2."""
    running = make_workload(name="r", admitted=True)
    got = ask(make_cluster(running, size=2, pods=make_running(running, "node-0")))
    assert (got.value, got.active, got.reason) == (2, True, Reason.NO_DEMAND)


def test_admitted_but_unplaced_pods_count_once() -> None:
    """N06: quota without hardware: 2x4 GPUs admitted and Unschedulable are one node of 8."""
    admitted = make_workload(name="a", pods=2, gpus=4, admitted=True)
    pods = [
        make_pod(
            name=f"a-{one}",
            workload="a",
            pod_set="main",
            gpus=4,
            phase="Pending",
            unschedulable=True,
        )
        for one in range(2)
    ]
    got = ask(make_cluster(admitted, size=0, pods=pods))
    assert (got.value, got.reason) == (1, Reason.DEMAND)


def test_more_than_max_nodes_is_capped() -> None:
    """N07: 11 nodes wanted, 4 allowed: 4, and it says so."""
    policy = make_policy(replace(POOL, max_nodes=4))
    got = ask(make_cluster(*make_jobs(11), size=0), policy=policy)
    assert (got.value, got.status, got.reason) == (4, Status.OK, Reason.CAPPED)
    assert pool_evidence(got).capped


def test_a_gang_of_head_and_workers_counts_all_workers() -> None:
    """N08: a head without GPUs and 4 workers of 2: all workers are needed, never 1 to 3 of them."""
    gang = make_workload(
        name="ray",
        pod_sets=(
            make_pod_set(name="head", shape=make_shape(gpus=0, requests={"cpu": 4000})),
            make_pod_set(name="workers", count=4, gpus=2),
        ),
    )
    snapshot = make_cluster(gang, size=0)
    assert ask(snapshot, GPUS).value == 8
    assert ask(snapshot).value == 1
