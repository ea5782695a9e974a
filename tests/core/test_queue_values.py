"""Queue signals: scopes, units, pools, and the reason that each value carries."""

from dataclasses import replace

import pytest

from scaler.core.decision import Decision, PoolEvidence, Status
from scaler.core.model import (
    AdmissionCheck,
    Instant,
    Kind,
    Node,
    Pod,
    ScaledObject,
    SourceState,
    Taint,
    Workload,
)
from scaler.core.policy import Policy, Schedule
from scaler.core.reasons import Reason, WorkloadClass
from scaler.core.snapshot import Part, Snapshot
from tests.builders import (
    NOW,
    make_cluster_queue,
    make_cohort,
    make_flavor,
    make_local_queue,
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
    make_nodes,
    make_policy,
    make_running,
    make_sized,
    make_sizer,
)

PENDING = {**NODES, "scope": "pending"}
SHORTHAND = {"signal": "queue", "clusterQueue": "gpu-cq", "gpusPerNode": "8"}


def _cluster(
    *workloads: Workload,
    size: int = 0,
    nodes: list[Node] | None = None,
    pods: list[Pod] | None = None,
    sizers: tuple[ScaledObject, ...] = (make_sizer(),),
    resized: Instant = NOW - 7200,
    tolerance: float | None = 0.0,
    quota: int | None = None,
) -> Snapshot:
    return make_snapshot(
        workloads=workloads,
        cluster_queues=[make_cluster_queue(quota=quota)],
        nodes=make_nodes(size) if nodes is None else nodes,
        pods=pods or [],
        scaled_objects=sizers,
        hpas=[make_sized(size, resized=resized, tolerance=tolerance)],
    )


def _jobs(count: int, gpus: int = 8) -> list[Workload]:
    return [make_workload(name=f"w{number}", gpus=gpus) for number in range(count)]


def _evidence(decision: Decision) -> PoolEvidence:
    assert decision.queue is not None
    assert decision.queue.pool is not None
    return decision.queue.pool


# --- scope pending -----------------------------------------------------------------------------


def test_pending_is_what_usable_nodes_do_not_hold() -> None:
    """Without S, and without what is coming: two nodes are needed beyond the one that is there."""
    nodes = [make_node(), make_node(name="young", gpus=0, created=NOW - 60)]
    got = ask(_cluster(*_jobs(3), size=2, nodes=nodes), PENDING)
    assert (got.value, got.active, got.reason) == (2, True, Reason.DEMAND)


def test_pending_needs_no_size() -> None:
    """What is pending does not count from the target's size, so it need not be known."""
    snapshot = make_snapshot(workloads=_jobs(2), scaled_objects=[make_sizer()])
    assert ask(snapshot, PENDING).value == 2


def test_nothing_pending_is_zero() -> None:
    """Where all fits there is nothing to ask for, and the trigger is inactive."""
    got = ask(_cluster(*_jobs(1), size=1), PENDING)
    assert (got.value, got.active, got.reason) == (0, False, Reason.NO_DEMAND)


def test_pending_stops_at_max_nodes() -> None:
    """Usable and broken nodes count against maxNodes, coming ones don't."""
    nodes = [make_node(), make_node(name="gone", unschedulable=True)]
    policy = make_policy(replace(POOL, max_nodes=4))
    got = ask(_cluster(*_jobs(9), size=2, nodes=nodes), PENDING, policy=policy)
    assert (got.value, got.reason) == (2, Reason.CAPPED)


