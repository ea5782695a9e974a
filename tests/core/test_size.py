from collections.abc import Mapping
from dataclasses import replace

import pytest

from scaler.core.model import Hpa, Kind, Pod, ScaledObject, SourceState, TargetRef
from scaler.core.policy import Policy, Pool
from scaler.core.size import Size, size_of
from scaler.core.snapshot import Snapshot
from scaler.core.trigger import IdleTrigger, QueueTrigger, Trigger
from tests.builders import (
    NOW,
    make_flavor,
    make_hpa,
    make_node,
    make_pod,
    make_scaled_object,
    make_snapshot,
    make_target,
)

POOL = Pool(name="gpu", node_selector=(("pool", "gpu"),), node=(), max_nodes=10)
POLICY = Policy(pools={"gpu": POOL})
IDLE = IdleTrigger()
NODES = QueueTrigger(cluster_queues=("gpu-cq",), pool="gpu")
DENIED = SourceState(synced=False, problem="403")
SILENT = SourceState(synced=True, last_alive=NOW - 301)
HANDLE = TargetRef(name="pool", kind="MachineSet", api_version="machine.openshift.io/v1beta1")


def size(
    snapshot: Snapshot,
    scaled_object: ScaledObject | None,
    trigger: Trigger | None = IDLE,
) -> Size:
    """Ask for the size in namespace `ml`."""
    return size_of(
        snapshot=snapshot,
        scaled_object=scaled_object,
        policy=POLICY,
        trigger=trigger,
        now=NOW,
        namespace="ml",
    )


def watched(
    replicas: int = 3,
    *,
    pods: tuple[Pod, ...] = (),
    hpas: tuple[Hpa, ...] = (),
    sources: Mapping[Kind, SourceState] | None = None,
) -> Snapshot:
    """Build Deployment `workers` with its HPA's view beside it."""
    return make_snapshot(
        targets=[make_target(replicas=replicas)],
        pods=pods,
        hpas=hpas,
        sources=sources,
    )


POD = make_pod(labels={"app": "workers"})


@pytest.mark.parametrize("replicas", [0, 3])
def test_a_watched_targets_own_replicas_are_its_size(replicas: int) -> None:
    """A watched targets own replicas are its size."""
    hpa = make_hpa(name="hpa", current_replicas=7)
    found = size(watched(replicas, hpas=(hpa,)), make_scaled_object(hpa_name="hpa"))
    assert (found.value, found.running) == (replicas, replicas > 0)


@pytest.mark.parametrize("state", [DENIED, SILENT])
def test_a_target_that_can_not_be_believed_leaves_it_to_the_hpa(state: SourceState) -> None:
    """A target that can not be believed leaves it to the hpa."""
    hpa = make_hpa(name="hpa", current_replicas=7)
    snapshot = watched(3, hpas=(hpa,), sources={Kind.DEPLOYMENTS: state})
    assert size(snapshot, make_scaled_object(hpa_name="hpa")).value == 7


def handled(hpa: Hpa | None, **sources: SourceState) -> Size:
    """Ask for the size of a target that is not watched."""
    named = {Kind(kind): state for kind, state in sources.items()}
    snapshot = make_snapshot(hpas=[] if hpa is None else [hpa], sources=named)
    return size(snapshot, make_scaled_object(target=HANDLE, hpa_name="hpa"))


@pytest.mark.parametrize(
    ("desired", "failed", "want"),
    [
        pytest.param(10, False, 10, id="just grown"),
        pytest.param(5, False, 5, id="settled"),
        pytest.param(3, False, 5, id="just shrunk, by others' triggers"),
        pytest.param(10, True, 5, id="what it once wanted, while it fails"),
    ],
)
def test_an_hpa_that_just_grew_its_target_says_how_far(
    desired: int,
    failed: bool,  # noqa: FBT001 - a row of the table
    want: int,
) -> None:
    """Its currentReplicas are those of before; a value below the size would take what runs."""
    hpa = replace(
        make_hpa(name="hpa", current_replicas=5), desired_replicas=desired, scaling_failed=failed
    )
    field = "desiredReplicas" if want > 5 else "currentReplicas"
    assert (handled(hpa).value, handled(hpa).detail) == (want, f"{field} of HPA hpa")


@pytest.mark.parametrize(
    ("hpa", "want"),
    [
        (make_hpa(name="hpa", current_replicas=4), (4, True)),
        (make_hpa(name="hpa", current_replicas=None, scaling_disabled=True), (0, False)),
        (make_hpa(name="hpa", current_replicas=2, scaling_disabled=True), (0, False)),
        (make_hpa(name="hpa", current_replicas=None), (None, False)),
        (None, (None, False)),
    ],
)
def test_other_targets_have_the_size_that_kedas_hpa_sees(
    hpa: Hpa | None, want: tuple[int | None, bool]
) -> None:
    """Other targets have the size that kedas hpa sees."""
    found = handled(hpa)
    assert (found.value, found.running) == want
    assert found.detail


@pytest.mark.parametrize(
    ("hpa_name", "hpa", "lack"),
    [
        (None, None, "the ScaledObject's status.hpaName names no HPA"),
        ("hpa", None, "HPA hpa, labelled or owned as KEDA's, is not there"),
        ("hpa", make_hpa(name="hpa", current_replicas=None), "HPA hpa gives no size"),
    ],
)
def test_a_size_that_is_not_known_names_what_its_hpa_lacks(
    hpa_name: str | None, hpa: Hpa | None, lack: str
) -> None:
    """A size that is not known names what its hpa lacks."""
    snapshot = make_snapshot(hpas=[] if hpa is None else [hpa])
    found = size(snapshot, make_scaled_object(target=HANDLE, hpa_name=hpa_name))
    assert (found.value, found.detail) == (
        None,
        f"MachineSet/pool is of no watched kind, and {lack}",
    )


