"""Objects that a real Kueue wrote: each decodes, and classes as the folder's README says."""

import json
import os
from pathlib import Path

import pytest

from scaler.core.model import (
    ClusterQueue,
    Controlled,
    Kind,
    Node,
    Pod,
    RayClusterPart,
    StopPolicy,
    Target,
    TopologyRequest,
    WorkerGroup,
    Workload,
)
from scaler.core.reasons import WorkloadClass
from scaler.kube.decode import Decoded, decode
from scaler.kube.forms import Record

FOLDER = Path(
    os.environ.get("KUEUE_SAMPLES")
    or Path(__file__).parents[3] / "shared" / "data" / "kueue-samples"
)
pytestmark = pytest.mark.skipif(
    not FOLDER.is_dir(), reason="no Kueue samples: set KUEUE_SAMPLES to their folder"
)

CLASSES = {
    "workload-admitted.v1beta1": WorkloadClass.RUNNING,
    "workload-admitted.v1beta2": WorkloadClass.RUNNING,
    "workload-held-podsready": WorkloadClass.RUNNING,
    "workload-admitted-partial": WorkloadClass.RUNNING,
    "workload-admitted-tas.v1beta1": WorkloadClass.RUNNING,
    "workload-admitted-tas.v1beta2": WorkloadClass.RUNNING,
    "workload-rayjob-admitted": WorkloadClass.RUNNING,
    "workload-trainjob-admitted": WorkloadClass.RUNNING,
    "workload-pytorchjob-admitted": WorkloadClass.RUNNING,
    "workload-evicted-podsready-timeout": WorkloadClass.RUNNING,
    "workload-jobset-evicted-on-wake": WorkloadClass.RUNNING,
    "workload-pending-quota": WorkloadClass.QUOTA,
    "workload-preempted": WorkloadClass.QUOTA,
    "workload-pending-exceeds-max": WorkloadClass.EXCEEDS,
    "workload-pending-untolerated-taint": WorkloadClass.NO_FLAVOR,
    "workload-pending-affinity-mismatch": WorkloadClass.NO_FLAVOR,
    "workload-pending-tas-no-nodes": WorkloadClass.TOPOLOGY,
    "workload-pending-tas-no-fit": WorkloadClass.TOPOLOGY,
    "workload-pending-no-localqueue": WorkloadClass.NOT_DEMAND,
    "workload-pending-cq-stopped": WorkloadClass.NOT_DEMAND,
    "workload-deactivated": WorkloadClass.NOT_DEMAND,
    "workload-tas-nodes-lost-evicted": WorkloadClass.NOT_DEMAND,
}
KINDS = {
    "workload-": Kind.WORKLOADS,
    "clusterqueue-": Kind.CLUSTER_QUEUES,
    "raycluster-": Kind.RAY_CLUSTERS,
    "jobset-": Kind.JOB_SETS,
    "pod-": Kind.PODS,
    "kserve-predictor-pod": Kind.PODS,
    "kserve-predictor-deployment": Kind.DEPLOYMENTS,
    "node-": Kind.NODES,
}


def kind_of(name: str) -> Kind | None:
    """Tell a sample's kind from its file name."""
    return next((kind for start, kind in KINDS.items() if name.startswith(start)), None)


def sample(name: str) -> Record:
    """Decode a sample."""
    kind = kind_of(name)
    assert kind is not None
    decoded = decode(kind, (FOLDER / f"{name}.json").read_bytes())
    assert decoded.problems == ()
    (record,) = decoded.records
    return record


def test_every_sample_is_expected_here() -> None:
    """A new file must be told about."""
    names = {path.stem for path in FOLDER.glob("*.json")}
    assert all(kind_of(name) for name in names)
    assert {name for name in names if name.startswith("workload-")} == set(CLASSES)


@pytest.mark.parametrize(("name", "want"), CLASSES.items())
def test_a_workload_stands_where_kueue_left_it(name: str, want: WorkloadClass) -> None:
    """The class by its own status."""
    record = sample(name)
    assert isinstance(record, Workload)
    assert record.standing is want


@pytest.mark.parametrize("name", ["workload-admitted", "workload-admitted-tas"])
def test_q15_both_versions_of_one_object_give_one_record(name: str) -> None:
    """Q15: v1beta1 and v1beta2 as the same API server wrote them."""
    assert sample(f"{name}.v1beta1") == sample(f"{name}.v1beta2")


def test_a_topology_assignment_is_seen() -> None:
    """Slices and domains alike."""
    for name, want in (
        ("workload-admitted-tas.v1beta1", True),
        ("workload-admitted.v1beta2", False),
    ):
        record = sample(name)
        assert isinstance(record, Workload)
        assert record.admission is not None
        assert {each.topology_assigned for each in record.admission.assignments} == {want}


def test_partial_admission_shows_both_counts() -> None:
    """Asked for 4, at least 1, admitted with 2."""
    record = sample("workload-admitted-partial")
    assert isinstance(record, Workload)
    (pod_set,) = record.pod_sets
    assert (pod_set.count, pod_set.min_count) == (4, 1)
    assert record.admission is not None
    (assignment,) = record.admission.assignments
    assert assignment.count == 2
    assert (
        dict(assignment.usage)["nvidia.com/gpu"]
        == 2 * dict(pod_set.shape.requests)["nvidia.com/gpu"]
    )


