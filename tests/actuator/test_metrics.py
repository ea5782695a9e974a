"""What is held, what it frees and what went wrong can be charted."""

from dataclasses import replace

import pytest
from prometheus_client import CollectorRegistry

from scaler.actuator.apply import Applied, Outcome
from scaler.actuator.metrics import LONGEST_GAP_SECONDS, HeldCollector, Tracker
from scaler.core.hold.steps import DropMark, Plan, WriteStatus
from scaler.core.hold.words import Cause, State
from scaler.core.model import HoldRecord, Mode, Name, WorkerScaleStatus
from scaler.core.policy import Policy
from scaler.policyfile import PolicyState
from scaler.store import State as Published
from tests.actuator.stage import MARK, Lead, group, make_scale, planned
from tests.builders import GPU, NOW, make_pod_set, make_snapshot, make_workload

HOLD = HoldRecord(
    workload="wl",
    workload_uid="wl-uid",
    usage=((GPU, 8),),
    pod_sets=(("gpu", 2),),
    since=NOW,
)
PUBLISHED = Published(
    sequence=1,
    snapshot=make_snapshot(
        at=NOW + 50,
        workloads=[
            make_workload(
                pod_sets=(
                    make_pod_set(name="head", gpus=0),
                    make_pod_set(name="gpu", count=2, gpus=4),
                ),
                admitted=True,
            )
        ],
    ),
    policy=PolicyState(policy=Policy()),
)


class Meter:
    """A tracker and its collector, and what a scrape reads."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.tracker = Tracker(self.registry)
        self.lead = Lead()
        self.plans: dict[Name, Plan] = {}
        self.registry.register(
            HeldCollector(tracker=self.tracker, plans=lambda: self.plans, leadership=self.lead)
        )

    def see(self, plan: Plan, *, at: float = NOW) -> None:
        """Take a plan."""
        self.plans[plan.scale.key] = plan
        self.tracker.planned(plan, PUBLISHED, at)

    def wrote(self, plan: Plan, status: WorkerScaleStatus) -> None:
        """Take a plan whose status came through."""
        applied = Applied(plan=plan, outcome=Outcome.DONE, done=(WriteStatus(status=status),))
        self.tracker.applied(applied, PUBLISHED)

    def value(self, name: str, **labels: str) -> float | None:
        """Read one sample."""
        return self.registry.get_sample_value(f"kueue_gpu_scaler_{name}", labels)


def held(state: State = State.HELD, *, mode: Mode = Mode.HOLD) -> Plan:
    """Build the plan of a held one."""
    scale = replace(make_scale(), mode=mode)
    return planned(scale, state=state, status=replace(scale.status, hold=HOLD))


def test_held_gpus_are_those_of_the_pods_that_are_away() -> None:
    """Not the head's, and not what the whole Workload uses."""
    meter = Meter()
    meter.see(held())
    assert meter.value("held_gpus", mode="Hold") == 8
    assert meter.value("held_workloads", mode="Hold") == 1
    assert meter.value("held_gpus", mode="Release") == 0
    assert meter.value("worker_scales", state="Held") == 1


@pytest.mark.parametrize("state", [State.RUNNING, State.HOLDING, State.WAKING, State.NOT_IDLE])
def test_workers_that_are_there_free_nothing(state: State) -> None:
    """Nor those that still end."""
    meter = Meter()
    meter.see(held(state))
    assert meter.value("held_gpus", mode="Hold") == 0
    assert meter.value("held_workloads", mode="Hold") == 0


def test_gpu_seconds_are_counted_from_plan_to_plan() -> None:
    """A quarter of an hour of eight GPUs makes two GPU hours."""
    meter = Meter()
    for n in range(16):
        meter.see(held(mode=Mode.RELEASE), at=NOW + 60 * n)
    meter.see(held(State.RUNNING, mode=Mode.RELEASE), at=NOW + 900)
    meter.see(held(State.RUNNING, mode=Mode.RELEASE), at=NOW + 960)
    assert meter.value("held_gpu_seconds_total", mode="Release", namespace="ml") == 8 * 900


def test_what_another_leader_saw_is_not_counted_again() -> None:
    """It counted it itself."""
    meter = Meter()
    meter.see(held())
    meter.see(held(), at=NOW + LONGEST_GAP_SECONDS)
    assert not meter.value("held_gpu_seconds_total", mode="Hold", namespace="ml")


