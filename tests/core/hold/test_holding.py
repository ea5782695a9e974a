"""A hold is kept as long as its Workload is as it was, and given back where it is not."""

from dataclasses import replace

import pytest

from scaler.core.hold.breaches import PATIENCE
from scaler.core.hold.steps import DropMark, SetGroup, SetParallelism
from scaler.core.hold.words import Cause, State
from scaler.core.model import JobPart, Kind, Mode, RayClusterPart, SourceState
from scaler.core.reasons import Reason
from tests.core.hold.events import (
    Event,
    all_of_them,
    delete,
    evict,
    fall_silent,
    finish,
    hold_now,
    lose_readiness,
    nothing,
    preempt_at_once,
    readmit,
    regain_readiness,
    replace_workload,
    retry_ray_job,
    revert,
    set_the_clock_back,
    strip,
    suspend,
    undo,
    wake,
    zero,
)
from tests.core.hold.test_laws import takes, zeroed
from tests.core.hold.world import SIZE, World, held_world

HOLDABLE = ["RayCluster", "RayJob", "JobSet", "TrainJob"]


@pytest.mark.parametrize("kind", HOLDABLE)
def test_held_workers_are_gone_and_the_workload_is_as_it_was(kind: str) -> None:
    """The head and the other groups stay, and nothing more is written."""
    world = held_world(kind=kind, jobs=2 if kind == "JobSet" else 1)
    made = world.plan()
    assert (made.state, made.cause, made.steps) == (State.HELD, Cause.IDLE, ())
    assert not [name for name in world.pods if "gpu" in name]
    assert made.status.hold is not None
    assert made.status.hold.gone_at is not None
    assert "same UID" in made.message
    assert "8 GPUs" in made.message
    assert "the readings say Idle" in made.message


@pytest.mark.parametrize("kind", HOLDABLE)
@pytest.mark.parametrize("waker", [all_of_them, wake, delete])
def test_wanted_workers_come_back_as_they_were(kind: str, waker: Event) -> None:
    """By KEDA, by a person, by the WorkerScale's deletion: written down first, then given."""
    world = held_world(kind=kind, jobs=2 if kind == "JobSet" else 1)
    waker(world)
    made = world.plan()
    assert made.status.hold is not None
    assert made.status.hold.waking_at == world.now
    world.looks(2)
    assert not zeroed(world)
    assert len([name for name in world.pods if "gpu" in name]) == SIZE
    marks = [mark for one in world.objects.values() for mark in one.marks]
    assert not marks


@pytest.mark.parametrize("kind", HOLDABLE)
def test_a_stop_after_any_step_leads_to_the_same_end(kind: str) -> None:
    """Taking and giving go on from what is there, wherever they were cut off."""
    for stop in range(6):
        world = held_world(kind=kind)
        all_of_them(world)
        world.look(stop_after=stop)
        world.now += 1
        assert world.looks(6).state is State.RUNNING
        world.scale_to(0)
        world.verdict = Reason.IDLE
        world.look(stop_after=stop)
        world.now += 1
        assert world.looks(20).state is State.HELD


@pytest.mark.parametrize("kind", ["RayCluster", "JobSet", "TrainJob"])
def test_an_eviction_clears_the_hold_once_the_owner_is_suspended(kind: str) -> None:
    """Measured: else the next admission reserves the full quota for a job without workers."""
    world = held_world(kind=kind)
    evict(world)
    made = world.plan()
    assert (made.state, made.cause) == (State.HELD, Cause.EVICTED_WHILE_HELD)
    assert not [one for one in made.steps if isinstance(one, SetGroup | SetParallelism)]
    suspend(world)
    world.looks(3)
    assert not zeroed(world)
    assert not world.pods
    readmit(world)
    world.settle()
    assert len([name for name in world.pods if "gpu" in name]) == SIZE


@pytest.mark.parametrize("kind", ["RayCluster", "JobSet", "TrainJob"])
def test_an_eviction_that_nobody_saw_gives_the_workers_back_at_once(kind: str) -> None:
    """Its traces are there: one eviction more, and a newer QuotaReserved."""
    world = held_world(kind=kind)
    preempt_at_once(world)
    assert world.plan().cause is Cause.EVICTED_WHILE_HELD
    world.looks(3)
    assert len([name for name in world.pods if "gpu" in name]) == SIZE


def test_a_ray_jobs_new_child_is_no_hold() -> None:
    """The hold went with the child; nothing is written to the new one."""
    world = held_world(kind="RayJob")
    before = len(world.written)
    retry_ray_job(world)
    world.settle()
    made = world.plan()
    assert (made.state, made.status.hold) == (State.RUNNING, None)
    world.look()
    assert len(world.written) == before


