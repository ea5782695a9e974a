"""Laws that hold for every sequence of events and crashes, on every target."""

from dataclasses import dataclass, field

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scaler.core.hold.breaches import PATIENCE
from scaler.core.hold.steps import (
    Plan,
    SetActive,
    SetGroup,
    SetNotebook,
    SetParallelism,
    Step,
)
from scaler.core.model import JobPart, Mode, NotebookPart, RayClusterPart, WorkerScale
from scaler.core.reasons import Reason
from tests.core.hold.events import EVENTS
from tests.core.hold.world import World, make_world

TARGETS = [
    ("RayCluster", Mode.HOLD, 1),
    ("RayJob", Mode.HOLD, 1),
    ("JobSet", Mode.HOLD, 2),
    ("TrainJob", Mode.HOLD, 1),
    ("RayCluster", Mode.RELEASE, 1),
    ("Job", Mode.RELEASE, 1),
    ("Notebook", Mode.RELEASE, 1),
]
Happening = tuple[str, int | None, float]
HAPPENINGS = st.lists(
    st.tuples(
        st.sampled_from(sorted(EVENTS)),
        st.sampled_from([None, None, None, 0, 1, 2, 3]),
        st.sampled_from([0.5, 3.0, 12.0, 40.0]),
    ),
    max_size=25,
)
"""What happens, after how many of its steps the actuator is killed, and how long it takes."""
START: list[Happening] = [("zero", None, 1.0), ("idle", None, 1.0)]
"""Most targets are held before anything else happens to them."""


def takes(step: Step) -> bool:
    """Say whether a step takes workers."""
    match step:
        case SetGroup():
            return step.suspend
        case SetParallelism():
            return step.taking
        case SetActive():
            return not step.active
        case SetNotebook():
            return step.stop
        case _:
            return False


def zeroed(world: World) -> set[str]:
    """Name what is at zero now."""
    names: set[str] = set()
    for one in world.objects.values():
        match one.part:
            case RayClusterPart() as part:
                names |= {f"{one.uid}/{group.name}" for group in part.groups if group.suspended}
            case JobPart() as part:
                names |= {one.uid} if part.parallelism == 0 else set()
            case NotebookPart() as part:
                names |= {one.uid} if part.stopped is not None else set()
            case None:
                pass
    found = world.workload
    return names | ({found.uid} if found is not None and not found.active else set())


@dataclass(kw_only=True)
class Witness:
    """Watches every step, and says at once where a law breaks."""

    world: World
    taken: set[str] = field(default_factory=set)
    """What our writes set to zero, and nobody set back."""
    ordered: bool = False

    def look(self, stop_after: int | None) -> Plan | None:
        """Look once, step by step."""
        world = self.world
        if world.scale is None:
            return None
        made = world.plan()
        for number, step in enumerate(made.steps):
            if stop_after is not None and number >= stop_after:
                break
            self._may(step, made)
            before, count = zeroed(world), len(world.written)
            world.apply([step])
            after = zeroed(world)
            assert after - before == set() or takes(step)
            self.taken |= after - before
            self.taken &= after
            self._is_remembered()
            if takes(step) and len(world.written) == count:
                break
        world.settle()
        self.taken &= zeroed(world)
        return made

    def _may(self, step: Step, made: Plan) -> None:
        """Hold that workers are taken on fresh evidence alone, the Workload being as it must."""
        if not takes(step) or (isinstance(step, SetGroup) and self._is_zero(step)):
            return
        world, scale = self.world, self.world.scale
        assert scale is not None
        assert made.status.hold is not None
        assert scale.status.hold == made.status.hold, "written down before"
        assert scale.finalized
        assert scale.status.size is not None
        assert abs(world.now - made.status.hold.since) <= PATIENCE
        assert world.verdict is not Reason.BUSY or made.status.hold.ordered is not None
        assert made.status.hold.waking_at is None
        assert world.now - world.alive <= 300
        if made.status.hold.since == world.now:
            assert world.verdict is Reason.IDLE or made.status.hold.ordered is not None
        found = world.workload
        if found is not None:
            assert found.admitted
            assert found.active
            assert not found.evicted
            assert found.pods_ready in (None, "True") or scale.mode is Mode.RELEASE

    def _is_zero(self, step: SetGroup) -> bool:
        return f"{self.world.one('RayCluster').uid}/{step.group}" in zeroed(self.world)

    def _is_remembered(self) -> None:
        """Hold that whatever we took has a WorkerScale, and a mark or a record, to go back by."""
        scale = self.world.scale
        if not self.taken:
            return
        assert scale is not None, f"left behind: {self.taken}"
        if scale.status.hold is None:
            assert self._marks(scale), f"nobody knows of {self.taken}"

    def forget(self, event: str) -> None:
        """Leave out what others set back, and what they took over by taking every trace off."""
        scale = self.world.scale
        released = scale is not None and scale.mode is Mode.RELEASE
        traced = scale is not None and (scale.status.hold is not None or self._marks(scale))
        if (event == "strip" and released) or not traced:
            self.taken.clear()
        self.taken &= zeroed(self.world)

    def _marks(self, scale: WorkerScale) -> bool:
        found = self.world.workload
        if found is not None and found.released_by == scale.name:
            return True
        marks = [mark for one in self.world.objects.values() for mark in one.marks]
        return any(mark.by == scale.name for mark in marks)


