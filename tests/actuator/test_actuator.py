"""The actuator plans what may have changed, writes in order, and stops at what fails."""

import threading
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from scaler.actuator.actuator import FULL_SECONDS, NEEDED
from scaler.actuator.apply import Outcome
from scaler.actuator.watched import FORBIDDEN_SECONDS, QUIET_SECONDS, WORDS_SECONDS
from scaler.core.hold.steps import Plan, WriteStatus
from scaler.core.hold.words import State
from scaler.core.model import Kind, SourceState, WorkerScale
from scaler.core.reasons import Reason
from scaler.kube.api import ApiError, NoAnswerError
from scaler.store import STALE_SECONDS
from tests.actuator.stage import Stage, decided, group, make_scale, planned, taking
from tests.builders import make_controlled, make_owner, make_workload

HOLD = ["SetFinalizer", "WriteStatus", "SetGroup"]


def test_steps_are_written_in_the_plans_order() -> None:
    """The record of what was true is there before anything is taken."""
    stage = Stage(make_scale())
    stage.script = taking
    assert stage.look() == HOLD


def test_each_write_is_one_on_what_the_one_before_made() -> None:
    """Else the second write to the WorkerScale would be refused for its resourceVersion."""
    stage = Stage(make_scale())
    stage.script = taking
    stage.look()
    assert stage.told.outcomes == [Outcome.DONE] * 3
    assert stage.kept.scales["ml", "train"].resource_version == "12"


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


def test_leadership_that_ends_between_two_writes_ends_the_plan() -> None:
    """It is asked for before each write."""
    stage = Stage(make_scale())
    stage.script = taking

    def lose() -> None:
        stage.lead.leading = False

    stage.kept.before_write = lose
    assert stage.look() == ["SetFinalizer"]
    (applied,) = stage.told.applied_plans
    assert applied.outcome is Outcome.NOT_LEADING


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


def test_one_at_rest_is_not_planned_again() -> None:
    """However often the cluster around it changes."""
    stage = Stage(make_scale())
    stage.look()
    for n in range(20):
        stage.show(workloads=[make_workload(name=f"other-{n}")])
        stage.look(after=1)
    assert stage.plannings == 1


def test_what_a_plan_reads_makes_it_be_planned_again() -> None:
    """Workloads, their pods, what the target controls, and the WorkerScale itself."""
    scale = make_scale()
    stage = Stage(scale)
    stage.look()
    cluster = make_controlled(uid="ray-uid", controller_uid=None, name="ray-train")
    owner = make_owner(uid="ray-uid", kind="RayCluster", name="ray-train")
    workload = make_workload(owners=(owner,), admitted=True)
    child = make_controlled(uid="child", controller_uid="ray-uid", kind="Job")
    for workloads, owners in (
        ((), (cluster,)),
        ((workload,), (cluster,)),
        ((replace(workload, evicted=True),), (cluster,)),
        ((workload,), (cluster, child)),
        ((workload,), (cluster, replace(child, generation=2))),
    ):
        before = stage.plannings
        stage.show(workloads=workloads, owners=owners)
        stage.look(after=1)
        stage.look(after=1)
        assert stage.plannings == before + 1
    stage.kept.scales[scale.key] = replace(scale, replicas=1)
    stage.show(workloads=(workload,), owners=(cluster, replace(child, generation=2)))
    before = stage.plannings
    stage.look(after=1)
    assert stage.plannings == before + 1


def test_another_verdict_makes_it_be_planned_again_other_words_do_not() -> None:
    """The detail of a Decision changes with every sample."""
    scale = make_scale()
    stage = Stage(scale)
    stage.look()
    stage.decisions[scale.key] = decided(scale, detail="idle for 301 s")
    stage.publish()
    stage.look(after=1)
    assert stage.plannings == 1
    stage.decisions[scale.key] = decided(scale, Reason.PROMETHEUS_FAILED)
    stage.publish()
    stage.look(after=1)
    assert stage.asked[1:] == [("train", (Reason.PROMETHEUS_FAILED,))]


def test_all_are_planned_now_and_then() -> None:
    """Whatever the comparison may have missed."""
    stage = Stage(make_scale("a"), make_scale("b"))
    stage.look()
    stage.look(after=FULL_SECONDS - 1)
    assert stage.plannings == 2
    stage.look(after=1)
    assert stage.plannings == 4


def test_a_plan_is_made_again_when_it_asked_for_that() -> None:
    """A maxHold runs out although nothing changes."""
    stage = Stage(make_scale())
    stage.script = lambda scale: planned(scale, look_again_in=7.0)
    stage.look()
    stage.look(after=6.9)
    assert stage.plannings == 1
    stage.look(after=0.1)
    assert stage.plannings == 2


def test_after_a_write_nothing_is_planned_before_the_watch_shows_it() -> None:
    """Else it would be planned by what is no longer so."""
    cluster = make_controlled(uid="ray-uid", controller_uid=None, name="ray-train")
    stage = Stage(make_scale())
    stage.show(owners=[cluster])
    stage.script = taking
    stage.look()
    planned_before = stage.plannings
    stage.look(after=0.5)
    # The WorkerScale's watch is ahead of the RayCluster's.
    stage.show(owners=[cluster])
    stage.look(after=0.5)
    assert stage.plannings == planned_before
    stage.show(owners=[replace(cluster, generation=2)])
    stage.look(after=0.5)
    assert stage.plannings > planned_before


