"""Fleet: which of a pool's nodes count, and for how much."""

from dataclasses import replace

import pytest

from scaler.core.model import Instant, Node, PlacedPod, Pod, Taint, TargetRef, Toleration
from scaler.core.nodes.bins import Stage
from scaler.core.nodes.fleet import Fleet, belongs, fleet_of, may_be_of, resized_at
from scaler.core.policy import Pool
from scaler.core.snapshot import Snapshot
from tests.builders import (
    GPU,
    NOW,
    amounts,
    make_hpa,
    make_node,
    make_placed_pod,
    make_pod,
    make_scaled_object,
    make_snapshot,
)

POOL = Pool(
    name="gpu",
    node_selector=(("pool", "gpu"),),
    node=amounts({"cpu": 188_000}, gpu=8),
    max_nodes=10,
    provisioning_timeout=900.0,
    not_ready_grace=300.0,
)
NAMELESS = Pool(name="", node_selector=(), node=amounts(gpu=8), max_nodes=10, open_ended=True)
YOUNG = NOW - 60
DEDICATED = Taint(key="dedicated", value="ml")


def _fleet(
    *nodes: Node,
    pool: Pool = POOL,
    snapshot: Snapshot | None = None,
    tolerations: tuple[Toleration, ...] = (),
    size: int | None = None,
    resized: Instant | None = None,
) -> Fleet:
    return fleet_of(
        snapshot=snapshot or make_snapshot(nodes=nodes),
        pool=pool,
        tolerations=tolerations,
        size=size,
        resized_at=resized,
        now=NOW,
    )


def _numbers(fleet: Fleet) -> tuple[int, int, int]:
    return fleet.usable, fleet.coming, fleet.broken


@pytest.mark.parametrize(
    ("node", "want"),
    [
        pytest.param(make_node(), (1, 0, 0), id="a Ready node with its GPUs is usable"),
        pytest.param(make_node(gpus=7), (1, 0, 0), id="one that lost a GPU too"),
        pytest.param(make_node(unschedulable=True), (0, 0, 1), id="a cordoned one is broken"),
        pytest.param(make_node(deleting=True), (0, 0, 1), id="a deleting one is broken"),
        pytest.param(
            make_node(gpus=0, created=YOUNG), (0, 1, 0), id="young and without GPUs: coming"
        ),
        pytest.param(
            make_node(gpus=0, created=NOW - 900), (0, 0, 1), id="without GPUs for long: broken"
        ),
        pytest.param(
            make_node(ready=False, ready_changed=YOUNG), (0, 1, 0), id="just NotReady: coming"
        ),
        pytest.param(
            make_node(ready=False, ready_changed=NOW - 300), (0, 0, 1), id="NotReady for long"
        ),
        pytest.param(
            make_node(ready=False, created=YOUNG, unschedulable=True),
            (0, 0, 1),
            id="cordoned wins over young",
        ),
        pytest.param(
            make_node(taints=(DEDICATED,), created=YOUNG),
            (0, 1, 0),
            id="a start-up taint on a young one: coming",
        ),
        pytest.param(make_node(taints=(DEDICATED,)), (0, 0, 1), id="a foreign taint: broken"),
        pytest.param(
            make_node(taints=(Taint(key="node.kubernetes.io/not-ready"),)),
            (1, 0, 0),
            id="a taint that only repeats readiness says nothing",
        ),
        pytest.param(
            make_node(taints=(Taint(key="node.kubernetes.io/disk-pressure"),)),
            (0, 0, 1),
            id="a node under pressure is broken",
        ),
    ],
)
def test_each_node_is_usable_coming_or_broken(node: Node, want: tuple[int, int, int]) -> None:
    """A node is usable, coming or broken, and only the first two offer anything."""
    fleet = _fleet(node)
    assert _numbers(fleet) == want
    assert fleet.present == 1
    assert len(fleet.spaces) == want[0] + want[1]


def test_a_taint_that_the_flavor_tolerates_is_in_nobody_s_way() -> None:
    """A node with a tolerated taint is usable; the taint still counts for each pod."""
    fleet = _fleet(
        make_node(taints=(DEDICATED,)), tolerations=(Toleration(key="dedicated", value="ml"),)
    )
    assert _numbers(fleet) == (1, 0, 0)
    assert fleet.spaces[0].taints == (DEDICATED,)


def test_a_taint_of_every_settled_node_is_the_pool_s_own() -> None:
    """What all settled nodes bear a new one will bear too; else growth would never end."""
    nodes = [make_node(name=name, taints=(DEDICATED,)) for name in ("a", "b")]
    fleet = _fleet(*nodes, make_node(name="c", created=YOUNG))
    assert fleet.taints == (DEDICATED,)
    assert fleet.usable == 3