def test_a_new_ray_cluster_of_that_name_is_no_hold() -> None:
    """Another UID is another object."""
    world = held_world()
    old = world.objects.pop("a-uid")
    part = old.part
    assert isinstance(part, RayClusterPart)
    groups = tuple(replace(one, suspended=None) for one in part.groups)
    world.objects["b-uid"] = replace(old, uid="b-uid", marks=(), part=replace(part, groups=groups))
    made = world.plan()
    assert (made.status.hold, made.status.latch) == (None, None)


@pytest.mark.parametrize("event", [replace_workload, finish])
def test_another_workload_or_none_gives_the_workers_back(event: Event) -> None:
    """The same name says nothing: the UID tells."""
    world = held_world()
    event(world)
    assert world.plan().cause is Cause.WORKLOAD_REPLACED
    world.looks(3)
    assert not zeroed(world)


def test_less_usage_gives_the_workers_back() -> None:
    """Measured: an elastic job keeps UID and both conditions, and uses nothing."""
    world = held_world()
    assert world.workload is not None
    assert world.workload.admission is not None
    assignments = tuple(replace(one, usage=()) for one in world.workload.admission.assignments)
    admission = replace(world.workload.admission, assignments=assignments)
    world.workload = replace(world.workload, admission=admission)
    assert world.plan().cause is Cause.USAGE_LOST


@pytest.mark.parametrize(("pod_set", "cause"), [("gpu", Cause.USAGE_LOST), ("cpu", Cause.IDLE)])
def test_reclaimed_pods_are_a_loss_in_the_held_podset_alone(pod_set: str, cause: Cause) -> None:
    """Elsewhere they just finished."""
    world = held_world()
    assert world.workload is not None
    world.workload = replace(world.workload, reclaimable=((pod_set, 1),))
    assert world.plan().cause is cause


@pytest.mark.parametrize("kind", HOLDABLE)
def test_lost_readiness_gives_the_workers_back(kind: str) -> None:
    """It would be evicted after its recovery time-out."""
    world = held_world(kind=kind, pods_ready="True")
    lose_readiness(world)
    made = world.plan()
    assert (made.cause, made.state) == (Cause.PODS_READY_LOST, State.WAKING)


def test_a_waking_job_set_may_lose_its_readiness() -> None:
    """Measured: it is False/WaitForRecovery for a second of each wake."""
    world = held_world(kind="JobSet", pods_ready="True")
    all_of_them(world)
    world.looks(3)
    lose_readiness(world)
    world.pods.clear()
    assert world.looks(3).state is State.RUNNING
    regain_readiness(world)


def ignored_world() -> World:
    """Build a cluster whose idle workers were taken, but for a controller that does not follow."""
    world = held_world()
    all_of_them(world)
    world.looks(4)
    world.follows = False
    world.scale_to(0)
    world.verdict = Reason.IDLE
    world.looks(2)
    return world


def test_a_ray_cluster_that_its_controller_ignores_is_given_back_and_left() -> None:
    """KubeRay before 1.6 without its gate: the pods live on, observedGeneration stays behind."""
    world = ignored_world()
    assert world.plan().state is State.HOLDING
    assert 0 < (world.plan().look_again_in or 0) <= PATIENCE
    world.now += PATIENCE
    made = world.look()
    assert made.cause is Cause.NOT_TAKEN
    assert "RayJobDeletionPolicy" in made.message
    assert not zeroed(world)
    before = len(world.written)
    world.follows = True
    after = world.looks(30)
    assert after.state is State.REFUSED
    assert "RayJobDeletionPolicy" in after.message
    assert len(world.written) == before


def test_what_is_written_once_it_is_given_back_still_says_what_was_wrong() -> None:
    """Words alone are written seldom, so the first ones have to be the right ones."""
    world = ignored_world()
    world.now += PATIENCE
    messages = [world.look().message for _ in range(4)]
    assert all("RayJobDeletionPolicy" in each for each in messages), messages


@pytest.mark.parametrize("kind", HOLDABLE)
@pytest.mark.parametrize("event", [revert, undo])
def test_another_writer_is_not_fought(kind: str, event: Event) -> None:
    """At most our mark is taken off, and this generation is not tried again."""
    world = held_world(kind=kind)
    before = len(world.written)
    world.verdict = Reason.IDLE
    event(world)
    world.settle()
    for _ in range(50):
        made = world.look()
        event(world)
        world.now += 60
        world.alive = world.now
    assert (made.state, made.cause) == (State.CONFLICT, Cause.UNDONE)
    written = world.written[before:]
    assert all(isinstance(one, DropMark) for one in written)
    assert len(written) <= 1


