"""What a WorkerScale that is no more had taken is found by its marks, and given back by them."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scaler.core.hold.orphan_plan import give_back, leave
from scaler.core.hold.orphans import Orphan, orphans
from scaler.core.hold.steps import DropMark, Plan, SetParallelism, Step
from scaler.core.hold.words import Cause, State
from scaler.core.model import (
    JobPart,
    Kind,
    Mark,
    Mode,
    SourceState,
    WorkerScale,
    WorkerScaleStatus,
)
from scaler.core.policy import Policy, WorkerScales
from tests.core.hold.events import EVENTS, restore_backup, undo
from tests.core.hold.test_laws import HAPPENINGS, START, TARGETS, Happening, zeroed
from tests.core.hold.world import SIZE, World, held_world, make_scale, make_world, ray_cluster

HELD = [
    ("RayCluster", Mode.HOLD, 1),
    ("RayJob", Mode.HOLD, 1),
    ("JobSet", Mode.HOLD, 2),
    ("TrainJob", Mode.HOLD, 2),
    ("PyTorchJob", Mode.RELEASE, 1),
    ("RayCluster", Mode.RELEASE, 1),
    ("Notebook", Mode.RELEASE, 1),
]
each_target = pytest.mark.parametrize(("kind", "mode", "jobs"), HELD)


def lost_world(kind: str = "RayCluster", mode: Mode = Mode.HOLD, jobs: int = 1) -> World:
    """Build a cluster whose WorkerScale went without its finalizer while workers were held."""
    world = held_world(kind=kind, mode=mode, jobs=jobs)
    world.scale = None
    world.written.clear()
    return world


def found_in(world: World, policy: Policy | None = None) -> tuple[Orphan, ...]:
    """Find the orphans of a cluster."""
    return orphans(world.snapshot(), policy=policy or Policy(), now=world.now)


def planned(world: World) -> list[Plan]:
    """Plan to give all of them back."""
    return [give_back(world.snapshot(), one, now=world.now) for one in found_in(world)]


def marks_of(world: World) -> list[str]:
    """Name what bears a mark."""
    found = [one.uid for one in world.objects.values() if one.marks]
    workload = world.workload
    return [*found, workload.uid] if workload is not None and workload.released_by else found


def another(world_kind: str, mode: Mode, **changes: object) -> WorkerScale:
    """Build the WorkerScale that somebody made anew, by another name and UID."""
    made = make_scale(kind=world_kind, mode=mode, name="anew", uid="anew-uid", replicas=0)
    return replace(made, **changes)  # type: ignore[arg-type] # names and types are the caller's


@each_target
def test_workers_that_nobody_holds_any_more_come_back(kind: str, mode: Mode, jobs: int) -> None:
    """In one plan, which says what was there and why it is given back."""
    world = lost_world(kind, mode, jobs)
    assert zeroed(world)
    (plan,) = planned(world)
    assert (plan.state, plan.cause) == (State.RESTORING, Cause.WORKER_SCALE_LOST)
    assert str(plan.target) == f"{kind}/a"
    assert "taken for WorkerScale/ws" in plan.message
    assert "which is no more, and given back: " in plan.message
    assert len(plan.steps) == jobs
    world.apply(plan.steps)
    world.settle()
    assert (zeroed(world), marks_of(world)) == (set(), [])
    assert world.workload is None or world.workload.admitted
    workers = 0 if kind == "PyTorchJob" else 1 if kind == "Notebook" else SIZE
    assert sum(pod.live for pod in world.pods.values()) >= workers
    assert found_in(world) == ()


@each_target
def test_a_held_target_whose_worker_scale_is_there_is_no_orphan(
    kind: str, mode: Mode, jobs: int
) -> None:
    """Its UID, or for a Workload its name, is that of the mark."""
    assert found_in(held_world(kind=kind, mode=mode, jobs=jobs)) == ()


@each_target
def test_a_worker_scale_that_was_made_anew_speaks_for_its_target(
    kind: str, mode: Mode, jobs: int
) -> None:
    """It gives back itself what it finds, and remembers how often."""
    world = lost_world(kind, mode, jobs)
    world.scale = another(kind, mode)
    assert found_in(world) == ()
    world.look()
    assert (zeroed(world), marks_of(world)) == (set(), [])


@pytest.mark.parametrize(
    "scale",
    [
        another("RayCluster", Mode.HOLD, target=make_scale(component="cpu").target),
        another("RayCluster", Mode.RELEASE),
        another("RayCluster", Mode.HOLD, namespace="elsewhere"),
    ],
    ids=["of another component", "in the other mode", "in another namespace"],
)
def test_a_worker_scale_on_something_else_speaks_for_no_mark(scale: WorkerScale) -> None:
    """It would never give it back."""
    world = lost_world()
    world.others = [scale]
    assert len(found_in(world)) == 1


def test_the_name_alone_speaks_for_no_workload_of_another_target() -> None:
    """A Workload's annotation knows no UID."""
    world = lost_world("PyTorchJob", Mode.RELEASE)
    own = make_scale(kind="PyTorchJob", mode=Mode.RELEASE)
    world.others = [replace(own, target=replace(own.target, name="b"))]
    assert len(found_in(world)) == 1
    world.others = [own]
    assert found_in(world) == ()


