"""Packing: examples whose answer is known by hand."""

from collections.abc import Sequence

import pytest

from scaler.core.constraints import HOSTNAME
from scaler.core.model import Amounts, PodShape, Taint, Toleration
from scaler.core.nodes.bins import Stage
from scaler.core.nodes.packing import Item, Space, pack
from tests.builders import amounts, make_shape
from tests.core.packing_fixture import NODE, RACK, gpu_pods, rack, space, together


def _new_nodes(*items: Item, nodes: Sequence[Space] = (), node: Amounts = NODE) -> int:
    return pack(items, nodes, node=node, max_new=20_000).new


# --- examples ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("items", "want"),
    [
        pytest.param([gpu_pods(5, 3)], 3, id="pods of 5 GPUs can't share a node of 8"),
        pytest.param([gpu_pods(6, 4)], 4, id="pods of 6 GPUs can't share a node of 8"),
        pytest.param(
            [Item(shape=make_shape(gpus=1, requests={"cpu": 60_000}), count=8)],
            3,
            id="cpu runs out before GPUs do",
        ),
        pytest.param([gpu_pods(4), gpu_pods(3), gpu_pods(1)], 1, id="what fits together does"),
        pytest.param([gpu_pods(8, 10_000)], 10_000, id="counts are placed at once"),
        pytest.param([], 0, id="nothing needs nothing"),
    ],
)
def test_the_sum_of_gpus_is_not_the_number_of_nodes(items: list[Item], want: int) -> None:
    """Each by hand; ceil(sum of GPUs / 8) would be 2, 3, 1, 1, 10000, 0."""
    assert _new_nodes(*items) == want


def test_free_gpus_on_several_nodes_hold_no_pod() -> None:
    """Free GPUs on several nodes hold no pod that needs them on one."""
    got = pack([gpu_pods(4)], [space(1, count=4)], node=NODE, max_new=5)
    assert (got.new, got.placed, got.on_new) == (1, 0, 1)


def test_a_pod_larger_than_any_node_opens_none() -> None:
    """A pod larger than any node opens none and is reported."""
    got = pack([gpu_pods(16, 3)], [space()], node=NODE, max_new=5)
    assert (got.new, got.fits_no_node, got.empty) == (0, 3, 1)


def test_a_larger_node_that_is_there_takes() -> None:
    """A larger node that is there takes what no new node would."""
    got = pack([gpu_pods(16)], [space(16)], node=NODE, max_new=5)
    assert (got.placed, got.fits_no_node) == (1, 0)


def test_pods_are_placed_on_usable_nodes_then_coming() -> None:
    """Pods are placed on usable nodes then coming ones then new ones."""
    coming = Space(free=NODE, labels={}, stage=Stage.COMING)
    got = pack([gpu_pods(8, 3)], [coming, space()], node=NODE, max_new=5)
    assert (got.placed, got.on_coming, got.on_new, got.new) == (2, 1, 1, 1)


def test_a_node_with_work_is_filled_before() -> None:
    """A node with work is filled before an idle one."""
    got = pack([gpu_pods(1)], [space(8), space(3)], node=NODE, max_new=5)
    assert (got.empty, got.placed) == (1, 1)


def test_what_is_beyond_the_allowed_new_nodes() -> None:
    """What is beyond the allowed new nodes is reported as capped."""
    got = pack([gpu_pods(8, 11)], [], node=NODE, max_new=4)
    assert (got.new, got.on_new, got.capped) == (4, 4, 7)


def test_no_new_node_is_opened_where_fewer() -> None:
    """No new node is opened where fewer than none are allowed."""
    assert pack([gpu_pods(1)], [], node=NODE, max_new=-3).new == 0


@pytest.mark.parametrize(
    ("node", "want"),
    [
        pytest.param(amounts({"pods": 110}, gpu=8), 1, id="110 pods fit the limit of 110"),
        pytest.param(amounts({"pods": 50}, gpu=8), 3, id="a limit of 50 needs three nodes"),
        pytest.param(amounts(gpu=8), 1, id="without a limit the number of pods is free"),
    ],
)
def test_the_number_of_pods_is_limited_as_any(node: Amounts, want: int) -> None:
    """The number of pods is limited as any resource."""
    small = Item(shape=make_shape(gpus=0, requests={"cpu": 1}), count=110)
    assert _new_nodes(small, node=node) == want


def test_free_places_for_pods_on_a_node_run() -> None:
    """Free places for pods on a node run out too."""
    full = Space(free=amounts(gpu=8), labels={})
    crowded = Space(free=amounts({"pods": 1}, gpu=8), labels={})
    assert pack([gpu_pods(1, 8)], [full], node=NODE, max_new=0).placed == 8
    assert pack([gpu_pods(1, 8)], [crowded], node=NODE, max_new=0).placed == 1


def test_a_native_resource_that_a_new_node() -> None:
    """A native resource that a new node does not name is not limited."""
    thirsty = Item(shape=make_shape(gpus=1, requests={"memory": 1 << 50}), count=8)
    assert _new_nodes(thirsty, node=amounts(gpu=8)) == 1


def test_an_extended_resource_that_a_new_node() -> None:
    """An extended resource that a new node does not name is not there."""
    fabric = Item(shape=make_shape(gpus=1, requests={"rdma/hca": 1}), count=1)
    assert pack([fabric], [], node=NODE, max_new=9).fits_no_node == 1


