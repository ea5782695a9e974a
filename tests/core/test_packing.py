"""Packing: examples whose answer is known by hand, and laws."""

from collections import Counter
from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.core.bins import Stage
from scaler.core.constraints import HOSTNAME
from scaler.core.model import Amounts, PodShape, Taint, Toleration
from scaler.core.packing import Item, Packed, Space, _Packing, pack
from tests.builders import GPU, amounts, make_shape

NODE = amounts({"cpu": 188_000}, gpu=8)
RACK = "topology.example.com/rack"


def _gpu_pods(gpus: int, count: int = 1) -> Item:
    return Item(shape=make_shape(gpus=gpus), count=count)


def _space(gpus: int = 8, *, count: int = 1, **labels: str) -> Space:
    return Space(
        free=amounts({"cpu": 188_000}, gpu=gpus), labels=labels, idle=gpus == 8, count=count
    )


def _rack(name: str, gpus: int, *, count: int = 1) -> Space:
    return Space(free=amounts(gpu=gpus), labels={RACK: name}, count=count)


def _new_nodes(*items: Item, nodes: Sequence[Space] = (), node: Amounts = NODE) -> int:
    return pack(items, nodes, node=node, max_new=20_000).new


# --- examples ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("items", "want"),
    [
        pytest.param([_gpu_pods(5, 3)], 3, id="pods of 5 GPUs can't share a node of 8"),
        pytest.param([_gpu_pods(6, 4)], 4, id="pods of 6 GPUs can't share a node of 8"),
        pytest.param(
            [Item(shape=make_shape(gpus=1, requests={"cpu": 60_000}), count=8)],
            3,
            id="cpu runs out before GPUs do",
        ),
        pytest.param([_gpu_pods(4), _gpu_pods(3), _gpu_pods(1)], 1, id="what fits together does"),
        pytest.param([_gpu_pods(8, 10_000)], 10_000, id="counts are placed at once"),
        pytest.param([], 0, id="nothing needs nothing"),
    ],
)
def test_the_sum_of_gpus_is_not_the_number_of_nodes(items: list[Item], want: int) -> None:
    """Each by hand; ceil(sum of GPUs / 8) would be 2, 3, 1, 1, 10000, 0."""
    assert _new_nodes(*items) == want


def test_free_gpus_on_several_nodes_hold_no_pod() -> None:
    """Free GPUs on several nodes hold no pod that needs them on one."""
    got = pack([_gpu_pods(4)], [_space(1, count=4)], node=NODE, max_new=5)
    assert (got.new, got.placed, got.on_new) == (1, 0, 1)


def test_a_pod_larger_than_any_node_opens_none() -> None:
    """A pod larger than any node opens none and is reported."""
    got = pack([_gpu_pods(16, 3)], [_space()], node=NODE, max_new=5)
    assert (got.new, got.fits_no_node, got.empty) == (0, 3, 1)


def test_a_larger_node_that_is_there_takes() -> None:
    """A larger node that is there takes what no new node would."""
    got = pack([_gpu_pods(16)], [_space(16)], node=NODE, max_new=5)
    assert (got.placed, got.fits_no_node) == (1, 0)


def test_pods_are_placed_on_usable_nodes_then_coming() -> None:
    """Pods are placed on usable nodes then coming ones then new ones."""
    coming = Space(free=NODE, labels={}, stage=Stage.COMING)
    got = pack([_gpu_pods(8, 3)], [coming, _space()], node=NODE, max_new=5)
    assert (got.placed, got.on_coming, got.on_new, got.new) == (2, 1, 1, 1)


def test_a_node_with_work_is_filled_before() -> None:
    """A node with work is filled before an idle one."""
    got = pack([_gpu_pods(1)], [_space(8), _space(3)], node=NODE, max_new=5)
    assert (got.empty, got.placed) == (1, 1)


def test_what_is_beyond_the_allowed_new_nodes() -> None:
    """What is beyond the allowed new nodes is reported as capped."""
    got = pack([_gpu_pods(8, 11)], [], node=NODE, max_new=4)
    assert (got.new, got.on_new, got.capped) == (4, 4, 7)


def test_no_new_node_is_opened_where_fewer() -> None:
    """No new node is opened where fewer than none are allowed."""
    assert pack([_gpu_pods(1)], [], node=NODE, max_new=-3).new == 0


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
    assert pack([_gpu_pods(1, 8)], [full], node=NODE, max_new=0).placed == 8
    assert pack([_gpu_pods(1, 8)], [crowded], node=NODE, max_new=0).placed == 1


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
    assert pack([picky], [_space(zone="b")], node=NODE, max_new=9).placed == 0
    assert pack([picky], [_space(zone="a")], node=NODE, max_new=9).placed == 1


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


def _together(gpus: int, pods: int, *, sets: int = 1, level: str = RACK) -> Item:
    return Item(shape=make_shape(gpus=gpus), count=pods * sets, level=level, together=pods)


def test_pods_that_need_one_domain_go_into_one() -> None:
    """Pods that need one domain go into one that holds them all."""
    nodes = [_rack("r1", 8), _rack("r2", 8, count=3)]
    got = pack([_together(8, 3)], nodes, node=NODE, max_new=9)
    assert (got.placed, got.new) == (3, 0)