@pytest.mark.parametrize("name", ["ws", "anew"])
def test_a_worker_scale_in_mode_hold_speaks_for_no_released_workload(name: str) -> None:
    """Not by its name either: what it sees is the worker group."""
    world = lost_world("RayCluster", Mode.RELEASE)
    world.others = [another("RayCluster", Mode.HOLD, name=name)]
    assert len(found_in(world)) == 1


def test_a_mark_with_the_uid_of_a_worker_scale_is_its_own_business() -> None:
    """Where it can't tell which RayCluster is the RayJob's now, it waits until it can."""
    world = held_world(kind="RayJob")
    held = world.objects["child-uid"]
    world.put(replace(held, uid="child-2", name="b-child"))
    assert found_in(world) == ()


def test_a_notebook_that_a_person_stopped_stays_so_whatever_else_it_bears() -> None:
    """Only the mark that was written with the stop speaks of it."""
    world = lost_world("Notebook", Mode.RELEASE)
    (mark,) = world.objects["a-uid"].marks
    world.put(replace(world.objects["a-uid"], marks=(replace(mark, component="other"),)))
    (plan,) = planned(world)
    assert plan.steps == ()


@pytest.mark.parametrize(
    "state",
    [
        SourceState(synced=False, last_alive=None),
        SourceState(synced=False, installed=False, last_alive=None),
        SourceState(synced=True, last_alive=0.0),
    ],
    ids=["not synced", "not installed", "stale"],
)
@pytest.mark.parametrize("kind", [Kind.WORKER_SCALES, Kind.WORKLOADS, Kind.RAY_CLUSTERS])
def test_missing_sources_make_no_orphan(state: SourceState, kind: Kind) -> None:
    """Only a kind that is known not to be there, but for our own, says nothing either way."""
    world = lost_world()
    world.sources = {kind: state}
    expected = 1 if not state.installed and kind is not Kind.WORKER_SCALES else 0
    assert len(found_in(world)) == expected


def test_a_worker_scale_that_could_not_be_decoded_may_speak_for_any_mark() -> None:
    """It is there, though nobody knows what it says."""
    world = lost_world()
    snapshot = replace(world.snapshot(), skipped={Kind.WORKER_SCALES: 1})
    assert orphans(snapshot, policy=Policy(), now=world.now) == ()


def test_a_kind_that_the_policy_leaves_out_is_given_back_too() -> None:
    """As what is held is given back when its kind is taken out of the policy."""
    policy = Policy(worker_scales=WorkerScales(kinds=frozenset()))
    assert len(found_in(lost_world(), policy)) == 1


def test_what_is_being_deleted_is_left_alone() -> None:
    """Its pods would come for a moment."""
    world = lost_world("JobSet", jobs=2)
    world.put(replace(world.one("JobSet"), deleting=True))
    (plan,) = planned(world)
    assert plan.steps == ()
    for one in list(world.objects.values()):
        world.put(replace(one, deleting=True))
    assert found_in(world) == ()


@pytest.mark.parametrize(
    ("kind", "mode"),
    [("RayCluster", Mode.HOLD), ("PyTorchJob", Mode.RELEASE), ("Notebook", Mode.RELEASE)],
)
def test_of_what_somebody_put_back_just_the_mark_goes(kind: str, mode: Mode) -> None:
    """Nothing else is ours."""
    world = lost_world(kind, mode)
    undo(world)
    (plan,) = planned(world)
    assert [type(one) for one in plan.steps] == [DropMark]
    world.apply(plan.steps)
    assert (zeroed(world), marks_of(world)) == (set(), [])


def test_what_bears_no_mark_is_not_written() -> None:
    """A Job that a person set to zero is theirs, in the same JobSet too."""
    world = lost_world("JobSet", jobs=2)
    job = world.objects["job-0"]
    world.put(replace(job, marks=()))
    (plan,) = planned(world)
    (step,) = plan.steps
    assert isinstance(step, SetParallelism)
    assert step.job == ("ml", "a-gpu-1")