def play(world: World, happenings: list[Happening]) -> Witness:
    """Let events happen, a look (or a part of it) after each."""
    witness = Witness(world=world)
    for name, stop_after, seconds in happenings:
        EVENTS[name](world)
        world.settle()
        witness.forget(name)
        witness.look(stop_after)
        silent = world.now - world.alive > 300
        world.now += seconds
        if not silent:
            world.alive = world.now
    return witness


def come_to_rest(witness: Witness, looks: int = 60) -> None:
    """Look until nothing is left to do."""
    world = witness.world
    for _ in range(looks):
        world.alive = world.now
        made = witness.look(None)
        if made is None:
            return
        world.now += 2.0
    world.alive = world.now
    assert world.scale is None or world.plan().steps == ()
    outlived(world)


def outlived(world: World) -> None:
    """Hold that no hold outlives an eviction, or the Workload that it was made on."""
    found, scale = world.workload, world.scale
    hold = None if scale is None else scale.status.hold
    if hold is None or scale is None or scale.mode is Mode.RELEASE or hold.waking_at is not None:
        return
    assert found is not None
    assert found.uid == hold.workload_uid
    assert found.evicted or not found.admitted or found.evictions == hold.evictions


@pytest.mark.parametrize(("kind", "mode", "jobs"), TARGETS)
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(happenings=HAPPENINGS, held=st.booleans())
def test_whatever_happens_workers_go_on_evidence_alone_and_are_never_left_behind(
    kind: str, mode: Mode, jobs: int, happenings: list[Happening], *, held: bool
) -> None:
    """C01, C03, C04, N08: the Witness checks every step; in the end all comes to rest."""
    world = make_world(kind=kind, mode=mode, jobs=jobs)
    witness = play(world, [*(START if held else []), *happenings])
    come_to_rest(witness)
    if world.scale is None:
        assert not witness.taken


@pytest.mark.parametrize(("kind", "mode", "jobs"), TARGETS)
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(happenings=HAPPENINGS)
def test_after_whatever_happened_a_deletion_leaves_nothing_of_ours_behind(
    kind: str, mode: Mode, jobs: int, happenings: list[Happening]
) -> None:
    """Whatever was taken is there again when the finalizer goes."""
    world = make_world(kind=kind, mode=mode, jobs=jobs)
    witness = play(world, [*START, *happenings])
    EVENTS["delete"](world)
    EVENTS["follow"](world)
    come_to_rest(witness)
    assert world.scale is None
    assert not witness.taken
    assert not [mark for one in world.objects.values() for mark in one.marks]
    assert world.workload is None or world.workload.released_by is None


@pytest.mark.parametrize(("kind", "mode", "jobs"), TARGETS[:-1])
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(happenings=HAPPENINGS)
def test_after_whatever_happened_wanted_workers_come_back(
    kind: str, mode: Mode, jobs: int, happenings: list[Happening]
) -> None:
    """No sequence of events wears out the way back."""
    world = make_world(kind=kind, mode=mode, jobs=jobs)
    witness = play(world, [*START, *happenings])
    if world.scale is None:
        return
    for name in ("busy", "follow", "readmit", "wake", "zero", "all of them"):
        EVENTS[name](world)
    world.settle()
    come_to_rest(witness)
    assert not witness.taken
