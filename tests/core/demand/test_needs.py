"""Needs of Workloads that wait, while what is known of their pods is ahead."""

import pytest

from scaler.core.model import Pod
from tests.builders import make_pod, make_snapshot, make_workload
from tests.core.demand_fixture import ask, counted, pending_gpus

BOUND = make_pod(name="bound", workload="wl", phase="Pending", node="node-0")
RUNS = make_pod(name="runs", workload="wl", node="node-0")
GATED = make_pod(name="gated", workload="wl", phase="Pending")
GOING = make_pod(name="going", workload="wl", node="node-0", deleting=True)
OVER = make_pod(name="over", workload="wl", phase="Succeeded", node="node-0")


@pytest.mark.parametrize(
    "pods",
    [
        pytest.param([RUNS], id="one runs"),
        pytest.param([BOUND], id="one has a node"),
        pytest.param([RUNS, GATED], id="the rest is to come"),
    ],
)
def test_a_workload_whose_pods_run_does_not_wait(pods: list[Pod]) -> None:
    """Its admission is on the way: with the nodes that it took it would count twice."""
    there = make_workload(name="wl", pods=2)
    waits = make_workload(name="waits", pods=3)
    found = ask(make_snapshot(workloads=[there, waits], pods=pods))
    assert counted(found) == ["waits"]
    assert pending_gpus(found) == 3


@pytest.mark.parametrize(
    "pods",
    [
        pytest.param([], id="none"),
        pytest.param([GATED], id="gated by Kueue"),
        pytest.param([GOING], id="evicted, on its way out"),
        pytest.param([OVER], id="of an earlier run"),
    ],
)
def test_a_workload_without_a_pod_on_a_node_waits(pods: list[Pod]) -> None:
    """Whatever other pods of it there are."""
    found = ask(make_snapshot(workloads=[make_workload(name="wl", pods=2)], pods=pods))
    assert pending_gpus(found) == 2
