"""The failure reports of idle detection, each decided on readings as Prometheus would give them."""

from dataclasses import replace
from itertools import permutations

import pytest

from scaler.core.decision import ActiveWithoutValue, Verdict, answer
from scaler.core.model import Kind, SourceState
from scaler.core.quantity import instant
from scaler.core.reasons import Reason
from tests.builders import (
    make_owner,
    make_pod_set,
    make_shape,
    make_workload,
)
from tests.core.idle_fixture import (
    T0,
    cluster,
    constant,
    cron,
    decided,
    engine,
    kueue_job,
    safety,
    so,
    usage_of,
    util,
    worker,
)

# --- Area 1 ------------------------------------------------------------------------------------


def test_k01_an_empty_vector_holds_every_workload() -> None:
    """K01: an empty vector holds every workload."""
    for replicas in (1, 2):
        pods = [worker(f"w-{n}") for n in range(replicas)]
        decision = decided(cluster(pods=pods, usage=usage_of()))
        assert decision.reason is Reason.NO_SAMPLES
        assert answer(decision) == ActiveWithoutValue()


@pytest.mark.parametrize(
    ("t", "blip", "want"),
    [(900, None, True), (1739, None, True), (1740, None, False), (1899, 1000, True)],
)
def test_k12_the_delay_counts_from_the_last_busy_sample(
    t: float, blip: float | None, *, want: bool
) -> None:
    """K12: the delay counts from the last busy sample."""
    points = [(float(at), 80.0 if at <= 840 else 0.0) for at in range(-7200, 2001, 30)]
    if blip is not None:
        points.append((blip, 50.0))
    snapshot = cluster(usage=usage_of(util("w-0", 0, points), t=t, window=900), t=t)
    assert decided(snapshot, t=t, idleAfter="15m").active is want


def test_k12_a_blip_moves_the_earliest_idle_time() -> None:
    """K12: a blip moves the earliest idle time."""
    points = [*((at, 0.0) for at in range(-7200, 2001, 30)), (1000.0, 50.0)]
    snapshot = cluster(usage=usage_of(util("w-0", 0, points), t=1900, window=900), t=1900)
    assert decided(snapshot, t=1900, idleAfter="15m").active is False


@pytest.mark.parametrize("values", [(0, 90, 85), (0, 0, 3), (1, 0, 0)])
def test_k13_one_busy_pod_keeps_all_three(values: tuple[float, float, float]) -> None:
    """K13: one busy pod keeps all three."""
    pods = [worker(f"w-{n}") for n in range(3)]
    series = [util(f"w-{n}", n, value) for n, value in enumerate(values)]
    decision = decided(cluster(pods=pods, usage=usage_of(*series)))
    assert (decision.active, decision.value) == (True, 3)


@pytest.mark.parametrize(
    ("minimum", "idle_replicas", "want"), [(0, None, 3), (1, None, 0), (1, 0, 3)]
)
def test_k13_all_three_quiet_go_together_or_to_the_minimum(
    minimum: int, idle_replicas: int | None, want: int
) -> None:
    """K13: all three quiet go together or to the minimum."""
    pods = [worker(f"w-{n}") for n in range(3)]
    series = [util(f"w-{n}", n, 0) for n in range(3)]
    scaled_object = so(min_replicas=minimum, idle_replicas=idle_replicas)
    decision = decided(cluster(pods=pods, usage=usage_of(*series), scaled_object=scaled_object))
    assert (decision.active, decision.value) == (False, want)


# --- Area 4 ------------------------------------------------------------------------------------


@pytest.mark.parametrize("t", [0, 240, 480, 1799])
def test_c01_a_job_that_starts_on_the_cpu_is_never_idle_in_its_first_window(t: float) -> None:
    """C01: a job that starts on the cpu is never idle in its first window."""
    points = [(at, 0.0 if at <= 480 else 95.0) for at in range(0, 1801, 30)]
    pods = [worker(ready_since=0)]
    decision = decided(cluster(pods=pods, usage=usage_of(util("w-0", 0, points), t=t), t=t), t=t)
    assert (decision.active, decision.reason) == (True, Reason.STARTING)


def test_c02_the_maximum_counts_and_not_the_mean_or_the_last_value() -> None:
    """C02: the maximum counts and not the mean or the last value."""
    points = [(at, 40.0 if at % 600 == 300 else 0.0) for at in range(-9000, 1, 30)]
    pods = [worker(ready_since=-9000)]
    usage = usage_of(util("w-0", 0, points), window=7200)
    assert decided(cluster(pods=pods, usage=usage), idleAfter="2h").reason is Reason.BUSY


