"""A zero is a request: what is taken, when, and in which order that is written."""

from dataclasses import replace

import pytest

from scaler.core.hold.breaches import PATIENCE
from scaler.core.hold.plan import plan
from scaler.core.hold.steps import SetFinalizer, SetReplicas, WriteStatus
from scaler.core.hold.words import Cause, State
from scaler.core.model import Kind, Mark, Mode, SourceState, WorkerScaleStatus
from scaler.core.policy import Policy
from scaler.core.reasons import Reason
from tests.builders import NOW
from tests.core.hold.events import (
    Event,
    all_of_them,
    begin_work,
    evict,
    fall_silent,
    hold_now,
    preempt_at_once,
    retry_ray_job,
    set_the_clock_back,
)
from tests.core.hold.test_laws import takes
from tests.core.hold.world import SIZE, World, decision, held_world, make_scale, make_world

NOT_IDLE = [
    one for one in Reason if one is not Reason.IDLE and one not in (Reason.WAKE, Reason.SCHEDULED)
]


def zero_wanted(verdict: Reason, world: World | None = None) -> World:
    """Build a cluster in which KEDA wrote 0, and say what the decision is."""
    made = world or make_world()
    made.scale_to(0)
    made.verdict = verdict
    return made


def test_idle_workers_are_taken_after_the_finalizer_and_the_record() -> None:
    """The record is there before the target is touched."""
    made = zero_wanted(Reason.IDLE).plan()
    first, second, third = made.steps
    assert first == SetFinalizer(present=True)
    assert isinstance(second, WriteStatus)
    assert second.status.hold is not None
    assert (second.status.hold.workload_uid, second.status.hold.usage) == (
        "wl-1",
        (("nvidia.com/gpu", 4 * SIZE),),
    )
    assert takes(third)
    assert (made.state, made.cause) == (State.HOLDING, Cause.IDLE)


@pytest.mark.parametrize("reason", NOT_IDLE)
def test_nothing_is_taken_while_the_decision_is_not_idle(reason: Reason) -> None:
    """C01, C02, C03, C04, C07, C08: young, busy, unknown and opted-out workers stay."""
    made = zero_wanted(reason).plan()
    assert not any(takes(one) for one in made.steps)
    assert (made.state, made.cause) == (State.NOT_IDLE, Cause.NOT_IDLE)
    assert reason in made.message


@pytest.mark.parametrize("reason", [Reason.WAKE, Reason.SCHEDULED])
def test_a_wake_signal_keeps_workers_that_zero_is_wanted_of(reason: Reason) -> None:
    """They are simply left running."""
    assert zero_wanted(reason).plan().state is State.RUNNING


def test_every_trigger_has_to_say_idle() -> None:
    """One busy trigger of two keeps the workers."""
    world = zero_wanted(Reason.IDLE)
    assert world.scale is not None
    decisions = (decision(Reason.IDLE), decision(Reason.BUSY, name="other"))
    made = plan(
        snapshot=world.snapshot(),
        scale=world.scale,
        decisions=decisions,
        policy=Policy(),
        now=world.now,
    )
    assert (made.cause, made.message) == (
        Cause.NOT_IDLE,
        "other says Busy: the readings say Busy",
    )


OTHER_TIMES = [(replace(decision(Reason.IDLE), at=NOW + after),) for after in (-301, 301)]


@pytest.mark.parametrize("decisions", [(), *OTHER_TIMES])
def test_no_decision_or_one_of_another_time_is_not_idle(decisions: tuple[object, ...]) -> None:
    """C04: what is not known now is unknown; of later is what an earlier clock said."""
    world = zero_wanted(Reason.IDLE)
    assert world.scale is not None
    made = plan(
        snapshot=world.snapshot(),
        scale=world.scale,
        decisions=decisions,  # type: ignore[arg-type] # Decisions, for all that
        policy=Policy(),
        now=world.now,
    )
    assert made.state is State.NOT_IDLE


def test_a_pod_that_opts_out_keeps_all_whatever_was_decided() -> None:
    """C07: a decision may be minutes old, and its reader saw no mark."""
    world = zero_wanted(Reason.IDLE)
    name = next(name for name in world.pods if "gpu" in name)
    world.pods[name] = replace(world.pods[name], opted_out=True)
    made = world.plan()
    assert (made.state, made.cause) == (State.NOT_IDLE, Cause.OPTED_OUT)
    assert name in made.message
    assert not any(takes(one) for one in made.steps)


