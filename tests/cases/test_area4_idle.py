"""Area 4: the ways in which idle cullers have ended work."""

import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from scaler.core.model import Kind
from scaler.core.reasons import Reason
from scaler.policyfile.watch import PolicyFile
from tests.cases.cluster import hpa, nodes, scaled_object
from tests.cases.frame import GPUS, NODES, WORKLOADS, Case, Run, idle, policy
from tests.cases.objects import LONG_AGO, Object, admitted, every, pods, with_, workload
from tests.cases.series import power, util

IGNORE = "kueue-gpu-scaler.dev/ignore"


def world(*, ready: float = LONG_AGO) -> list[Object]:
    """Build one Workload with one running pod of one GPU."""
    return every(nodes(1), admitted("a", at=ready), pods("a", 1, ready=ready))


@pytest.mark.parametrize("t", [30, 240, 480, 600, 1799, 1800, 2400])
def test_c01_a_job_that_begins_on_the_cpu(explain: Run, t: float) -> None:
    """A job that sleeps for its first 8 minutes is never idle before t = 1800, nor after."""
    series = [util("a-0", 0, {0: 0, 481: 95})]
    case = Case(trigger=idle("a"), objects=world(ready=0), series=series, t=t)
    explain(case).says(active=True, value=1, reason=Reason.STARTING if t < 1800 else Reason.BUSY)


def test_c01_still_quiet(explain: Run) -> None:
    """Had it stayed quiet, 1800 s would have been the first moment to say so."""
    case = Case(trigger=idle("a"), objects=world(ready=0), series=[util("a-0", 0, {0: 0})], t=1799)
    explain(case).says(active=True, value=1, reason=Reason.STARTING)
    explain(replace(case, t=1800)).says(active=False, value=1, reason=Reason.IDLE)


@pytest.mark.parametrize("t", [0, 299, 599])
def test_c02_one_sample_in_ten_minutes(explain: Run, t: float) -> None:
    """The maximum in the window counts, not the last value and not the mean of 2 %."""
    levels: dict[int, float | None] = {}
    for at in range(LONG_AGO, 3600, 600):
        levels |= {at: 40, at + 30: 0}
    case = Case(
        trigger=idle("a", idleAfter="2h"), objects=world(), series=[util("a-0", 0, levels)], t=t
    )
    found = explain(case).says(active=True, value=1, reason=Reason.BUSY)
    assert found.idle.devices[0].peak_percent == 40


@pytest.mark.parametrize(
    ("trigger", "running"),
    [
        (idle("a"), False),
        (NODES, True),
        (GPUS, False),
        (GPUS | {"scope": "pending"}, False),
        (WORKLOADS | {"scope": "pending"}, False),
        (NODES | {"scope": "pending"}, True),
    ],
)
def test_c03_pods_unread(explain: Run, trigger: Mapping[str, str], *, running: bool) -> None:
    """Whatever needs pods holds, and says that pods are what is missing."""
    unread = frozenset({Kind.PODS})
    series = [util("a-0", 0, 0)]
    alone = Case(trigger=trigger, objects=world(), series=series, unread=unread)
    assert "pods" in explain(alone).holds(Reason.NOT_SYNCED, running=running).evidence.detail
    sizer = scaled_object(trigger, kind="WorkerScale", target="rc")
    running_target = replace(alone, scaled_object=sizer, objects=[*world(), hpa(1)])
    explain(running_target).holds(Reason.NOT_SYNCED)


def test_c03_workloads_do_without_pods(explain: Run) -> None:
    """`unit: workloads` with `scope: total` needs no pods."""
    objects = [*world(), workload("b")]
    case = Case(trigger=WORKLOADS, objects=objects, unread=frozenset({Kind.PODS}))
    explain(case).says(active=True, value=2)


def test_c04_never_a_sample(explain: Run) -> None:
    """A pod that never had a sample is unknown, not idle since its creation."""
    case = Case(trigger=idle("a"), objects=world(), series=[])
    explain(case).holds(Reason.NO_SAMPLES)
    others = every(admitted("b"), pods("b", 1, node="n2"))
    seen = replace(case, objects=[*world(), *others], series=[util("b-0", 0, 0)])
    explain(seen).holds(Reason.NO_SAMPLES)