def test_a_writer_that_always_reverts_costs_two_writes_a_generation() -> None:
    """The take, and at most the mark's removal; KEDA's next cycle is the next generation."""
    world = held_world()
    world.verdict = Reason.IDLE
    for cycle in range(3):
        world.scale_to(SIZE)
        world.looks(4, seconds=15)
        before = len(world.written)
        world.scale_to(0)
        for _ in range(40):
            world.look()
            undo(world)
            world.settle()
            world.now += 20
            world.alive = world.now
        assert len(world.written) - before == 2, cycle


@pytest.mark.parametrize("kind", HOLDABLE)
def test_a_mark_that_somebody_took_off_is_a_conflict_that_still_goes_back(kind: str) -> None:
    """The record remembers what the mark did not."""
    world = held_world(kind=kind)
    strip(world)
    made = world.looks(2)
    assert (made.state, made.steps) == (State.CONFLICT, ())
    delete(world)
    for _ in range(4):
        if world.scale is not None:
            world.look()
    assert world.scale is None
    assert not zeroed(world)


def test_one_job_set_back_gives_all_of_them_back() -> None:
    """N08: all or none, when another writer undoes a part."""
    world = held_world(kind="JobSet", jobs=2)
    job = world.objects["job-0"]
    assert isinstance(job.part, JobPart)
    world.put(replace(job, part=replace(job.part, parallelism=1)))
    world.settle()
    world.looks(3)
    assert len(world.pods) == SIZE


@pytest.mark.parametrize("was", ["", "many", "-1", "0", "1.0", "\u0663", "999", "9" * 5000])
def test_a_spoilt_mark_gives_each_job_its_share(was: str) -> None:
    """The number of pods is in the record too, and no Job had more."""
    world = held_world(kind="JobSet", jobs=2)
    for job in [one for one in world.objects.values() if one.marks]:
        world.put(replace(job, marks=(replace(job.marks[0], was=was),)), spec=False)
    all_of_them(world)
    world.looks(2)
    assert len(world.pods) == SIZE


def test_unknown_sources_keep_a_hold_and_judge_nothing() -> None:
    """A Workload that seems gone may be there."""
    world = held_world()
    finish(world)
    fall_silent(world)
    made = world.plan()
    assert (made.state, made.cause) == (State.HELD, Cause.SOURCE_UNKNOWN)
    assert made.status.hold is not None


@pytest.mark.parametrize("waker", [all_of_them, delete])
def test_unknown_sources_do_not_keep_wanted_workers_away(waker: Event) -> None:
    """What is known is enough to give back; the finalizer stays until that was seen."""
    world = held_world()
    fall_silent(world)
    waker(world)
    world.look()
    assert not zeroed(world)
    world.look()
    assert world.scale is not None


def test_a_target_whose_spec_was_not_read_is_held_on() -> None:
    """It is there, and its group may be at zero still: that is not a target that is gone."""
    world = held_world()
    cluster = world.one("RayCluster")
    world.objects[cluster.uid] = replace(cluster, part=None)
    made = world.plan()
    assert (made.state, made.cause) == (State.HELD, Cause.SOURCE_UNKNOWN)
    assert made.status.hold is not None
    world.objects[cluster.uid] = cluster
    all_of_them(world)
    world.looks(2)
    assert not zeroed(world)


@pytest.mark.parametrize("then", [nothing, fall_silent])
def test_a_wake_that_began_ends_in_workers_though_they_are_wanted_no_more(then: Event) -> None:
    """It was written down, and maybe half done: also where nothing is known by then."""
    world = held_world()
    all_of_them(world)
    world.look(stop_after=1)
    zero(world)
    then(world)
    world.look()
    assert not zeroed(world)


def test_a_hold_that_lasted_too_long_ends_until_the_workers_were_busy() -> None:
    """MaxHold wakes; the next hold needs activity in between."""
    world = held_world()
    assert world.scale is not None
    world.scale = replace(world.scale, max_hold=3600.0)
    wait = world.plan().look_again_in or 0.0
    assert 0 < wait <= 3600
    world.now += wait
    world.alive = world.now
    assert world.plan().cause is Cause.MAX_HOLD
    world.verdict = Reason.IDLE
    assert world.looks(5).cause is Cause.NEEDS_ACTIVITY
    assert len(world.pods) == SIZE + 2
    world.verdict = Reason.BUSY
    world.looks(2)
    world.verdict = Reason.IDLE
    assert world.plan().cause is Cause.IDLE