def test_a_dry_run_takes_nothing() -> None:
    """It is no IDLE."""
    assert zero_wanted(Reason.DRY_RUN).plan().state is State.NOT_IDLE


def test_a_person_takes_workers_that_are_not_idle() -> None:
    """hold-now stands for the decision, and for spec.replicas too."""
    world = make_world()
    hold_now(world)
    made = world.plan()
    assert (made.state, made.cause) == (State.HOLDING, Cause.HOLD_NOW)
    assert "hold-now" in made.message


def test_a_persons_order_of_later_is_waited_for() -> None:
    """The next look is due then."""
    world = make_world(scale=make_scale(hold_now=NOW + 5))
    made = world.plan()
    assert (made.state, made.look_again_in) == (State.RUNNING, 5)


def woken_world() -> World:
    """Build a cluster whose workers a person took, and brought back by a wake since."""
    world = make_world()
    hold_now(world)
    world.looks(3)
    assert world.scale is not None
    world.scale = replace(world.scale, wake_at=world.now)
    world.looks(5)
    world.scale = replace(world.scale, wake_at=None)
    return world


def test_a_persons_order_is_used_up_by_its_hold() -> None:
    """Woken by a newer wake annotation, the workers are not taken again at once."""
    world = woken_world()
    assert world.looks(3).state is State.RUNNING
    hold_now(world)
    assert world.plan().cause is Cause.HOLD_NOW


def test_an_order_that_came_with_a_copy_is_not_heard() -> None:
    """A WorkerScale applied anew from a backup has the annotation of an earlier day."""
    world = make_world(scale=make_scale(hold_now=NOW - 86400))
    assert world.looks(3).state is State.RUNNING
    assert not world.written


def test_a_lost_status_makes_no_used_up_order_new() -> None:
    """Who was idle when it was given works now."""
    world = woken_world()
    assert world.scale is not None
    world.scale = replace(world.scale, status=WorkerScaleStatus())
    world.now += 3600
    world.alive = world.now
    before = len(world.written)
    assert world.looks(5).state is State.RUNNING
    assert len(world.written) == before
    hold_now(world)
    assert world.plan().cause is Cause.HOLD_NOW


def test_an_old_order_does_not_keep_workers_that_were_taken_for_idle() -> None:
    """KEDA wakes those, whatever annotation was left on from an earlier hold."""
    world = woken_world()
    zero_wanted(Reason.IDLE, world)
    assert world.looks(2).cause is Cause.IDLE
    world.scale_to(SIZE)
    assert (world.plan().state, world.plan().cause) == (State.WAKING, Cause.WANTED)


@pytest.mark.parametrize("kind", [Kind.PODS, Kind.WORKLOADS, Kind.RAY_CLUSTERS, Kind.WORKER_SCALES])
def test_nothing_is_taken_while_a_kind_is_unknown(kind: Kind) -> None:
    """C03: a 403 on one kind is enough, whatever a decision said."""
    world = zero_wanted(Reason.IDLE)
    assert world.scale is not None
    snapshot = world.snapshot()
    lost = SourceState(synced=False, problem=f"403 on list {kind}")
    made = plan(
        snapshot=replace(snapshot, sources={**snapshot.sources, kind: lost}),
        scale=world.scale,
        decisions=world.decisions(),
        policy=Policy(),
        now=world.now,
    )
    assert (made.state, made.cause) == (State.REFUSED, Cause.SOURCE_UNKNOWN)
    assert f"403 on list {kind}" in made.message


def test_no_zero_is_obeyed_before_the_size_was_read() -> None:
    """A WorkerScale that KEDA set to 0 at once gets the present size first."""
    world = make_world(read=False)
    zero_wanted(Reason.IDLE, world)
    made = world.plan()
    first, second = made.steps
    assert first == SetReplicas(replicas=SIZE)
    assert isinstance(second, WriteStatus)
    assert second.status.size == SIZE


