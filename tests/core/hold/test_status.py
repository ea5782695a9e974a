"""What status says, for people and for whoever waits on a condition."""

from dataclasses import replace

import pytest

from scaler.core.hold.steps import SELECTOR, Plan
from scaler.core.hold.words import Cause, State
from scaler.core.model import Mode, RayClusterPart, WorkerScaleStatus
from scaler.core.reasons import Reason
from tests.builders import NOW
from tests.core.hold.events import all_of_them
from tests.core.hold.world import SIZE, World, held_world, make_world


def conditions(made: Plan) -> dict[str, tuple[str, str]]:
    """Give (status, reason) by type."""
    return {one.type: (one.status, one.reason) for one in made.status.conditions}


def test_a_running_one_is_ready_and_mirrors_its_pods() -> None:
    """KEDA wants a selector; people want the pods."""
    made = make_world().plan()
    assert (made.status.replicas, made.status.selector, made.status.size) == (SIZE, SELECTOR, SIZE)
    assert conditions(made) == {
        "Ready": ("True", Cause.AS_WANTED),
        "Held": ("False", Cause.AS_WANTED),
        "Refused": ("False", Cause.AS_WANTED),
        "Conflict": ("False", Cause.AS_WANTED),
    }


@pytest.mark.parametrize(("mode", "kind"), [(Mode.HOLD, "Held"), (Mode.RELEASE, "Released")])
def test_a_held_one_says_so_from_the_moment_when_its_pods_are_gone(mode: Mode, kind: str) -> None:
    """While they end it is neither True nor False."""
    world = make_world(mode=mode)
    world.scale_to(0)
    world.verdict = Reason.IDLE
    assert conditions(world.look())[kind] == ("Unknown", Cause.IDLE)
    made = world.looks(2)
    assert conditions(made)[kind] == ("True", Cause.IDLE)
    assert made.status.replicas == 0


def test_a_zero_that_is_not_granted_says_not_idle() -> None:
    """H14: the reason is in the condition."""
    world = make_world()
    world.scale_to(0)
    assert conditions(world.plan())["Held"] == ("False", Cause.NOT_IDLE)


def test_a_transition_keeps_its_time_while_the_status_is_the_same() -> None:
    """Reasons and messages may change in between."""
    world = held_world()
    since = {one.type: one.changed for one in world.plan().status.conditions}
    assert since["Held"] > NOW
    assert world.scale is not None
    assert since["Refused"] == world.scale.created, "it never was True: as old as the WorkerScale"
    all_of_them(world)
    made = world.looks(3)
    after = {one.type: one.changed for one in made.status.conditions}
    assert after["Held"] > since["Held"]
    assert after["Ready"] == since["Ready"]


def test_a_message_of_any_length_fits_into_the_status() -> None:
    """A status that the schema refuses would keep the workers where they are."""
    world = held_world()
    assert world.scale is not None
    assert world.scale.status.hold is not None
    long = replace(world.scale.status.hold, reason="x" * 100_000)
    world.scale = replace(world.scale, status=replace(world.scale.status, hold=long))
    made = world.plan()
    assert made.state is State.HELD
    assert all(len(one.message) <= 32_768 for one in made.status.conditions)


def test_every_condition_names_the_generation_it_speaks_of() -> None:
    """As Kubernetes' conventions want it."""
    world = make_world()
    world.scale_to(0)
    made = world.plan()
    assert made.status.observed_generation == 2
    assert {one.observed_generation for one in made.status.conditions} == {2}


def test_a_look_at_what_did_not_change_writes_nothing() -> None:
    """No age is in a message that is written."""
    for world in (make_world(), held_world(), held_world(mode=Mode.RELEASE), waiting()):
        world.look()
        for _ in range(5):
            world.now += 3600
            world.alive = world.now
            assert world.look().steps == ()


def waiting() -> World:
    """Build one whose zero is not granted."""
    world = make_world()
    world.scale_to(0)
    return world


def test_the_message_of_status_leaves_out_what_changes_with_each_look() -> None:
    """The plan has it all."""
    made = waiting().plan()
    assert made.message == "so says Busy: the readings say Busy"
    assert made.status.message == "so says Busy"


def test_a_size_that_changed_is_read_again_while_nothing_is_away() -> None:
    """A partial admission or another count is the full size then."""
    world = make_world()
    assert world.workload is not None
    assert world.workload.admission is not None
    assigned = tuple(replace(one, count=1) for one in world.workload.admission.assignments)
    admission = replace(world.workload.admission, assignments=assigned)
    world.workload = replace(world.workload, admission=admission)
    assert world.plan().status.size == 1
    held = held_world()
    held.workload = None
    assert held.plan().status.size == SIZE


def test_a_group_that_is_no_more_loses_our_mark() -> None:
    """Nothing else is left of it to give back."""
    world = held_world()
    cluster = world.one("RayCluster")
    assert isinstance(cluster.part, RayClusterPart)
    world.put(replace(cluster, part=replace(cluster.part, groups=cluster.part.groups[:1])))
    world.settle()
    world.looks(4)
    assert not world.one("RayCluster").marks
    assert world.scale is not None
    assert world.scale.status != WorkerScaleStatus()
