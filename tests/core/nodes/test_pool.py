"""Pools: which pool each Workload's pods belong to, and what a pool's value is."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.core.demand.need import Need, PodNeed
from scaler.core.model import ResourceFlavor
from scaler.core.nodes.packing import Packed
from scaler.core.nodes.pool import Share, alike, pool_value, routes, shares_of
from scaler.core.nodes.room import Room, total_room
from scaler.core.policy import Pool
from scaler.core.reasons import WorkloadClass
from tests.builders import NOW, amounts, make_flavor, make_shape, make_snapshot, make_workload

A100 = Pool(
    name="a100",
    node_selector=(("pool", "a100"),),
    node=amounts({"cpu": 64_000}, gpu=8),
    max_nodes=2,
)
T4 = replace(A100, name="t4", node_selector=(("pool", "t4"),))
LARGE = replace(A100, name="large", node_selector=(("pool", "large"),), node=amounts(gpu=16))
ANY = make_flavor(name="any", node_labels={})
FLAVORS = {"a100": make_flavor(name="a100"), "t4": make_flavor(name="t4"), "any": ANY}


def _rooms(*pools: Pool, flavors: dict[str, ResourceFlavor] = FLAVORS, size: int = 0) -> list[Room]:
    snapshot = make_snapshot(flavors=flavors.values())
    return [
        total_room(
            snapshot=snapshot, pool=pool, tolerations=(), size=size, resized_at=None, now=NOW
        )
        for pool in pools
    ]


def _pod(
    *, gpus: int = 8, count: int = 1, flavors: tuple[str, ...] = (), cpu: int = 0, zone: str = ""
) -> PodNeed:
    shape = make_shape(
        gpus=gpus,
        requests={"cpu": cpu} if cpu else {},
        node_selector={"zone": zone} if zone else {},
    )
    return PodNeed(pod_set="main", shape=shape, count=count, topology=None, flavors=flavors)


def _need(
    *pods: PodNeed,
    name: str = "w",
    priority: int = 0,
    workload_class: WorkloadClass = WorkloadClass.NOT_EVALUATED,
    queued_at: float = 0.0,
) -> Need:
    workload = make_workload(name=name, priority=priority, queued_at=queued_at)
    return Need(
        workload=workload,
        workload_class=workload_class,
        cluster_queue="gpu-cq",
        pods=pods,
        since=NOW,
    )


def _shares(needs: list[Need], rooms: list[Room]) -> tuple[Share, ...]:
    return shares_of(alike(needs), rooms=rooms, flavors=FLAVORS)


def _routed(needs: list[Need], rooms: list[Room]) -> dict[str, str]:
    shares = _shares(needs, rooms)
    chosen = routes(shares, rooms=rooms, flavors=FLAVORS)
    return {
        need.workload.name: chosen.get((need.workload.key, one.pools), one.pools[0])
        for one in shares
        for need in one.needs
    }


# --- which pools may take pods -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("pod", "want"),
    [
        pytest.param(_pod(flavors=("t4",)), ("t4",), id="the flavor's labels tell the pool"),
        pytest.param(_pod(flavors=("t4", "a100")), ("t4",), id="the first flavor decides"),
        pytest.param(_pod(flavors=("any",)), ("a100", "t4"), id="a flavor without labels fits all"),
        pytest.param(_pod(), ("a100", "t4"), id="no flavor at all fits all"),
        pytest.param(_pod(flavors=("gone",)), ("a100", "t4"), id="so does an unknown one"),
        pytest.param(_pod(zone="b"), ("a100", "t4"), id="a label that no pool names keeps nothing"),
        pytest.param(_pod(gpus=16), ("a100", "t4"), id="too large for all: reported by the first"),
    ],
)
def test_labels_tell_which_pools_suit(pod: PodNeed, want: tuple[str, ...]) -> None:
    """Pools whose labels differ in no key that both name, in the policy's order."""
    (share,) = _shares([_need(pod)], _rooms(A100, T4))
    assert share.pools == want


def test_a_pod_goes_where_nodes_are_large_enough() -> None:
    """Where one pool's nodes hold a pod and another's don't, only the first is a candidate."""
    (share,) = _shares([_need(_pod(gpus=16))], _rooms(A100, LARGE))
    assert share.pools == ("large",)


def test_other_devices_belong_to_no_pool() -> None:
    """A pod that asks for devices that no pool offers is no pool's."""
    shape = make_shape(gpus=0, requests={"amd.com/gpu": 1})
    pod = PodNeed(pod_set="main", shape=shape, count=1, topology=None, flavors=())
    (share,) = _shares([_need(pod)], _rooms(A100, T4))
    assert share.pools == ()


def test_pod_sets_of_two_flavors_belong_to_two_pools() -> None:
    """Each podset goes to the pool of its own flavor."""
    need = _need(_pod(flavors=("a100",)), _pod(flavors=("t4",), gpus=4))
    got = {one.pools: one.pods for one in _shares([need], _rooms(A100, T4))}
    assert got == {("a100",): need.pods[:1], ("t4",): need.pods[1:]}


@pytest.mark.parametrize(
    ("flavors", "want"),
    [
        pytest.param(("a100",), 2, id="a head of the workers' flavor goes with them"),
        pytest.param(("cpu",), 1, id="one of another flavor does not"),
        pytest.param((), 1, id="nor one without a flavor: it may run anywhere"),
    ],
)
def test_pods_without_devices(flavors: tuple[str, ...], want: int) -> None:
    """A podset without devices follows those with devices that have its flavor."""
    need = _need(_pod(gpus=0, cpu=4000, flavors=flavors), _pod(flavors=("a100",)))
    (share,) = _shares([need], _rooms(A100, T4))
    assert len(share.pods) == want


