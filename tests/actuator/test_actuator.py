"""The actuator plans what may have changed, writes in order, and stops at what fails."""

import threading
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from scaler.actuator.actuator import FULL_SECONDS, NEEDED, PACE_SECONDS, pause_after
from scaler.core.hold.steps import Plan, WriteStatus
from scaler.core.model import Kind, SourceState, WorkerScale
from scaler.core.reasons import Reason
from scaler.core.snapshot import Snapshot
from scaler.core.trigger import TriggerRef
from scaler.kube.api import ApiError, NoAnswerError
from scaler.store import STALE_SECONDS
from tests.actuator.stage import Stage, group, make_scale, planned, taking

HOLD = ["SetFinalizer", "WriteStatus", "SetGroup"]


@pytest.mark.parametrize("kind", NEEDED)
def test_nothing_is_done_before_the_needed_kinds_were_listed_once(kind: Kind) -> None:
    """An unread ScaledObject may be the one that keeps the workers."""
    stage = Stage(make_scale())
    stage.script = taking
    snapshot = stage.store.latest().snapshot
    unread = {**snapshot.sources, kind: SourceState(synced=False, last_alive=None)}
    stage.publish(replace(snapshot, sources=unread))
    assert stage.look() == []
    stage.show()
    assert stage.look() == HOLD


@pytest.mark.parametrize("kind", NEEDED)
def test_a_kind_that_is_not_served_is_not_waited_for(kind: Kind) -> None:
    """Without KEDA there are no ScaledObjects, and a WorkerScale can be deleted without Kueue."""
    stage = Stage(make_scale())
    stage.script = taking
    snapshot = stage.store.latest().snapshot
    absent = SourceState(synced=False, installed=False, last_alive=None)
    stage.publish(replace(snapshot, sources={**snapshot.sources, kind: absent}))
    assert stage.look() == HOLD


def test_a_source_that_breaks_later_leaves_the_judgement_to_the_plan() -> None:
    """A roll-back may be due all the same."""
    stage = Stage(make_scale())
    stage.look()
    snapshot = stage.store.latest().snapshot
    broken = {**snapshot.sources, Kind.PODS: SourceState(synced=False, last_alive=None)}
    stage.publish(replace(snapshot, sources=broken))
    before = stage.plannings
    stage.look()
    assert stage.plannings == before + 1


def test_a_follower_does_nothing() -> None:
    """Neither plans nor writes."""
    stage = Stage(make_scale())
    stage.script = taking
    stage.lead.leading = False
    assert stage.look() == []
    assert stage.plannings == 0
    assert stage.actuator.plans == {}


def test_nothing_is_done_by_a_state_that_nobody_renews() -> None:
    """The observer's thread must have died: what is published is no longer true."""
    stage = Stage(make_scale())
    stage.script = taking
    with capture_logs() as logs:
        assert stage.look(after=STALE_SECONDS + 1) == []
        assert stage.look() == []
    assert [entry["log_level"] for entry in logs] == ["error"]
    stage.publish()
    assert stage.look() == HOLD


def test_workers_are_taken_by_what_is_decided_now() -> None:
    """A cached Decision may be as old as the last tick; this snapshot knows of no usage."""
    stage = Stage(make_scale())
    stage.script = taking
    stage.look()
    assert [reasons for _, reasons in stage.asked[:2]] == [
        (Reason.IDLE,),
        (stage.asked[1][1][0],),
    ]
    assert stage.asked[1][1] != (Reason.IDLE,)


def test_giving_back_goes_first() -> None:
    """A roll-back can't wait behind a hundred holds, nor behind what is said of them."""
    stage = Stage(*(make_scale(name) for name in "abc"))

    def script(scale: WorkerScale) -> Plan:
        if scale.name == "b":
            return planned(scale, WriteStatus(status=replace(scale.status, replicas=7)))
        return planned(scale, group(suspend=scale.name == "a"))

    stage.script = script
    stage.look()
    assert [name for name, _ in stage.kept.written] == ["c", "b", "a"]


def test_a_look_ends_its_writes_after_a_while() -> None:
    """What is left is planned again from a newer State."""
    stage = Stage(*(make_scale(name) for name in "abc"))
    stage.script = lambda scale: planned(scale, group(suspend=False))

    def slow() -> None:
        stage.passed += 0.6

    stage.kept.before_write = slow
    stage.look()
    assert [name for name, _ in stage.kept.written] == ["a", "b"]
    stage.look()
    assert [name for name, _ in stage.kept.written] == ["a", "b", "c"]


def test_a_plan_that_fails_is_logged_and_hurts_no_other() -> None:
    """One odd object."""
    stage = Stage(make_scale("a"), make_scale("b"))

    def script(scale: WorkerScale) -> Plan:
        if scale.name == "a":
            message = "odd"
            raise ValueError(message)
        return taking(scale)

    stage.script = script
    with capture_logs() as logs:
        stage.look()
        stage.look(after=1)
    assert [entry["event"] for entry in logs if entry["log_level"] == "error"] == ["plan failed"]
    assert stage.kept.steps("b") == HOLD