def test_what_a_present_node_does_not_offer() -> None:
    """What a present node does not offer is not there."""
    thirsty = Item(shape=make_shape(gpus=1, requests={"memory": 1}), count=1)
    got = pack([thirsty], [Space(free=amounts(gpu=8), labels={})], node=NODE, max_new=9)
    assert (got.placed, got.on_new) == (0, 1)


def test_a_node_selector_keeps_pods_off_other_nodes() -> None:
    """A node selector keeps pods off other nodes."""
    picky = Item(shape=make_shape(gpus=1, node_selector={"zone": "a"}), count=1)
    assert pack([picky], [space(zone="b")], node=NODE, max_new=9).placed == 0
    assert pack([picky], [space(zone="a")], node=NODE, max_new=9).placed == 1


def test_a_new_node_may_bear_a_label() -> None:
    """A new node may bear a label that nobody named but not another value."""
    picky = Item(shape=make_shape(gpus=1, node_selector={"zone": "a"}), count=1)
    assert pack([picky], [], node=NODE, max_new=9).new == 1
    other = pack([picky], [], node=NODE, max_new=9, labels={"zone": "b"})
    assert (other.new, other.fits_no_node) == (0, 1)


def test_a_taint_keeps_pods_off_unless_they_tolerate() -> None:
    """A taint keeps pods off unless they tolerate it."""
    taint = Taint(key="dedicated", value="ml")
    tainted = Space(free=NODE, labels={}, taints=(taint,))
    tolerant = make_shape(tolerations=(Toleration(key="dedicated", value="ml"),))
    for shape, placed in ((make_shape(), 0), (tolerant, 1)):
        got = pack([Item(shape=shape, count=1)], [tainted], node=NODE, max_new=0)
        assert got.placed == placed
        fresh = pack([Item(shape=shape, count=1)], [], node=NODE, max_new=1, taints=(taint,))
        assert (fresh.new, fresh.fits_no_node) == (placed, 1 - placed)


# --- topology ----------------------------------------------------------------------------------


def test_pods_that_need_one_domain_go_into_one() -> None:
    """Pods that need one domain go into one that holds them all."""
    nodes = [rack("r1", 8), rack("r2", 8, count=3)]
    got = pack([together(8, 3)], nodes, node=NODE, max_new=9)
    assert (got.placed, got.new) == (3, 0)


def test_where_no_domain_holds_them_all_they_all() -> None:
    """Where no domain holds them all they all go onto new nodes."""
    nodes = [rack("r1", 8, count=2), rack("r2", 8, count=2)]
    got = pack([together(8, 3)], nodes, node=NODE, max_new=9)
    assert (got.placed, got.new, got.empty) == (0, 3, 4)


def test_each_set_of_pods_may_take_another_domain() -> None:
    """Each set of pods may take another domain."""
    nodes = [rack("r1", 8, count=2), rack("r2", 8, count=3)]
    got = pack([together(8, 2, sets=3)], nodes, node=NODE, max_new=9)
    assert (got.placed, got.on_new, got.new) == (4, 2, 2)


def test_a_set_that_new_nodes_can_not_hold() -> None:
    """A set that new nodes can't hold whole opens none."""
    got = pack([together(8, 3, sets=2)], [], node=NODE, max_new=5)
    assert (got.new, got.on_new, got.capped) == (3, 3, 3)


def test_nodes_that_are_not_there_yet_and_new() -> None:
    """Nodes that are not there yet and new ones are one domain."""
    unborn = Space(free=NODE, labels={}, stage=Stage.COMING, complete=False, count=2)
    got = pack([together(8, 3)], [unborn], node=NODE, max_new=9)
    assert (got.placed, got.on_coming, got.on_new) == (2, 2, 1)


def test_a_node_without_the_level() -> None:
    """A node without the level is in no domain."""
    got = pack([together(8, 1)], [space()], node=NODE, max_new=9)
    assert (got.placed, got.new) == (0, 1)


def test_the_pool_s_own_domain_takes_present() -> None:
    """The pool's own domain takes present and new nodes together."""
    got = pack([together(8, 3)], [rack("r1", 8)], node=NODE, max_new=9, labels={RACK: "r1"})
    assert (got.placed, got.on_new) == (1, 2)


def test_a_present_domain_comes_before_one_that_new_nodes_must_complete() -> None:
    """Where another domain has room now, no node is opened in the pool's own."""
    nodes = [rack("r1", 8), rack("r2", 8, count=3)]
    got = pack([together(8, 3)], nodes, node=NODE, max_new=9, labels={RACK: "r1"})
    assert (got.placed, got.new) == (3, 0)


def test_pods_that_need_one_host_are_as_one() -> None:
    """Pods that need one host are as one large pod."""
    four_of_two = together(2, 4, level=HOSTNAME)
    assert pack([four_of_two], [space(6)], node=NODE, max_new=9).on_new == 4
    assert pack([four_of_two], [space(8)], node=NODE, max_new=9).placed == 4
    nine = pack([together(1, 9, level=HOSTNAME)], [], node=NODE, max_new=9)
    assert (nine.new, nine.fits_no_node) == (0, 9)


def test_a_shape_without_any_request_takes_a_place() -> None:
    """A shape without any request takes a place for a pod."""
    nothing = Item(shape=PodShape(requests=()), count=3)
    assert _new_nodes(nothing, node=amounts({"pods": 2})) == 2
