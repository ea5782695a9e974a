"""Each trace of a loss breaks a hold by itself, and what is no loss does not."""

from dataclasses import replace

import pytest

from scaler.core.hold.breaches import PATIENCE
from scaler.core.hold.words import Cause, State
from scaler.core.model import RayClusterPart
from tests.builders import make_admission, make_pod_set
from tests.core.hold.test_laws import zeroed
from tests.core.hold.world import SIZE, World, held_world


def test_a_hold_of_which_nothing_changed_is_kept() -> None:
    """The world of the tests below without its change, so that they can fail."""
    assert held_world().plan().cause is Cause.IDLE


@pytest.mark.parametrize("lost", [{"reserved": False}, {"admitted": False}])
def test_half_of_an_admission_is_none(lost: dict[str, bool]) -> None:
    """Either condition alone says that the quota is not its own any more."""
    made = changed(held_world(), **lost).plan()
    assert made.cause is Cause.EVICTED_WHILE_HELD


@pytest.mark.parametrize("trace", ["evictions", "reserved_at"])
def test_each_trace_of_an_eviction_tells_by_itself(trace: str) -> None:
    """One eviction more, or a newer QuotaReserved: a status may have lost the other."""
    world = held_world()
    assert world.workload is not None
    more = {"evictions": world.workload.evictions + 1, "reserved_at": world.now - 1}
    assert changed(world, **{trace: more[trace]}).plan().cause is Cause.EVICTED_WHILE_HELD


@pytest.mark.parametrize(("pod_set", "cause"), [("gpu", Cause.USAGE_LOST), ("cpu", Cause.IDLE)])
def test_of_two_podsets_with_gpus_the_held_one_alone_loses_by_reclaiming(
    pod_set: str, cause: Cause
) -> None:
    """The other's pods finished, and their GPUs were never the hold's to keep."""
    both = tuple(make_pod_set(name=name, count=SIZE, gpus=4) for name in ("cpu", "gpu"))
    world = held_world(pod_sets=both, admission=make_admission(pod_sets=both))
    assert world.plan().cause is Cause.IDLE
    assert changed(world, reclaimable=((pod_set, 1),)).plan().cause is cause


def test_a_controller_that_is_behind_and_whose_pods_are_gone_was_heard() -> None:
    """What counts is the workers, not the number that it writes down last."""
    world = held_world()
    cluster = world.one("RayCluster")
    assert isinstance(cluster.part, RayClusterPart)
    late = replace(cluster.part, observed_generation=0)
    world.objects[cluster.uid] = replace(cluster, part=late)
    world.now += PATIENCE
    assert (world.plan().state, world.plan().cause) == (State.HELD, Cause.IDLE)


def test_an_autoscaler_that_comes_during_a_hold_ends_it() -> None:
    """It would set the group back, and count its pods by itself."""
    world = held_world()
    cluster = world.one("RayCluster")
    assert isinstance(cluster.part, RayClusterPart)
    world.put(replace(cluster, part=replace(cluster.part, autoscaling=True)))
    assert world.plan().cause is Cause.IN_TREE_AUTOSCALING
    world.looks(2)
    assert not zeroed(world)


def changed(world: World, **changes: object) -> World:
    """Change the Workload of a world."""
    assert world.workload is not None
    world.workload = replace(world.workload, **changes)  # type: ignore[arg-type] # the caller's
    return world