def test_the_default_of_one_replica_becomes_the_size() -> None:
    """Any other number is a person's or KEDA's own."""
    world = make_world(read=False, scale=make_scale(replicas=1))
    assert world.plan().steps[0] == SetReplicas(replicas=SIZE)
    other = make_world(read=False, scale=make_scale(replicas=7))
    assert [type(one) for one in other.plan().steps] == [WriteStatus]


def test_a_size_that_was_written_to_replicas_alone_is_read_again() -> None:
    """A stop between the two writes changes nothing."""
    world = make_world(read=False, scale=make_scale(replicas=0))
    world.look(stop_after=1)
    assert world.scale is not None
    assert (world.scale.replicas, world.scale.status.size) == (SIZE, None)
    world.look()
    assert world.scale.status.size == SIZE


def test_the_size_is_unknown_without_a_workload_or_fresh_sources() -> None:
    """Unknown is no number."""
    world = make_world(read=False)
    fall_silent(world)
    assert world.plan().state is State.UNREAD
    empty = make_world(read=False)
    empty.workload = None
    assert (empty.plan().state, empty.plan().cause) == (State.UNREAD, Cause.SIZE_NOT_READ)


def test_all_that_is_taken_is_taken_again_where_the_first_write_failed() -> None:
    """A JobSet's second Job whose write met a newer version is taken at the next look: N08."""
    world = make_world(kind="JobSet", jobs=2)
    zero_wanted(Reason.IDLE, world)
    world.look(stop_after=3)
    world.verdict = Reason.AT_ZERO
    world.now += 1
    assert [one for one in world.plan().steps if takes(one)]
    assert world.looks(2).state is State.HELD


def test_a_part_that_was_taken_too_long_ago_goes_back() -> None:
    """N08: all or none; what was idle then may be busy now."""
    world = make_world(kind="JobSet", jobs=2)
    zero_wanted(Reason.IDLE, world)
    world.look(stop_after=3)
    world.verdict = Reason.BUSY
    world.now += 60
    world.alive = world.now
    made = world.plan()
    assert not any(takes(one) for one in made.steps)
    world.looks(4)
    assert len(world.pods) == SIZE


def test_what_was_idle_is_not_taken_once_it_works() -> None:
    """The record was written and the target was not: by then there is work, and nothing goes."""
    world = zero_wanted(Reason.IDLE)
    world.look(stop_after=2)
    world.verdict = Reason.BUSY
    world.now += 1
    assert not any(takes(one) for one in world.plan().steps)
    made = world.looks(15)
    assert (made.state, made.status.hold, world.written) == (State.NOT_IDLE, None, [])


@pytest.mark.parametrize("then", [all_of_them, begin_work])
def test_a_record_is_kept_until_what_was_written_for_it_is_surely_not_there(then: Event) -> None:
    """The write may be on its way to us, and nobody would give back what it took."""
    world = zero_wanted(Reason.IDLE)
    world.look(stop_after=2)
    then(world)
    world.now += 1
    made = world.look()
    assert made.status.hold is not None
    assert 0 < (made.look_again_in or 0) <= PATIENCE
    world.now += PATIENCE
    world.alive = world.now
    assert world.plan().status.hold is None


@pytest.mark.parametrize("evidence", ["size", "refusal"])
def test_a_take_is_not_repeated_without_what_it_would_need_now(evidence: str) -> None:
    """The other Job stays while the size is unknown, or where the Workload's clock runs."""
    world = make_world(kind="JobSet", jobs=2, pods_ready="True")
    zero_wanted(Reason.IDLE, world)
    world.look(stop_after=3)
    assert world.scale is not None
    assert world.workload is not None
    if evidence == "size":
        world.scale = replace(world.scale, status=replace(world.scale.status, size=None))
    else:
        world.workload = replace(world.workload, pods_ready="False")
    world.now += 1
    assert not any(takes(one) for one in world.plan().steps)


def test_a_part_goes_back_where_the_workload_was_evicted_meanwhile() -> None:
    """Admitted anew, it is not the one that was judged."""
    world = make_world(kind="JobSet", jobs=2)
    zero_wanted(Reason.IDLE, world)
    world.look(stop_after=3)
    preempt_at_once(world)
    world.now += 1
    made = world.plan()
    assert made.cause is Cause.EVICTED_WHILE_HELD
    assert not any(takes(one) for one in made.steps)
    world.looks(2)
    assert len(world.pods) == SIZE


