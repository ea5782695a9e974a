"""Queue signals in nodes: several pools, several ClusterQueues, one choice for all."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from scaler.core.decision import Decision, Status
from scaler.core.model import Hpa, Instant, Node, Pod, ScaledObject, Workload
from scaler.core.reasons import Reason
from scaler.core.snapshot import Part, Snapshot
from tests.builders import (
    LONG_AGO,
    NOW,
    make_cluster_queue,
    make_flavor,
    make_hpa,
    make_local_queue,
    make_node,
    make_pod_set,
    make_shape,
    make_snapshot,
    make_workload,
)
from tests.core.queue_fixture import (
    NODES,
    POOL,
    ask,
    make_policy,
    make_running,
    make_sized,
    make_sizer,
)

EAST = replace(POOL, name="east", node_selector=(("pool", "east"),), max_nodes=2)
WEST = replace(POOL, name="west", node_selector=(("pool", "west"),), max_nodes=5)
POLICY = make_policy(EAST, WEST)
METADATA: Mapping[str, Mapping[str, str]] = {
    name: {**NODES, "pool": name} for name in ("east", "west")
}
SIZERS = tuple(make_sizer(one, name=name) for name, one in METADATA.items())
ANYWHERE = make_flavor(node_labels={})


def _snapshot(
    workloads: list[Workload],
    *,
    east: int = 0,
    west: int = 0,
    nodes: list[Node] | None = None,
    pods: list[Pod] | None = None,
    sizers: tuple[ScaledObject, ...] = SIZERS,
    hpas: list[Hpa] | None = None,
    resized: Instant = NOW - 7200,
) -> Snapshot:
    sized = [
        make_sized(east, name="east", resized=resized),
        make_sized(west, name="west", resized=resized),
    ]
    return make_snapshot(
        workloads=workloads,
        flavors=[ANYWHERE],
        nodes=nodes or [],
        pods=pods or [],
        scaled_objects=sizers,
        hpas=sized if hpas is None else hpas,
    )


def _nodes(pool: str, count: int) -> list[Node]:
    return [make_node(name=f"{pool}-{one}", labels={"pool": pool}) for one in range(count)]


def _ask(snapshot: Snapshot, pool: str, **keys: str) -> Decision:
    return ask(snapshot, {**METADATA[pool], **keys}, policy=POLICY, name=pool)


def _both(snapshot: Snapshot) -> tuple[int | None, int | None]:
    return _ask(snapshot, "east").value, _ask(snapshot, "west").value


def _jobs(count: int, *, queue: str = "lq") -> list[Workload]:
    return [
        make_workload(name=f"{queue}-{one}", queue_name=queue, gpus=8, queued_at=LONG_AGO + one)
        for one in range(count)
    ]


@pytest.mark.parametrize(
    ("jobs", "want"),
    [
        pytest.param(0, (0, 0), id="nothing"),
        pytest.param(2, (2, 0), id="the first pool of the policy takes what it can"),
        pytest.param(3, (2, 1), id="the next one takes the rest"),
        pytest.param(9, (2, 5), id="both are at their maximum"),
    ],
)
def test_two_pools_share_what_either_could_take(jobs: int, want: tuple[int, int]) -> None:
    """No Workload is counted in two pools, whichever trigger is asked."""
    assert _both(_snapshot(_jobs(jobs))) == want


def test_a_grown_pool_keeps_what_it_grew_for() -> None:
    """While the nodes come, each pool still holds the same Workloads."""
    assert _both(_snapshot(_jobs(3), east=2, west=1, resized=NOW - 30)) == (2, 1)


def test_free_space_of_the_first_pool_comes_first() -> None:
    """A full first pool sends on what needs a node, not what fits its free space."""
    busy = make_workload(name="r", gpus=8, admitted=True)
    snapshot = _snapshot(
        [busy, *_jobs(2)],
        east=2,
        nodes=_nodes("east", 2),
        pods=make_running(busy, "east-0", gpus=8),
    )
    assert _both(snapshot) == (2, 1)


def test_all_cluster_queues_compete() -> None:
    """What another ClusterQueue needs takes room too, though this trigger does not count it."""
    others = _jobs(2, queue="first")
    own = [
        make_workload(name="own", queue_name="lq", gpus=8, queued_at=LONG_AGO + 10),
    ]
    snapshot = make_snapshot(
        workloads=[*others, *own],
        cluster_queues=[make_cluster_queue(), make_cluster_queue(name="other-cq")],
        local_queues=[
            make_local_queue(),
            make_local_queue(name="first", cluster_queue="other-cq"),
        ],
        flavors=[ANYWHERE],
        scaled_objects=SIZERS,
        hpas=[make_sized(0, name="east"), make_sized(0, name="west")],
    )
    assert _both(snapshot) == (0, 1)
    read = _ask(snapshot, "west").read
    assert (Part.QUEUE, "other-cq") in read


def test_an_owner_whose_size_is_not_known_counts_as_its_nodes() -> None:
    """The other pool's present nodes stand for a size that can't be read."""
    snapshot = _snapshot(
        _jobs(2),
        nodes=[*_nodes("east", 1), make_node(name="gone", labels={"pool": "east"}, deleting=True)],
        hpas=[make_sized(0, name="west")],
    )
    assert _ask(snapshot, "west").value == 1
    assert _ask(snapshot, "east").reason is Reason.SIZE_UNKNOWN


def test_a_pool_that_nobody_sizes_takes_its_share_all_the_same() -> None:
    """What belongs to the first pool belongs to it, though no ScaledObject grows it."""
    snapshot = _snapshot(_jobs(3), sizers=SIZERS[1:])
    assert _ask(snapshot, "west").value == 1


def test_pending_follows_the_same_choice() -> None:
    """With `pending` a Workload belongs to the same pool as with `total`."""
    snapshot = _snapshot(_jobs(3))
    assert _ask(snapshot, "east", scope="pending").value == 2
    assert _ask(snapshot, "west", scope="pending").value == 1


def test_a_delay_does_not_move_workloads() -> None:
    """A young Workload keeps its room in the first pool, though it is not counted yet."""
    young = [make_workload(name=f"y{one}", gpus=8, created=NOW, priority=5) for one in range(2)]
    old = make_workload(name="old", gpus=8)
    snapshot = _snapshot([*young, old])
    assert _ask(snapshot, "east", scaleUpDelay="1m").value == 0
    assert _ask(snapshot, "west", scaleUpDelay="1m").value == 1


def test_each_pool_has_its_own_owner_s_resize() -> None:
    """What comes for another pool is told by that pool's HPA, not by the asking one's."""
    hpas = [
        make_sized(2, name="east", resized=NOW - 30),
        make_sized(1, name="west", resized=NOW - 7200),
    ]
    snapshot = _snapshot(_jobs(2), nodes=_nodes("west", 1), hpas=hpas)
    assert _both(snapshot) == (2, 1)


def test_a_pool_whose_nodes_never_came_is_at_its_maximum() -> None:
    """The other pool's size counts, not its nodes: what failed to come can't be opened again."""
    assert _both(_snapshot(_jobs(2), east=2)) == (2, 2)


def test_a_flavor_does_not_change_who_competes() -> None:
    """A trigger for one flavor sees the same choice of pools as one for all."""
    late = make_workload(name="late", queue_name="late", gpus=8, queued_at=LONG_AGO + 10)
    snapshot = make_snapshot(
        workloads=[*_jobs(2), late],
        cluster_queues=[
            make_cluster_queue(flavors={"first": 16}),
            make_cluster_queue(name="late-cq", flavors={"second": 8}),
        ],
        local_queues=[make_local_queue(), make_local_queue(name="late", cluster_queue="late-cq")],
        flavors=[
            make_flavor(name="first", node_labels={}),
            make_flavor(name="second", node_labels={}),
        ],
        scaled_objects=SIZERS,
        hpas=[make_sized(0, name="east"), make_sized(0, name="west")],
    )
    keys = {"clusterQueue": "late-cq", "resourceFlavor": "second"}
    assert _ask(snapshot, "east", **keys).value == 0
    assert _ask(snapshot, "west", **keys).value == 1


def test_what_only_one_pool_may_take_asks_no_other_queue() -> None:
    """Where flavors tell the pool, other ClusterQueues are neither asked nor read."""
    snapshot = make_snapshot(
        workloads=_jobs(1),
        cluster_queues=[
            make_cluster_queue(flavors={"west": 100}),
            make_cluster_queue(name="other-cq"),
        ],
        flavors=[make_flavor(name="west"), make_flavor(name="east")],
        scaled_objects=SIZERS,
        hpas=[make_sized(0, name="east"), make_sized(0, name="west")],
    )
    assert _both(snapshot) == (0, 1)
    assert (Part.QUEUE, "other-cq") not in _ask(snapshot, "west").read


def test_a_need_for_other_devices_is_no_pool_s() -> None:
    """A Workload that asks for devices that no pool has buys no node."""
    shape = make_shape(gpus=0, requests={"amd.com/gpu": 8})
    snapshot = _snapshot([make_workload(pod_sets=(make_pod_set(shape=shape),))])
    assert _both(snapshot) == (0, 0)
    assert _ask(snapshot, "east").status is Status.OK


def test_a_target_whose_hpa_tells_no_time_does_not_run_away() -> None:
    """What is missing of its size may be coming: taken for broken it would be bought each poll."""
    snapshot = _snapshot(
        _jobs(1),
        hpas=[make_hpa(name="keda-hpa-west", current_replicas=3, scaling_active_changed=None)],
        sizers=SIZERS[1:],
    )
    assert _ask(snapshot, "west").value == 3


def test_a_need_that_a_flavor_leads_elsewhere_is_told_of() -> None:
    """Else a queue that waits beside a pool that does not grow would look like a defect."""
    snapshot = replace(
        _snapshot(_jobs(1)), flavors={"gpu": make_flavor(node_labels={"pool": "far"})}
    )
    decision = _ask(snapshot, "west")
    assert decision.value == 0
    assert "For 1 Workload other nodes are needed, by flavor or node selector." in decision.detail


def test_a_machine_on_its_way_counts_while_the_hpa_fails() -> None:
    """KEDA took the pool from zero; the HPA failed ever since, its condition is hours old."""
    failing = replace(make_sized(1, name="east"), scaling_failed=True)
    snapshot = _snapshot(_jobs(2), hpas=[failing, make_sized(0, name="west")])
    assert _ask(snapshot, "east").value == 2