def test_where_no_domain_holds_them_all_they_all() -> None:
    """Where no domain holds them all they all go onto new nodes."""
    nodes = [_rack("r1", 8, count=2), _rack("r2", 8, count=2)]
    got = pack([_together(8, 3)], nodes, node=NODE, max_new=9)
    assert (got.placed, got.new, got.empty) == (0, 3, 4)


def test_each_set_of_pods_may_take_another_domain() -> None:
    """Each set of pods may take another domain."""
    nodes = [_rack("r1", 8, count=2), _rack("r2", 8, count=3)]
    got = pack([_together(8, 2, sets=3)], nodes, node=NODE, max_new=9)
    assert (got.placed, got.on_new, got.new) == (4, 2, 2)


def test_a_set_that_new_nodes_can_not_hold() -> None:
    """A set that new nodes can't hold whole opens none."""
    got = pack([_together(8, 3, sets=2)], [], node=NODE, max_new=5)
    assert (got.new, got.on_new, got.capped) == (3, 3, 3)


def test_nodes_that_are_not_there_yet_and_new() -> None:
    """Nodes that are not there yet and new ones are one domain."""
    unborn = Space(free=NODE, labels={}, stage=Stage.COMING, complete=False, count=2)
    got = pack([_together(8, 3)], [unborn], node=NODE, max_new=9)
    assert (got.placed, got.on_coming, got.on_new) == (2, 2, 1)


def test_a_node_without_the_level() -> None:
    """A node without the level is in no domain."""
    got = pack([_together(8, 1)], [_space()], node=NODE, max_new=9)
    assert (got.placed, got.new) == (0, 1)


def test_the_pool_s_own_domain_takes_present() -> None:
    """The pool's own domain takes present and new nodes together."""
    got = pack([_together(8, 3)], [_rack("r1", 8)], node=NODE, max_new=9, labels={RACK: "r1"})
    assert (got.placed, got.on_new) == (1, 2)


def test_pods_that_need_one_host_are_as_one() -> None:
    """Pods that need one host are as one large pod."""
    four_of_two = _together(2, 4, level=HOSTNAME)
    assert pack([four_of_two], [_space(6)], node=NODE, max_new=9).on_new == 4
    assert pack([four_of_two], [_space(8)], node=NODE, max_new=9).placed == 4
    nine = pack([_together(1, 9, level=HOSTNAME)], [], node=NODE, max_new=9)
    assert (nine.new, nine.fits_no_node) == (0, 9)


# --- laws --------------------------------------------------------------------------------------

SIZES = st.sampled_from((1, 2, 3, 4, 5, 6, 7, 8, 9))
SHAPES = st.builds(
    lambda gpus, cpu: make_shape(gpus=gpus, requests={"cpu": cpu * 1000}), SIZES, st.integers(1, 99)
)
ITEMS = st.lists(
    st.builds(lambda shape, count: Item(shape=shape, count=count), SHAPES, st.integers(1, 30)),
    max_size=8,
)
RACK_ITEMS = st.lists(
    st.builds(
        lambda gpus, pods, sets, level: _together(gpus, pods, sets=sets, level=level),
        SIZES,
        st.integers(1, 5),
        st.integers(1, 4),
        st.sampled_from((RACK, HOSTNAME)),
    ),
    max_size=4,
)
SPACES = st.lists(
    st.builds(
        lambda gpus, cpu, name, stage, count: Space(
            free=amounts({"cpu": cpu * 1000}, gpu=gpus),
            labels={RACK: name} if name else {},
            stage=stage,
            idle=gpus == 8,
            count=count,
        ),
        st.integers(0, 8),
        st.integers(0, 188),
        st.sampled_from(("", "r1", "r2")),
        st.sampled_from((Stage.USABLE, Stage.COMING)),
        st.integers(1, 4),
    ),
    max_size=8,
)


def _count_of(items: Sequence[Item]) -> int:
    return sum(item.count for item in items)


@given(ITEMS, RACK_ITEMS, SPACES, st.integers(0, 20))
def test_every_pod_is_placed_or_reported(
    items: list[Item], racks: list[Item], spaces: list[Space], max_new: int
) -> None:
    """Every pod is placed or reported."""
    got = pack([*items, *racks], spaces, node=NODE, max_new=max_new)
    assert got.placed + got.on_new + got.capped + got.fits_no_node == _count_of([*items, *racks])
    assert 0 <= got.on_coming <= got.placed


@given(ITEMS, RACK_ITEMS, SPACES, st.integers(0, 20))
def test_never_more_new_nodes_than_allowed(
    items: list[Item], racks: list[Item], spaces: list[Space], max_new: int
) -> None:
    """Never more new nodes than allowed nor than pods on them."""
    got = pack([*items, *racks], spaces, node=NODE, max_new=max_new)
    assert got.new <= min(max_new, got.on_new)


