"""Rooms: what a pool takes, and how needs become counted items."""

import pytest

from scaler.core.demand.need import PodNeed
from scaler.core.model import (
    NodeRequirement,
    PodShape,
    ResourceFlavor,
    Taint,
    Toleration,
    TopologyRequest,
)
from scaler.core.nodes.packing import Item
from scaler.core.nodes.room import (
    Room,
    flavored,
    items_of,
    pending_room,
    tolerations_in,
    total_room,
)
from scaler.core.policy import Pool
from scaler.core.snapshot import Snapshot
from tests.builders import (
    GPU,
    NOW,
    amounts,
    make_flavor,
    make_node,
    make_pod,
    make_shape,
    make_snapshot,
)

POOL = Pool(
    name="gpu",
    node_selector=(("pool", "gpu"),),
    node=amounts({"cpu": 188_000}, gpu=8),
    max_nodes=10,
)
NAMELESS = Pool(
    name="gpusPerNode=8", node_selector=(), node=amounts(gpu=8), max_nodes=10, open_ended=True
)
FLAVORS = {"gpu": make_flavor(tolerations=(Toleration(key="dedicated", operator="Exists"),))}
RACK = "topology.example.com/rack"


def _need(
    shape: PodShape | None = None,
    *,
    count: int = 1,
    topology: TopologyRequest | None = None,
    flavors: tuple[str, ...] = ("gpu",),
) -> PodNeed:
    return PodNeed(
        pod_set="main",
        shape=shape or make_shape(),
        count=count,
        topology=topology,
        flavors=flavors,
    )


def _room(
    snapshot: Snapshot | None = None,
    *,
    pool: Pool = POOL,
    size: int = 0,
    tolerations: tuple[Toleration, ...] = (),
) -> Room:
    return total_room(
        snapshot=snapshot or make_snapshot(),
        pool=pool,
        tolerations=tolerations,
        size=size,
        resized_at=NOW - 60,
        now=NOW,
    )


# --- items -------------------------------------------------------------------------------------


def test_equal_shapes_are_counted_together() -> None:
    """Pods of one shape are one item, whether their records are the same or only equal."""
    shared = (_need(count=2),)
    items = items_of([(shared, 1), (shared, 1), ((_need(count=3),), 1)], {})
    assert items == (Item(shape=make_shape(), count=7),)


def test_a_flavor_s_labels_and_tolerations_come_with_admission() -> None:
    """Kueue adds the flavor's node labels and tolerations when the pods start."""
    shape = flavored(_need(make_shape(node_selector={"zone": "a"})), FLAVORS)
    assert shape.node_selector == (("pool", "gpu"), ("zone", "a"))
    assert shape.tolerations == FLAVORS["gpu"].tolerations


@pytest.mark.parametrize("flavors", [(), ("gone",)])
def test_without_a_known_flavor_the_shape_stays(flavors: tuple[str, ...]) -> None:
    """Where no flavor is known, the pod's own shape is all there is."""
    assert flavored(_need(flavors=flavors), FLAVORS) == make_shape()


def test_required_topology_keeps_a_pod_set_whole() -> None:
    """Pods with required topology are together; equal sets are one item with a count."""
    topology = TopologyRequest(required=RACK)
    items = items_of([((_need(count=4, topology=topology),), 3)], {})
    assert items == (Item(shape=make_shape(), count=12, level=RACK, together=4),)


def test_slices_are_together_each() -> None:
    """Each slice is together in its level; a rest that fills no slice is one of its own."""
    topology = TopologyRequest(slice_level=RACK, slice_size=4)
    items = items_of([((_need(count=10, topology=topology),), 1)], {})
    assert {(item.count, item.together, item.level) for item in items} == {
        (8, 4, RACK),
        (2, 2, RACK),
    }


def test_preferred_topology_binds_nothing() -> None:
    """A preferred level is a wish, so the pods may go anywhere."""
    items = items_of([((_need(count=4, topology=TopologyRequest(preferred=RACK)),), 1)], {})
    assert items == (Item(shape=make_shape(), count=4),)


def test_pods_that_ask_by_claims_only_are_left_out() -> None:
    """A pod that asks for devices by DRA claims alone can't be sized."""
    assert items_of([((_need(make_shape(gpus=0, dra_only=True)),), 1)], {}) == ()


def test_tolerations_of_all_pods() -> None:
    """Every pod's tolerations count, and one for each device that it asks for."""
    own = Toleration(key="team", value="ml")
    found = tolerations_in([(_need(make_shape(tolerations=(own,))),), (_need(),)])
    assert found == {own, Toleration(key=GPU, operator="Exists")}