@pytest.mark.parametrize(
    "nodes",
    [
        pytest.param([make_node(taints=(DEDICATED,))], id="one node alone"),
        pytest.param(
            [make_node(name=name, taints=(DEDICATED,), created=YOUNG) for name in "ab"],
            id="nodes that still start",
        ),
        pytest.param(
            [make_node(name="a", taints=(DEDICATED,)), make_node(name="b")], id="one of two"
        ),
        pytest.param(
            [
                make_node(name=name, taints=(Taint(key="node.kubernetes.io/disk-pressure"),))
                for name in "ab"
            ],
            id="the node controller's",
        ),
    ],
)
def test_other_taints_say_nothing_of_new_nodes(nodes: list[Node]) -> None:
    """A taint that may go away again is none of the pool's."""
    assert _fleet(*nodes).taints == ()


def test_nodes_of_others_are_not_looked_at() -> None:
    """A node without the pool's labels is not the pool's."""
    assert _fleet(make_node(labels={"pool": "cpu"})).present == 0


def test_a_pool_without_a_selector_has_all_nodes_that_offer_its_devices() -> None:
    """Without a selector the devices tell."""
    assert belongs(make_node(labels={}), NAMELESS)
    assert not belongs(make_node(labels={}, gpus=0), NAMELESS)


def test_free_space_is_allocatable_less_all_requests() -> None:
    """Pods of DaemonSets and of CPU jobs take space too, and one place for a pod each."""
    pods: list[Pod | PlacedPod] = [
        make_pod(gpus=3, node="node-0"),
        make_placed_pod(requests={"cpu": 8_000}),
        make_pod(name="soft", gpus=4, node="node-0", placeholder=True),
    ]
    fleet = _fleet(snapshot=make_snapshot(nodes=[make_node()], pods=pods))
    free = dict(fleet.spaces[0].free)
    assert (free[GPU], free["cpu"], free["pods"]) == (5, 180_000, 108)


@pytest.mark.parametrize(
    ("pods", "want"),
    [
        pytest.param([], True, id="nothing on it"),
        pytest.param([make_placed_pod(requests={"cpu": 8_000})], True, id="only a DaemonSet"),
        pytest.param([make_pod(node="node-0", placeholder=True)], True, id="only a placeholder"),
        pytest.param([make_pod(node="node-0")], False, id="a GPU pod"),
        pytest.param([make_pod(node="node-0", phase="Succeeded")], True, id="one that ended"),
    ],
)
def test_a_node_is_idle_without_gpu_pods(pods: list[Pod | PlacedPod], want: bool) -> None:  # noqa: FBT001 -- a table's column
    """A node holds work while an unfinished GPU pod that is no placeholder is on it."""
    fleet = _fleet(snapshot=make_snapshot(nodes=[make_node()], pods=pods))
    assert fleet.spaces[0].idle is want


def test_a_coming_node_offers_what_it_will_have() -> None:
    """What a young node does not show yet is taken from the policy's node."""
    young = make_node(gpus=0, allocatable={"pods": 110}, created=YOUNG)
    space = _fleet(young).spaces[0]
    assert space.stage is Stage.COMING
    assert dict(space.free) == {GPU: 8, "cpu": 188_000, "pods": 110}


def test_a_coming_node_bears_the_pool_s_own_taints_only() -> None:
    """Of a young node's taints those of every settled node stay, the others are to go."""
    start_up = Taint(key="network-not-there")
    settled = [make_node(name=name, taints=(DEDICATED,)) for name in ("a", "b")]
    young = make_node(name="c", created=YOUNG, taints=(start_up, DEDICATED))
    fleet = _fleet(*settled, young)
    assert _numbers(fleet) == (2, 1, 0)
    assert fleet.spaces[-1].taints == (DEDICATED,)


def test_what_is_on_a_coming_node_takes_its_space() -> None:
    """Pods on a node that is NotReady for a moment still hold what they hold."""
    node = make_node(ready=False, ready_changed=YOUNG)
    snapshot = make_snapshot(nodes=[node], pods=[make_pod(gpus=3, node="node-0")])
    space = _fleet(snapshot=snapshot).spaces[0]
    assert dict(space.free)[GPU] == 5
    assert not space.idle


# --- nodes without a Node ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "resized", "want"),
    [
        pytest.param(4, YOUNG, 3, id="young: what has no Node is coming"),
        pytest.param(4, NOW - 900, 0, id="old: nothing more is coming"),
        pytest.param(4, None, 0, id="never resized, as far as known"),
        pytest.param(None, YOUNG, 0, id="size not known"),
        pytest.param(1, YOUNG, 0, id="all are there"),
        pytest.param(0, YOUNG, 0, id="more are there than the size"),
    ],
)
def test_size_beyond_present_nodes(size: int | None, resized: Instant | None, want: int) -> None:
    """What the target's size has beyond present nodes is coming while the resize is young."""
    fleet = _fleet(make_node(), size=size, resized=resized)
    assert _numbers(fleet) == (1, want, 0)
    unborn = [one for one in fleet.spaces if not one.complete]
    assert [one.count for one in unborn] == ([want] if want else [])
    assert all(one.free == POOL.node and one.stage is Stage.COMING for one in unborn)


