"""Packing: what holds for every set of pods and nodes."""

from collections import Counter
from collections.abc import Sequence
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from scaler.core.constraints import HOSTNAME
from scaler.core.nodes.bins import Stage
from scaler.core.nodes.packing import Item, Space, _Packing, pack
from tests.builders import GPU, amounts, make_shape
from tests.core.packing_fixture import NODE, RACK, gpu_pods, together

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
        lambda gpus, pods, sets, level: together(gpus, pods, sets=sets, level=level),
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
    items = [gpu_pods(size, count) for size, count in counts.items()]
    assert pack(items, [], node=NODE, max_new=10_000).new == -(-total // 8)


@given(st.integers(1, 9), st.integers(0, 200), SPACES)
def test_one_more_pod_of_the_same_size_never(size: int, count: int, spaces: list[Space]) -> None:
    """One more pod of the same size never needs fewer nodes."""
    less = pack([gpu_pods(size, count)], spaces, node=NODE, max_new=50)
    more = pack([gpu_pods(size, count + 1)], spaces, node=NODE, max_new=50)
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
