"""What a WorkerScale is refused: the reason, what the user can do, and nothing written."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from scaler.core.hold.kinds import KINDS as TABLE
from scaler.core.hold.kinds import SUPPORTED, kind_of
from scaler.core.hold.steps import WriteStatus
from scaler.core.hold.words import Cause, State
from scaler.core.model import AdmissionCheck, Mode, RayClusterPart, WorkerTarget, Workload
from scaler.core.reasons import Reason
from tests.builders import NOW
from tests.core.hold.events import hold_now
from tests.core.hold.world import KINDS, World, make_scale, make_world, target


def refused(world: World) -> tuple[State, Cause, str]:
    """Ask for zero with all that may be asked with, and say what came of it."""
    world.scale_to(0)
    world.verdict = Reason.IDLE
    hold_now(world)
    made = world.looks(3)
    assert not world.written
    assert not any(not isinstance(one, WriteStatus) for one in made.steps)
    return made.state, made.cause, made.message


@pytest.mark.parametrize(
    ("kind", "instead"),
    [
        ("Job", "mode: Release"),
        ("PyTorchJob", "mode: Release"),
        ("MPIJob", "mode: Release"),
        ("RayService", "mode: Release"),
        ("AppWrapper", "mode: Release"),
        ("Notebook", "mode: Release"),
        ("Deployment", "let the ScaledObject target it"),
        ("StatefulSet", "let the ScaledObject target it"),
        ("LeaderWorkerSet", "let the ScaledObject target it"),
        ("InferenceService", "autoscalerClass external"),
    ],
)
def test_kinds_that_kueue_would_not_keep_are_refused_with_what_to_do(
    kind: str, instead: str
) -> None:
    """The sentence names what the user can do instead."""
    api_version = f"{TABLE[kind].group}/v1"
    scale = make_scale(
        target=WorkerTarget(api_version=api_version, kind=kind, name="a", component="gpu")
    )
    state, cause, message = refused(make_world(scale=scale))
    assert (state, cause) == (State.REFUSED, Cause.KIND_NOT_HOLDABLE)
    assert instead in message


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "InferenceService"])
def test_kinds_without_a_workload_of_their_own_are_not_released(kind: str) -> None:
    """KEDA scales them directly."""
    api_version = f"{TABLE[kind].group}/v1"
    there = WorkerTarget(api_version=api_version, kind=kind, name="a")
    scale = make_scale(mode=Mode.RELEASE, target=there)
    assert refused(make_world(scale=scale, mode=Mode.RELEASE))[1] is Cause.KIND_NOT_RELEASABLE


@pytest.mark.parametrize(
    ("api_version", "kind"), [("example.com/v1", "RayCluster"), ("ray.io/v1", "Worm")]
)
def test_a_kind_is_known_by_its_group_too(api_version: str, kind: str) -> None:
    """Another group's RayCluster is another kind."""
    there = WorkerTarget(api_version=api_version, kind=kind, name="a", component="gpu")
    _, cause, message = refused(make_world(scale=make_scale(target=there)))
    assert cause is Cause.KIND_UNKNOWN
    assert "RayCluster" in message


def test_every_supported_kind_has_a_mode_and_each_refusal_an_advice() -> None:
    """The table is whole."""
    for name, kind in TABLE.items():
        assert (name in SUPPORTED) == bool(kind.modes)
        assert kind.instead or kind.modes == frozenset(Mode)
    assert kind_of(target("RayCluster")) is TABLE["RayCluster"]


def test_the_policys_list_leaves_a_kind_out() -> None:
    """Tenancy: what is not listed is not touched."""
    world = make_world()
    world.allowed = frozenset({"JobSet"})
    _, cause, message = refused(world)
    assert cause is Cause.KIND_NOT_ALLOWED
    assert "JobSet" in message


@pytest.mark.parametrize("component", ["head", "Head", "submitter"])
def test_a_head_holds_no_workers(component: str) -> None:
    """It is never taken."""
    world = make_world(scale=make_scale(component=component))
    assert refused(world)[1] is Cause.HEAD_ONLY


@pytest.mark.parametrize(("component", "names"), [(None, "spec.target.component"), ("big", "cpu")])
def test_a_component_has_to_be_there(component: str | None, names: str) -> None:
    """The message names what is there."""
    world = make_world()
    assert world.scale is not None
    world.scale = replace(world.scale, target=target("RayCluster", component=component))
    _, cause, message = refused(world)
    assert cause is Cause.COMPONENT_MISSING
    assert names in message


def test_a_component_is_found_in_any_letter_case() -> None:
    """Kueue's podset is the group's name in lower case."""
    world = make_world(scale=make_scale(component="GPU"))
    world.scale_to(0)
    world.verdict = Reason.IDLE
    assert world.plan().state is State.HOLDING


