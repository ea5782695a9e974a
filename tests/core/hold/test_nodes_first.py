"""A JobSet or TrainJob under waitForPodsReady waits for its nodes before it is woken."""

from dataclasses import replace

import pytest

from scaler.core.hold.giving import DELETION_WAITS
from scaler.core.hold.kinds import SUPPORTED
from scaler.core.hold.nodes_first import clock_runs
from scaler.core.hold.plan import plan
from scaler.core.hold.scene import look
from scaler.core.hold.words import Cause, State
from scaler.core.model import Kind, Mode, Node, SourceState, Taint, TopologyRequest, Workload
from scaler.core.policy import Policy
from scaler.core.reasons import Reason
from tests.builders import make_admission, make_node
from tests.core.hold.events import all_of_them, delete, fall_silent, zero
from tests.core.hold.test_laws import zeroed
from tests.core.hold.world import GROUP, SIZE, World, held_world


def without_nodes(kind: str = "JobSet", pods_ready: str | None = "True") -> World:
    """Build a held target whose nodes went to somebody else or are gone."""
    world = held_world(kind=kind, pods_ready=pods_ready)
    world.nodes = []
    return world


@pytest.mark.parametrize("kind", ["JobSet", "TrainJob"])
def test_a_wake_waits_until_nodes_have_room_for_all_its_pods(kind: str) -> None:
    """Measured: woken without nodes it is evicted after its recovery time-out."""
    world = without_nodes(kind)
    all_of_them(world)
    made = world.looks(4)
    assert (made.state, made.cause, made.steps) == (State.WAKE_PENDING, Cause.NODES_FIRST, ())
    assert made.status.hold is not None
    assert made.status.hold.waking_at is not None, "growth counts it as demand from then on"
    assert "no room for 2 pods of 2" in made.message
    world.nodes = [make_node(gpus=4)]
    assert "no room for 1 pod of 2" in world.looks(2).message
    world.nodes = [make_node(gpus=8)]
    world.looks(2)
    assert not zeroed(world)
    assert world.looks(2).state is State.RUNNING


@pytest.mark.parametrize(
    ("kind", "pods_ready"), [("JobSet", None), ("RayCluster", "True"), ("RayJob", "True")]
)
def test_a_wake_that_starts_no_clock_waits_for_nothing(kind: str, pods_ready: str | None) -> None:
    """Its pods are demand once they are there."""
    world = without_nodes(kind, pods_ready)
    all_of_them(world)
    assert world.look().state is State.WAKING
    assert not zeroed(world)


@pytest.mark.parametrize(
    "node",
    [
        make_node(ready=False),
        make_node(unschedulable=True),
        make_node(deleting=True),
        make_node(labels={"pool": "other"}),
        make_node(taints=(Taint(key="held", value="yes"),)),
    ],
)
def test_a_node_that_would_not_take_the_pods_has_no_room(node: Node) -> None:
    """The flavor's labels and the taints count as they do for the scheduler."""
    world = without_nodes()
    world.nodes = [node]
    all_of_them(world)
    assert world.looks(3).state is State.WAKE_PENDING


def test_pods_that_must_be_together_need_room_in_one_place() -> None:
    """Two nodes with 4 GPUs each are no node with 8."""
    world = without_nodes()
    assert world.workload is not None
    together = TopologyRequest(required="kubernetes.io/hostname")
    pod_sets = tuple(replace(one, topology=together) for one in world.workload.pod_sets)
    world.workload = replace(world.workload, pod_sets=pod_sets)
    world.nodes = [make_node(name="a", gpus=4), make_node(name="b", gpus=4)]
    all_of_them(world)
    assert world.looks(3).state is State.WAKE_PENDING


def test_a_kind_that_the_policy_leaves_out_now_waits_for_its_nodes_too() -> None:
    """Nothing of its hold is lost yet; woken at once it would be evicted."""
    world = without_nodes()
    world.allowed = frozenset({"RayCluster"})
    made = world.looks(4)
    assert (made.state, made.cause) == (State.WAKE_PENDING, Cause.NODES_FIRST)
    assert "leave JobSet out" in made.message
    world.nodes = [make_node(gpus=8)]
    world.looks(3)
    assert not zeroed(world)


