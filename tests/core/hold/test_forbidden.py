"""A write that the API server forbids shows in Ready, and is begun anew without any quarrel."""

from dataclasses import replace

import pytest

from scaler.core.hold.status import forbidden_write, with_forbidden
from scaler.core.hold.steps import SetFinalizer, SetReplicas, WriteStatus
from scaler.core.hold.words import Cause, State
from scaler.core.model import Mode, ScaleCondition
from scaler.core.reasons import Reason
from tests.core.hold.events import evict
from tests.core.hold.test_laws import takes
from tests.core.hold.world import SIZE, World, held_world, make_world

LACKING = "may not patch rayclusters.ray.io in namespace ml: 403: no"
RETRY = 60.0


def forbidden(world: World, *, after: float = RETRY) -> list[str]:
    """Look where the target may not be written; name what was written until then."""
    world.now += after
    world.alive = world.now
    written: list[str] = []
    for step in world.plan().steps:
        if not isinstance(step, SetFinalizer | SetReplicas | WriteStatus):
            assert world.scale is not None
            told = with_forbidden(world.scale, message=LACKING, now=world.now)
            world.scale = replace(world.scale, status=told)
            break
        world.apply((step,))
        written.append(type(step).__name__)
    world.settle()
    return written


def ready(world: World) -> ScaleCondition:
    """Give the condition Ready."""
    assert world.scale is not None
    return next(one for one in world.scale.status.conditions if one.type == "Ready")


def idle_world(mode: Mode = Mode.HOLD) -> World:
    """Build a cluster whose workers are idle, and for which KEDA wrote 0."""
    made = make_world(mode=mode)
    made.scale_to(0)
    made.verdict = Reason.IDLE
    return made


@pytest.mark.parametrize("mode", Mode)
def test_a_take_that_is_forbidden_is_begun_anew_until_it_comes_through(mode: Mode) -> None:
    """It was never written, so nobody undid it: no latch closes, whatever the number of tries."""
    world = idle_world(mode)
    assert forbidden(world, after=0) == ["SetFinalizer", "WriteStatus"]
    since = ready(world)
    for _ in range(4):
        # The record is what is true at this try, so that maxHold counts from what was taken.
        assert forbidden(world) == ["WriteStatus"]
        assert ready(world) == since
        assert (since.status, since.reason, since.message) == ("False", Cause.FORBIDDEN, LACKING)
    assert world.scale is not None
    assert world.scale.status.latch is None
    world.now += RETRY
    world.alive = world.now
    made = world.looks(3)
    assert made.state in (State.HELD, State.RELEASED)
    assert ready(world).status == "True"
    assert world.written
    assert made.status.hold is not None
    assert made.status.hold.since == pytest.approx(world.now - 2)


def test_a_take_that_was_forbidden_is_not_begun_anew_where_it_would_be_refused() -> None:
    """What has changed in the minute since counts, as for any take."""
    world = make_world(kind="JobSet", pods_ready="True")
    world.scale_to(0)
    world.verdict = Reason.IDLE
    forbidden(world, after=0)
    assert world.workload is not None
    world.workload = replace(world.workload, pods_ready="False")
    world.now += RETRY
    world.alive = world.now
    made = world.plan()
    assert (made.cause, made.status.hold) == (Cause.PODS_NOT_READY, None)
    assert not any(takes(one) for one in made.steps)


def test_a_part_that_was_taken_before_the_rest_was_forbidden_goes_back() -> None:
    """N08: all or none, and what is left of the evidence is a minute old."""
    world = make_world(kind="JobSet", jobs=2)
    world.scale_to(0)
    world.verdict = Reason.IDLE
    world.look(stop_after=3)
    assert world.scale is not None
    told = with_forbidden(world.scale, message=LACKING, now=world.now)
    world.scale = replace(world.scale, status=told)
    world.now += RETRY
    world.alive = world.now
    assert not any(takes(one) for one in world.plan().steps)
    world.looks(2)
    assert len(world.pods) == SIZE


def test_a_give_that_is_forbidden_writes_its_status_once() -> None:
    """The record that it is wanted back is kept, and says nothing new."""
    world = held_world()
    world.scale_to(SIZE)
    assert forbidden(world, after=1) == ["WriteStatus"]
    assert [forbidden(world) for _ in range(3)] == [[], [], []]
    assert ready(world).reason == Cause.FORBIDDEN
    made = world.looks(3)
    assert (made.state, ready(world).status) == (State.RUNNING, "True")


def test_what_is_not_wanted_any_more_is_not_complained_of() -> None:
    """Busy again before the right was granted: there is nothing to write."""
    world = idle_world()
    forbidden(world, after=0)
    world.verdict = Reason.BUSY
    world.now += RETRY
    world.alive = world.now
    made = world.looks(3)
    assert (made.state, made.status.hold) == (State.NOT_IDLE, None)
    assert forbidden_write(made.status) is None
    assert world.written == []


def test_what_would_be_refused_by_now_is_not_begun_anew() -> None:
    """The Workload lost its quota meanwhile."""
    world = idle_world()
    forbidden(world, after=0)
    evict(world)
    forbidden(world)
    assert world.scale is not None
    assert world.scale.status.hold is None
    assert world.written == []


def test_the_time_of_ready_is_kept_while_it_is_false() -> None:
    """Whatever made it false before."""
    world = idle_world()
    world.look()
    assert world.scale is not None
    first = with_forbidden(world.scale, message="a", now=world.now)
    changed = replace(world.scale, status=first, generation=9)
    second = with_forbidden(changed, message="b" * 40_000, now=world.now + 5)
    before, after = first.conditions[0], second.conditions[0]
    assert (after.changed, after.observed_generation) == (before.changed, 9)
    assert len(after.message) < 32_768
    assert [one.type for one in second.conditions] == [one.type for one in first.conditions]