@pytest.mark.parametrize(
    ("changes", "cause", "word"),
    [
        ({"autoscaling": True}, Cause.IN_TREE_AUTOSCALING, "enableInTreeAutoscaling"),
        ({"recreates": True}, Cause.RECREATES, "Recreate"),
    ],
)
def test_a_ray_cluster_can_forbid_it(changes: dict[str, bool], cause: Cause, word: str) -> None:
    """Each costs more than the workers."""
    world = make_world()
    cluster = world.one("RayCluster")
    assert isinstance(cluster.part, RayClusterPart)
    world.put(replace(cluster, part=replace(cluster.part, **changes)))  # type: ignore[arg-type] # flags
    world.settle()
    _, found, message = refused(world)
    assert found is cause
    assert word in message


def without(world: World) -> None:
    """Take the Workload away."""
    world.workload = None


def change(**changes: object) -> Callable[[World], None]:
    """Change the Workload."""

    def happen(world: World) -> None:
        assert isinstance(world.workload, Workload)
        world.workload = replace(world.workload, **changes)  # type: ignore[arg-type] # names are ours

    return happen


def suspend_group(world: World) -> None:
    """Let somebody else suspend the group."""
    cluster = world.one("RayCluster")
    assert isinstance(cluster.part, RayClusterPart)
    groups = tuple(replace(one, suspended=True) for one in cluster.part.groups)
    world.put(replace(cluster, part=replace(cluster.part, groups=groups)))


@pytest.mark.parametrize(
    ("event", "cause"),
    [
        (without, Cause.NOT_ADMITTED),
        (change(admitted=False), Cause.NOT_ADMITTED),
        (change(reserved=False), Cause.NOT_ADMITTED),
        (change(deleting=True), Cause.NOT_ADMITTED),
        (change(evicted=True), Cause.EVICTED),
        (change(pods_ready="False/PodsReady"), Cause.PODS_NOT_READY),
        (change(pods_ready="False/WaitForRecovery"), Cause.PODS_NOT_READY),
        (change(cluster_name="elsewhere"), Cause.REMOTE),
        (change(checks=(("capacity", "Ready"),)), Cause.CAPACITY_REVOCABLE),
        (change(checks=(("unread", "Ready"),)), Cause.CAPACITY_REVOCABLE),
        (change(checks=(("remote", "Ready"),)), Cause.REMOTE),
        (suspend_group, Cause.ALREADY_ZERO),
        (lambda world: world.objects.clear(), Cause.TARGET_MISSING),
    ],
)
def test_a_workload_that_could_not_be_kept_is_not_taken(
    event: Callable[[World], None], cause: Cause
) -> None:
    """Each of the preconditions on its own."""
    world = make_world()
    world.checks = [
        AdmissionCheck(name="capacity", controller="kueue.x-k8s.io/provisioning-request"),
        AdmissionCheck(name="remote", controller="kueue.x-k8s.io/multikueue"),
    ]
    world.quota = False
    event(world)
    assert refused(world)[:2] == (State.REFUSED, cause)


def test_an_admission_check_of_another_sort_is_no_matter() -> None:
    """Only capacity that can be revoked is."""
    world = make_world(checks=(("budget", "Ready"),))
    world.checks = [AdmissionCheck(name="budget", controller="example.com/budget")]
    world.scale_to(0)
    world.verdict = Reason.IDLE
    assert world.plan().state is State.HOLDING


def test_topology_is_allowed_and_said() -> None:
    """Nodes that go evict it, and that path clears the hold."""
    world = make_world()
    assert world.workload is not None
    assert world.workload.admission is not None
    assigned = tuple(
        replace(one, topology_assigned=True) for one in world.workload.admission.assignments
    )
    admission = replace(world.workload.admission, assignments=assigned)
    world.workload = replace(world.workload, admission=admission)
    world.scale_to(0)
    world.verdict = Reason.IDLE
    made = world.plan()
    assert made.state is State.HOLDING
    assert "topology" in made.message


@pytest.mark.parametrize("mode", list(Mode))
def test_the_younger_of_two_worker_scales_is_refused(mode: Mode) -> None:
    """In mode Release one has the whole Workload."""
    world = make_world()
    world.others = [replace(make_scale(mode=mode), name="older", uid="o", created=NOW - 7200)]
    _, cause, message = refused(world)
    assert cause is Cause.ANOTHER_WORKER_SCALE
    assert "older" in message


def test_two_components_have_two_worker_scales() -> None:
    """Each has its own group."""
    world = make_world()
    world.others = [replace(make_scale(component="cpu"), name="older", uid="o", created=NOW - 7200)]
    world.scale_to(0)
    world.verdict = Reason.IDLE
    assert world.plan().state is State.HOLDING


def test_a_child_is_not_named_in_its_parents_stead() -> None:
    """The RayCluster of a RayJob has no Workload: the RayJob has."""
    world = make_world(kind="RayJob")
    assert world.scale is not None
    scale = replace(world.scale, target=target("RayCluster", "a-child"))
    world.scale = scale
    _, cause, message = refused(world)
    assert cause is Cause.NOT_ADMITTED
    assert "controls" in message


def test_every_target_of_these_tests_is_known() -> None:
    """The table of API versions is right."""
    assert all(kind_of(target(kind)) is not None for kind in KINDS)