def test_a_wake_that_is_called_off_leaves_it_held() -> None:
    """Nothing was given yet."""
    world = without_nodes()
    all_of_them(world)
    world.looks(2)
    zero(world)
    made = world.looks(2)
    assert (made.state, made.steps) == (State.HELD, ())
    assert made.status.hold is not None
    assert made.status.hold.waking_at is None


def test_a_wake_that_waits_and_is_wanted_no_more_starts_nothing_while_nothing_is_known() -> None:
    """Nothing was given yet, so it goes on waiting."""
    world = without_nodes()
    all_of_them(world)
    world.looks(2)
    zero(world)
    fall_silent(world)
    made = world.look()
    assert (made.state, made.cause) == (State.WAKE_PENDING, Cause.SOURCE_UNKNOWN)
    assert zeroed(world)


def test_a_wake_signal_counts_as_long_as_it_is_there() -> None:
    """By a query or a schedule, as by KEDA."""
    world = without_nodes()
    world.verdict = Reason.WAKE
    assert world.looks(3).state is State.WAKE_PENDING
    world.verdict = Reason.AT_ZERO
    assert world.looks(2).state is State.HELD


def test_unknown_nodes_are_waited_for() -> None:
    """Waiting costs time, waking could cost the quota."""
    world = held_world(kind="JobSet", pods_ready="True")
    all_of_them(world)
    world.look()
    assert world.scale is not None
    snapshot = world.snapshot()
    lost = SourceState(synced=False, problem="403")
    made = plan(
        snapshot=replace(snapshot, sources={**snapshot.sources, Kind.NODES: lost}),
        scale=world.scale,
        decisions=world.decisions(),
        policy=Policy(),
        now=world.now,
    )
    assert made.state is State.WAKE_PENDING


def test_a_deletion_does_not_wait_for_ever() -> None:
    """Its namespace must be able to go."""
    world = without_nodes()
    delete(world)
    assert world.looks(3).state is State.WAKE_PENDING
    world.now += DELETION_WAITS
    world.alive = world.now
    world.look()
    assert not zeroed(world)


def behind_another(pods: int) -> tuple[World, Workload]:
    """Build a cluster in which another Workload, which is given, wanted so many pods earlier."""
    world = held_world(kind="JobSet", pods_ready="True")
    all_of_them(world)
    world.look()
    assert world.scale is not None
    assert world.scale.status.hold is not None
    assert world.workload is not None
    earlier = replace(
        world.scale.status.hold,
        workload="wl-b",
        workload_uid="b",
        waking_at=world.now - 60,
        pod_sets=((GROUP, pods),),
    )
    status = replace(world.scale.status, hold=earlier)
    world.others = [replace(world.scale, name="other", uid="other", status=status)]
    return world, replace(world.workload, name="wl-b", uid="b", owners=())


def test_two_that_wake_have_room_one_after_the_other() -> None:
    """The same node is not promised twice; who wanted it earlier has it."""
    world, other = behind_another(SIZE)
    world.bystanders = [other]
    assert world.look().state is State.WAKE_PENDING
    world.bystanders = []
    assert world.look().state is State.WAKING


def test_one_whose_nodes_never_come_keeps_no_other_flavors_away() -> None:
    """Another team's pool may be at its end; ours has room."""
    world, other = behind_another(100)
    for flavor, state in (("gpu", State.WAKE_PENDING), ("another", State.WAKING)):
        admission = make_admission(pod_sets=other.pod_sets, flavor=flavor)
        world.bystanders = [replace(other, admission=admission)]
        made = world.plan()
        assert made.state is state
        assert ("in line before" in made.message) == (state is State.WAKE_PENDING)


@pytest.mark.parametrize("mode", list(Mode))
def test_the_clock_runs_in_mode_hold_alone(mode: Mode) -> None:
    """A released one is admitted anew, with a clock of its own."""
    world = held_world(kind="JobSet", mode=mode, pods_ready="True")
    assert world.scale is not None
    scene = look(
        snapshot=world.snapshot(),
        scale=world.scale,
        decisions=(),
        policy=Policy(),
        now=world.now,
        allowed=SUPPORTED,
    )
    assert clock_runs(scene) == (mode is Mode.HOLD)