def test_a_deleting_node_is_replaced() -> None:
    """A node that is being deleted is none of the size's any more: another is coming for it."""
    assert _numbers(_fleet(make_node(deleting=True), size=1, resized=YOUNG)) == (0, 1, 1)


def test_the_later_of_both_times_counts() -> None:
    """KEDA's own step from zero sets no lastScaleTime, the HPA's own sets no condition."""
    scaled_object = make_scaled_object(hpa_name="keda-hpa-so")
    for last, changed, want in (
        (None, YOUNG, YOUNG),
        (YOUNG, NOW - 5000, YOUNG),
        (NOW - 5000, YOUNG, YOUNG),
        (None, None, None),
    ):
        hpa = make_hpa(last_scale=last, scaling_active_changed=changed)
        snapshot = make_snapshot(hpas=[hpa], scaled_objects=[scaled_object])
        assert resized_at(snapshot=snapshot, scaled_object=scaled_object) == want


def test_a_failing_hpa_tells_no_resize() -> None:
    """Its condition may have turned False at zero, long before KEDA's step to one."""
    scaled_object = make_scaled_object(hpa_name="keda-hpa-so")
    hpa = replace(make_hpa(last_scale=NOW - 5000), scaling_failed=True)
    snapshot = make_snapshot(hpas=[hpa], scaled_objects=[scaled_object])
    assert resized_at(snapshot=snapshot, scaled_object=scaled_object) is None


@pytest.mark.parametrize("name", [None, "gone"])
def test_without_an_hpa_no_resize_is_known(name: str | None) -> None:
    """Where there is no HPA, the last resize is not known."""
    scaled_object = make_scaled_object(hpa_name=name)
    snapshot = make_snapshot(scaled_objects=[scaled_object])
    assert resized_at(snapshot=snapshot, scaled_object=scaled_object) is None
    assert resized_at(snapshot=snapshot, scaled_object=None) is None


# --- what is known of new nodes ----------------------------------------------------------------


def test_labels_on_which_several_nodes_agree_are_the_pool_s() -> None:
    """A label with one value on several nodes is the pool's; the host name never is."""
    nodes = [
        make_node(name=name, labels={"pool": "gpu", "zone": "a", "rack": name}) for name in "ab"
    ]
    assert _fleet(*nodes).labels == {"pool": "gpu", "zone": "a"}


def test_one_node_says_nothing_of_others() -> None:
    """From one node alone only the selector's labels are known of new ones."""
    node = make_node(labels={"pool": "gpu", "zone": "a"})
    assert _fleet(node).labels == {"pool": "gpu"}
    assert _fleet().labels == {"pool": "gpu"}


def test_the_newest_ready_node_is_known() -> None:
    """The time of the last usable node's readiness is known; a coming one has none."""
    nodes = [
        make_node(name="a", ready_changed=NOW - 500),
        make_node(name="b", ready_changed=NOW - 100),
        make_node(name="c", gpus=0, created=YOUNG, ready_changed=NOW - 10),
    ]
    assert _fleet(*nodes).newest_ready == NOW - 100
    assert _fleet().newest_ready is None


MACHINES = TargetRef(name="gpu", kind="MachineSet", api_version="machine.openshift.io/v1beta1")


@pytest.mark.parametrize(
    ("kind", "machine", "want"),
    [
        pytest.param("MachineSet", None, True, id="no Machine is named"),
        pytest.param("MachineSet", "gpu-x7k2p", True, id="its own name and a random part"),
        pytest.param("MachineSet", "gpu-b-x7k2p", False, id="a longer name is another's"),
        pytest.param("MachineSet", "static-x7k2p", False, id="another name"),
        pytest.param("MachineDeployment", "gpu-6d8f9-x7k2p", True, id="a MachineSet between"),
        pytest.param("MachineDeployment", "static-6d8f9-x7k2p", False, id="another deployment"),
        pytest.param("Deployment", "static-x7k2p", True, id="a kind that makes no Machines"),
    ],
)
def test_a_machine_s_name_can_tell_that_a_node_is_not_the_target_s(
    kind: str, machine: str | None, *, want: bool
) -> None:
    """Only what is surely another's is told apart."""
    assert may_be_of(make_node(machine=machine), replace(MACHINES, kind=kind)) is want


def test_nodes_of_another_machine_set_hide_none_that_are_coming() -> None:
    """They match the selector, and stand for none of the target's size."""
    others = [make_node(name=f"o-{one}", machine=f"static-aaaa{one}") for one in range(3)]
    own = make_node(name="own", machine="gpu-x7k2p")
    fleet = fleet_of(
        snapshot=make_snapshot(nodes=[*others, own]),
        pool=POOL,
        size=2,
        resized_at=YOUNG,
        target=MACHINES,
        now=NOW,
    )
    assert _numbers(fleet) == (4, 1, 0)
