from dataclasses import replace

import pytest

from scaler.core.decision import ActiveWithoutValue, Decision, Unavailable, Value, answer
from scaler.core.model import Kind, Pod, SourceState
from scaler.core.policy import Policy, Schedule
from scaler.core.quantity import instant
from scaler.core.reasons import Reason
from scaler.core.snapshot import Snapshot
from scaler.core.usage import QueryAnswer, QueryKey
from tests.builders import NOW, make_shape, make_target
from tests.core.idle_fixture import (
    POLICY,
    T0,
    cluster,
    constant,
    decided,
    kueue_job,
    so,
    usage_of,
    util,
    worker,
)

ASKING = replace(POLICY, queries={"requests": 'sum(r{namespace="$namespace"})'})
KEY = QueryKey(name="requests", namespace="ml", workload="workers")
QUIET = usage_of(util("w-0", 0, 0))
BUSY = usage_of(util("w-0", 0, 60))


def said(on: bool | None) -> dict[QueryKey, QueryAnswer]:  # noqa: FBT001 # the one thing it says
    """Build the answer of query `requests`."""
    return {KEY: QueryAnswer(at=NOW, on=on)}


# --- excused -----------------------------------------------------------------------------------


def test_an_opt_out_comes_before_what_can_not_be_read() -> None:
    """An opt out comes before what can not be read."""
    snapshot = cluster(pods=[worker(opted_out=True)])
    decision = decided(snapshot)
    assert (decision.active, decision.value, decision.reason) == (True, 1, Reason.OPTED_OUT)
    assert "pod w-0" in decision.detail


def test_an_opt_out_on_the_target_counts() -> None:
    """An opt out on the target counts."""
    target = make_target(replicas=1, opted_out=True)
    assert decided(cluster(target=target, usage=QUIET)).reason is Reason.OPTED_OUT


OFFICE = Schedule(
    name="office",
    days=frozenset({0, 1, 2, 3, 4}),
    from_minute=8 * 60,
    to_minute=18 * 60,
    timezone="Europe/Berlin",
    keep_active=frozenset({"ml"}),
)


@pytest.mark.parametrize(
    ("at", "want"),
    [("2026-03-02T09:00:00+01:00", Reason.SCHEDULED), ("2026-03-02T19:00:00+01:00", Reason.IDLE)],
)
def test_a_schedule_keeps_its_namespaces_active(at: str, want: Reason) -> None:
    """A schedule keeps its namespaces active."""
    t = instant(at) - T0
    policy = replace(POLICY, schedules=(OFFICE,))
    points = [(t - 30.0 * n, 0.0) for n in range(200)]
    snapshot = cluster(
        pods=[worker(ready_since=t - 7200)], usage=usage_of(util("w-0", 0, points), t=t), t=t
    )
    assert decided(snapshot, policy=policy, t=t).reason is want


@pytest.mark.parametrize("hour", [9, 19])
def test_an_opt_out_and_a_schedule_come_before_the_size(hour: int) -> None:
    """An opt out and a schedule come before the size: what they keep active is woken."""
    t = instant(f"2026-03-02T{hour:02}:00:00+01:00") - T0
    policy = replace(POLICY, schedules=(OFFICE,))
    kept = decided(cluster(pods=[], t=t), policy=policy, t=t)
    scheduled = hour == 9
    assert kept.reason is (Reason.SCHEDULED if scheduled else Reason.AT_ZERO)
    assert (kept.active, kept.value) == (scheduled, int(scheduled))
    target = make_target(replicas=0, opted_out=True)
    kept = decided(cluster(pods=[], target=target, t=t), t=t)
    assert (kept.active, kept.value, kept.reason) == (True, 1, Reason.OPTED_OUT)


# --- at zero -----------------------------------------------------------------------------------


def at_zero(**changes: object) -> Snapshot:
    """Build the Deployment at zero, without pods and without usage."""
    return replace(cluster(pods=[]), **changes)  # type: ignore[arg-type] # names and types are the caller's


def test_at_zero_without_a_wake_query_nothing_wakes() -> None:
    """At zero without a wake query nothing wakes."""
    decision = decided(at_zero())
    assert decision.reason is Reason.AT_ZERO
    assert answer(decision) == Value(active=False, value=0)


@pytest.mark.parametrize(
    ("on", "replicas", "want"),
    [
        (True, "1", Value(active=True, value=1)),
        (True, "4", Value(active=True, value=4)),
        (False, "4", Value(active=False, value=0)),
    ],
)
def test_at_zero_the_wake_query_decides(*, on: bool, replicas: str, want: Value) -> None:
    """At zero the wake query decides, and wakes to the replicas that the trigger names."""
    decision = decided(at_zero(answers=said(on)), policy=ASKING, wake="requests", replicas=replicas)
    assert answer(decision) == want


@pytest.mark.parametrize("policy", [ASKING, POLICY])
def test_a_wake_query_without_answer_holds_at_zero(policy: Policy) -> None:
    """A wake query without answer holds at zero."""
    decision = decided(at_zero(answers=said(None)), policy=policy, wake="requests")
    assert isinstance(answer(decision), Unavailable)
    want = Reason.PROMETHEUS_FAILED if policy is ASKING else Reason.QUERY_MISSING
    assert decision.reason is want