def test_a_pending_pool_belongs_to_everybody() -> None:
    """Only the size of the whole pool has one owner; dashboards may ask as they like."""
    older = make_sizer(name="older", created=NOW - 9000)
    got = ask(_cluster(*_jobs(1), sizers=(older, make_sizer(PENDING))), PENDING)
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
    snapshot = _cluster(
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
    assert ask(make_snapshot(workloads=_jobs(1)), GPUS).value == 8


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
    got = ask(_cluster(*_jobs(1), large, size=1, nodes=nodes), SHORTHAND)
    assert (got.value, _evidence(got).present) == (3, 1)


def test_gpus_per_node_is_limited_by_the_scaled_object() -> None:
    """Without maxNodes the ScaledObject's maxReplicaCount is the limit."""
    sizer = make_sizer(SHORTHAND, max_replicas=3)
    got = ask(_cluster(*_jobs(9), sizers=(sizer,)), SHORTHAND)
    assert (got.value, got.reason) == (3, Reason.CAPPED)


def test_a_pool_that_the_policy_does_not_have_is_hold() -> None:
    """A pool that is not in the policy is HOLD, for any unit."""
    for metadata in (NODES, {**GPUS, "pool": "gpu"}):
        got = ask(_cluster(*_jobs(1), size=1), metadata, policy=Policy())
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
    got = ask(_cluster(*_jobs(1), size=1, sizers=(make_sizer(), other)))
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
    assert ask(_cluster(full, size=size, pods=pods), policy=policy).value == want


def test_needs_take_spare_nodes_which_are_then_replaced() -> None:
    """A waiting job takes the empty node, and another spare one is opened for it."""
    policy = make_policy(replace(POOL, spare_nodes=1))
    got = ask(_cluster(*_jobs(1), size=1), policy=policy)
    assert (got.value, got.reason, _evidence(got).new) == (2, Reason.DEMAND, 0)
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
    assert ask(_cluster(), policy=policy).value == 3


def test_spare_nodes_stop_at_max_nodes() -> None:
    """Spare nodes never lift the value above maxNodes."""
    policy = make_policy(replace(POOL, spare_nodes=50))
    assert ask(_cluster(size=2), policy=policy).value == 10


def test_more_nodes_than_the_size_never_raise_the_value() -> None:
    """Nodes beyond S, draining ones or another MachineSet's, are free space only."""
    draining = make_node(name="old", deleting=True)
    for nodes in ([*make_nodes(5)], [*make_nodes(2), draining]):
        assert ask(_cluster(size=2, nodes=nodes)).value == 2
    assert ask(_cluster(*_jobs(4), size=2, nodes=make_nodes(5))).value == 2


def test_broken_nodes_stay_in_the_size() -> None:
    """A broken node offers nothing and is replaced on top of the size."""
    got = ask(_cluster(*_jobs(1), size=1, nodes=[make_node(unschedulable=True)]))
    assert (got.value, _evidence(got).broken) == (2, 1)
    assert "1 node of the pool can't be used" in got.detail


def test_a_size_above_max_nodes_is_kept() -> None:
    """MaxNodes stops growth; it takes nothing away."""
    policy = make_policy(replace(POOL, max_nodes=2))
    got = ask(_cluster(*_jobs(9), size=3), policy=policy)
    assert (got.value, got.reason) == (3, Reason.CAPPED)


def test_taints_that_no_pod_tolerates_do_not_buy_nodes_for_ever() -> None:
    """Where all settled nodes of a pool bear a taint, a pod that can't go there fits none."""
    taint = (Taint(key="dedicated", value="other"),)
    nodes = [make_node(name=name, taints=taint) for name in ("a", "b")]
    got = ask(_cluster(*_jobs(1), size=2, nodes=nodes))
    assert (got.value, got.reason) == (2, Reason.FITS_NO_NODE)


# --- reasons -----------------------------------------------------------------------------------


def test_nothing_waits() -> None:
    """An empty queue and an empty pool are zero, and inactive."""
    got = ask(_cluster())
    assert (got.value, got.active, got.reason) == (0, False, Reason.NO_DEMAND)
    assert "Nothing waits" in got.detail


def test_work_that_waits_for_quota_is_told() -> None:
    """Without free quota nodes would not help."""
    full = make_workload(name="r", gpus=8, admitted=True)
    pods = make_running(full, "node-0", gpus=8)
    snapshot = _cluster(full, *_jobs(2), size=1, pods=pods, quota=8)
    got = ask(snapshot)
    assert (got.value, got.reason) == (1, Reason.QUOTA_EXHAUSTED)
    assert "2 Workloads no quota is free" in got.detail
    follows = ask(snapshot, {**NODES, "quotaFollowsNodes": "true"})
    assert (follows.value, follows.reason) == (3, Reason.DEMAND)
    assert ask(snapshot, GPUS).reason is Reason.QUOTA_EXHAUSTED


def test_other_flavors_make_no_exhausted_quota() -> None:
    """What another flavor takes is not waiting for quota."""
    got = ask(_cluster(*_jobs(2)), {**GPUS, "resourceFlavor": "other"})
    assert (got.value, got.reason) == (0, Reason.NO_DEMAND)


def test_a_pod_larger_than_any_node() -> None:
    """What fits no node opens none, for ever, and is reported."""
    got = ask(_cluster(*_jobs(2, 16), size=1))
    assert (got.value, got.reason) == (1, Reason.FITS_NO_NODE)
    assert _evidence(got).pods_fit_no_node == 2
    assert "2 fit no node" in got.detail


def test_a_misfit_does_not_hide_demand() -> None:
    """Where other work needs nodes, that is the reason, and the misfit is in the evidence."""
    got = ask(_cluster(*_jobs(1, 16), make_workload(name="ok", gpus=8)))
    assert (got.value, got.reason) == (1, Reason.DEMAND)
    assert _evidence(got).pods_fit_no_node == 1


@pytest.mark.parametrize(
    ("waited", "ready_for", "want"),
    [
        pytest.param(61, 7200, Reason.TOPOLOGY_DISAGREES, id="for over a minute"),
        pytest.param(60, 7200, Reason.NO_DEMAND, id="not yet for a minute"),
        pytest.param(600, 30, Reason.NO_DEMAND, id="the node has just turned Ready"),
    ],
)
def test_kueue_disagrees(waited: float, ready_for: float, want: Reason) -> None:
    """All fits, yet Kueue says TopologyPlacementFailed: nodes are not asked for, a person is."""
    stuck = make_workload(name="b", standing=WorkloadClass.TOPOLOGY, created=NOW - waited)
    nodes = [make_node(ready_changed=NOW - ready_for)]
    got = ask(_cluster(stuck, size=1, nodes=nodes))
    assert (got.value, got.reason) == (1, want)


def test_kueue_is_right_while_the_node_is_coming() -> None:
    """What waits for a coming node can't be placed yet."""
    stuck = make_workload(name="b", standing=WorkloadClass.TOPOLOGY)
    got = ask(_cluster(stuck, size=1, nodes=[], resized=NOW - 60))
    assert (got.value, got.reason) == (1, Reason.NO_DEMAND)
    assert "1 wait for coming nodes" in got.detail


@pytest.mark.parametrize(
    ("size", "tolerance", "jobs", "want"),
    [
        pytest.param(20, None, 22, Reason.SWALLOWED, id="10 % is still swallowed"),
        pytest.param(20, None, 23, Reason.DEMAND, id="more than 10 % is not"),
        pytest.param(9, None, 10, Reason.DEMAND, id="a step of one at nine is 11 %"),
        pytest.param(20, 0.0, 21, Reason.DEMAND, id="tolerance 0 swallows nothing"),
        pytest.param(20, 0.05, 21, Reason.SWALLOWED, id="a small one swallows a smaller step"),
        pytest.param(20, 0.05, 22, Reason.DEMAND, id="but no larger one"),
        pytest.param(0, None, 1, Reason.DEMAND, id="from zero KEDA steps itself"),
    ],
)
def test_the_tolerance_of_the_hpa(
    size: int, tolerance: float | None, jobs: int, want: Reason
) -> None:
    """A change within the HPA's tolerance does nothing, which nobody would see otherwise."""
    policy = make_policy(replace(POOL, max_nodes=100))
    got = ask(_cluster(*_jobs(jobs), size=size, tolerance=tolerance), policy=policy)
    assert (got.value, got.reason) == (jobs, want)
    assert ("tolerance" in got.detail) is (want is Reason.SWALLOWED)


def test_a_sum_may_be_swallowed_too() -> None:
    """A Deployment with one replica for each GPU has the same HPA."""
    got = ask(_cluster(*_jobs(21, 1), size=20, nodes=[], tolerance=None), GPUS)
    assert (got.value, got.reason) == (21, Reason.SWALLOWED)


def test_a_delayed_workload_is_told() -> None:
    """What scaleUpDelay leaves out is in the sentence."""
    young = make_workload(name="w", created=NOW)
    got = ask(_cluster(young), {**NODES, "scaleUpDelay": "2m"})
    assert (got.value, got.reason) == (0, Reason.NO_DEMAND)
    assert "1 Workload waited less than scaleUpDelay" in got.detail


# --- what can't be known -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "metadata", "holds"),
    [
        (Kind.WORKLOADS, NODES, True),
        (Kind.CLUSTER_QUEUES, NODES, True),
        (Kind.LOCAL_QUEUES, NODES, True),
        (Kind.NODES, NODES, True),
        (Kind.PODS, NODES, True),
        (Kind.RESOURCE_FLAVORS, NODES, True),
        (Kind.COHORTS, NODES, False),
        (Kind.ADMISSION_CHECKS, NODES, False),
        (Kind.RAY_CLUSTERS, NODES, False),
        (Kind.JOBS, NODES, False),
        (Kind.DEPLOYMENTS, NODES, False),
        (Kind.PODS, GPUS, True),
        (Kind.NODES, GPUS, False),
        (Kind.RESOURCE_FLAVORS, GPUS, False),
        (Kind.PODS, {**GPUS, "unit": "workloads"}, False),
        (Kind.PODS, {**GPUS, "unit": "workloads", "scope": "pending"}, True),
    ],
)
def test_a_source_that_is_needed_holds(kind: Kind, metadata: dict[str, str], holds: bool) -> None:  # noqa: FBT001 -- a table's column
    """C03: a signal holds for the sources that it needs, and for no other."""
    denied = SourceState(synced=False, problem=f"403 on list {kind}")
    snapshot = replace(_cluster(*_jobs(1), size=1), sources={})
    snapshot = replace(
        snapshot,
        sources={
            one: denied if one is kind else SourceState(synced=True, last_alive=NOW) for one in Kind
        },
    )
    got = ask(snapshot, metadata)
    if holds:
        assert (got.status, got.reason) == (Status.HOLD, Reason.NOT_SYNCED)
        assert f"403 on list {kind}" in got.detail
        assert got.value is None
    else:
        assert got.status is Status.OK


