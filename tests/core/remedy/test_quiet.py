"""What is told of an idle trigger comes true: at that time, by that query, at that level."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scaler.core.decision import Decision
from scaler.core.policy import Policy, Schedule, Thresholds
from scaler.core.quantity import instant
from scaler.core.reasons import Reason
from scaler.core.remedy.remedy import Lever, Remedy
from scaler.core.snapshot import Snapshot
from scaler.core.usage import QueryAnswer, QueryKey
from tests.builders import NOW, make_target
from tests.core.idle_fixture import (
    LOOK_BACK,
    METADATA,
    POLICY,
    T0,
    WINDOW,
    Points,
    cluster,
    decided,
    safety,
    so,
    usage_of,
    util,
    worker,
)
from tests.core.remedy.asking import asked, pulled

KEY = QueryKey(name="requests", namespace="ml", workload="workers")
ASKING = replace(POLICY, queries={"requests": "sum(r)"})
QUIET = usage_of(util("w-0", 0, 0))


def told(
    snapshot: Snapshot, *, policy: Policy = POLICY, t: float = 0, **metadata: str
) -> tuple[Decision, tuple[Remedy, ...]]:
    """Ask for the Remedies of the idle trigger of `so`."""
    return asked(snapshot, {**METADATA, **metadata}, policy=policy, now=T0 + t)


def quiet_after(busy_at: float, *, until: float) -> Points:
    """Give a sample each 30 s: busy up to a time, then quiet."""
    start = busy_at - LOOK_BACK
    steps = int((until - start) // 30) + 1
    return [(start + 30 * n, 50.0 if start + 30 * n <= busy_at else 0.0) for n in range(steps)]


@settings(max_examples=30)
@given(st.integers(0, 59))
def test_law_it_is_idle_at_the_time_that_is_told_and_not_a_second_before(ago: int) -> None:
    """As long as the GPU rests until then, which is the sentence's condition."""
    busy_at = -30.0 * ago
    points = quiet_after(busy_at, until=WINDOW + 60)
    snapshot = cluster(usage=usage_of(util("w-0", 0, points)))
    decision, found = told(snapshot)
    assert decision.reason is Reason.BUSY
    at = pulled(found, Lever.ACTIVITY).at
    assert at is not None
    assert at == T0 + busy_at + WINDOW
    for t, reason in ((at - T0, Reason.IDLE), (at - T0 - 1, Reason.BUSY)):
        later = cluster(usage=usage_of(util("w-0", 0, points), t=t), t=t)
        assert decided(later, t=t).reason is reason


def test_the_sentence_has_time_of_day_span_and_condition() -> None:
    """T0 is at 08:00 UTC; the last busy sample is 18 minutes old."""
    points = quiet_after(-1080, until=0)
    _, found = told(cluster(usage=usage_of(util("w-0", 0, points))))
    assert pulled(found, Lever.ACTIVITY).text == (
        "idle at 08:12:00 UTC (in 12m) if no GPU reaches 1 % until then"
    )


def test_requests_are_a_condition_where_they_keep_it_alive() -> None:
    """The GPU rests already: nothing but the query keeps it."""
    answers = {KEY: QueryAnswer(at=NOW, on=True)}
    snapshot = cluster(usage=QUIET, answers=answers)
    decision, found = told(snapshot, policy=ASKING, keepAlive="requests")
    assert decision.reason is Reason.BUSY
    assert pulled(found, Lever.ACTIVITY).text == (
        "idle at once if no GPU reaches 1 % until then and query requests is not above 0"
    )
    off = replace(snapshot, answers={KEY: QueryAnswer(at=NOW, on=False)})
    assert decided(off, policy=ASKING, keepAlive="requests").reason is Reason.IDLE


def test_power_is_a_condition_where_it_vetoes() -> None:
    """A device that draws much is busy, whatever its counters say."""
    policy = safety(power_veto_watts={"A100": 100.0})
    usage = usage_of(util("w-0", 0, 0), watts={"GPU-0": 250.0})
    _, found = told(cluster(usage=usage), policy=policy)
    assert "and device GPU-0 draws less than 100 W" in pulled(found, Lever.ACTIVITY).text


def test_a_young_pod_is_judged_when_it_is_told_to_be() -> None:
    """Law: at that time by its readings, and not a second before."""
    ready = -600.0
    decision, found = told(cluster(pods=[worker(ready_since=ready)], usage=QUIET))
    assert decision.reason is Reason.STARTING
    remedy = pulled(found, Lever.TIME)
    assert remedy.at == T0 + ready + WINDOW
    assert remedy.more == (("seconds", 1200),)
    for t, reason in ((1200.0, Reason.IDLE), (1199.0, Reason.STARTING)):
        rested = quiet_after(-LOOK_BACK, until=t)
        later = cluster(
            pods=[worker(ready_since=ready)], usage=usage_of(util("w-0", 0, rested), t=t), t=t
        )
        assert decided(later, t=t).reason is reason


def test_pods_that_lack_or_are_not_ready_are_told() -> None:
    """Two of three run, and one of these is not Ready."""
    pods = [worker("w-0"), worker("w-1", ready_since=None)]
    _, found = told(cluster(pods=pods, replicas=3))
    remedy = pulled(found, Lever.PODS)
    assert remedy.more == (("pods", 2),)
    assert remedy.text.startswith("1 more pod has to run and pod w-1 has to be Ready; then")


