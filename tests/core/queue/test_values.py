"""Queue signals: scopes, units, pools and spare nodes."""

from dataclasses import replace

import pytest

from scaler.core.decision import Status
from scaler.core.model import (
    ScaledObject,
    Taint,
)
from scaler.core.policy import Policy, Schedule
from scaler.core.reasons import Reason
from tests.builders import (
    NOW,
    make_cluster_queue,
    make_flavor,
    make_node,
    make_pod_set,
    make_shape,
    make_snapshot,
    make_workload,
)
from tests.core.queue_fixture import (
    GPUS,
    NODES,
    POLICY,
    POOL,
    ask,
    make_cluster,
    make_jobs,
    make_nodes,
    make_policy,
    make_running,
    make_sizer,
    pool_evidence,
)

PENDING = {**NODES, "scope": "pending"}
SHORTHAND = {"signal": "queue", "clusterQueue": "gpu-cq", "gpusPerNode": "8"}


# --- scope pending -----------------------------------------------------------------------------


def test_pending_is_what_usable_nodes_do_not_hold() -> None:
    """Without S, and without what is coming: two nodes are needed beyond the one that is there."""
    nodes = [make_node(), make_node(name="young", gpus=0, created=NOW - 60)]
    got = ask(make_cluster(*make_jobs(3), size=2, nodes=nodes), PENDING)
    assert (got.value, got.active, got.reason) == (2, True, Reason.DEMAND)


def test_pending_needs_no_size() -> None:
    """What is pending does not count from the target's size, so it need not be known."""
    snapshot = make_snapshot(workloads=make_jobs(2), scaled_objects=[make_sizer()])
    assert ask(snapshot, PENDING).value == 2


def test_nothing_pending_is_zero() -> None:
    """Where all fits there is nothing to ask for, and the trigger is inactive."""
    got = ask(make_cluster(*make_jobs(1), size=1), PENDING)
    assert (got.value, got.active, got.reason) == (0, False, Reason.NO_DEMAND)


def test_pending_stops_at_max_nodes() -> None:
    """Usable and broken nodes count against maxNodes, coming ones don't."""
    nodes = [make_node(), make_node(name="gone", unschedulable=True)]
    policy = make_policy(replace(POOL, max_nodes=4))
    got = ask(make_cluster(*make_jobs(9), size=2, nodes=nodes), PENDING, policy=policy)
    assert (got.value, got.reason) == (2, Reason.CAPPED)


def test_pending_spare_nodes_stop_at_max_nodes_too() -> None:
    """Spare nodes that lack never lift what is pending above what may be opened."""
    policy = make_policy(replace(POOL, max_nodes=3, spare_nodes=9))
    assert ask(make_cluster(size=2, nodes=make_nodes(1)), PENDING, policy=policy).value == 2


def test_a_pending_pool_belongs_to_everybody() -> None:
    """Only the size of the whole pool has one owner; dashboards may ask as they like."""
    older = make_sizer(name="older", created=NOW - 9000)
    got = ask(make_cluster(*make_jobs(1), sizers=(older, make_sizer(PENDING))), PENDING)
    assert (got.status, got.value) == (Status.OK, 1)


# --- units -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("unit", "scope", "want"),
    [
        ("gpus", "total", 2 + 4 + 8),
        ("gpus", "pending", 4 + 8),
        ("workloads", "total", 3),
        ("workloads", "pending", 2),
    ],
)
def test_sums_have_no_size_and_no_floor(unit: str, scope: str, want: int) -> None:
    """A runs with 2, B is admitted without its pod of 4, C waits with 8: A and B are admitted."""
    running = make_workload(name="a", gpus=2, admitted=True)
    unplaced = make_workload(name="b", gpus=4, admitted=True, admitted_at=NOW)
    waiting = make_workload(name="c", gpus=8)
    snapshot = make_cluster(
        running,
        unplaced,
        waiting,
        size=5,
        nodes=make_nodes(1),
        pods=make_running(running, "node-0", gpus=2),
    )
    got = ask(snapshot, {**GPUS, "unit": unit, "scope": scope})
    assert (got.value, got.reason) == (want, Reason.DEMAND)


def test_sums_need_no_size_to_be_known() -> None:
    """An unknown size is no reason to hold a sum."""
    assert ask(make_snapshot(workloads=make_jobs(1)), GPUS).value == 8


