"""A bundle is read whole, or refused with everything that is wrong with it."""

from pathlib import Path

import pytest

from scaler.bundle import BadBundle, load
from scaler.core.decision import Status
from scaler.core.model import Kind
from scaler.core.reasons import Reason

POLICY = """
pools:
  gpu: {nodeSelector: {pool: gpu}, node: {nvidia.com/gpu: 8}, maxNodes: 10}
"""
TRIGGER = """
namespace: ml
name: pool
scalerMetadata: {signal: queue, clusterQueue: gpu-cq, pool: gpu}
"""
OBJECTS = {
    "clusterqueues.yaml": """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: gpu-cq}
spec:
  resourceGroups:
  - coveredResources: [nvidia.com/gpu]
    flavors: [{name: gpu, resources: [{name: nvidia.com/gpu, nominalQuota: 80}]}]
""",
    "localqueues.yml": """
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: lq, namespace: ml}
spec: {clusterQueue: gpu-cq}
""",
    "resourceflavors.json": (
        '{"kind": "List", "items": [{"kind": "ResourceFlavor", "metadata": {"name": "gpu"},'
        ' "spec": {"nodeLabels": {"pool": "gpu"}}}]}'
    ),
    "nodes.yaml": "{kind: List, items: []}",
    "pods.yaml": "{kind: List, items: []}",
    "workloads.yaml": """
apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata: {name: a, namespace: ml, uid: u1, creationTimestamp: 2026-11-30T07:00:00Z}
spec:
  queueName: lq
  podSets:
  - name: main
    count: 3
    template: {spec: {containers: [{name: c, resources: {requests: {nvidia.com/gpu: 5}}}]}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata: {name: broken, namespace: ml}
spec: {podSets: nothing}
""",
}


def write(folder: Path, **files: str) -> Path:
    """Write a bundle that decides 3 nodes, with these files otherwise."""
    contents = {"now": "2026-11-30T08:00:00Z\n", "policy.yaml": POLICY, "trigger.yaml": TRIGGER}
    contents |= {name.replace("__", "."): text for name, text in files.items()}
    objects = folder / "objects"
    objects.mkdir(parents=True)
    for name, text in OBJECTS.items():
        (objects / name).write_text(text)
    for name, text in contents.items():
        (folder / name).write_text(text)
    return folder


def test_a_bundle_decides_without_any_network(tmp_path: Path) -> None:
    """All file endings and several documents count; a malformed object is skipped and seen."""
    (decision,) = load(write(tmp_path)).decisions()
    assert (decision.status, decision.active, decision.value) == (Status.OK, True, 3)
    assert decision.queue is not None
    assert decision.queue.skipped_objects == 1


def test_a_kind_without_a_file_did_not_sync(tmp_path: Path) -> None:
    """An empty List says none; no file says nothing."""
    folder = write(tmp_path)
    (folder / "objects" / "pods.yaml").unlink()
    (decision,) = load(folder).decisions()
    assert (decision.status, decision.reason) == (Status.HOLD, Reason.NOT_SYNCED)
    assert "objects/pods.yaml is not in the bundle" in decision.detail


def test_without_a_policy_the_defaults_are_in_force(tmp_path: Path) -> None:
    """The trigger's pool is then missing, which is a HOLD that says so."""
    folder = write(tmp_path)
    (folder / "policy.yaml").unlink()
    (decision,) = load(folder).decisions()
    assert decision.reason is Reason.POOL_MISSING


def test_everything_that_is_wrong_is_told_at_once(tmp_path: Path) -> None:
    """Each with its path, what was there and what is allowed."""
    folder = write(
        tmp_path, now="yesterday", policy__yaml="defaults: {idle: 1}", trigger__yaml="[1, 2]"
    )
    (folder / "objects" / "pod.yaml").write_text("{}")
    (folder / "objects" / "jobs.yaml").write_text("a: [")
    with pytest.raises(BadBundle) as raised:
        load(folder)
    paths = {problem.path for problem in raised.value.problems}
    assert paths >= {"now", "trigger.yaml", "objects/pod.yaml", "objects/jobs.yaml"}
    assert any(path.startswith("policy.yaml") for path in paths)


def test_broken_samples_are_refused(tmp_path: Path) -> None:
    """They would else look like a fleet without samples."""
    idle = "namespace: ml\nname: so\nscalerMetadata: {signal: idle, workload: a}\n"
    folder = write(tmp_path, trigger__yaml=idle, samples__om="DCGM_FI_DEV_GPU_UTIL{ 1 2 3\n")
    with pytest.raises(BadBundle, match=r"samples\.om"):
        load(folder)


