"""Queue signals: the reason that each value carries."""

from dataclasses import replace

import pytest

from scaler.core.reasons import Reason, WorkloadClass
from tests.builders import (
    NOW,
    make_node,
    make_workload,
)
from tests.core.queue_fixture import (
    GPUS,
    NODES,
    POOL,
    ask,
    make_cluster,
    make_jobs,
    make_policy,
    make_running,
    pool_evidence,
)

PENDING = {**NODES, "scope": "pending"}
SHORTHAND = {"signal": "queue", "clusterQueue": "gpu-cq", "gpusPerNode": "8"}


def test_nothing_waits() -> None:
    """An empty queue and an empty pool are zero, and inactive."""
    got = ask(make_cluster())
    assert (got.value, got.active, got.reason) == (0, False, Reason.NO_DEMAND)
    assert "Nothing waits" in got.detail


def test_work_that_waits_for_quota_is_told() -> None:
    """Without free quota nodes would not help."""
    full = make_workload(name="r", gpus=8, admitted=True)
    pods = make_running(full, "node-0", gpus=8)
    snapshot = make_cluster(full, *make_jobs(2), size=1, pods=pods, quota=8)
    got = ask(snapshot)
    assert (got.value, got.reason) == (1, Reason.QUOTA_EXHAUSTED)
    assert "2 Workloads no quota is free" in got.detail
    follows = ask(snapshot, {**NODES, "quotaFollowsNodes": "true"})
    assert (follows.value, follows.reason) == (3, Reason.DEMAND)
    assert ask(snapshot, GPUS).reason is Reason.QUOTA_EXHAUSTED


def test_other_flavors_make_no_exhausted_quota() -> None:
    """What another flavor takes is not waiting for quota."""
    got = ask(make_cluster(*make_jobs(2)), {**GPUS, "resourceFlavor": "other"})
    assert (got.value, got.reason) == (0, Reason.NO_DEMAND)


def test_a_pod_larger_than_any_node() -> None:
    """What fits no node opens none, for ever, and is reported."""
    got = ask(make_cluster(*make_jobs(2, gpus=16), size=1))
    assert (got.value, got.reason) == (1, Reason.FITS_NO_NODE)
    assert pool_evidence(got).pods_fit_no_node == 2
    assert "2 fit no node" in got.detail


def test_a_misfit_does_not_hide_demand() -> None:
    """Where other work needs nodes, that is the reason, and the misfit is in the evidence."""
    got = ask(make_cluster(*make_jobs(1, gpus=16), make_workload(name="ok", gpus=8)))
    assert (got.value, got.reason) == (1, Reason.DEMAND)
    assert pool_evidence(got).pods_fit_no_node == 1


@pytest.mark.parametrize(
    ("waited", "ready_for", "want"),
    [
        pytest.param(61, 7200, Reason.TOPOLOGY_DISAGREES, id="for over a minute"),
        pytest.param(60, 7200, Reason.NO_DEMAND, id="not yet for a minute"),
        pytest.param(600, 30, Reason.NO_DEMAND, id="the node has just turned Ready"),
    ],
)
def test_kueue_disagrees(waited: float, ready_for: float, want: Reason) -> None:
    """All fits, yet Kueue says TopologyPlacementFailed: nodes are not asked for, a person is."""
    stuck = make_workload(name="b", standing=WorkloadClass.TOPOLOGY, created=NOW - waited)
    nodes = [make_node(ready_changed=NOW - ready_for)]
    got = ask(make_cluster(stuck, size=1, nodes=nodes))
    assert (got.value, got.reason) == (1, want)


def test_kueue_is_right_while_the_node_is_coming() -> None:
    """What waits for a coming node can't be placed yet."""
    stuck = make_workload(name="b", standing=WorkloadClass.TOPOLOGY)
    got = ask(make_cluster(stuck, size=1, nodes=[], resized=NOW - 60))
    assert (got.value, got.reason) == (1, Reason.NO_DEMAND)
    assert "1 wait for coming nodes" in got.detail


@pytest.mark.parametrize(
    ("size", "tolerance", "jobs", "want"),
    [
        pytest.param(20, None, 22, Reason.SWALLOWED, id="10 % is still swallowed"),
        pytest.param(20, None, 23, Reason.DEMAND, id="more than 10 % is not"),
        pytest.param(9, None, 10, Reason.DEMAND, id="a step of one at nine is 11 %"),
        pytest.param(20, 0.0, 21, Reason.DEMAND, id="tolerance 0 swallows nothing"),
        pytest.param(20, 0.05, 21, Reason.SWALLOWED, id="a small one swallows a smaller step"),
        pytest.param(20, 0.05, 22, Reason.DEMAND, id="but no larger one"),
        pytest.param(0, None, 1, Reason.DEMAND, id="from zero KEDA steps itself"),
    ],
)
def test_the_tolerance_of_the_hpa(
    size: int, tolerance: float | None, jobs: int, want: Reason
) -> None:
    """A change within the HPA's tolerance does nothing, which nobody would see otherwise."""
    policy = make_policy(replace(POOL, max_nodes=100))
    got = ask(make_cluster(*make_jobs(jobs), size=size, tolerance=tolerance), policy=policy)
    assert (got.value, got.reason) == (jobs, want)
    assert ("tolerance" in got.detail) is (want is Reason.SWALLOWED)


def test_a_sum_may_be_swallowed_too() -> None:
    """A Deployment with one replica for each GPU has the same HPA."""
    got = ask(make_cluster(*make_jobs(21, gpus=1), size=20, nodes=[], tolerance=None), GPUS)
    assert (got.value, got.reason) == (21, Reason.SWALLOWED)


def test_a_delayed_workload_is_told() -> None:
    """What scaleUpDelay leaves out is in the sentence."""
    young = make_workload(name="w", created=NOW)
    got = ask(make_cluster(young), {**NODES, "scaleUpDelay": "2m"})
    assert (got.value, got.reason) == (0, Reason.NO_DEMAND)
    assert "1 Workload waited less than scaleUpDelay" in got.detail


def test_what_no_node_would_help_is_told() -> None:
    """Who waits for another reason finds it in the sentence, not only in the evidence."""
    stuck = [
        make_workload(name=f"{standing}-{number}", standing=standing)
        for standing, count in ((WorkloadClass.EXCEEDS, 2), (WorkloadClass.NO_FLAVOR, 1))
        for number in range(count)
    ]
    got = ask(make_cluster(*stuck))
    assert (got.value, got.reason) == (0, Reason.NO_DEMAND)
    assert (
        "Nodes would not help: 2 beyond what the ClusterQueue can ever have,"
        " 1 without a matching flavor." in got.detail
    )
