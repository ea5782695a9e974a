"""Growth: no node is bought twice while one is on its way, and none that can't be used."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from scaler.core.decision import Decision
from scaler.core.model import Node, PodShape, TopologyRequest, Workload
from scaler.core.reasons import Reason, WorkloadClass
from tests.builders import (
    NOW,
    make_flavor,
    make_node,
    make_placed_pod,
    make_pod,
    make_pod_set,
    make_shape,
    make_snapshot,
    make_workload,
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


BIG = make_shape(gpus=8, requests={"cpu": 187_000})
TALL = make_shape(gpus=8, requests={"ephemeral-storage": 10 << 40})


def _smaller(number: int) -> Node:
    allocatable = {"cpu": 180_000, "memory": 1900 << 30, "pods": 110}
    return make_node(name=f"n{number}", allocatable=allocatable, created=NOW - 300)


def _under_daemons(number: int) -> Node:
    return make_node(name=f"n{number}", created=NOW - 300)


def _without_driver(number: int) -> Node:
    return make_node(name=f"n{number}", gpus=0, created=NOW - 2000)


def _limited(number: int) -> Node:
    allocatable = {"cpu": 188_000, "ephemeral-storage": 1 << 40}
    return make_node(name=f"n{number}", allocatable=allocatable, created=NOW - 300)


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        pytest.param(_smaller, BIG, id="the policy says more than the nodes have"),
        pytest.param(_under_daemons, BIG, id="DaemonSets take a part of it"),
        pytest.param(_without_driver, make_shape(gpus=8), id="they never get their devices"),
        pytest.param(_limited, TALL, id="what the policy does not say is less than asked"),
    ],
)
def test_nodes_that_came_and_did_not_help_are_not_bought_again(
    make: Callable[[int], Node], shape: PodShape
) -> None:
    """Two may be chance; after that a new one would be like those that came while pods waited."""
    workload = make_workload(pod_sets=(make_pod_set(shape=shape),), created=NOW - 3000)

    def decision(count: int, *, waiting: Workload = workload) -> Decision:
        nodes = [make(number) for number in range(count)]
        daemons = [
            make_placed_pod(name=f"d-{one.name}", node=one.name, requests={"cpu": 4_000})
            for one in nodes
        ]
        return ask(
            make_snapshot(
                workloads=[waiting],
                nodes=nodes,
                pods=daemons,
                scaled_objects=[make_sizer()],
                hpas=[make_sized(count)],
            )
        )

    assert [decision(count).value for count in range(4)] == [1, 2, 2, 3]
    assert decision(3).reason is Reason.FITS_NO_NODE
    later = make_workload(pod_sets=(make_pod_set(shape=shape),), created=NOW - 10)
    assert decision(2, waiting=later).value == 3, "older nodes may be of another type"


def test_what_nodes_that_came_still_take_is_asked_for() -> None:
    """That some are full says nothing of the next."""
    workload = make_workload(pods=4, gpus=8, created=NOW - 3000)
    nodes = [make_node(name=f"n{number}", created=NOW - 300) for number in range(2)]
    snapshot = make_snapshot(
        workloads=[workload], nodes=nodes, scaled_objects=[make_sizer()], hpas=[make_sized(2)]
    )
    assert ask(snapshot).value == 4


@pytest.mark.parametrize(("count", "want"), [(0, 1), (1, 2), (2, 2), (5, 5)])
def test_a_label_that_no_settled_node_bears_a_new_one_won_t(count: int, want: int) -> None:
    """A flavor's label that the pool's nodes lack must not buy nodes up to maxNodes."""
    nodes = [make_node(name=f"n{number}") for number in range(count)]
    snapshot = make_snapshot(
        workloads=make_jobs(1),
        flavors=[make_flavor(node_labels={"tier": "gold"})],
        nodes=nodes,
        scaled_objects=[make_sizer()],
        hpas=[make_sized(count)],
    )
    decision = ask(snapshot)
    assert decision.value == want
    assert (decision.reason is Reason.FITS_NO_NODE) == (count >= 2)


def test_a_label_that_some_settled_nodes_bear_a_new_one_may() -> None:
    """Of a key with several values the next node's can't be known."""
    nodes = [make_node(name=zone, labels={"pool": "gpu", "zone": zone}) for zone in "ab"]
    snapshot = make_snapshot(
        workloads=make_jobs(1),
        flavors=[make_flavor(node_labels={"zone": "c"})],
        nodes=nodes,
        scaled_objects=[make_sizer()],
        hpas=[make_sized(2)],
    )
    assert ask(snapshot).value == 3


def test_a_level_of_topology_that_no_settled_node_bears_holds_nothing() -> None:
    """Kueue counts only nodes with the labels of all levels."""
    pod_set = make_pod_set(count=2, gpus=8, topology=TopologyRequest(required="rack"))
    workload = make_workload(pod_sets=(pod_set,), standing=WorkloadClass.TOPOLOGY)

    def value(*labels: dict[str, str]) -> int | None:
        nodes = [
            make_node(name=f"n{number}", labels={"pool": "gpu"} | extra)
            for number, extra in enumerate(labels)
        ]
        return ask(
            make_snapshot(
                workloads=[workload],
                flavors=[make_flavor(topology="t")],
                nodes=nodes,
                scaled_objects=[make_sizer()],
                hpas=[make_sized(len(nodes))],
            )
        ).value

    assert value() == 2
    assert value({"rack": "r1"}, {"rack": "r2"}) == 4
    assert value({}, {}) == 2


def test_nodes_of_another_machine_set_make_no_runaway() -> None:
    """One job, three full nodes of others: one node is asked for, while its Machine comes too."""
    others = [make_node(name=f"o-{one}", machine=f"static-aaaa{one}") for one in range(3)]
    own = make_node(name="own", machine="gpu-x7k2p")
    taken = [
        make_pod(name=f"p-{one.name}", gpus=8, node=one.name, namespace="far")
        for one in (*others, own)
    ]
    for size, resized in ((1, NOW - 7200), (2, NOW - 30)):
        snapshot = make_snapshot(
            workloads=[make_workload(gpus=8)],
            nodes=[*others, own],
            pods=taken,
            scaled_objects=[make_sizer()],
            hpas=[make_sized(size, resized=resized)],
        )
        assert ask(snapshot).value == 2
