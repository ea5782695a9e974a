"""Each WorkerScale has triggers that decide about its very workers, whoever wrote them."""

from dataclasses import replace

import pytest

from scaler.core.model import Mode, ScaledObject, TargetRef, TriggerSpec
from scaler.core.scales import aimed, default_ref, default_refs, refs_of_scale, scale_of
from scaler.core.trigger import IdleTrigger, TriggerRef
from tests.builders import handle, make_scaled_object, make_snapshot, make_worker_scale

SCALE = make_worker_scale()
OWN = TriggerRef.of(
    namespace="ml",
    name="workerscale/ray",
    metadata={"signal": "idle", "workload": "RayCluster/ray", "component": "gpu"},
)


def so(name: str = "so", **metadata: str) -> ScaledObject:
    """Build a ScaledObject with one trigger on the WorkerScale."""
    return make_scaled_object(name=name, target=handle(), metadata=metadata)


def ref(name: str = "so", **metadata: str) -> TriggerRef:
    """Build the trigger as KEDA names it."""
    return TriggerRef.of(namespace="ml", name=name, metadata=metadata)


# --- which triggers ------------------------------------------------------------------------------


def test_without_a_scaled_object_one_of_our_own_decides() -> None:
    """Without a ScaledObject one of our own decides, on target and component."""
    snapshot = make_snapshot(worker_scales=[SCALE])
    assert refs_of_scale(snapshot, SCALE) == (OWN,)
    assert default_refs(snapshot) == (OWN,)


def test_a_released_one_names_no_component() -> None:
    """A released one names no component: the whole Workload is judged."""
    whole = make_worker_scale(component=None, mode=Mode.RELEASE)
    assert "component" not in dict(default_ref(whole).metadata)


def test_a_worker_group_is_named_as_its_podset_is() -> None:
    """A worker group is named as its podset is."""
    scale = make_worker_scale(component="GPU-Group")
    assert dict(default_ref(scale).metadata)["component"] == "gpu-group"


def test_the_idle_triggers_of_every_scaled_object_on_it_decide() -> None:
    """The idle triggers of every ScaledObject on it decide, malformed ones too."""
    snapshot = make_snapshot(
        worker_scales=[SCALE],
        scaled_objects=[
            so("a", signal="idle"),
            so("b", signal="idle", idleAfter="soon"),
            so("c", signal="ide"),
        ],
    )
    assert set(refs_of_scale(snapshot, SCALE)) == {
        ref("a", signal="idle"),
        ref("b", signal="idle", idleAfter="soon"),
        ref("c", signal="ide"),
    }
    assert default_refs(snapshot) == ()


@pytest.mark.parametrize(
    "target",
    [
        TargetRef(name="ray", kind="WorkerScale"),
        TargetRef(name="ray", kind="WorkerScale", api_version="example.com/v1"),
        TargetRef(name="ray", kind="Deployment", api_version="kueue-gpu-scaler.dev/v1alpha1"),
        handle("other"),
    ],
)
def test_a_scaled_object_on_something_else_does_not_count(target: TargetRef) -> None:
    """A ScaledObject on something else does not count."""
    other = replace(so(signal="idle"), target=target)
    snapshot = make_snapshot(worker_scales=[SCALE], scaled_objects=[other])
    assert refs_of_scale(snapshot, SCALE) == (OWN,)


def test_another_namespace_does_not_count() -> None:
    """Another namespace does not count."""
    other = replace(so(signal="idle"), namespace="team-b")
    snapshot = make_snapshot(worker_scales=[SCALE], scaled_objects=[other])
    assert refs_of_scale(snapshot, SCALE) == (OWN,)


def test_other_triggers_leave_the_decision_to_our_own() -> None:
    """Triggers of other scalers, and of nodes, leave the decision to our own."""
    cron = TriggerSpec(type="cron", metadata=(("signal", "idle"),))
    queue = TriggerSpec(type="external", metadata=(("signal", "queue"),))
    mixed = make_scaled_object(target=handle(), triggers=(cron, queue))
    snapshot = make_snapshot(worker_scales=[SCALE], scaled_objects=[mixed])
    assert refs_of_scale(snapshot, SCALE) == (OWN,)


@pytest.mark.parametrize(
    ("metadata", "alone"),
    [
        ({"workload": "RayCluster/ray"}, True),
        ({"component": "gpu"}, True),
        ({"workload": "RayCluster/other"}, False),
        ({"component": "cpu"}, False),
        ({"workload": "raycluster-ray-1a2b"}, False),
    ],
)
def test_a_trigger_on_other_workers_does_not_decide_alone(
    metadata: dict[str, str], *, alone: bool
) -> None:
    """No worker goes because another one is idle: our own trigger decides about them too."""
    given = {"signal": "idle", **metadata}
    snapshot = make_snapshot(worker_scales=[SCALE], scaled_objects=[so(**given)])
    wanted = (ref(**given),) if alone else (ref(**given), OWN)
    assert refs_of_scale(snapshot, SCALE) == wanted
    assert default_refs(snapshot) == (() if alone else (OWN,))


def test_one_component_is_not_the_whole_workload() -> None:
    """What is released goes whole, so one podset's rest is not enough."""
    whole = make_worker_scale(component=None, mode=Mode.RELEASE)
    part = so(signal="idle", component="gpu")
    snapshot = make_snapshot(worker_scales=[whole], scaled_objects=[part])
    assert refs_of_scale(snapshot, whole)[-1] == default_ref(whole)


# --- which WorkerScale ---------------------------------------------------------------------------


def test_a_trigger_finds_its_worker_scale() -> None:
    """A trigger finds its WorkerScale by its ScaledObject, our own by its name."""
    scaled_object = so(signal="idle")
    snapshot = make_snapshot(worker_scales=[SCALE], scaled_objects=[scaled_object])
    for asked in (scaled_object, ref(signal="idle"), OWN):
        assert scale_of(snapshot, asked) is SCALE


def test_no_worker_scale_is_found_where_there_is_none() -> None:
    """No WorkerScale is found where there is none, or where the target is of another kind."""
    snapshot = make_snapshot(scaled_objects=[so(signal="idle"), make_scaled_object(name="d")])
    for asked in (so(), OWN, ref(), ref("d"), ref("unheard-of")):
        assert scale_of(snapshot, asked) is None


# --- whom it speaks of ---------------------------------------------------------------------------


def test_a_trigger_speaks_of_the_target_unless_it_names_another() -> None:
    """Its own keys win; a component is filled in only where it is the target's."""
    assert aimed(IdleTrigger(), None) == IdleTrigger()
    filled = IdleTrigger(workload="RayCluster/ray", component="gpu")
    assert aimed(IdleTrigger(), SCALE) == filled
    assert aimed(IdleTrigger(workload="RayCluster/ray"), SCALE) == filled
    assert aimed(IdleTrigger(component="cpu"), SCALE) == replace(filled, component="cpu")
    other = IdleTrigger(workload="Job/x")
    assert aimed(other, SCALE) == other