def test_a_step_that_can_not_be_written_is_logged_and_hurts_no_other() -> None:
    """A defect of ours in one WorkerScale's writes keeps nobody else's workers away."""
    stage = Stage(make_scale("a"), make_scale("b"))
    stage.script = lambda scale: planned(scale, group(suspend=False, name=scale.target.name))
    tries: list[str] = []

    def write() -> None:
        tries.append("")
        if len(tries) == 1:
            message = "odd"
            raise KeyError(message)

    stage.kept.before_write = write
    with capture_logs() as logs:
        stage.look()
    assert [entry["event"] for entry in logs if entry["log_level"] == "error"] == ["apply failed"]
    assert [name for name, _ in stage.kept.written] == ["b"]
    stage.look(after=FULL_SECONDS)
    assert {name for name, _ in stage.kept.written} == {"a", "b"}


def test_one_that_is_gone_is_left_alone() -> None:
    """Writes are for what the newest State holds."""
    stage = Stage(make_scale())
    stage.look()
    stage.script = taking
    stage.kept.scales.clear()
    stage.show()
    assert stage.look() == []
    assert stage.actuator.plans == {}


def test_a_new_leader_begins_anew() -> None:
    """Another one may have changed anything meanwhile."""
    stage = Stage(make_scale())
    stage.look()
    stage.lead.leading = False
    stage.look()
    stage.lead.leading = True
    stage.look()
    assert stage.plannings == 2


def test_the_thread_looks_at_what_is_published_and_ends() -> None:
    """From start to stop."""
    stage = Stage(make_scale())
    looked = threading.Event()

    def script(scale: WorkerScale) -> Plan:
        looked.set()
        return planned(scale)

    stage.script = script
    stage.actuator.start()
    stage.publish()
    assert looked.wait(10)
    stage.actuator.stop()
    looked.clear()
    stage.publish()
    assert not looked.is_set()


def test_a_look_that_fails_ends_no_thread() -> None:
    """A defect of ours must not stop the only one that gives workers back."""
    stage = Stage(make_scale())
    looks, again = [0], threading.Event()

    def fail(snapshot: Snapshot, scale: WorkerScale) -> tuple[TriggerRef, ...]:
        del snapshot, scale
        looks[0] += 1
        if looks[0] > 1:
            again.set()
        message = "defect"
        raise RuntimeError(message)

    stage.refs_of = fail
    with capture_logs():
        stage.actuator.start()
        assert again.wait(10)
        stage.actuator.stop()


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["look", "show", "lose", "win", "gone", "stale", "down", "forbid"]),
            st.floats(0.0, 8.0),
        ),
        max_size=40,
    )
)
def test_law_writes_only_as_leader_in_order_and_to_what_is_there(
    moves: list[tuple[str, float]],
) -> None:
    """Whatever happens between two looks, nothing is taken before the record is written."""
    stage = Stage(make_scale())
    stage.script = taking
    # Kept for later: the actuator outlives what is raised in a write.
    allowed: list[bool] = []

    def watch() -> None:
        there = ("ml", "train") in stage.store.latest().snapshot.worker_scales
        allowed.append(stage.lead.leading and there)

    stage.kept.before_write = watch
    for move, pause in moves:
        stage.passed += pause
        match move:
            case "show":
                stage.show()
            case "lose" | "win":
                stage.lead.leading = move == "win"
            case "gone":
                stage.kept.scales.clear()
                stage.show()
            case "stale":
                stage.kept.failures.append(ApiError(409, "modified"))
            case "down":
                stage.kept.failures.append(NoAnswerError("refused"))
            case "forbid":
                stage.kept.failures.append(ApiError(403, "forbidden"))
            case _:
                stage.publish()
                stage.look()
    assert all(allowed)
    steps = stage.kept.steps()
    for step in ("SetFinalizer", "WriteStatus"):
        assert "SetGroup" not in steps or steps.index(step) < steps.index("SetGroup")
    assert steps.count("SetFinalizer") <= 1


def test_a_look_that_wrote_is_followed_soon_and_one_that_did_not_rests() -> None:
    """A fleet that wakes at once waits for its workers; one that sleeps costs next to nothing."""
    assert pause_after(0.5, wrote=True) == 0.5
    assert pause_after(0.5, wrote=False) == 4.5
    assert pause_after(0.0, wrote=True) == pause_after(0.0, wrote=False) == PACE_SECONDS


def test_a_look_says_whether_it_had_anything_to_write() -> None:
    """Also where the write failed, as it is to be tried again."""
    stage = Stage(make_scale())
    assert not stage.actuator.look()
    stage.script = taking
    stage.publish()
    stage.passed += FULL_SECONDS
    assert stage.actuator.look()
