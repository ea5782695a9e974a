"""Queue signals: what holds for every state of a cluster."""

from dataclasses import replace

from hypothesis import assume, given
from hypothesis import strategies as st

from scaler.core.decision import Decision, Status
from scaler.core.model import Node, Pod, Workload
from scaler.core.snapshot import Snapshot
from tests.builders import (
    NOW,
    make_cluster_queue,
    make_node,
    make_pod,
    make_snapshot,
    make_workload,
)
from tests.core.queue_fixture import GPUS, NODES, POOL, ask, make_policy, make_sized, make_sizer

MAX_NODES = 6
SPARE = st.integers(0, 3)

NODE_STATES = st.sampled_from(
    (
        {},
        {"unschedulable": True},
        {"deleting": True},
        {"ready": False},
        {"ready": False, "ready_changed": NOW - 60},
        {"gpus": 0, "created": NOW - 60},
        {"gpus": 0},
    )
)


@st.composite
def _nodes(draw: st.DrawFn) -> list[Node]:
    states = draw(st.lists(NODE_STATES, max_size=5))
    return [make_node(name=f"node-{number}", **state) for number, state in enumerate(states)]  # type: ignore[arg-type] # mixed values


@st.composite
def _clusters(draw: st.DrawFn) -> Snapshot:
    """Draw pending, admitted and running Workloads, nodes in every state, and a size."""
    nodes = draw(_nodes())
    sizes = st.sampled_from((1, 2, 3, 4, 8, 16))
    workloads = [
        make_workload(name=f"p{number}", gpus=gpus, pods=pods, priority=priority)
        for number, (gpus, pods, priority) in enumerate(
            draw(st.lists(st.tuples(sizes, st.integers(1, 4), st.integers(0, 2)), max_size=6))
        )
    ]
    pods: list[Pod] = []
    for number, (gpus, node) in enumerate(
        draw(st.lists(st.tuples(sizes, st.integers(0, 5)), max_size=5))
    ):
        name = f"a{number}"
        workloads.append(make_workload(name=name, gpus=gpus, admitted=True, admitted_at=NOW - 60))
        if node < len(nodes):
            pods.append(
                make_pod(
                    name=f"{name}-0",
                    workload=name,
                    pod_set="main",
                    gpus=gpus,
                    node=nodes[node].name,
                )
            )
    quota = draw(st.sampled_from((None, 0, 8, 24)))
    size = draw(st.integers(0, 9))
    return make_snapshot(
        workloads=workloads,
        cluster_queues=[make_cluster_queue(quota=quota)],
        nodes=nodes,
        pods=pods,
        scaled_objects=[make_sizer()],
        hpas=[make_sized(size, resized=NOW - draw(st.sampled_from((60, 7200))))],
    )


def _ask(snapshot: Snapshot, *, spare: int = 0, **keys: str) -> Decision:
    policy = make_policy(replace(POOL, max_nodes=MAX_NODES, spare_nodes=spare))
    return ask(snapshot, {**NODES, **keys}, policy=policy)


@given(_clusters(), SPARE)
def test_the_value_stays_within_its_bounds(snapshot: Snapshot, spare: int) -> None:
    """Never negative, never below S, never above max(maxNodes, S); active if above 0."""
    got = _ask(snapshot, spare=spare)
    assert got.status is Status.OK
    assert got.value is not None
    assert got.size is not None
    assert 0 <= got.size <= got.value <= max(MAX_NODES, got.size)
    assert got.active is (got.value > 0)


@given(_clusters(), SPARE)
def test_what_is_pending_stays_within_its_bounds(snapshot: Snapshot, spare: int) -> None:
    """Never negative, never above maxNodes; active if above 0."""
    got = _ask(snapshot, spare=spare, scope="pending")
    assert got.value is not None
    assert 0 <= got.value <= MAX_NODES
    assert got.active is (got.value > 0)


@given(_clusters(), st.sampled_from(("total", "pending")))
def test_sums_are_never_negative(snapshot: Snapshot, scope: str) -> None:
    """A number of GPUs is never negative, and what is pending is never more than all."""
    got = ask(snapshot, {**GPUS, "scope": scope})
    total = ask(snapshot, GPUS)
    assert got.value is not None
    assert total.value is not None
    assert 0 <= got.value <= total.value
    assert got.active is (got.value > 0)


@given(_clusters(), st.integers(1, 4), SPARE)
def test_nodes_that_are_not_the_target_s_change_nothing(
    snapshot: Snapshot, strangers: int, spare: int
) -> None:
    """A node without the pool's labels is none of its business, empty or not."""
    more = {
        f"other-{number}": make_node(name=f"other-{number}", labels={"pool": "other"})
        for number in range(strangers)
    }
    grown = replace(snapshot, nodes={**snapshot.nodes, **more})
    assert _ask(grown, spare=spare) == _ask(snapshot, spare=spare)


@given(
    st.integers(1, 9),
    st.integers(0, 30),
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 8)), max_size=4),
    SPARE,
    st.sampled_from(("total", "pending")),
)
def test_one_more_pod_never_lowers_the_value(
    gpus: int, count: int, taken: list[tuple[int, int]], spare: int, scope: str
) -> None:
    """One more GPU-only pod of the same size, with quota free, never lowers the value."""

    def value(pods: int) -> int:
        snapshot = _with_pending(pods, gpus=gpus, taken=taken)
        got = _ask(snapshot, spare=spare, scope=scope)
        assert got.value is not None
        return got.value

    assert value(count + 1) >= value(count)


def _with_pending(count: int, *, gpus: int, taken: list[tuple[int, int]]) -> Snapshot:
    """Build a cluster of nodes on each of which some GPUs are taken, and `count` waiting pods."""
    nodes = [make_node(name=f"node-{number}") for number in range(len(taken))]
    pods = [
        make_pod(name=f"pod-{number}", namespace="other", gpus=used, node=f"node-{number}")
        for number, (_, used) in enumerate(taken)
        if used
    ]
    waiting: list[Workload] = [
        make_workload(name=f"w{number}", gpus=gpus) for number in range(count)
    ]
    return make_snapshot(
        workloads=waiting,
        nodes=nodes,
        pods=pods,
        scaled_objects=[make_sizer()],
        hpas=[make_sized(len(nodes))],
    )


@given(st.lists(st.sampled_from((1, 2, 4, 8)), max_size=40))
def test_sizes_that_divide_the_node_need_the_fewest_nodes(sizes: list[int]) -> None:
    """Where each size divides the node, the value is the sum of GPUs over 8, rounded up."""
    workloads = [make_workload(name=f"w{number}", gpus=gpus) for number, gpus in enumerate(sizes)]
    snapshot = make_snapshot(
        workloads=workloads, scaled_objects=[make_sizer()], hpas=[make_sized(0)]
    )
    policy = make_policy(replace(POOL, max_nodes=1000))
    assert ask(snapshot, policy=policy).value == -(-sum(sizes) // 8)


@given(_clusters())
def test_a_coming_node_is_never_asked_for_twice(snapshot: Snapshot) -> None:
    """Once the target has the size that was asked for, the value stays there while nodes come.

    Where nodes of somebody else bear the pool's labels, they can't be told from those that came.
    """
    first = _ask(snapshot)
    assert first.value is not None
    assume(len(snapshot.nodes) <= (first.size or 0))
    resized = make_sized(first.value, resized=NOW - 30)
    assert _ask(replace(snapshot, hpas={("ml", resized.name): resized})).value == first.value