@pytest.fixture
def los_angeles(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Run the process in another time zone than the cluster's times are written in."""
    before = os.environ.get("TZ")
    monkeypatch.setenv("TZ", "America/Los_Angeles")
    time.tzset()
    yield
    if before is None:
        monkeypatch.delenv("TZ")
    else:
        monkeypatch.setenv("TZ", before)
    time.tzset()


@pytest.mark.usefixtures("los_angeles")
@pytest.mark.parametrize(
    ("written", "idle_from"),
    [
        ("2026-03-01T10:00:00Z", 1800.0),
        ("2026-03-01T19:00:00+09:00", 1800.0),
        ("2026-03-01T10:00:00.123456Z", 1800.123456),
    ],
)
def test_c05_ages_in_any_zone(explain: Run, written: str, idle_from: float) -> None:
    """The same instant written in two zones is one; fractions count."""
    since = [{"type": "Ready", "status": "True", "lastTransitionTime": written}]
    pod = with_(pods("a", 1, ready=0)[0], status={"conditions": since})
    objects = every(nodes(1), admitted("a", at=0), pod)
    case = Case(trigger=idle("a"), objects=objects, series=[util("a-0", 0, 0)])
    for t, active in ((1799, True), (idle_from - 1e-5, True), (idle_from, False)):
        found = explain(replace(case, t=t))
        found.says(active=active, value=1, reason=Reason.STARTING if active else Reason.IDLE)


def test_c06_unknown_key_in_the_policy(explain: Run) -> None:
    """A key under an old name is refused whole, by its path; nothing else is taken from it."""
    bad = policy(defaults={"idle_time": "5"})
    ran = explain(Case(trigger=idle("a"), objects=world(), policy=bad))
    assert (ran.code, ran.out) == (2, "")
    assert "defaults.idle_time" in ran.err


def test_c06_the_last_good_policy_stays(tmp_path: Path) -> None:
    """While the file is bad the values of before are in force, and the problem is known."""
    path = tmp_path / "policy.yaml"
    path.write_text("defaults: {idleAfter: 2h}")
    file = PolicyFile(path)
    good = file.poll()
    path.write_text('defaults: {idleAfter: 1h, idle_time: "5"}')
    bad = file.poll()
    assert good is not None
    assert bad is not None
    assert (bad.policy.defaults.idle_after, bad.policy) == (7200, good.policy)
    assert [problem.path for problem in bad.problems] == ["defaults.idle_time"]


def test_c06_values_in_force_are_shown(explain: Run) -> None:
    """Each value in force names the rule that gave it."""
    settings = policy(namespaces={"ml": {"idleAfter": "2h"}})
    trigger = idle("a", busyFromPercent="5")
    case = Case(trigger=trigger, objects=world(), series=[util("a-0", 0, 0)], policy=settings)
    found = explain(case).explained
    in_force = {one.key: (one.value, one.rule) for one in found.effective}
    assert in_force["idleAfter"] == ("2h", "namespaces.ml")
    assert in_force["busyFromPercent"] == ("5", "trigger")
    assert in_force["graceAfterStart"] == ("0s", "defaults")


@pytest.mark.parametrize("where", ["workload", "pod", "scaled object"])
@pytest.mark.parametrize("kind", ["labels", "annotations"])
@pytest.mark.parametrize(
    ("value", "kept"),
    [("true", True), ("True", True), ("TRUE", True), ("false", False), ("", False), (None, False)],
)
def test_c07_opt_out(explain: Run, where: str, kind: str, value: str | None, *, kept: bool) -> None:
    """True in any letter case keeps it wherever it stands; anything else, or none, does not."""
    sizer = scaled_object(idle("a"), kind="WorkerScale", target="rc")
    job, (pod,) = admitted("a"), pods("a", 1)
    marked = {} if value is None else {IGNORE: value}

    def mark(built: Object) -> Object:
        metadata = built["metadata"]
        assert isinstance(metadata, dict)
        return with_(built, metadata={kind: {**metadata[kind], **marked}})

    case = Case(
        scaled_object=mark(sizer) if where == "scaled object" else sizer,
        objects=every(
            nodes(1),
            hpa(1),
            mark(job) if where == "workload" else job,
            mark(pod) if where == "pod" else pod,
        ),
        series=[util("a-0", 0, 0)],
    )
    reason = Reason.OPTED_OUT if kept else Reason.IDLE
    explain(case).says(active=kept, value=1, reason=reason)


def test_c08_short_burst(explain: Run) -> None:
    """One sample of 12 among 59 of 0 is work: the mean of 0.2 hides it, the maximum does not."""
    series = [util("a-0", 0, {LONG_AGO: 0, -900: 12, -870: 0})]
    found = explain(Case(trigger=idle("a"), objects=world(), series=series))
    told = found.says(active=True, value=1, reason=Reason.BUSY)
    assert told.idle.devices[0].peak_percent == 12


@pytest.mark.parametrize(
    ("model", "watts", "active"),
    [
        ("NVIDIA H100 80GB HBM3", 310, True),
        ("NVIDIA H100 80GB HBM3", 149, False),
        ("NVIDIA L40S", 310, False),
    ],
)
def test_c08_power_veto(explain: Run, model: str, watts: float, *, active: bool) -> None:
    """High power at 0 % is work, for the models that a limit is set for."""
    settings = policy(safety={"powerVetoWatts": {"NVIDIA H100 80GB HBM3": 150}})
    series = [util("a-0", 0, 0, modelName=model), power("a-0", 0, watts, modelName=model)]
    case = Case(trigger=idle("a"), objects=world(), series=series, policy=settings)
    reason = Reason.BUSY if active else Reason.IDLE
    explain(case).says(active=active, value=1, reason=reason)