def test_a_scaled_object_is_decided_with_its_target(tmp_path: Path) -> None:
    """Its bounds and other triggers matter, so it joins the other objects.

    When the HPA scaled last is not said: the two nodes that are missing may be coming.
    """
    scaled_object = """
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: pool, namespace: ml, uid: so-uid, creationTimestamp: 2026-11-29T00:00:00Z}
spec:
  scaleTargetRef: {apiVersion: machine.openshift.io/v1beta1, kind: MachineSet, name: gpu}
  triggers:
  - type: cron
    metadata: {timezone: UTC}
  - type: external-push
    metadata: {scalerAddress: "scaler:6000", signal: queue, clusterQueue: gpu-cq, pool: gpu}
status: {hpaName: keda-hpa-pool}
"""
    folder = write(tmp_path, trigger__yaml=scaled_object)
    (folder / "objects" / f"{Kind.HPAS}.yaml").write_text(
        """
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: keda-hpa-pool
  namespace: ml
  labels: {scaledobject.keda.sh/name: pool}
status: {currentReplicas: 2}
"""
    )
    (decision,) = load(folder).decisions()
    assert (decision.size, decision.value) == (2, 3)


def test_a_scaled_object_without_a_trigger_of_ours_is_refused(tmp_path: Path) -> None:
    """There is nothing to decide; the key signal marks what is ours."""
    foreign = """
kind: ScaledObject
metadata: {name: so, namespace: ml}
spec:
  scaleTargetRef: {name: x}
  triggers: [{type: cron, metadata: {timezone: UTC}}]
"""
    with pytest.raises(BadBundle, match="signal"):
        load(write(tmp_path, trigger__yaml=foreign))


def test_a_trigger_file_of_several_objects_is_refused(tmp_path: Path) -> None:
    """What stood second would count for nothing, and nobody would know."""
    both = "kind: WorkerScale\n---\nkind: ScaledObject\n"
    with pytest.raises(BadBundle, match=r"trigger\.yaml: '2 objects' is not allowed"):
        load(write(tmp_path, trigger__yaml=both))


@pytest.mark.parametrize("text", ['{"kind": "List", ', "kind: List\nitems: []\n", "[" * 100_000])
def test_a_json_file_that_is_no_json_is_refused(tmp_path: Path, text: str) -> None:
    """It is named, and what is allowed."""
    folder = write(tmp_path)
    (folder / "objects" / "cohorts.json").write_text(text, encoding="utf-8")
    with pytest.raises(BadBundle, match=r"objects/cohorts\.json: .* YAML or JSON is"):
        load(folder)


@pytest.mark.parametrize(
    "text",
    [
        "&a [*a]",
        "items: &b [{x: *b}]",
        "items: [{null: 1}]",
        "{true: 3}",
        "items: [!!int abc]",
        "items: [!!bool maybe]",
        "items: [!!timestamp foo]",
        "items: [!!float x]",
        "? {a: b}\n: c\n",
    ],
)
@pytest.mark.parametrize("name", ["objects/nodes.yaml", "trigger.yaml"])
def test_yaml_that_json_can_not_say_is_refused(tmp_path: Path, name: str, text: str) -> None:
    """It is no Kubernetes object, and a traceback names neither the file nor what is allowed."""
    folder = write(tmp_path)
    (folder / name).write_text(text)
    with pytest.raises(BadBundle, match=rf"{name}: .* YAML or JSON is"):
        load(folder)


def test_a_file_with_nothing_in_it_does_not_say_that_there_is_nothing(tmp_path: Path) -> None:
    """K01: what was cut off while it was written is missing data."""
    folder = write(tmp_path)
    (folder / "objects" / "pods.yaml").write_text("")
    with pytest.raises(BadBundle, match=r"objects/pods\.yaml: '\(nothing\)' is not allowed"):
        load(folder)


def test_two_files_of_one_kind_are_refused(tmp_path: Path) -> None:
    """One of them would be left out unseen."""
    folder = write(tmp_path)
    for name in ("cohorts.json", "cohorts.yaml"):
        (folder / "objects" / name).write_text("{}")
    with pytest.raises(BadBundle, match=r"one file a kind, and objects/cohorts\.json is there"):
        load(folder)
