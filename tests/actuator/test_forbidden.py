"""What the API server forbids is told in status, once."""

from dataclasses import replace

import pytest

from scaler.actuator.watched import FORBIDDEN_SECONDS
from scaler.core.hold.steps import SetFinalizer, Step, WriteStatus
from scaler.core.hold.words import Cause
from scaler.core.model import ScaleCondition
from scaler.kube.api import ApiError
from tests.actuator.stage import Stage, deactivate, group, make_scale, planned

NO = ApiError(403, 'User "scaler" cannot patch')


def ready(stage: Stage) -> ScaleCondition:
    """Give the condition Ready as the API server has it."""
    (scale,) = stage.kept.scales.values()
    (found,) = (one for one in scale.status.conditions if one.type == "Ready")
    return found


def forbid(stage: Stage, *steps: Step) -> None:
    """Let a plan have these steps, the first of which is forbidden once."""
    stage.script = lambda scale: planned(scale, *steps)
    stage.kept.failures.append(NO)


@pytest.mark.parametrize(
    ("step", "resource"),
    [
        (group(suspend=True), "rayclusters.ray.io"),
        (deactivate(), "workloads.kueue.x-k8s.io"),
        (SetFinalizer(present=True), "workerscales.kueue-gpu-scaler.dev"),
    ],
)
def test_ready_names_the_verb_the_resource_and_the_namespace(step: Step, resource: str) -> None:
    """A person has to grant it, and reads there what."""
    stage = Stage(make_scale())
    forbid(stage, step)
    assert stage.look() == ["WriteStatus"]
    told = ready(stage)
    assert (told.status, told.reason) == ("False", Cause.FORBIDDEN)
    assert told.message == (
        f'may not patch {resource} in namespace ml: 403: User "scaler" cannot patch'
    )
    assert told.changed == stage.store.latest().snapshot.at


def test_it_is_written_once_however_often_the_write_is_forbidden() -> None:
    """The next tries come once a minute, and say the same."""
    stage = Stage(make_scale())
    for _ in range(4):
        forbid(stage, group(suspend=False))
        stage.show()
        stage.look(after=FORBIDDEN_SECONDS)
        stage.show()
        stage.look(after=1)
    assert stage.kept.steps() == ["WriteStatus"]
    assert stage.kept.tries == 5


def test_it_stands_beside_what_the_same_plan_wrote() -> None:
    """The status that went before the forbidden write is not lost."""
    scale = make_scale()
    stage = Stage(scale)
    status = replace(scale.status, replicas=7)
    stage.script = lambda one: planned(one, WriteStatus(status=status), group(suspend=False))

    def forbid_the_second() -> None:
        if stage.kept.tries == 1:
            stage.kept.failures.append(NO)

    stage.kept.before_write = forbid_the_second
    assert stage.look() == ["WriteStatus"] * 2
    assert stage.kept.scales[scale.key].status.replicas == 7
    assert ready(stage).reason == Cause.FORBIDDEN


@pytest.mark.parametrize("status", [400, 404, 409, 422, 500, 503])
def test_no_other_failure_is_told_there(status: int) -> None:
    """They pass, or are no question of rights."""
    stage = Stage(make_scale())
    stage.script = lambda scale: planned(scale, group(suspend=False))
    stage.kept.failures.append(ApiError(status, "no"))
    assert stage.look() == []


def test_where_status_may_not_be_written_nothing_more_is_tried() -> None:
    """Only the Event and the log tell of it then."""
    scale = make_scale()
    stage = Stage(scale)
    forbid(stage, WriteStatus(status=replace(scale.status, replicas=7)))
    assert stage.look() == []
    assert stage.kept.tries == 1
    forbid(stage, group(suspend=False))
    stage.kept.failures.append(NO)
    assert stage.look(after=FORBIDDEN_SECONDS) == []
    assert stage.kept.tries == 3
