from dataclasses import replace

import pytest

from scaler.core.decision import ActiveWithoutValue, answer
from scaler.core.reasons import Reason
from scaler.core.usage import QueryAnswer, QueryKey, UsageKey
from tests.builders import NOW
from tests.core.idle_fixture import (
    POLICY,
    WINDOW,
    cluster,
    decided,
    engine,
    join_readings,
    safety,
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


# --- readings that can't be believed -----------------------------------------------------------


def reason_with(**changes: object) -> Reason:
    """Decide on the quiet usage with some of it changed."""
    return decided(cluster(usage=replace(QUIET, **changes))).reason  # type: ignore[arg-type] # names and types are the caller's


def test_a_window_that_was_not_asked_is_unknown() -> None:
    """A window that was not asked is unknown."""
    assert decided(cluster()).reason is Reason.PROMETHEUS_FAILED
    other = UsageKey(window_seconds=WINDOW, busy_from_percent=2.0)
    assert reason_with(key=other) is Reason.PROMETHEUS_FAILED


def test_a_failed_query_is_unknown_at_once_and_in_its_own_words() -> None:
    """A failed query is unknown at once and in its own words."""
    decision = decided(cluster(usage=replace(BUSY, problem="503 Service Unavailable")))
    assert (decision.reason, decision.detail) == (
        Reason.PROMETHEUS_FAILED,
        "503 Service Unavailable",
    )
    assert answer(decision) == ActiveWithoutValue()


@pytest.mark.parametrize("gpus", [2, 3])
def test_each_requested_device_has_to_report(gpus: int) -> None:
    """Each requested device has to report."""
    decision = decided(cluster(pods=[worker(gpus=gpus)], usage=QUIET))
    assert decision.reason is Reason.DEVICE_MISMATCH


def test_more_devices_than_requested_are_a_mismatch_too() -> None:
    """More devices than requested are a mismatch too."""
    usage = usage_of(util("w-0", 0, 0), util("w-0", 1, 0))
    assert decided(cluster(usage=usage)).reason is Reason.DEVICE_MISMATCH


@pytest.mark.parametrize(("samples", "want"), [(53, Reason.IDLE), (52, Reason.LOW_COVERAGE)])
def test_a_window_needs_its_share_of_samples_but_for_one(samples: int, want: Reason) -> None:
    """A window needs its share of samples but for one."""
    points = [(-30.0 * n, 0.0) for n in range(samples)]
    assert decided(cluster(usage=usage_of(util("w-0", 0, points)))).reason is want


def test_samples_from_the_future_are_not_fresh() -> None:
    """Samples from the future are not fresh."""
    one = next(iter(QUIET.by_pod.values()))[0]
    usage = join_readings(replace(one, latest=NOW + 3600))
    assert decided(cluster(usage=usage)).reason is Reason.STALE_SAMPLES


def test_a_signal_that_only_shows_work_can_not_vouch_for_quiet() -> None:
    """A signal that only shows work can not vouch for quiet."""
    one = next(iter(QUIET.by_pod.values()))[0]
    usage = join_readings(replace(one, signal="dram_active"))
    assert decided(cluster(usage=usage)).reason is Reason.NO_SAMPLES


def test_one_vouching_signal_may_be_gone_as_long_as_the_other_is_whole() -> None:
    """One vouching signal may be gone as long as the other is whole."""
    one = next(iter(QUIET.by_pod.values()))[0]
    usage = join_readings(one, replace(one, signal="gr_engine_active", peak=None, latest=None))
    assert decided(cluster(usage=usage)).reason is Reason.IDLE


def test_one_and_the_same_signal_has_to_be_fresh_and_to_cover_the_window() -> None:
    """The samples of one that is stale say nothing of the time since, nor the newest of before."""
    long_ago = [(t, 0.0) for t in range(-1770, -119, 30)]
    usage = usage_of(util("w-0", 0, long_ago), engine("w-0", 0, [(-30, 0.0), (0, 0.0)]))
    assert decided(cluster(usage=usage)).reason is Reason.LOW_COVERAGE


def test_an_old_busy_reading_of_another_signal_still_counts() -> None:
    """An old busy reading of another signal still counts."""
    one = next(iter(QUIET.by_pod.values()))[0]
    stuck = replace(one, signal="dram_active", peak=40.0, latest=None)
    assert decided(cluster(usage=join_readings(one, stuck))).reason is Reason.BUSY


@pytest.mark.parametrize(
    ("ready_since", "node", "phase", "want"),
    [
        (-7200.0, "node-0", "Running", Reason.SHARING_SUSPECTED),
        (-90.0, "node-0", "Running", Reason.IDLE),
        (None, "node-0", "Running", Reason.IDLE),
        (-7200.0, "node-1", "Running", Reason.IDLE),
        (-7200.0, "node-0", "Succeeded", Reason.IDLE),
    ],
)
def test_a_gpu_pod_of_the_same_node_without_series_may_share_the_device(
    ready_since: float | None, node: str, phase: str, want: Reason
) -> None:
    """A gpu pod of the same node without series may share the device."""
    other = replace(
        worker("other", node=node, phase=phase, app="other", ready_since=ready_since),
        namespace="elsewhere",
    )
    assert decided(cluster(pods=[worker(), other], replicas=1, usage=QUIET)).reason is want


# --- keepAlive ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("on", "want"),
    [(True, Reason.BUSY), (False, Reason.IDLE), (None, Reason.PROMETHEUS_FAILED)],
)
def test_a_keep_alive_query_keeps_and_its_failure_holds(on: bool | None, want: Reason) -> None:  # noqa: FBT001 # a parameter of the table
    """A keep alive query keeps and its failure holds."""
    decision = decided(cluster(usage=QUIET, answers=said(on)), policy=ASKING, keepAlive="requests")
    assert decision.reason is want
    assert decision.idle is not None
    assert decision.idle.keep_alive is not None
    assert "requests" in decision.idle.keep_alive