def test_the_wake_query_is_told_with_the_value_that_it_gives() -> None:
    """Law: above 0 it wakes, and it goes back without."""
    zero = cluster(pods=[], answers={KEY: QueryAnswer(at=NOW, on=False)})
    decision, found = told(zero, policy=ASKING, wake="requests", replicas="2")
    assert decision.reason is Reason.AT_ZERO
    remedy = pulled(found, Lever.QUERY)
    assert remedy.text == (
        "woken by a request: query requests above 0: the value is 2 instead of 0"
    )
    woken = replace(zero, answers={KEY: QueryAnswer(at=NOW, on=True)})
    decision, found = told(woken, policy=ASKING, wake="requests", replicas="2")
    assert (decision.reason, decision.value) == (Reason.WAKE, 2)
    back = pulled(found, Lever.QUERY)
    assert back.then is not None
    assert (back.then.reason, back.then.value) == (Reason.AT_ZERO, 0)


def test_without_a_wake_query_the_annotation_is_told() -> None:
    """It is the way that is always there."""
    _, found = told(cluster(pods=[]))
    assert "kueue-gpu-scaler.dev/wake" in pulled(found, Lever.ACTIVITY).text


LEVELS = {
    "namespaces.ml": replace(POLICY, namespaces={"ml": Thresholds(dry_run=True)}),
    "kinds.Deployment": replace(POLICY, kinds={"Deployment": Thresholds(dry_run=True)}),
    "defaults": replace(POLICY, defaults=replace(POLICY.defaults, dry_run=True)),
}


@pytest.mark.parametrize("level", LEVELS)
def test_a_dry_run_is_told_with_its_level(level: str) -> None:
    """Law: without it the verdict is carried out."""
    snapshot = cluster(usage=QUIET)
    decision, found = told(snapshot, policy=LEVELS[level])
    assert decision.reason is Reason.DRY_RUN
    remedy = pulled(found, Lever.DRY_RUN)
    assert remedy.text.startswith(f"held by dryRun from {level}: without it the verdict is Idle")
    assert remedy.then is not None
    assert remedy.then.reason is Reason.IDLE


def test_every_level_that_says_dry_run_is_told() -> None:
    """One that is left would still keep it."""
    policy = replace(LEVELS["namespaces.ml"], kinds=LEVELS["kinds.Deployment"].kinds)
    snapshot = cluster(usage=QUIET, scaled_object=so(dryRun="true"))
    _, found = told(snapshot, policy=policy, dryRun="true")
    assert pulled(found, Lever.DRY_RUN).subject == "trigger, namespaces.ml, kinds.Deployment"


def test_an_opt_out_names_all_that_bear_it() -> None:
    """Taking it off one of them would change nothing."""
    snapshot = cluster(
        pods=[worker(opted_out=True)], target=make_target(replicas=1, opted_out=True)
    )
    _, found = told(snapshot)
    text = pulled(found, Lever.OPT_OUT).text
    assert "pod w-0" in text
    assert "Deployment/workers" in text


OFFICE = Schedule(
    name="office",
    days=frozenset(range(5)),
    from_minute=8 * 60,
    to_minute=18 * 60,
    timezone="Europe/Berlin",
    keep_active=frozenset({"ml"}),
)


def test_a_schedule_is_told_with_its_end() -> None:
    """Law: from that minute on it keeps nothing, and until then it does."""
    policy = replace(POLICY, schedules=(OFFICE,))
    t = instant("2026-03-02T09:30:00+01:00") - T0
    decision, found = told(cluster(pods=[], t=t), policy=policy, t=t)
    assert decision.reason is Reason.SCHEDULED
    remedy = pulled(found, Lever.SCHEDULE)
    assert remedy.at == instant("2026-03-02T18:00:00+01:00")
    assert "17:00:00 UTC (in 8h30m)" in remedy.text
    for at, reason in ((remedy.at, Reason.AT_ZERO), (remedy.at - 1, Reason.SCHEDULED)):
        assert decided(cluster(pods=[], t=at - T0), policy=policy, t=at - T0).reason is reason


def test_a_schedule_without_end_is_said_to_have_none() -> None:
    """Nobody waits for what never comes."""
    always = replace(OFFICE, days=frozenset(range(7)), from_minute=0, to_minute=0)
    policy = replace(POLICY, schedules=(always,))
    _, found = told(cluster(pods=[]), policy=policy)
    remedy = pulled(found, Lever.SCHEDULE)
    assert remedy.at is None
    assert "always keeps namespace ml active" in remedy.text


def test_an_idle_one_is_told_what_makes_it_busy() -> None:
    """Law: a GPU at the threshold does."""
    decision, found = told(cluster(usage=QUIET))
    assert decision.reason is Reason.IDLE
    assert pulled(found, Lever.ACTIVITY).text.startswith("a GPU at 1 % or more makes it busy")
    assert decided(cluster(usage=usage_of(util("w-0", 0, 1)))).reason is Reason.BUSY


def test_what_can_not_be_measured_is_told_to_be_never_idle() -> None:
    """No change of a GPU would show."""
    target = make_target(replicas=1, shape=replace(make_target().shape, requests=()))
    snapshot = cluster(pods=[worker(gpus=0)], target=target)
    decision, found = told(snapshot)
    assert decision.reason is Reason.NOTHING_TO_MEASURE
    assert "never taken for idle" in pulled(found, Lever.PODS).text