def test_readings_are_not_asked_at_zero() -> None:
    """Readings are not asked at zero."""
    snapshot = cluster(pods=[], usage=replace(BUSY, problem="503"))
    assert decided(snapshot).reason is Reason.AT_ZERO


@pytest.mark.parametrize(
    ("age", "wakes"),
    [(-1, False), (0, True), (1799, True), (1800, False), (None, False), (NOW, True)],
)
@pytest.mark.parametrize("on_workload", [True, False])
def test_the_wake_annotation_wakes_for_one_window_from_its_time_on(
    age: float | None, *, wakes: bool, on_workload: bool
) -> None:
    """The wake annotation wakes for one window from its time on, and `now` at any time."""
    at = None if age is None else NOW - age
    job = kueue_job("w", wake_at=at if on_workload else None)
    scaled_object = replace(so(), wake_at=None if on_workload else at)
    snapshot = cluster(pods=[], workloads=[job], scaled_object=scaled_object)
    decision = decided(snapshot, workload="Job/w")
    assert (decision.reason is Reason.WAKE) is wakes
    assert decision.active is wakes


def test_the_annotation_wakes_also_where_the_query_fails() -> None:
    """The annotation wakes also where the query fails."""
    scaled_object = replace(so(), wake_at=NOW)
    snapshot = cluster(pods=[], scaled_object=scaled_object, answers=said(None))
    assert decided(snapshot, policy=ASKING, wake="requests").reason is Reason.WAKE


def test_live_pods_at_size_zero_are_judged_by_their_readings() -> None:
    """Live pods at size zero are judged by their readings."""
    assert decided(cluster(usage=QUIET, replicas=0)).reason is Reason.IDLE
    assert decided(cluster(usage=BUSY, replicas=0)).reason is Reason.BUSY
    young = cluster(pods=[worker(ready_since=-10)], usage=QUIET, replicas=0)
    assert decided(young).reason is Reason.STARTING


def test_pods_that_are_missing_at_size_zero_are_on_their_way_out() -> None:
    """Pods that are missing at size zero are on their way out, and not starting."""
    job = kueue_job("w", pods=2)
    snapshot = cluster(pods=[worker(workload="job-w")], workloads=[job], usage=QUIET, replicas=0)
    assert decided(snapshot, workload="Job/w").reason is Reason.IDLE
    assert (
        decided(
            cluster(pods=[worker(workload="job-w")], workloads=[job], usage=QUIET, replicas=1),
            workload="Job/w",
        ).reason
        is Reason.STARTING
    )


# --- starting ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pods", "replicas"),
    [
        ([worker()], 2),
        ([], 1),
        ([worker(), worker("w-1", ready_since=None)], 2),
        ([worker(), worker("w-1", phase="Pending", ready_since=None)], 2),
        ([worker(), worker("w-1", ready_since=-2399)], 2),
    ],
)
def test_a_workload_with_a_pod_missing_unready_or_young_is_starting(
    pods: list[Pod], replicas: int
) -> None:
    """A workload with a pod missing unready or young is starting."""
    policy = replace(POLICY, defaults=replace(POLICY.defaults, grace_after_start=600.0))
    decision = decided(cluster(pods=pods, replicas=replicas, usage=QUIET), policy=policy)
    assert decision.reason is Reason.STARTING
    assert (decision.active, decision.value) == (True, replicas)


def test_a_pod_that_is_ready_only_later_is_young_and_tells_of_the_clocks() -> None:
    """The cluster's clock runs ahead of ours: no negative age is told."""
    decision = decided(cluster(pods=[worker(ready_since=90)], usage=QUIET))
    assert decision.reason is Reason.STARTING
    assert "Ready from 1m30s after now on, so clocks differ" in decision.detail


@pytest.mark.parametrize(("age", "want"), [(2399, Reason.STARTING), (2400, Reason.IDLE)])
def test_the_youngest_pod_is_judged_after_grace_and_window(age: float, want: Reason) -> None:
    """The youngest pod is judged after grace and window."""
    pods = [worker(), worker("w-1", ready_since=-age)]
    usage = usage_of(util("w-0", 0, 0), util("w-1", 1, 0))
    decision = decided(cluster(pods=pods, usage=usage), graceAfterStart="10m")
    assert decision.reason is want


def test_a_workload_whose_pods_are_all_done_is_not_idle() -> None:
    """A workload whose pods are all done, at a size above zero, is not idle."""
    pods = [worker(workload="job-w", phase="Succeeded")]
    snapshot = cluster(pods=pods, workloads=[kueue_job("w")], usage=QUIET, replicas=1)
    decision = decided(snapshot, workload="Job/w")
    assert decision.reason is Reason.STARTING
    assert "missing" in decision.detail


def test_starting_needs_no_prometheus() -> None:
    """Starting needs no prometheus."""
    assert decided(cluster(pods=[worker(ready_since=-1)])).reason is Reason.STARTING