def test_a_write_that_is_never_seen_is_planned_again_after_a_while() -> None:
    """The level counts, not the edge."""
    stage = Stage(make_scale())
    stage.script = lambda scale: planned(scale, group(suspend=False))
    stage.look()
    stage.look(after=QUIET_SECONDS - 0.1)
    assert stage.plannings == 1
    assert stage.look(after=0.1) == ["SetGroup"] * 2


@pytest.mark.parametrize("status", [404, 409, 422])
def test_what_changed_meanwhile_is_planned_anew_without_a_word(status: int) -> None:
    """It is what guards are for, no failure; but nobody is asked in a loop."""
    stage = Stage(make_scale())
    stage.script = taking
    stage.kept.failures = [ApiError(status, "not as it was")] * 3
    with capture_logs() as logs:
        for _ in range(3):
            assert stage.look() == []
            tries = stage.kept.tries
            stage.look(after=0.1)
            assert stage.kept.tries == tries
            stage.passed += 2
        assert stage.look(after=2) == HOLD
    assert not [entry for entry in logs if entry["log_level"] == "warning"]


def test_what_is_forbidden_is_logged_once_and_tried_now_and_then() -> None:
    """A person has to mend it, and may do so at any time."""
    stage = Stage(make_scale())
    stage.script = taking
    stage.kept.failures = [ApiError(403, "workerscales is forbidden")] * 2
    with capture_logs() as logs:
        stage.look()
        stage.look(after=FORBIDDEN_SECONDS - 1)
        assert stage.kept.tries == 1
        stage.publish()
        stage.look(after=1)
        assert stage.kept.tries == 2
    warnings = [entry for entry in logs if entry["log_level"] == "warning"]
    assert [entry["error"] for entry in warnings] == ["403: workerscales is forbidden"]
    stage.publish()
    assert stage.look(after=FORBIDDEN_SECONDS) == HOLD


def test_a_refusal_of_one_does_not_hold_up_the_others() -> None:
    """Each WorkerScale waits for its own."""
    stage = Stage(make_scale("a"), make_scale("b"))
    stage.script = taking
    stage.kept.failures = [ApiError(400, "no")]
    stage.look()
    assert stage.kept.steps("a") + stage.kept.steps("b") == HOLD


def test_an_api_server_out_of_reach_is_asked_ever_less() -> None:
    """One write a look, then a back-off that grows."""
    stage = Stage(make_scale("a"), make_scale("b"))
    stage.script = taking
    stage.kept.failures = [NoAnswerError("connection refused")] * 3
    stage.look()
    assert stage.kept.tries == 1
    stage.look(after=0.9)
    assert stage.kept.tries == 1
    stage.look(after=0.1)
    assert stage.kept.tries == 2
    stage.look(after=1.9)
    assert stage.kept.tries == 2
    stage.look(after=0.1)
    assert stage.kept.tries == 3
    stage.publish()
    stage.look(after=4)
    assert sorted(stage.kept.steps("a") + stage.kept.steps("b")) == sorted(HOLD * 2)


def test_retry_after_is_heeded() -> None:
    """The API server knows best how long it is busy."""
    stage = Stage(make_scale())
    stage.script = taking
    stage.kept.failures = [ApiError(429, "too many requests", retry_after=20)]
    stage.look()
    stage.look(after=19)
    assert stage.kept.tries == 1
    assert stage.look(after=1) == HOLD


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
    """A roll-back can't wait behind a hundred holds."""
    stage = Stage(make_scale("a"), make_scale("b"))

    def script(scale: WorkerScale) -> Plan:
        return planned(scale, group(suspend=scale.name == "a"))

    stage.script = script
    stage.look()
    assert [name for name, _ in stage.kept.written] == ["b", "a"]


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


def test_words_alone_are_not_written_at_every_sample() -> None:
    """The evidence of a busy one is another one every few seconds."""
    stage = Stage(make_scale())
    texts = iter(f"busy at {n} %" for n in range(100))

    def script(scale: WorkerScale) -> Plan:
        status = replace(scale.status, message=next(texts))
        return planned(scale, WriteStatus(status=status), status=status)

    stage.script = script
    assert stage.look() == ["WriteStatus"]
    stage.show()
    for _ in range(10):
        stage.show(owners=[make_controlled(uid="u", controller_uid=None, name="ray-train")])
        stage.look(after=WORDS_SECONDS / 10 - 0.1)
        stage.show()
    assert stage.kept.steps() == ["WriteStatus"]
    assert stage.look(after=WORDS_SECONDS / 10) == ["WriteStatus"] * 2


def test_another_state_is_written_at_once() -> None:
    """More than words."""
    stage = Stage(make_scale())
    states = iter((State.NOT_IDLE, State.REFUSED))

    def script(scale: WorkerScale) -> Plan:
        status = replace(scale.status, state=next(states))
        return planned(scale, WriteStatus(status=status), status=status)

    stage.script = script
    stage.look()
    stage.show()
    assert stage.look() == ["WriteStatus"] * 2


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

    def fail() -> None:
        looks[0] += 1
        if looks[0] > 1:
            again.set()
        message = "defect"
        raise RuntimeError(message)

    stage.kept.before_write = fail
    stage.script = lambda scale: planned(scale, group(suspend=False))
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

    def watch() -> None:
        assert stage.lead.leading
        assert ("ml", "train") in stage.store.latest().snapshot.worker_scales

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
    steps = stage.kept.steps()
    for step in ("SetFinalizer", "WriteStatus"):
        assert "SetGroup" not in steps or steps.index(step) < steps.index("SetGroup")
    assert steps.count("SetFinalizer") <= 1