@pytest.mark.parametrize(
    ("on", "want"),
    [
        pytest.param(True, Reason.BUSY, id="a request waits"),
        pytest.param(False, Reason.IDLE, id="none waits"),
        pytest.param(None, Reason.PROMETHEUS_FAILED, id="nobody knows"),
    ],
)
def test_what_would_wake_it_also_keeps_it(on: bool | None, want: Reason) -> None:  # noqa: FBT001 # a parameter of the table
    """It would else go to zero and be woken at once, again and again."""
    decision = decided(cluster(usage=QUIET, answers=said(on)), policy=ASKING, wake="requests")
    assert decision.reason is want
    assert decision.idle is not None
    assert decision.idle.wake is not None


def test_a_keep_alive_query_that_the_policy_lacks_holds() -> None:
    """A keep alive query that the policy lacks holds."""
    decision = decided(cluster(usage=QUIET), keepAlive="requests")
    assert decision.reason is Reason.QUERY_MISSING


def test_free_promql_is_asked_only_where_the_policy_lets_triggers_bring_it() -> None:
    """Free promql is asked only where the policy lets triggers bring it."""
    text = 'sum(q{namespace="$namespace"}) > 0'
    key = QueryKey(name=text, namespace="ml", workload="workers")
    snapshot = cluster(usage=QUIET, answers={key: QueryAnswer(at=NOW, on=False)})
    assert decided(snapshot, keepAlive=text).reason is Reason.QUERY_MISSING
    allowed = safety(trigger_queries=True)
    assert decided(snapshot, policy=allowed, keepAlive=text).reason is Reason.IDLE


# --- what is missing vouches for nothing -------------------------------------------------------


@pytest.mark.parametrize(
    ("watts", "model", "want"),
    [
        (None, "A100", Reason.NO_SAMPLES),
        (None, "", Reason.NO_SAMPLES),
        (None, "T4", Reason.IDLE),
        (149, "A100", Reason.IDLE),
    ],
)
def test_a_power_veto_that_can_not_be_heard_holds(
    watts: float | None, model: str, want: Reason
) -> None:
    """C08: a power veto that can not be heard holds: a lost sensor must not lift it."""
    power = {} if watts is None else {"GPU-0": watts}
    usage = usage_of(util("w-0", 0, 0), watts=power, model=model)
    policy = safety(power_veto_watts={"A100": 150.0})
    assert decided(cluster(usage=usage), policy=policy).reason is want


def test_series_from_before_the_window_are_none() -> None:
    """D05: series from before the window are none, so a neighbor with such may share a device."""
    before = util("other", 1, [(-2000.0, 50.0)])
    other = worker("other", app="other")
    usage = usage_of(util("w-0", 0, 0), before)
    gone = tuple(replace(one, latest=None) for one in usage.by_pod["ml", "other"])
    known = replace(usage, by_pod={**usage.by_pod, ("ml", "other"): gone})
    snapshot = cluster(pods=[worker(), other], replicas=1, usage=known)
    assert decided(snapshot).reason is Reason.SHARING_SUSPECTED


def test_the_device_of_an_earlier_pod_of_the_same_name_is_not_this_ones() -> None:
    """A StatefulSet's ordinal comes back on another device, and is judged on that alone."""
    usage = usage_of(util("w-0", 0, 0), util("w-0", 1, [(-2000.0, 50.0)]))
    past, now = usage.by_pod["ml", "w-0"][1], usage.by_pod["ml", "w-0"][0]
    known = replace(usage, by_pod={("ml", "w-0"): (now, replace(past, latest=None))})
    assert decided(cluster(usage=known)).reason is Reason.IDLE
