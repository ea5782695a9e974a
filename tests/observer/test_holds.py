"""Queue signals are decided anew when a hold begins, wakes or ends, and for nothing else."""

from dataclasses import replace

from scaler.core.model import Kind, WorkerScale
from scaler.core.snapshot import Part
from scaler.observer.changes import Changed, Listed
from scaler.observer.holds import HoldWatch
from scaler.observer.join import Joiner
from tests.builders import NOW, make_hold, make_worker_scale

SCALE = make_worker_scale()
HOLDS = frozenset({(Part.HOLDS, "")})


def held(waking_at: float | None = None) -> WorkerScale:
    """Give the WorkerScale with a hold."""
    hold = make_hold(workload_uid="u", waking_at=waking_at)
    return replace(SCALE, status=replace(SCALE.status, hold=hold))


def test_a_hold_touches_once_for_each_of_its_steps() -> None:
    """A hold touches once for each of its steps."""
    watch = HoldWatch()
    steps = [(held(), HOLDS), (held(), frozenset()), (held(NOW), HOLDS), (SCALE, HOLDS)]
    for scale, want in steps:
        assert watch.touched({scale.key: scale}) == want


def test_other_changes_touch_nothing() -> None:
    """A written size, a condition or another WorkerScale touches nothing."""
    watch = HoldWatch()
    for replicas in (1, 0, 4):
        assert watch.touched({SCALE.key: replace(SCALE, replicas=replicas)}) == frozenset()


def test_the_same_mapping_is_not_looked_at_again() -> None:
    """The same mapping is not looked at again."""
    watch, scales = HoldWatch(), {SCALE.key: held()}
    assert watch.touched(scales) == HOLDS
    assert watch.touched(scales) == frozenset()


def test_the_joiner_tells_of_holds_and_of_the_namespace() -> None:
    """The joiner tells of holds, and that the namespace's targets changed."""
    joiner = Joiner()
    joiner.apply(Listed(kind=Kind.WORKER_SCALES, records=(SCALE,)))
    snapshot, touched = joiner.snapshot(at=NOW)
    assert snapshot.worker_scales == {SCALE.key: SCALE}
    assert touched == {(Part.TARGETS, "ml")}
    joiner.apply(Changed(kind=Kind.WORKER_SCALES, record=held()))
    _, touched = joiner.snapshot(at=NOW)
    assert touched == {(Part.TARGETS, "ml"), *HOLDS}