# --- nothing to measure ------------------------------------------------------------------------


def test_a_component_without_devices_is_never_idle() -> None:
    """A component without devices is never idle."""
    target = make_target(replicas=1, shape=make_shape(gpus=0))
    decision = decided(cluster(target=target, pods=[worker(gpus=0)], usage=QUIET))
    assert (decision.active, decision.reason) == (True, Reason.NOTHING_TO_MEASURE)


def test_a_component_without_devices_is_not_said_to_start() -> None:
    """A component without devices is not said to start: no wait would make it measurable."""
    target = make_target(replicas=2, shape=make_shape(gpus=0))
    decision = decided(cluster(target=target, pods=[]))
    assert decision.reason is Reason.NOTHING_TO_MEASURE


def test_devices_of_another_vendor_can_not_be_measured() -> None:
    """Devices of another vendor can not be measured."""
    shape = make_shape(gpus=0, requests={"amd.com/gpu": 1})
    target = make_target(replicas=1, shape=shape)
    pods = [worker(gpus=0, requests={"amd.com/gpu": 1})]
    assert decided(cluster(target=target, pods=pods)).reason is Reason.NOTHING_TO_MEASURE


def test_pods_that_lost_their_devices_are_not_idle() -> None:
    """Pods that lost their devices are not idle."""
    decision = decided(cluster(pods=[worker(gpus=0)], usage=QUIET))
    assert decision.reason is Reason.DEVICE_MISMATCH


# --- sources -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [Kind.PODS, Kind.DEPLOYMENTS, Kind.SCALED_OBJECTS])
@pytest.mark.parametrize(
    "state",
    [SourceState(synced=False, problem="403"), SourceState(synced=True, last_alive=NOW - 301)],
)
def test_what_a_deployments_verdict_rests_on_has_to_be_believed(
    kind: Kind, state: SourceState
) -> None:
    """What a deployments verdict rests on has to be believed."""
    decision = decided(cluster(usage=QUIET, sources={kind: state}))
    assert decision.status == "HOLD"
    assert answer(decision) == ActiveWithoutValue()


@pytest.mark.parametrize("kind", [Kind.NODES, Kind.WORKLOADS, Kind.CLUSTER_QUEUES, Kind.COHORTS])
def test_what_it_does_not_rest_on_may_be_gone(kind: Kind) -> None:
    """What it does not rest on may be gone."""
    unsynced = {kind: SourceState(synced=False)}
    assert decided(cluster(usage=QUIET, sources=unsynced)).reason is Reason.IDLE


def under_kueue(kind: Kind) -> Decision:
    """Decide the Deployment under Kueue with one kind missing and a rule for its ClusterQueue."""
    longer = replace(POLICY.defaults, idle_after=7200.0)
    quiet = util("w-0", 0, constant(0, start=-9000))
    snapshot = cluster(
        target=make_target(replicas=1, queue_name="lq"),
        pods=[worker(ready_since=-9000)],
        usages=[usage_of(quiet), usage_of(quiet, window=7200)],
        sources={kind: SourceState(synced=False)},
    )
    return decided(snapshot, policy=replace(POLICY, cluster_queues={"gpu-cq": longer}))


def test_a_rule_for_its_cluster_queue_is_not_missed_for_lack_of_local_queues() -> None:
    """A rule for its cluster queue is not missed for lack of local queues."""
    assert under_kueue(Kind.LOCAL_QUEUES).reason is Reason.NOT_SYNCED
    held_to_rule = under_kueue(Kind.COHORTS)
    assert held_to_rule.reason is Reason.IDLE
    assert held_to_rule.idle is not None
    assert held_to_rule.idle.idle_after_seconds == 7200


def test_an_opt_out_on_its_workload_is_not_missed_for_lack_of_workloads() -> None:
    """An opt out on its workload is not missed for lack of workloads."""
    assert under_kueue(Kind.WORKLOADS).reason is Reason.NOT_SYNCED


@pytest.mark.parametrize(
    "pod",
    [
        worker(workload="job-w"),
        replace(worker(), labels={"app": "workers", "kueue.x-k8s.io/queue-name": "lq"}),
    ],
)
def test_an_opt_out_is_not_missed_where_only_the_pods_are_under_kueue(pod: Pod) -> None:
    """An opt out is not missed where only the pods are under kueue: the template has the label."""
    unsynced = {Kind.WORKLOADS: SourceState(synced=False)}
    snapshot = cluster(pods=[pod], usage=QUIET, sources=unsynced)
    assert decided(snapshot).reason is Reason.NOT_SYNCED
    assert decided(cluster(pods=[pod], usage=QUIET)).reason is Reason.IDLE


def test_hold_at_zero_is_unavailable() -> None:
    """Hold at zero is unavailable."""
    denied = SourceState(synced=False, problem="403 on list pods")
    decision = decided(cluster(pods=[], replicas=0, sources={Kind.PODS: denied}))
    assert isinstance(answer(decision), Unavailable)