def test_cohorts_are_needed_where_one_is_named() -> None:
    """A ClusterQueue in a cohort can't be judged without the Cohorts."""
    snapshot = make_snapshot(
        cluster_queues=[make_cluster_queue(cohort="all")],
        sources={Kind.COHORTS: SourceState(synced=False)},
    )
    assert ask(snapshot, GPUS).reason is Reason.NOT_SYNCED


def test_admission_checks_are_needed_where_one_was_passed() -> None:
    """Only an admitted Workload with checks asks who answered them."""
    remote = make_workload(name="m", admitted=True, checks=(("multi", "Ready"),))
    snapshot = make_snapshot(
        workloads=[remote],
        checks=[AdmissionCheck(name="multi", controller="kueue.x-k8s.io/multikueue")],
        sources={Kind.ADMISSION_CHECKS: SourceState(synced=False)},
    )
    assert ask(snapshot, GPUS).reason is Reason.NOT_SYNCED


def test_a_watch_that_went_silent_holds() -> None:
    """A source without a sign of life for maxWatchAge is stale."""
    got = ask(_cluster(*_jobs(1), size=1), now=NOW + 301)
    assert (got.status, got.reason) == (Status.HOLD, Reason.SOURCE_STALE)


def test_one_missing_cluster_queue_of_two_is_told() -> None:
    """The others still count, as a safe lower bound."""
    got = ask(_cluster(*_jobs(1)), {**NODES, "clusterQueue": "gpu-cq,gone"})
    assert (got.value, got.status) == (1, Status.OK)
    assert got.queue is not None
    assert got.queue.missing_cluster_queues == ("gone",)
    assert "There is no ClusterQueue gone." in got.detail