def test_a_new_child_is_not_taken_on_its_predecessors_evidence() -> None:
    """KubeRay made another one after the record was written: nobody judged that."""
    world = make_world(kind="RayJob")
    zero_wanted(Reason.IDLE, world)
    world.look(stop_after=2)
    retry_ray_job(world)
    world.now += 1
    made = world.plan()
    assert not any(takes(one) for one in made.steps)
    assert made.status.hold is None


def test_what_was_idle_is_not_taken_once_nothing_is_known() -> None:
    """As long as nothing was taken, the whole evidence has to be there."""
    world = zero_wanted(Reason.IDLE)
    world.look(stop_after=2)
    world.verdict = Reason.NO_SAMPLES
    world.now += 1
    assert not any(takes(one) for one in world.plan().steps)


def test_a_part_goes_back_at_once_where_work_is_seen() -> None:
    """Not only when the patience is over."""
    world = make_world(kind="JobSet", jobs=2)
    zero_wanted(Reason.IDLE, world)
    world.look(stop_after=3)
    world.verdict = Reason.BUSY
    world.now += 1
    world.looks(2)
    assert len(world.pods) == SIZE
    assert not [mark for one in world.objects.values() for mark in one.marks]


def test_a_clock_that_was_set_back_makes_no_evidence_young() -> None:
    """Else a take that failed would be done again for as long as the clock was wrong."""
    world = zero_wanted(Reason.IDLE)
    world.look(stop_after=2)
    set_the_clock_back(world)
    assert not any(takes(one) for one in world.plan().steps)


@pytest.mark.parametrize("kind", ["RayJob", "JobSet"])
def test_what_an_earlier_worker_scale_of_that_name_left_is_no_target(kind: str) -> None:
    """Its finalizer was taken off by hand; what it had marked belongs to somebody who works."""
    world = make_world(kind=kind)
    left = Mark(component="old", by="ws", uid="gone", was="1")
    theirs = replace(
        next(one for one in world.objects.values() if one.kind != "JobSet"),
        uid="b-uid",
        name="b",
        controller_uid="b-owner",
        marks=(left,),
    )
    world.objects["b-uid"] = theirs
    zero_wanted(Reason.IDLE, world)
    world.looks(2)
    assert world.objects["b-uid"].part == theirs.part
    assert world.written


def test_what_never_lasts_is_tried_twice_and_no_more() -> None:
    """A webhook that undoes each write at once is not fought."""
    world = zero_wanted(Reason.IDLE)
    for _ in range(200):
        made = world.plan()
        world.apply(one for one in made.steps if not takes(one))
        world.now += 6
        world.alive = world.now
    assert (world.plan().state, world.plan().cause) == (State.CONFLICT, Cause.UNDONE)
    assert world.plan().steps == ()


def test_an_evicted_workload_is_refused() -> None:
    """Its eviction stands beside QuotaReserved for a while."""
    world = zero_wanted(Reason.IDLE)
    evict(world)
    assert (world.plan().state, world.plan().cause) == (State.REFUSED, Cause.EVICTED)


@pytest.mark.parametrize("mode", list(Mode))
def test_held_workers_stay_away_whatever_is_unknown(mode: Mode) -> None:
    """What was taken is kept: unknown wakes nobody, and takes nobody."""
    world = held_world(mode=mode)
    world.verdict = Reason.NO_SAMPLES
    assert world.looks(3).state in (State.HELD, State.RELEASED)
    fall_silent(world)
    made = world.plan()
    assert (made.cause, [type(one) for one in made.steps]) == (Cause.SOURCE_UNKNOWN, [WriteStatus])


def test_a_lost_status_is_no_hold() -> None:
    """Without it the size is read anew, and the mark is given back."""
    world = held_world()
    assert world.scale is not None
    world.scale = replace(world.scale, status=WorkerScaleStatus())
    world.looks(4)
    assert not [mark for one in world.objects.values() for mark in one.marks]
    assert world.plan().state in (State.RUNNING, State.NOT_IDLE)