def test_an_order_does_not_outlive_maxhold() -> None:
    """The annotation that made the hold does not make the next one."""
    world = held_world()
    all_of_them(world)
    world.looks(4)
    hold_now(world)
    world.looks(3)
    assert world.scale is not None
    world.scale = replace(world.scale, max_hold=60.0)
    world.now += 60
    world.alive = world.now
    assert world.looks(6).state is State.RUNNING


@pytest.mark.parametrize("waker", [wake, all_of_them])
def test_workers_come_back_though_the_clock_was_set_back(waker: Event) -> None:
    """The hold seems to be of later than now: a person's wake is no older one for that."""
    world = held_world()
    set_the_clock_back(world)
    waker(world)
    world.looks(3)
    assert not zeroed(world)


def test_a_clock_that_was_set_back_makes_no_hold_endless() -> None:
    """What maxHold ends is not held until the clock has caught up."""
    world = held_world()
    assert world.scale is not None
    world.scale = replace(world.scale, max_hold=60.0)
    set_the_clock_back(world)
    world.looks(3)
    assert not zeroed(world)


@pytest.mark.parametrize("kind", HOLDABLE)
@pytest.mark.parametrize("pods_ready", [None, "True"])
def test_a_deletion_waits_for_no_kueue_and_no_pods(kind: str, pods_ready: str | None) -> None:
    """Kueue was uninstalled, or we may read pods no more: a namespace must be able to go."""
    world = held_world(kind=kind, pods_ready=pods_ready)
    world.workload = None
    gone = SourceState(synced=False, installed=False, last_alive=None, problem="not served")
    world.sources = {
        Kind.WORKLOADS: gone,
        Kind.PODS: SourceState(synced=False, last_alive=None),
    }
    assert world.plan().cause is Cause.SOURCE_UNKNOWN
    delete(world)
    for _ in range(4):
        if world.scale is not None:
            world.look()
        world.now += 1
        world.alive = world.now
    assert world.scale is None
    assert not zeroed(world)


def test_an_opt_out_gives_the_workers_back() -> None:
    """C07: on the WorkerScale or on its Workload."""
    world = held_world()
    assert world.scale is not None
    assert world.workload is not None
    world.scale = replace(world.scale, opted_out=True)
    assert (world.plan().state, world.plan().cause) == (State.WAKING, Cause.OPTED_OUT)
    other = held_world()
    assert other.workload is not None
    other.workload = replace(other.workload, opted_out=True)
    assert other.plan().cause is Cause.OPTED_OUT


def test_a_kind_that_the_policy_leaves_out_now_is_given_back() -> None:
    """Holding it is allowed no more; giving it back is."""
    world = held_world()
    world.allowed = frozenset({"JobSet"})
    assert world.plan().cause is Cause.KIND_NOT_ALLOWED
    assert world.looks(4).state is State.REFUSED
    assert not zeroed(world)


def test_a_finalizer_that_somebody_took_off_is_put_back() -> None:
    """As long as something is held, a deletion has to wait."""
    world = held_world()
    assert world.scale is not None
    world.scale = replace(world.scale, finalized=False)
    world.look()
    assert world.scale.finalized


def test_marks_of_a_worker_scale_that_is_no_more_go_back() -> None:
    """Nobody else would ever give these workers back."""
    world = held_world()
    assert world.scale is not None
    world.scale = replace(
        world.scale, uid="new", status=replace(world.scale.status, hold=None), replicas=SIZE
    )
    world.looks(3)
    assert not zeroed(world)


def test_pods_that_still_end_keep_it_holding() -> None:
    """GPUs are free when the last pod is gone, not when it was told to go."""
    world = held_world()
    pod = next(iter(world.pods.values()))
    world.pods["late"] = replace(pod, name="late", pod_set="gpu", deleting=True)
    made = world.plan()
    assert (made.state, made.status.replicas) == (State.HOLDING, 0)


@pytest.mark.parametrize("mode", list(Mode))
def test_held_workers_are_not_taken_twice(mode: Mode) -> None:
    """A held one is neither idle nor taken again, whatever decisions say."""
    world = held_world(mode=mode)
    before = len(world.written)
    for verdict in (Reason.IDLE, Reason.BUSY, Reason.STARTING, Reason.NO_SAMPLES):
        world.verdict = verdict
        world.looks(2)
    assert len(world.written) == before
    assert not any(takes(one) for one in world.plan().steps)
