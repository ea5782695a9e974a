"""Node state: what the pods of a node leave of it."""

import pytest

from scaler.core.nodes.node_state import held_on, left_of
from tests.builders import GPU, NOW, amounts, make_node, make_placed_pod, make_pod, make_snapshot
from tests.core.queue_fixture import POOL, ask, make_cluster, make_jobs


@pytest.mark.parametrize(
    ("seconds", "want"),
    [
        pytest.param(30, 0, id="it has half a minute yet"),
        pytest.param(900, 0, id="as long as a new node takes"),
        pytest.param(-29, 0, id="its time is just over"),
        pytest.param(901, 8, id="longer than a new node takes"),
        pytest.param(-30, 8, id="it does not go"),
        pytest.param(None, 8, id="it stays"),
    ],
)
def test_pods_that_end_soon_leave_their_place(seconds: float | None, want: int) -> None:
    """A new node would come no sooner, and would stay."""
    ending = make_pod(
        node="node-0",
        gpus=8,
        deleting=seconds is not None,
        gone_by=None if seconds is None else NOW + seconds,
    )
    snapshot = make_snapshot(nodes=[make_node()], pods=[ending, make_placed_pod()])
    held = dict(held_on(snapshot, "node-0", POOL, NOW))
    assert held.get(GPU, 0) == want
    assert held["pods"] == 1 + bool(want)


def test_a_preemption_buys_no_node() -> None:
    """Its victims go in their time, and the one that preempted takes their place."""
    victim = make_pod(node="node-0", gpus=8, deleting=True, gone_by=NOW + 30)
    assert ask(make_cluster(*make_jobs(1), size=1, pods=[victim])).value == 1


def test_done_pods_and_placeholders_are_not_taken_off_twice() -> None:
    """They hold nothing, so nothing of them is given back."""
    pods = [
        make_pod(name="works", node="node-0", gpus=4),
        make_pod(name="done", phase="Failed", node="node-0", gpus=4, deleting=True, gone_by=NOW),
        make_pod(name="place", node="node-0", gpus=4, placeholder=True, deleting=True, gone_by=NOW),
    ]
    snapshot = make_snapshot(nodes=[make_node()], pods=pods)
    assert dict(held_on(snapshot, "node-0", POOL, NOW)) == {GPU: 4, "pods": 1}


def test_what_is_used_up_is_named_with_nothing() -> None:
    """What is not named may be without limit."""
    assert dict(left_of((("cpu", 4), ("pods", 2)), amounts({"pods": 3, "memory": 1}))) == {
        "cpu": 4,
        "pods": 0,
    }