# --- what a pool takes -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "want"),
    [
        pytest.param(make_shape(), True, id="its devices"),
        pytest.param(make_shape(gpus=0, requests={"amd.com/gpu": 1}), False, id="other devices"),
        pytest.param(make_shape(node_selector={"pool": "cpu"}), False, id="another pool's label"),
        pytest.param(make_shape(node_selector={"zone": "a"}), True, id="a label nobody knows"),
        pytest.param(make_shape(gpus=64), True, id="too large is another question"),
        pytest.param(
            make_shape(
                affinity=((NodeRequirement(key="pool", operator="NotIn", values=("gpu",)),),)
            ),
            False,
            id="affinity against it",
        ),
    ],
)
def test_a_pool_takes_pods_by_labels_and_devices(
    shape: PodShape,
    want: bool,  # noqa: FBT001 -- a table's column
) -> None:
    """Labels that both name must agree, and every device asked for must be offered."""
    assert _room().takes(shape) is want


def test_a_nameless_pool_takes_all_that_ask_for_its_devices() -> None:
    """A pool from gpusPerNode limits nothing but its device."""
    room = _room(pool=NAMELESS)
    fabric = make_shape(gpus=1, requests={"rdma/hca": 1, "memory": 1 << 60})
    assert room.takes(fabric)
    assert not room.takes(make_shape(gpus=0, requests={"amd.com/gpu": 1}))
    assert room.pack([Item(shape=fabric, count=9)]).new == 2


def test_a_nameless_pool_s_coming_nodes_are_as_open() -> None:
    """What has no Node yet limits no more than a new one would."""
    fabric = Item(shape=make_shape(gpus=1, requests={"rdma/hca": 1}), count=8)
    assert _room(pool=NAMELESS, size=1).pack([fabric]).on_coming == 8


@pytest.mark.parametrize(
    ("item", "want"),
    [
        pytest.param(Item(shape=make_shape(gpus=8), count=99), True, id="one pod a node"),
        pytest.param(Item(shape=make_shape(gpus=9), count=1), False, id="too large"),
        pytest.param(
            Item(shape=make_shape(gpus=8), count=10, level=RACK, together=10), True, id="all nodes"
        ),
        pytest.param(
            Item(shape=make_shape(gpus=8), count=11, level=RACK, together=11),
            False,
            id="a set that maxNodes can't hold",
        ),
    ],
)
def test_empty_nodes_hold_what_must_be_together(
    item: Item,
    want: bool,  # noqa: FBT001 -- a table's column
) -> None:
    """A pool holds an item if empty nodes up to maxNodes hold one set of it."""
    assert _room().holds(item) is want


# --- rooms -------------------------------------------------------------------------------------


def test_growth_counts_from_the_size() -> None:
    """What may be opened is maxNodes less the size, and never less than none."""
    assert _room(size=4).max_new == 6
    assert _room(size=12).max_new == 0


def test_a_total_takes_coming_nodes_into_account_and_what_is_pending_does_not() -> None:
    """With `pending` only what is usable now counts as there."""
    young = make_node(name="young", gpus=0, created=NOW - 60)
    broken = make_node(name="broken", unschedulable=True)
    snapshot = make_snapshot(nodes=[make_node(), young, broken])
    item = Item(shape=make_shape(gpus=8), count=4)
    total = _room(snapshot, size=4).pack([item])
    assert (total.placed, total.on_coming, total.new) == (3, 2, 1)
    room = pending_room(snapshot=snapshot, pool=POOL, tolerations=(), now=NOW)
    pending = room.pack([item])
    assert (pending.placed, pending.on_coming, pending.new) == (1, 0, 3)
    assert room.max_new == 8


@pytest.mark.parametrize(
    "flavor",
    [
        pytest.param(
            make_flavor(tolerations=(Toleration(key="dedicated", operator="Exists"),)),
            id="tolerated by the flavor",
        ),
        pytest.param(make_flavor(taints=(Taint(key="dedicated"),)), id="declared by the flavor"),
    ],
)
def test_flavors_say_which_taints_are_in_nobody_s_way(flavor: ResourceFlavor) -> None:
    """A taint that the pool's flavor tolerates or declares leaves a node usable."""
    nodes = [make_node(taints=(Taint(key="dedicated"),))]
    snapshot = make_snapshot(nodes=nodes, flavors=[flavor])
    assert _room(snapshot).fleet.usable == 1
    other = make_snapshot(nodes=nodes, flavors=[make_flavor(name="cpu", tolerations=())])
    assert _room(other).fleet.usable == 0


def test_a_taint_named_after_the_device_is_in_nobody_s_way() -> None:
    """A node with the taint nvidia.com/gpu is usable, as GPU pods get a toleration for it."""
    nodes = [make_node(taints=(Taint(key=GPU, value="present"),))]
    room = _room(make_snapshot(nodes=nodes))
    assert room.fleet.usable == 1
    assert room.pack([Item(shape=make_shape(), count=1)]).placed == 1


def test_pods_on_nodes_leave_less_room() -> None:
    """What runs already takes its place."""
    snapshot = make_snapshot(nodes=[make_node()], pods=[make_pod(gpus=6, node="node-0")])
    assert _room(snapshot).pack([Item(shape=make_shape(), count=4)]).placed == 2