@given(ITEMS, RACK_ITEMS, SPACES, st.integers(0, 20))
def test_no_node_gets_more_than_it_holds(
    items: list[Item], racks: list[Item], spaces: list[Space], max_new: int
) -> None:
    """No node gets more than it holds and nothing is lost."""
    fresh = Space(free=NODE, labels={}, stage=Stage.NEW, complete=False, count=max_new)
    packing = _Packing.of(pods=[*items, *racks], nodes=spaces, fresh=fresh)
    for item in [*items, *racks]:
        packing.add(item)
    there, opened = packing.bins.there, packing.bins.opened
    assert all(amount >= 0 for one in there for amount in one.free)
    assert sum(one.nodes for one in there) == sum(one.count for one in spaces) + opened


@given(ITEMS, SPACES)
def test_what_pods_take_is_what_nodes_lose(items: list[Item], spaces: list[Space]) -> None:
    """What pods take is what nodes lose."""
    fresh = Space(free=NODE, labels={}, stage=Stage.NEW, complete=False, count=10_000)
    packing = _Packing.of(pods=items, nodes=spaces, fresh=fresh)
    for item in items:
        place = packing.places[GPU]
        before = sum(one.free[place] * one.nodes for one in packing.bins.there)
        opened, misfits = packing.bins.opened, packing.fits_no_node
        packing.add(item)
        after = sum(one.free[place] * one.nodes for one in packing.bins.there)
        gained = 8 * (packing.bins.opened - opened)
        placed = item.count - (packing.fits_no_node - misfits)
        assert before + gained - after == placed * dict(item.shape.requests)[GPU]


@given(ITEMS, SPACES)
def test_counts_give_what_placing_pod_by_pod_gives(items: list[Item], spaces: list[Space]) -> None:
    """Counts give what placing pod by pod gives."""
    assert pack(items, spaces, node=NODE, max_new=10_000).new == _pod_by_pod(items, spaces)


def _pod_by_pod(items: Sequence[Item], spaces: Sequence[Space]) -> int:
    """Place each pod alone on the first node that holds it; give the number of new nodes."""
    whole = Counter(dict(NODE))
    shares = {item: max(v / whole[r] for r, v in item.shape.requests) for item in items}
    present = sorted((one for one in spaces for _ in range(one.count)), key=_fullest_first)
    free = [Counter(dict(one.free)) for one in present]
    for item in sorted(items, key=lambda item: (-shares[item], repr(item))):
        asked = Counter(dict(item.shape.requests))
        for _ in range(item.count):
            home = next((one for one in free if asked <= one), None)
            if home is None and asked <= whole:
                home = whole.copy()
                free.append(home)
            if home is not None:
                home.subtract(asked)
    return len(free) - len(present)


def _fullest_first(one: Space) -> tuple[int, bool, int, int]:
    free = dict(one.free)
    return (one.stage, one.idle, free.get("cpu", 0), free.get(GPU, 0))


@given(ITEMS, RACK_ITEMS, SPACES, st.randoms(use_true_random=False))
def test_the_order_of_the_input_does_not_matter(
    items: list[Item],
    racks: list[Item],
    spaces: list[Space],
    random: Random,
) -> None:
    """The order of the input does not matter."""
    pods, nodes = [*items, *racks], list(spaces)
    want = pack(pods, nodes, node=NODE, max_new=7)
    random.shuffle(pods)
    random.shuffle(nodes)
    assert pack(pods, nodes, node=NODE, max_new=7) == want


@given(st.dictionaries(st.sampled_from((1, 2, 4, 8)), st.integers(1, 500)))
def test_sizes_that_divide_the_node_need_exactly(counts: dict[int, int]) -> None:
    """Sizes that divide the node need exactly the fewest nodes."""
    total = sum(size * count for size, count in counts.items())
    items = [_gpu_pods(size, count) for size, count in counts.items()]
    assert pack(items, [], node=NODE, max_new=10_000).new == -(-total // 8)


@given(st.integers(1, 9), st.integers(0, 200), SPACES)
def test_one_more_pod_of_the_same_size_never(size: int, count: int, spaces: list[Space]) -> None:
    """One more pod of the same size never needs fewer nodes."""
    less: Packed = pack([_gpu_pods(size, count)], spaces, node=NODE, max_new=50)
    more: Packed = pack([_gpu_pods(size, count + 1)], spaces, node=NODE, max_new=50)
    assert more.new >= less.new
    assert more.empty <= less.empty


@given(ITEMS)
def test_never_fewer_nodes_than_the_sum_of_gpus(items: list[Item]) -> None:
    """Never fewer nodes than the sum of GPUs fills."""
    possible = [item for item in items if _fits_new(item)]
    got = pack(possible, [], node=NODE, max_new=10_000)
    total = sum(dict(item.shape.requests)[GPU] * item.count for item in possible)
    assert got.new >= -(-total // 8)
    assert got.fits_no_node == 0


def _fits_new(item: Item) -> bool:
    return all(amount <= dict(NODE).get(name, 0) for name, amount in item.shape.requests)


def test_a_shape_without_any_request_takes_a_place() -> None:
    """A shape without any request takes a place for a pod."""
    nothing = Item(shape=PodShape(requests=()), count=3)
    assert _new_nodes(nothing, node=amounts({"pods": 2})) == 2
