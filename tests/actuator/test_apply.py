"""Steps are written in order, and what fails is tried again without a flood."""

import pytest
from structlog.testing import capture_logs

from scaler.actuator.apply import Outcome
from scaler.actuator.watched import FORBIDDEN_SECONDS
from scaler.kube.api import ApiError, NoAnswerError
from tests.actuator.stage import Stage, make_scale, taking

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
    # The finalizer may not be written, and the status that would say so neither.
    stage.kept.failures = [ApiError(403, "workerscales is forbidden")] * 4
    with capture_logs() as logs:
        stage.look()
        stage.look(after=FORBIDDEN_SECONDS - 1)
        assert stage.kept.tries == 2
        stage.publish()
        stage.look(after=1)
        assert stage.kept.tries == 4
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


def test_one_whose_webhook_is_broken_does_not_hold_up_the_others() -> None:
    """A 500 is about one object; it waits ever longer, and behind the others."""
    stage = Stage(make_scale("a"), make_scale("b"))
    stage.script = taking
    stage.kept.failures = [ApiError(500, "failed calling webhook")]
    stage.look()
    assert (stage.kept.steps("a"), stage.kept.steps("b")) == ([], HOLD)
    stage.publish()
    stage.look(after=0.9)
    assert stage.kept.steps("a") == []
    stage.look(after=0.1)
    assert stage.kept.steps("a") == HOLD


def test_one_that_never_gets_an_answer_lets_the_others_go_first() -> None:
    """A webhook that hangs takes the whole time-out of each look."""
    stage = Stage(make_scale("a"), make_scale("b"))
    stage.script = taking
    stage.kept.failures = [NoAnswerError("read timed out")]
    stage.look()
    stage.show()
    stage.look(after=1)
    assert [name for name, _ in stage.kept.written][:3] == ["b"] * 3


def test_retry_after_is_heeded() -> None:
    """The API server knows best how long it is busy."""
    stage = Stage(make_scale())
    stage.script = taking
    stage.kept.failures = [ApiError(429, "too many requests", retry_after=20)]
    stage.look()
    stage.look(after=19)
    assert stage.kept.tries == 1
    assert stage.look(after=1) == HOLD