def test_a_workload_without_devices_belongs_to_no_pool() -> None:
    """Pods that ask for no device buy no GPU node."""
    assert _shares([_need(_pod(gpus=0, cpu=4000, flavors=("a100",)))], _rooms(A100)) == ()


# --- one pool for each -------------------------------------------------------------------------


def test_the_next_pool_takes_what_the_first_can_not() -> None:
    """Policy order, and the next pool once the earlier one is at maxNodes."""
    needs = [_need(_pod(), name=f"w{number}", queued_at=number) for number in range(5)]
    got = _routed(needs, _rooms(A100, T4))
    assert got == {"w0": "a100", "w1": "a100", "w2": "t4", "w3": "t4", "w4": "a100"}


def test_what_can_only_go_to_one_pool_goes_first() -> None:
    """Workloads whose flavor leaves them one pool take their room before those that may choose."""
    needs = [
        _need(_pod(), name="free", priority=9),
        *(_need(_pod(flavors=("a100",)), name=f"bound{number}") for number in range(2)),
    ]
    got = _routed(needs, _rooms(A100, T4))
    assert got == {"free": "t4", "bound0": "a100", "bound1": "a100"}


def test_what_is_admitted_comes_first_then_priority_then_time() -> None:
    """Of those that may choose, the order is class A, priority, time."""
    needs = [
        _need(_pod(count=2), name="late", queued_at=2.0),
        _need(_pod(count=2), name="early", queued_at=1.0),
        _need(_pod(count=2), name="high", priority=5, queued_at=3.0),
        _need(_pod(count=2), name="admitted", workload_class=WorkloadClass.UNPLACED, queued_at=4.0),
    ]
    got = _routed(needs, _rooms(A100, T4))
    assert got == {"admitted": "a100", "high": "t4", "early": "a100", "late": "a100"}
    assert _routed(list(reversed(needs)), _rooms(A100, T4)) == got


def test_a_pool_at_its_maximum_takes_nothing_that_needs_a_node() -> None:
    """Room counts from the size: two nodes of two leave none."""
    assert _routed([_need(_pod())], [*_rooms(A100, size=2), *_rooms(T4)]) == {"w": "t4"}


def test_whole_workloads_move() -> None:
    """A Workload is never cut between two pools."""
    got = _routed([_need(_pod(count=3))], _rooms(A100, replace(T4, max_nodes=3)))
    assert got == {"w": "t4"}


@given(st.lists(st.tuples(st.integers(1, 8), st.integers(1, 3), st.booleans()), max_size=12))
def test_every_share_gets_exactly_one_of_its_pools(rows: list[tuple[int, int, bool]]) -> None:
    """Each is in one pool of its candidates, and none is at two."""
    needs = [
        _need(
            _pod(gpus=gpus, count=count, flavors=("any",) if free else ("t4",)), name=f"w{number}"
        )
        for number, (gpus, count, free) in enumerate(rows)
    ]
    rooms = _rooms(A100, T4)
    shares = _shares(needs, rooms)
    chosen = routes(shares, rooms=rooms, flavors=FLAVORS)
    open_ones = {
        (need.workload.key, one.pools) for one in shares if len(one.pools) > 1 for need in one.needs
    }
    assert set(chosen) == open_ones
    assert all(name in pools for (_, pools), name in chosen.items())


# --- the value ---------------------------------------------------------------------------------


def _packed(*, new: int = 0, empty: int = 0, capped: int = 0) -> Packed:
    return Packed(
        new=new, empty=empty, placed=0, on_coming=0, on_new=new, capped=capped, fits_no_node=0
    )


@pytest.mark.parametrize(
    ("packed", "size", "spare", "want", "capped"),
    [
        pytest.param(_packed(), 3, 0, 3, False, id="S"),
        pytest.param(_packed(new=2), 3, 0, 5, False, id="S and new ones"),
        pytest.param(_packed(empty=1), 3, 2, 4, False, id="a spare one lacks"),
        pytest.param(_packed(empty=5), 3, 2, 3, False, id="more empty ones than spare"),
        pytest.param(_packed(new=9), 3, 0, 10, True, id="no more than maxNodes"),
        pytest.param(_packed(new=1), 12, 0, 12, True, id="nor less than S"),
        pytest.param(_packed(new=7, capped=3), 3, 0, 10, True, id="more was wanted"),
        pytest.param(_packed(), 10, 1, 10, True, id="spare ones lack at maxNodes"),
    ],
)
def test_the_value(packed: Packed, size: int, spare: int, want: int, capped: bool) -> None:  # noqa: FBT001 -- a table's column
    """S + new + the spare ones that lack, within maxNodes, never below S."""
    got = pool_value(packed=packed, size=size, spare=spare, max_nodes=10)
    assert (got.value, got.capped) == (want, capped)


@given(*[st.integers(0, 30)] * 5)
def test_the_value_stays_within_its_bounds(
    new: int, empty: int, size: int, spare: int, max_nodes: int
) -> None:
    """Never below S, never above max(maxNodes, S)."""
    packed = _packed(new=new, empty=empty)
    got = pool_value(packed=packed, size=size, spare=spare, max_nodes=max_nodes)
    assert size <= got.value <= max(max_nodes, size)