def test_a_flavor_is_counted_alone() -> None:
    """With resourceFlavor only that flavor's demand counts."""
    shapes = {one: make_shape(gpus=4, node_selector={"pool": one}) for one in ("a100", "t4")}
    workloads = [
        make_workload(name=f"{name}-{number}", pod_sets=(make_pod_set(shape=shape),))
        for name, shape in shapes.items()
        for number in range(1 if name == "t4" else 3)
    ]
    snapshot = make_snapshot(
        workloads=workloads,
        cluster_queues=[make_cluster_queue(flavors={"a100": 100, "t4": 100})],
        flavors=[make_flavor(name="a100"), make_flavor(name="t4")],
    )
    assert ask(snapshot, {**GPUS, "resourceFlavor": "a100"}).value == 12
    assert ask(snapshot, {**GPUS, "resourceFlavor": "t4"}).value == 4
    assert ask(snapshot, GPUS).value == 16


# --- pools -------------------------------------------------------------------------------------


def test_gpus_per_node_stands_for_a_pool() -> None:
    """Every node that offers the resource belongs to it, and only GPUs are limited."""
    nodes = [make_node(name="any"), make_node(name="cpu", gpus=0)]
    shape = make_shape(gpus=4, requests={"memory": 1 << 50})
    large = make_workload(name="m", pod_sets=(make_pod_set(shape=shape, count=4),))
    got = ask(make_cluster(*make_jobs(1), large, size=1, nodes=nodes), SHORTHAND)
    assert (got.value, pool_evidence(got).present) == (3, 1)


def test_gpus_per_node_is_limited_by_the_scaled_object() -> None:
    """Without maxNodes the ScaledObject's maxReplicaCount is the limit."""
    sizer = make_sizer(SHORTHAND, max_replicas=3)
    got = ask(make_cluster(*make_jobs(9), sizers=(sizer,)), SHORTHAND)
    assert (got.value, got.reason) == (3, Reason.CAPPED)


def test_a_pool_that_the_policy_does_not_have_is_hold() -> None:
    """A pool that is not in the policy is HOLD, for any unit."""
    for metadata in (NODES, {**GPUS, "pool": "gpu"}):
        got = ask(make_cluster(*make_jobs(1), size=1), metadata, policy=Policy())
        assert (got.status, got.reason) == (Status.HOLD, Reason.POOL_MISSING)
        assert "gpu" in got.detail


@pytest.mark.parametrize(
    ("other", "holds"),
    [
        pytest.param(make_sizer(name="z", created=NOW - 9000), True, id="an older one owns it"),
        pytest.param(make_sizer(name="a"), True, id="among equals the name decides"),
        pytest.param(make_sizer(name="z"), False, id="by name ours comes first"),
        pytest.param(make_sizer(name="a", created=NOW - 60), False, id="a younger one does not"),
        pytest.param(
            make_sizer(name="a", created=NOW - 9000, paused=True), False, id="nor a paused one"
        ),
        pytest.param(
            make_sizer(PENDING, name="a", created=NOW - 9000), False, id="nor one for pending"
        ),
        pytest.param(
            make_sizer({**NODES, "pool": "t4"}, name="a", created=NOW - 9000),
            False,
            id="nor one for another pool",
        ),
        pytest.param(
            make_sizer({**NODES, "nonsense": "x"}, name="a", created=NOW - 9000),
            False,
            id="nor a malformed one",
        ),
    ],
)
def test_a_pool_has_one_owner(other: ScaledObject, holds: bool) -> None:  # noqa: FBT001 -- a table's column
    """The oldest ScaledObject that is not paused sizes the pool; others hold and name it."""
    got = ask(make_cluster(*make_jobs(1), size=1, sizers=(make_sizer(), other)))
    if holds:
        assert (got.status, got.reason) == (Status.HOLD, Reason.POOL_TAKEN)
        assert f"ml/{other.name}" in got.detail
    else:
        assert got.status is Status.OK


@pytest.mark.parametrize(
    ("spare", "size", "want"),
    [
        pytest.param(0, 1, 1, id="no spare nodes wanted"),
        pytest.param(2, 1, 3, id="none is empty, two are wanted"),
        pytest.param(2, 2, 3, id="one is empty"),
        pytest.param(2, 4, 4, id="more are empty than wanted"),
    ],
)
def test_spare_nodes_are_kept_empty(spare: int, size: int, want: int) -> None:
    """The spare nodes that lack come on top of what is full."""
    full = make_workload(name="r", gpus=8, admitted=True)
    pods = make_running(full, "node-0", gpus=8)
    policy = make_policy(replace(POOL, spare_nodes=spare))
    assert ask(make_cluster(full, size=size, pods=pods), policy=policy).value == want


def test_needs_take_spare_nodes_which_are_then_replaced() -> None:
    """A waiting job takes the empty node, and another spare one is opened for it."""
    policy = make_policy(replace(POOL, spare_nodes=1))
    got = ask(make_cluster(*make_jobs(1), size=1), policy=policy)
    assert (got.value, got.reason, pool_evidence(got).new) == (2, Reason.DEMAND, 0)
    assert "1 lack" in got.detail