def test_a_follower_shows_no_worker_scales() -> None:
    """So that sums over all processes are right."""
    meter = Meter()
    meter.see(held())
    assert meter.value("leader") == 1
    meter.lead.leading = False
    assert meter.value("leader") == 0
    assert meter.value("held_gpus", mode="Hold") is None


def test_writes_are_counted_by_step_and_outcome() -> None:
    """A rising number of stale ones is a fight."""
    meter = Meter()
    meter.tracker.wrote(group(suspend=True), Outcome.DONE)
    meter.tracker.wrote(group(suspend=True), Outcome.STALE)
    assert meter.value("actuator_writes_total", step="SetGroup", outcome="stale") == 1


def test_breaches_refusals_and_conflicts_are_counted_once_each() -> None:
    """When the status that says so is written, and not at each look."""
    meter, scale = Meter(), make_scale()
    for state, cause in (
        (State.WAKING, Cause.USAGE_LOST),
        (State.RUNNING, Cause.USAGE_LOST),
        (State.REFUSED, Cause.NOT_ADMITTED),
        (State.REFUSED, Cause.NOT_ADMITTED),
        (State.CONFLICT, Cause.UNDONE),
    ):
        status = replace(scale.status, state=state, reason=cause)
        meter.wrote(planned(scale, state=state, cause=cause, status=status), status)
        scale = replace(scale, status=status)
    named = {"namespace": scale.namespace, "worker_scale": scale.name}
    assert meter.value("hold_breaches_total", cause="UsageLost", **named) == 1
    assert meter.value("hold_refusals_total", cause="NotAdmitted") == 1
    assert meter.value("hold_conflicts_total") == 1


def test_what_was_not_written_is_not_counted() -> None:
    """It is planned again."""
    meter = Meter()
    plan = planned(make_scale(), state=State.CONFLICT, cause=Cause.UNDONE)
    meter.tracker.applied(Applied(plan=plan, outcome=Outcome.STALE, done=()), PUBLISHED)
    assert meter.value("hold_conflicts_total") == 0


def test_taking_holding_and_waking_are_timed() -> None:
    """From the record's own times."""
    meter = Meter()
    scale = make_scale()
    taken = replace(scale.status, hold=HOLD)
    gone = replace(taken, hold=replace(HOLD, gone_at=NOW + 4))
    waking = replace(gone, hold=replace(HOLD, gone_at=NOW + 4, waking_at=NOW + 40))
    for before, after in (
        (scale.status, taken),
        (taken, gone),
        (gone, waking),
        (waking, scale.status),
    ):
        plan = planned(replace(scale, status=before), state=State.HELD, status=after)
        meter.wrote(plan, after)
    for name, seconds in (("take", 4), ("hold", 40), ("wake", 10)):
        assert meter.value(f"{name}_duration_seconds_sum") == seconds
        assert meter.value(f"{name}_duration_seconds_count") == 1


def test_what_is_given_back_for_a_worker_scale_that_is_no_more_is_a_breach() -> None:
    """By the name that its mark has; a mark that is just taken off was none."""
    meter = Meter()
    plan = planned(
        make_scale(),
        group(suspend=False),
        state=State.RESTORING,
        cause=Cause.WORKER_SCALE_LOST,
    )
    done = Applied(plan=plan, outcome=Outcome.DONE, done=plan.steps)
    dropped = DropMark(kind="RayCluster", object=("ml", "ray-train"), mark=MARK)
    meter.tracker.applied(done, PUBLISHED)
    meter.tracker.applied(replace(done, done=(dropped,)), PUBLISHED)
    meter.tracker.applied(replace(done, outcome=Outcome.FAILED), PUBLISHED)
    labels = {"cause": "WorkerScaleLost", "namespace": "ml", "worker_scale": "train"}
    assert meter.value("hold_breaches_total", **labels) == 1
    left = replace(done, plan=replace(plan, state=State.CONFLICT, steps=()), done=())
    meter.tracker.applied(left, PUBLISHED)
    assert meter.value("hold_conflicts_total") == 1
    assert meter.value("hold_breaches_total", **labels) == 1
