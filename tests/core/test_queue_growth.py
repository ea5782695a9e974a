"""Growth: no node is bought twice while one is on its way, and none that can't be used."""

from dataclasses import replace

import pytest

from scaler.core.model import Node
from tests.builders import (
    NOW,
    make_flavor,
    make_node,
    make_placed_pod,
    make_snapshot,
)
from tests.core.queue_fixture import ask, make_jobs, make_sized, make_sizer, pool_evidence

YOUNG = NOW - 60
PRODUCT = {"nvidia.com/gpu.product": "A100"}


def _value(node: Node, *, labels: dict[str, str] | None = None) -> int | None:
    snapshot = make_snapshot(
        workloads=make_jobs(1),
        flavors=[make_flavor(node_labels=labels)],
        nodes=[node],
        scaled_objects=[make_sizer()],
        hpas=[make_sized(1)],
    )
    return ask(snapshot).value


@pytest.mark.parametrize(
    "node",
    [
        pytest.param(make_node(gpus=0, created=YOUNG), id="Ready without GPUs"),
        pytest.param(make_node(gpus=0, created=YOUNG, ready=False), id="not yet Ready"),
        pytest.param(make_node(created=YOUNG), id="with GPUs, and labels to follow"),
    ],
)
def test_a_young_node_may_yet_get_the_flavor_s_labels(node: Node) -> None:
    """Labels of device discovery come after the Node: without them it is no reason for another."""
    assert _value(node, labels=PRODUCT) == 1
    assert _value(replace(node, created=NOW - 900, ready_changed=NOW - 900), labels=PRODUCT) == 2


def test_a_young_node_with_another_label_is_not_waited_for() -> None:
    """A label that is there and differs will not change."""
    node = make_node(created=YOUNG, labels={"pool": "gpu", "nvidia.com/gpu.product": "T4"})
    assert _value(node, labels=PRODUCT) == 2


@pytest.mark.parametrize(("age", "want"), [(899, 1), (901, 2)])
def test_a_new_node_may_take_long_to_be_ready(age: float, want: int) -> None:
    """NotReady for longer than notReadyGrace is normal until provisioningTimeout has passed."""
    assert _value(make_node(gpus=0, ready=False, created=NOW - age)) == want


def test_a_node_that_has_its_number_of_pods_takes_no_more() -> None:
    """Nothing left is not the same as no limit."""
    snapshot = make_snapshot(
        workloads=make_jobs(1, gpus=1),
        nodes=[make_node(allocatable={"cpu": 188_000, "pods": 2})],
        pods=[make_placed_pod(name=name, requests={"cpu": 1}) for name in ("a", "b")],
        scaled_objects=[make_sizer()],
        hpas=[make_sized(1)],
    )
    decision = ask(snapshot)
    assert decision.value == 2
    assert pool_evidence(decision).pods_placed == 0