def test_a_schedule_may_ask_for_more_spare_nodes() -> None:
    """While a schedule is on, its spareNodes count."""
    always = Schedule(
        name="office",
        days=frozenset(range(7)),
        from_minute=0,
        to_minute=24 * 60,
        timezone="UTC",
        spare_nodes={"gpu": 3},
    )
    policy = replace(POLICY, schedules=(always,))
    assert ask(make_cluster(), policy=policy).value == 3


def test_spare_nodes_stop_at_max_nodes() -> None:
    """Spare nodes never lift the value above maxNodes."""
    policy = make_policy(replace(POOL, spare_nodes=50))
    assert ask(make_cluster(size=2), policy=policy).value == 10


def test_more_nodes_than_the_size_never_raise_the_value() -> None:
    """Nodes beyond S, draining ones or another MachineSet's, are free space only."""
    draining = make_node(name="old", deleting=True)
    for nodes in ([*make_nodes(5)], [*make_nodes(2), draining]):
        assert ask(make_cluster(size=2, nodes=nodes)).value == 2
    assert ask(make_cluster(*make_jobs(4), size=2, nodes=make_nodes(5))).value == 2


def test_broken_nodes_stay_in_the_size() -> None:
    """A broken node offers nothing and is replaced on top of the size."""
    got = ask(make_cluster(*make_jobs(1), size=1, nodes=[make_node(unschedulable=True)]))
    assert (got.value, pool_evidence(got).broken) == (2, 1)
    assert "1 node of the pool can't be used" in got.detail


def test_a_size_above_max_nodes_is_kept() -> None:
    """MaxNodes stops growth; it takes nothing away."""
    policy = make_policy(replace(POOL, max_nodes=2))
    got = ask(make_cluster(*make_jobs(9), size=3), policy=policy)
    assert (got.value, got.reason) == (3, Reason.CAPPED)


def test_taints_that_no_pod_tolerates_do_not_buy_nodes_for_ever() -> None:
    """Where all settled nodes of a pool bear a taint, a pod that can't go there fits none."""
    taint = (Taint(key="dedicated", value="other"),)
    nodes = [make_node(name=name, taints=taint) for name in ("a", "b")]
    got = ask(make_cluster(*make_jobs(1), size=2, nodes=nodes))
    assert (got.value, got.reason) == (2, Reason.FITS_NO_NODE)


# --- gpusPerNode with a ResourceFlavor ---------------------------------------------------------


def test_nodes_of_other_flavors_do_not_hide_those_that_come() -> None:
    """Two nodes were just asked for: nodes of others with such devices are none of them."""
    others = [make_node(name=f"other-{one}", labels={"type": "other"}) for one in range(4)]
    snapshot = replace(
        make_cluster(*make_jobs(2), size=2, nodes=others, resized=NOW - 5),
        flavors={"gpu": make_flavor(node_labels={"type": "a100"})},
    )
    got = ask(snapshot, {**SHORTHAND, "resourceFlavor": "gpu"})
    assert (pool_evidence(got).present, pool_evidence(got).coming) == (0, 2)
    assert got.value == 2


def test_a_flavor_s_nodes_without_devices_are_none_of_the_pool_s() -> None:
    """Else they would stand for nodes that come, which were asked for again at each poll."""
    plain = [make_node(name=f"cpu-{one}", gpus=0, labels={"type": "spot"}) for one in range(4)]
    snapshot = replace(
        make_cluster(*make_jobs(2), size=2, nodes=plain, resized=NOW - 5),
        flavors={"gpu": make_flavor(node_labels={"type": "spot"})},
    )
    got = ask(snapshot, {**SHORTHAND, "resourceFlavor": "gpu"})
    assert (pool_evidence(got).present, got.value) == (0, 2)


def test_with_a_flavor_gpus_per_node_limits_nothing_but_its_device() -> None:
    """Pods that ask for a fabric beside their GPUs would wait for ever."""
    shape = make_shape(gpus=8, requests={"rdma/hca": 1})
    workload = make_workload(pod_sets=(make_pod_set(shape=shape),))
    snapshot = replace(
        make_cluster(workload), flavors={"gpu": make_flavor(node_labels={"type": "a100"})}
    )
    assert ask(snapshot, {**SHORTHAND, "resourceFlavor": "gpu"}).value == 1


def test_without_a_flavor_every_node_with_devices_is_the_pool_s() -> None:
    """The shorthand is for clusters whose GPU nodes are all alike."""
    nodes = [make_node(name=f"any-{one}", labels={"type": str(one)}) for one in range(2)]
    got = ask(make_cluster(*make_jobs(2), size=2, nodes=nodes, resized=NOW - 5), SHORTHAND)
    assert (pool_evidence(got).present, got.value) == (2, 2)