def test_skipped_objects_are_in_the_evidence() -> None:
    """Objects that could not be decoded count for nothing, visibly, if their kind matters."""
    snapshot = replace(_cluster(), skipped={Kind.WORKLOADS: 2, Kind.DEPLOYMENTS: 5})
    got = ask(snapshot)
    assert got.queue is not None
    assert got.queue.skipped_objects == 2


def test_claims_only_pods_are_told() -> None:
    """Q17: pods that ask for devices by claims alone are not counted, visibly."""
    shape = make_shape(gpus=0, dra_only=True)
    got = ask(_cluster(make_workload(pod_sets=(make_pod_set(shape=shape),))), GPUS)
    assert (got.value, got.reason) == (0, Reason.NO_DEMAND)
    assert got.queue is not None
    assert got.queue.not_counted_dra == 1
    assert "DRA claims: 1" in got.detail


# --- what was read -----------------------------------------------------------------------------


def test_a_decision_names_what_it_read() -> None:
    """A change to any of these partitions may change the decision."""
    snapshot = make_snapshot(
        workloads=_jobs(1),
        cluster_queues=[
            make_cluster_queue(cohort="all"),
            make_cluster_queue(name="sibling", cohort="all"),
            make_cluster_queue(name="stranger"),
        ],
        local_queues=[
            make_local_queue(),
            make_local_queue(namespace="far", cluster_queue="stranger"),
        ],
        cohorts=[make_cohort()],
        scaled_objects=[make_sizer()],
        hpas=[make_sized(0)],
    )
    read = ask(snapshot).read
    for part in (
        (Part.QUEUE, "gpu-cq"),
        (Part.QUEUE, "sibling"),
        (Part.QUEUE, ""),
        (Part.QUOTA, ""),
        (Part.NODES, ""),
        (Part.PODS, "ml"),
        (Part.TARGETS, "ml"),
        (Part.POLICY, ""),
        (Part.OWNERS, ""),
        (Part.SOURCE, Kind.COHORTS),
    ):
        assert part in read
    for part in ((Part.QUEUE, "stranger"), (Part.PODS, "far"), (Part.USAGE, "")):
        assert part not in read


def test_a_sum_reads_no_nodes() -> None:
    """GPUs and Workloads don't depend on nodes; Workloads in total not on pods either."""
    gpus = ask(_cluster(*_jobs(1)), GPUS).read
    assert (Part.NODES, "") not in gpus
    assert (Part.PODS, "ml") in gpus
    workloads = ask(_cluster(*_jobs(1)), {**GPUS, "unit": "workloads"}).read
    assert not [one for one in workloads if one[0] in (Part.NODES, Part.PODS)]


def test_hold_names_what_it_read_too() -> None:
    """A HOLD ends when what it lacked comes."""
    got = ask(make_snapshot(cluster_queues=[]), GPUS)
    assert got.status is Status.HOLD
    assert {(Part.QUEUE, "gpu-cq"), (Part.QUOTA, "")} <= got.read