def test_each_target_of_a_lost_worker_scale_is_an_orphan_of_its_own() -> None:
    """As where one of that name was made and lost twice."""
    world = lost_world("RayJob")
    held = world.objects["child-uid"]
    world.put(replace(held, uid="child-2", name="b-child", controller_uid="b-uid"))
    assert [str(one.target) for one in found_in(world)] == ["RayCluster/b-child", "RayJob/a"]
    for plan in planned(world):
        world.apply(plan.steps)
    assert (zeroed(world), marks_of(world)) == (set(), [])


def test_a_target_without_a_workload_is_named_as_far_as_it_is_read() -> None:
    """RayJobs and TrainJobs are known by their Workloads alone."""
    world = lost_world("TrainJob", jobs=2)
    world.workload = None
    (plan,) = planned(world)
    assert str(plan.target) == "JobSet/a"
    world.apply(plan.steps)
    assert (zeroed(world), marks_of(world)) == (set(), [])


def test_jobs_get_what_they_had_and_their_share_where_the_mark_is_spoilt() -> None:
    """The podset of two pods is that of two Jobs."""
    world = lost_world("JobSet", jobs=2)
    job = world.objects["job-1"]
    spoilt = replace(job.marks[0], was="many")
    world.put(replace(job, marks=(spoilt,)))
    for plan in planned(world):
        world.apply(plan.steps)
    parts = [world.objects[uid].part for uid in ("job-0", "job-1")]
    assert [part.parallelism for part in parts if isinstance(part, JobPart)] == [1, 1]


def test_an_orphan_is_told_from_others_though_a_backup_brings_it_back() -> None:
    """So that it can be counted how often it came."""
    world = lost_world()
    (before,) = found_in(world)
    restore_backup(world)
    (after,) = found_in(world)
    assert after.key == before.key
    assert after.uids != before.uids


def test_one_that_is_left_alone_says_so() -> None:
    """Nothing is written for it."""
    world = lost_world()
    (orphan,) = found_in(world)
    plan = leave(orphan, now=world.now)
    assert (plan.state, plan.cause, plan.steps) == (
        State.CONFLICT,
        Cause.WORKER_SCALE_LOST,
        (),
    )
    assert "WorkerScale/ws (UID ws-uid), which is no more" in plan.message


def test_a_mark_without_its_group_is_taken_off() -> None:
    """The group was taken out of the spec meanwhile."""
    world = make_world()
    world.scale = None
    stray = Mark(component="gone", by="ws", uid="lost", was="false")
    world.put(replace(ray_cluster("a-uid"), marks=(stray,)))
    (plan,) = planned(world)
    assert [type(one) for one in plan.steps] == [DropMark]


def own(step: Step) -> bool:
    """Say whether a step writes a WorkerScale."""
    return type(step).__name__ in ("SetReplicas", "SetFinalizer", "WriteStatus")


def happen(world: World, happenings: list[Happening]) -> None:
    """Let things happen, and the actuator look, or be killed, after each."""
    for name, stop_after, seconds in happenings:
        EVENTS[name](world)
        if world.scale is not None:
            world.look(stop_after=stop_after)
        world.now += seconds
        if name != "fall silent":
            world.alive = world.now


@given(target=st.sampled_from(TARGETS), happenings=HAPPENINGS)
@settings(max_examples=60)
def test_law_no_held_target_is_an_orphan_while_its_worker_scale_is_there(
    target: tuple[str, Mode, int], happenings: list[Happening]
) -> None:
    """Whatever happened to them: what is written down of it has its own ways."""
    kind, mode, jobs = target
    world = make_world(kind=kind, mode=mode, jobs=jobs)
    for one in [*START, *happenings]:
        happen(world, [one])
        if world.scale is not None:
            assert found_in(world) == ()


@given(target=st.sampled_from(TARGETS), happenings=HAPPENINGS)
@settings(max_examples=60)
def test_law_nothing_that_bears_a_mark_stays_at_zero_once_its_worker_scale_is_lost(
    target: tuple[str, Mode, int], happenings: list[Happening]
) -> None:
    """Wherever the actuator was killed; and nothing is taken by it."""
    kind, mode, jobs = target
    world = make_world(kind=kind, mode=mode, jobs=jobs)
    happen(world, [*START, *happenings])
    world.scale, world.alive = None, world.now
    bearing, before = set(marks_of(world)), zeroed(world)
    for plan in planned(world):
        assert not any(own(step) for step in plan.steps)
        world.apply(plan.steps)
    after = zeroed(world)
    assert marks_of(world) == []
    assert after <= before
    assert not any(name.partition("/")[0] in bearing for name in after)


def test_a_worker_scale_out_of_a_backup_speaks_for_its_target_with_or_without_its_record() -> None:
    """Its UID is a new one."""
    world = held_world()
    assert world.scale is not None
    copied = replace(world.scale, uid="restored-uid")
    world.scale = copied
    assert found_in(world) == ()
    world.scale = replace(copied, status=WorkerScaleStatus())
    assert found_in(world) == ()