def test_c03_pods_that_may_not_be_listed_hold_and_name_what_is_missing() -> None:
    """C03: pods that may not be listed hold and name what is missing."""
    denied = SourceState(synced=False, problem="403 on list pods")
    usage = usage_of(util("w-0", 0, 0))
    decision = decided(cluster(usage=usage, sources={Kind.PODS: denied}))
    assert (decision.status, decision.reason) == ("HOLD", Reason.NOT_SYNCED)
    assert "403 on list pods" in decision.detail
    assert answer(decision) == ActiveWithoutValue()


def test_c04_a_pod_without_any_sample_ever_is_unknown_at_any_age() -> None:
    """C04: a pod without any sample ever is unknown at any age."""
    decision = decided(cluster(usage=usage_of(util("elsewhere", 7, 0))))
    assert decision.reason is Reason.NO_SAMPLES


@pytest.mark.parametrize(
    ("since", "want"),
    [
        ("2026-03-01T10:00:00Z", Reason.IDLE),
        ("2026-03-01T19:00:00+09:00", Reason.IDLE),
        ("2026-03-01T10:00:00.123456Z", Reason.STARTING),
    ],
)
def test_c05_ages_are_those_of_instants_in_any_zone(
    since: str, want: Reason, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C05: ages are those of instants in any zone."""
    monkeypatch.setenv("TZ", "America/Los_Angeles")
    t = instant("2026-03-01T10:30:00Z") - T0
    pods = [worker(ready_since=instant(since) - T0)]
    usage = usage_of(util("w-0", 0, constant(0, start=t - 7200, stop=t)), t=t)
    assert decided(cluster(pods=pods, usage=usage, t=t), t=t).reason is want


def test_c06_each_value_in_force_names_the_rule_that_gave_it() -> None:
    """C06: each value in force names the rule that gave it."""
    decision = decided(cluster(usage=usage_of(util("w-0", 0, 0))))
    rules = {one.key: (one.value, one.rule) for one in decision.effective}
    assert rules["idleAfter"] == ("30m", "defaults")


@pytest.mark.parametrize("where", ["workload", "pod", "scaled object"])
@pytest.mark.parametrize("opted_out", [True, False])
def test_c07_an_opt_out_keeps_a_workload_and_its_removal_ends_it(
    where: str, *, opted_out: bool
) -> None:
    """C07: an opt out keeps a workload and its removal ends it."""
    job = kueue_job("w", opted_out=opted_out and where == "workload")
    pod = worker(workload="job-w", opted_out=opted_out and where == "pod")
    scaled_object = replace(so(), opted_out=opted_out and where == "scaled object")
    usage = usage_of(util("w-0", 0, 0))
    snapshot = cluster(pods=[pod], workloads=[job], scaled_object=scaled_object, usage=usage)
    want = Reason.OPTED_OUT if opted_out else Reason.IDLE
    assert decided(snapshot).reason is want
    assert decided(snapshot, workload="Job/w").reason is want


def test_c08_a_short_burst_in_the_window_is_work() -> None:
    """C08: a short burst in the window is work."""
    points = [(at, 12.0 if at == -900 else 0.0) for at in range(-1770, 1, 30)]
    assert decided(cluster(usage=usage_of(util("w-0", 0, points)))).reason is Reason.BUSY


@pytest.mark.parametrize(
    ("model", "watts", "want"),
    [
        ("A100", 310, Reason.BUSY),
        ("A100", 150, Reason.BUSY),
        ("A100", 149, Reason.IDLE),
        ("T4", 310, Reason.IDLE),
    ],
)
def test_c08_power_vetoes_for_the_model_that_it_is_set_for(
    model: str, watts: float, want: Reason
) -> None:
    """C08: power vetoes for the model that it is set for."""
    usage = usage_of(util("w-0", 0, 0), watts={"GPU-0": watts}, model=model)
    policy = safety(power_veto_watts={"A100": 150.0})
    assert decided(cluster(usage=usage), policy=policy).reason is want


def test_c08_the_power_of_a_whole_gpu_says_nothing_of_its_slice() -> None:
    """C08: the power of a whole gpu says nothing of its slice."""
    pod = worker(gpus=0, requests={"nvidia.com/mig-1g.5gb": 1})
    usage = usage_of(engine("w-0", 0, 0, instance="1"), watts={"GPU-0": 310})
    policy = safety(power_veto_watts={"A100": 150.0})
    assert decided(cluster(pods=[pod], usage=usage), policy=policy).reason is Reason.IDLE


# --- Area 5 and 7 ------------------------------------------------------------------------------


@pytest.mark.parametrize(("busy", "want"), [(0, (False, 4)), (50, (True, 4))])
def test_n08_workers_go_all_together_and_the_head_is_not_judged(
    busy: float, want: tuple[bool, int]
) -> None:
    """N08: workers go all together and the head is not judged."""
    owner = make_owner(uid="ray", kind="RayCluster", name="ray")
    sets = (
        make_pod_set(name="head", count=1, shape=make_shape(gpus=0)),
        make_pod_set(name="workers", count=4, gpus=2),
    )
    workload = make_workload(name="raycluster-ray", pod_sets=sets, admitted=True, owners=(owner,))
    pods = [
        worker(f"ray-{n}", gpus=2, workload="raycluster-ray", pod_set="workers") for n in range(4)
    ]
    pods.append(worker("head", gpus=0, workload="raycluster-ray", pod_set="head"))
    series = [util(f"ray-{n}", 2 * n + k, busy if n == 3 else 0) for n in range(4) for k in (0, 1)]
    snapshot = cluster(pods=pods, workloads=[workload], usage=usage_of(*series), replicas=4)
    decision = decided(snapshot, workload="RayCluster/ray")
    assert (decision.active, decision.value) == want
    assert decision.idle is not None
    assert decision.idle.component == "workers"
    assert "head" not in decision.idle.pods


def test_p06_every_order_of_the_rows_gives_the_same_answer() -> None:
    """P06: every order of the rows gives the same answer."""
    sets = (make_pod_set(name="a", gpus=2), make_pod_set(name="b", gpus=1))
    job = replace(kueue_job("w"), pod_sets=sets)
    pods = [
        worker("w-0", gpus=2, workload="job-w", pod_set="a"),
        worker("w-1", workload="job-w", pod_set="b"),
    ]
    rows = [util("w-0", 0, 0), util("w-0", 1, 0), util("w-1", 2, 88)]
    decisions = {
        decided(
            cluster(pods=pods, workloads=[job], usage=usage_of(*order), replicas=2),
            workload="Job/w",
        ).detail
        for order in permutations(rows)
    }
    assert len(decisions) == 1
    assert "88 %" in decisions.pop()


def test_p08_the_samples_own_time_counts_and_not_that_of_the_vector() -> None:
    """P08: the samples own time counts and not that of the vector."""
    points = [(at - 10, value) for at, value in constant(95)]
    usage = usage_of(util("w-0", 0, points), t=240)
    decision = decided(cluster(usage=usage, t=240), t=240)
    assert decision.reason is Reason.STALE_SAMPLES
    assert "250 s old" in decision.detail


def test_p08_a_pod_that_is_gone_has_no_row() -> None:
    """P08: a pod that is gone has no row."""
    usage = usage_of(util("w-0", 0, constant(95, stop=-10)), t=240)
    decision = decided(cluster(pods=[], replicas=0, usage=usage, t=240), t=240)
    assert decision.idle is not None
    assert (decision.reason, decision.idle.devices) == (Reason.AT_ZERO, ())


# --- beside other triggers, and in a dry run ---------------------------------------------------


def test_a_target_that_another_trigger_sizes_gets_the_value_one() -> None:
    """A target that another trigger sizes gets the value one."""
    scaled_object = so()
    both = replace(scaled_object, triggers=(*scaled_object.triggers, cron()))
    pods = [worker(f"w-{n}") for n in range(3)]
    quiet = usage_of(*(util(f"w-{n}", n, 0) for n in range(3)))
    idle = decided(cluster(pods=pods, usage=quiet, scaled_object=both))
    assert (idle.active, idle.value, idle.reason) == (False, 1, Reason.IDLE)
    loud = usage_of(*(util(f"w-{n}", n, 50) for n in range(3)))
    busy = decided(cluster(pods=pods, usage=loud, scaled_object=both))
    assert (busy.active, busy.value, busy.reason) == (True, 1, Reason.BUSY)


def test_two_idle_triggers_keep_the_size_between_them() -> None:
    """Two idle triggers keep the size between them."""
    scaled_object = so()
    twice = replace(scaled_object, triggers=scaled_object.triggers * 2)
    pods = [worker(f"w-{n}") for n in range(3)]
    quiet = usage_of(*(util(f"w-{n}", n, 0) for n in range(3)))
    decision = decided(cluster(pods=pods, usage=quiet, scaled_object=twice))
    assert (decision.active, decision.value) == (False, 3)


def test_a_dry_run_keeps_what_would_be_idle() -> None:
    """A dry run keeps what would be idle."""
    decision = decided(cluster(usage=usage_of(util("w-0", 0, 0))), dryRun="true")
    assert (decision.active, decision.value, decision.reason) == (True, 1, Reason.DRY_RUN)
    assert decision.idle is not None
    assert decision.idle.verdict is Verdict.IDLE
