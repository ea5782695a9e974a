"""Mode Release: the quota goes back, the Workload stays, and a wake queues again."""

from dataclasses import replace

import pytest

from scaler.core.hold.steps import SetActive, SetNotebook
from scaler.core.hold.words import Cause, State
from scaler.core.model import Mode
from scaler.core.reasons import Reason
from tests.core.hold.events import all_of_them, delete, finish, readmit, undo, wake
from tests.core.hold.world import World, held_world, make_world

RELEASABLE = ["RayCluster", "JobSet", "Job", "PyTorchJob"]


@pytest.mark.parametrize("kind", RELEASABLE)
def test_a_released_workload_has_given_its_quota_back_and_is_there(kind: str) -> None:
    """By Kueue's own switch, whatever the kind."""
    world = held_world(kind=kind, mode=Mode.RELEASE)
    made = world.plan()
    assert (made.state, made.cause, made.steps) == (State.RELEASED, Cause.IDLE, ())
    assert [type(one) for one in world.written] == [SetActive]
    assert world.workload is not None
    assert (world.workload.uid, world.workload.reserved) == ("wl-1", False)
    assert "gave its quota back" in made.message


@pytest.mark.parametrize("kind", ["RayCluster", "JobSet"])
def test_a_wake_queues_waits_for_quota_and_runs(kind: str) -> None:
    """Queued, then its pods come: it is neither idle nor woken twice meanwhile."""
    world = held_world(kind=kind, mode=Mode.RELEASE)
    world.quota = False
    all_of_them(world)
    world.look()
    made = world.looks(5)
    assert (made.state, made.cause) == (State.QUEUED, Cause.IN_QUEUE)
    assert len(world.written) == 2
    readmit(world)
    world.settle()
    world.verdict = Reason.STARTING
    assert world.looks(2).state is State.RUNNING
    assert len(world.written) == 2


def test_a_workload_that_others_set_inactive_stays_as_it_is() -> None:
    """Kueue deactivates too, and nothing of ours may undo that."""
    world = make_world(mode=Mode.RELEASE)
    assert world.workload is not None
    world.workload = replace(world.workload, active=False)
    world.settle()
    world.scale_to(0)
    world.verdict = Reason.IDLE
    assert world.looks(3).cause is Cause.DEACTIVATED_BY_OTHERS
    world.scale_to(2)
    world.looks(3)
    assert not world.written


def test_a_workload_that_kueue_deactivates_while_it_queues_is_left() -> None:
    """The hold ends; what is inactive now is not our doing."""
    world = held_world(mode=Mode.RELEASE)
    world.quota = False
    all_of_them(world)
    world.looks(3)
    assert world.workload is not None
    world.workload = replace(world.workload, active=False)
    world.looks(4)
    assert world.scale is not None
    assert world.scale.status.hold is None
    assert len(world.written) == 2


def test_a_workload_that_somebody_else_activates_is_a_conflict() -> None:
    """Only our annotation is taken off: else a later deactivation would seem ours."""
    world = held_world(mode=Mode.RELEASE)
    undo(world)
    world.looks(4)
    assert world.plan().state is State.CONFLICT
    assert world.workload is not None
    assert (world.workload.active, world.workload.released_by) == (True, None)


def test_a_finished_workload_ends_the_release() -> None:
    """There is nothing to activate any more."""
    world = held_world(mode=Mode.RELEASE)
    finish(world)
    made = world.plan()
    assert (made.cause, made.status.hold) == (Cause.WORKLOAD_REPLACED, None)


def test_deleting_the_worker_scale_activates_the_workload() -> None:
    """The finalizer goes once that was seen."""
    world = held_world(mode=Mode.RELEASE)
    delete(world)
    world.look()
    assert world.workload is not None
    assert world.workload.active
    world.look()
    assert world.scale is None


def notebook() -> World:
    """Build a Notebook that was stopped because it was idle."""
    return held_world(kind="Notebook", mode=Mode.RELEASE)


def test_an_idle_notebook_is_stopped_and_keda_does_not_start_it() -> None:
    """spec.replicas above zero can't be told from KEDA's: starting is a person's."""
    world = notebook()
    assert [type(one) for one in world.written] == [SetNotebook]
    assert not world.pods
    all_of_them(world)
    world.verdict = Reason.WAKE
    assert world.looks(3).state is State.RELEASED


def test_a_person_starts_a_notebook_by_a_wake_annotation() -> None:
    """Or by the hold's deletion."""
    for waker in (wake, delete):
        world = notebook()
        waker(world)
        world.look()
        assert world.pods


def test_a_notebook_that_a_person_started_on_its_page_is_no_conflict() -> None:
    """Our mark goes, and the next idleness stops it again."""
    world = notebook()
    undo(world)
    world.settle()
    world.verdict = Reason.BUSY
    assert world.looks(4).state is State.NOT_IDLE
    assert not world.one("Notebook").marks
    world.verdict = Reason.IDLE
    assert world.plan().state is State.RELEASING