def test_an_hpa_that_went_silent_gives_no_size_but_was_running() -> None:
    """An hpa that went silent gives no size but was running."""
    found = handled(make_hpa(name="hpa", current_replicas=4), horizontalpodautoscalers=SILENT)
    assert (found.value, found.running) == (None, True)


def test_a_scaled_object_without_hpa_yet_has_no_size() -> None:
    """A scaled object without hpa yet has no size."""
    found = size(make_snapshot(), make_scaled_object(target=HANDLE))
    assert (found.value, found.running) == (None, False)


@pytest.mark.parametrize(
    ("minimum", "idle_replicas", "want"), [(0, None, False), (1, None, True), (1, 0, False)]
)
def test_a_minimum_that_keeps_pods_runs_while_the_size_is_unknown(
    minimum: int, idle_replicas: int | None, *, want: bool
) -> None:
    """A minimum that keeps pods runs while the size is unknown."""
    scaled_object = make_scaled_object(
        target=HANDLE, min_replicas=minimum, idle_replicas=idle_replicas
    )
    assert size(make_snapshot(), scaled_object).running is want


@pytest.mark.parametrize("trigger", [IDLE, NODES, None])
def test_live_pods_run_while_the_size_is_unknown(trigger: Trigger | None) -> None:
    """Live pods run while the size is unknown."""
    unsynced = {Kind.DEPLOYMENTS: DENIED}
    scaled_object = make_scaled_object()
    quiet = watched(0, sources=unsynced)
    assert not size(quiet, scaled_object, trigger).running
    lively = watched(0, pods=(POD,), sources=unsynced)
    assert size(lively, scaled_object, trigger).running
    ended = watched(0, pods=(replace(POD, phase="Failed"),), sources=unsynced)
    assert not size(ended, scaled_object, trigger).running


def test_present_nodes_of_the_pool_run_while_its_size_is_unknown() -> None:
    """Present nodes of the pool run while its size is unknown."""
    scaled_object = make_scaled_object(target=HANDLE)
    assert not size(make_snapshot(), scaled_object, NODES).running
    assert size(make_snapshot(nodes=[make_node()]), scaled_object, NODES).running
    assert not size(make_snapshot(nodes=[make_node(labels={})]), scaled_object, NODES).running


def test_without_a_scaled_object_a_live_cluster_tells_no_size() -> None:
    """Without a scaled object a live cluster tells no size."""
    found = size(watched(3, pods=(POD,)), None, IdleTrigger(workload="Deployment/workers"))
    assert (found.value, found.running) == (None, True)


# --- bundles -----------------------------------------------------------------------------------


def bundle(trigger: Trigger | None, **sources: SourceState) -> int | None:
    """Ask for the size in a bundle without a ScaledObject."""
    snapshot = make_snapshot(
        nodes=[make_node(), make_node(name="node-1"), make_node(name="cpu", labels={}, gpus=0)],
        targets=[make_target(replicas=5)],
        pods=[POD],
        sources={Kind(kind): state for kind, state in sources.items()},
        bundle=True,
    )
    return size(snapshot, None, trigger).value


@pytest.mark.parametrize(
    ("trigger", "want"),
    [
        (NODES, 2),
        (replace(NODES, pool=None, gpus_per_node=8), 2),
        (replace(NODES, pool="unheard-of"), None),
        (replace(NODES, pool=None), None),
        (IdleTrigger(workload="Deployment/workers"), 1),
        (IdleTrigger(workload="Deployment/gone"), 0),
        (None, None),
    ],
)
def test_a_bundles_size_is_what_is_present(trigger: Trigger | None, want: int | None) -> None:
    """A bundles size is what is present."""
    assert bundle(trigger) == want


def test_a_flavor_s_nodes_with_devices_are_present() -> None:
    """Neither another flavor's, nor its own that have none: they are nobody's GPU nodes."""
    labels = {"type": "spot"}
    snapshot = make_snapshot(
        nodes=[
            make_node(labels=labels),
            make_node(name="cpu", labels=labels, gpus=0),
            make_node(name="other", labels={}),
        ],
        flavors=[make_flavor(node_labels=labels)],
        bundle=True,
    )
    asked = replace(NODES, pool=None, gpus_per_node=8, flavor="gpu")
    assert size(snapshot, None, asked).value == 1


def test_a_bundle_without_the_source_has_no_size() -> None:
    """A bundle without the source has no size."""
    assert bundle(NODES, nodes=DENIED) is None
    assert bundle(IdleTrigger(workload="Deployment/workers"), pods=DENIED) is None


def test_a_bundles_scaled_object_is_read_like_any_other() -> None:
    """A bundles scaled object is read like any other."""
    snapshot = make_snapshot(targets=[make_target(replicas=5)], pods=[POD], bundle=True)
    assert size(snapshot, make_scaled_object()).value == 5


KRUISE = TargetRef(name="workers", kind="Deployment", api_version="apps.kruise.io/v1beta1")


def test_another_groups_kind_of_the_same_name_is_another_object() -> None:
    """Another groups kind of the same name is another object."""
    scaled_object = make_scaled_object(target=KRUISE, hpa_name="hpa")
    snapshot = watched(3, hpas=(make_hpa(name="hpa", current_replicas=7),))
    assert size(snapshot, scaled_object).value == 7
    assert size(snapshot, make_scaled_object(hpa_name="hpa")).value == 3
    alone = size(watched(3, pods=(make_pod(labels={"app": "workers"}),)), scaled_object)
    assert (alone.value, alone.running) == (None, False)