def test_required_topology_is_read() -> None:
    """From a Workload that found no room."""
    record = sample("workload-pending-tas-no-fit")
    assert isinstance(record, Workload)
    assert [each.topology for each in record.pod_sets] == [
        TopologyRequest(required="kubernetes.io/hostname")
    ]


def test_a_rayjob_has_three_podsets() -> None:
    """Head and submitter beside the workers."""
    record = sample("workload-rayjob-admitted")
    assert isinstance(record, Workload)
    assert [each.name for each in record.pod_sets] == ["head", "gpu", "submitter"]


def test_a_stopped_and_a_broken_clusterqueue_say_why() -> None:
    """Active=False with its reason."""
    stopped, broken = (
        sample(f"clusterqueue-{name}") for name in ("hold-and-drain", "flavor-missing")
    )
    assert isinstance(stopped, ClusterQueue)
    assert isinstance(broken, ClusterQueue)
    assert (stopped.stop_policy, stopped.inactive) == (StopPolicy.HOLD_AND_DRAIN, "Stopped")
    assert (broken.stop_policy, broken.inactive) == (StopPolicy.NONE, "FlavorNotFound")


def test_pods_name_their_workload_and_podset() -> None:
    """By Kueue's own annotation and label."""
    job, woken, served = (
        sample(name) for name in ("pod-running-job", "pod-unschedulable", "kserve-predictor-pod")
    )
    assert isinstance(job, Pod)
    assert job.workload is not None
    assert job.pod_set == "main"
    assert job.ready_since is not None
    assert isinstance(woken, Pod)
    assert (woken.unschedulable, woken.node, woken.ready_since) == (True, None, None)
    assert isinstance(served, Pod)
    assert served.workload == "pod-q-a-predictor-6bb5f566b7-h7dzl-6ba66"
    assert served.owners[0].kind == "ReplicaSet"


def test_nodes_and_targets_are_read() -> None:
    """One of each."""
    node, target = (sample(name) for name in ("node-gpu", "kserve-predictor-deployment"))
    assert isinstance(node, Node)
    assert (node.ready, dict(node.allocatable)["nvidia.com/gpu"]) == (True, 8)
    assert isinstance(target, Target)
    assert target.kind == "Deployment"
    assert target.selector
    assert dict(target.shape.requests)["nvidia.com/gpu"] == 4


def test_an_owner_that_nobody_controls_is_not_kept_by_its_metadata() -> None:
    """It is the end of its chain; of the one that a RayJob made, the controller is kept."""
    document = json.loads((FOLDER / "raycluster-running.json").read_bytes())
    del document["spec"]
    raw = json.dumps(document).encode()
    assert decode(Kind.RAY_CLUSTERS, raw) == Decoded(records=(), skipped=0)
    document["metadata"]["ownerReferences"] = [
        {"apiVersion": "ray.io/v1", "kind": "RayJob", "name": "j", "uid": "u", "controller": True}
    ]
    (owner,) = decode(Kind.RAY_CLUSTERS, json.dumps(document).encode()).records
    assert isinstance(owner, Controlled)
    assert (owner.kind, owner.controller_uid) == ("RayCluster", "u")


@pytest.mark.parametrize(
    ("name", "suspended", "desired"),
    [("raycluster-running", None, 2), ("raycluster-held", True, 0)],
)
def test_a_raycluster_is_read_whole(name: str, *, suspended: bool | None, desired: int) -> None:
    """As KubeRay left it: running, and with its one group held."""
    record = sample(name)
    assert isinstance(record, Controlled)
    assert isinstance(record.part, RayClusterPart)
    assert record.part.groups == (WorkerGroup(name="gpu", pods=2, suspended=suspended),)
    assert record.part.desired_workers == desired
    assert record.part.observed_generation == record.generation > 0
    assert not (record.part.suspended)
    assert not (record.part.autoscaling)
    assert not (record.part.recreates)
    assert (record.controller_uid, record.marks, record.deleting) == (None, (), False)
    assert record.resource_version


def test_a_jobset_is_read_by_its_metadata() -> None:
    """A link of the chain from pods to Workloads."""
    record = sample("jobset-held")
    assert isinstance(record, Controlled)
    assert (record.kind, record.name, record.part) == ("JobSet", "js-e", None)


def test_evictions_and_recovery_are_read() -> None:
    """What tells a hold that it was broken."""
    preempted, woken, held = (
        sample(f"workload-{name}")
        for name in ("preempted", "jobset-evicted-on-wake", "held-podsready")
    )
    assert isinstance(preempted, Workload)
    assert isinstance(woken, Workload)
    assert isinstance(held, Workload)
    assert (preempted.evictions, preempted.pods_ready) == (1, None)
    assert (woken.evictions, woken.pods_ready) == (1, "False/WaitForStart")
    assert (held.evictions, held.pods_ready) == (0, "True")
