"""WorkerScales and the objects that own pods or Workloads, as records."""

import json

import pytest

from scaler.core.model import (
    Controlled,
    JobPart,
    Kind,
    Mark,
    Mode,
    NotebookPart,
    RayClusterPart,
    WorkerGroup,
    WorkerScaleStatus,
    WorkerTarget,
)
from scaler.kube.decode import Decoded, decode
from tests.kube.decoding import a_workload, one
from tests.kube.documents import FULL_WORKLOAD, Document, workload
from tests.kube.worker_scales import NOW, a_scale, scale_document

RAY_JOB = [
    {"apiVersion": "ray.io/v1", "kind": "RayJob", "name": "j", "uid": "uid-j", "controller": True}
]
MARKED = {"held.kueue-gpu-scaler.dev/gpu": '{"by":"ws","uid":"uid-ws","was":"false"}'}


def an_object(kind: str, *, owners: object = None, **parts: object) -> Document:
    """Write an object with metadata and what else is given."""
    meta = {
        "name": "x",
        "namespace": "ml",
        "uid": "uid-x",
        "generation": 4,
        "resourceVersion": "9",
        "ownerReferences": owners,
    }
    return {"kind": kind, "metadata": meta, **parts}


def owner(kind: Kind, document: Document) -> Controlled:
    """Decode an owner that must be kept."""
    record = one(kind, document)
    assert isinstance(record, Controlled)
    return record


# --- WorkerScales ------------------------------------------------------------------------------


def test_a_workerscale_is_read_whole() -> None:
    """Spec and metadata."""
    scale = a_scale(scale_document(replicas=0, maxHold="1h30m"))
    assert scale.key == ("ml", "ws")
    assert (scale.uid, scale.created, scale.generation) == ("uid-ws", NOW, 3)
    assert scale.resource_version == "77"
    assert scale.target == WorkerTarget(
        api_version="ray.io/v1", kind="RayCluster", name="rc", component="gpu"
    )
    assert scale.target.group == "ray.io"
    assert (scale.mode, scale.replicas, scale.max_hold) == (Mode.HOLD, 0, 5400.0)
    assert scale.status == WorkerScaleStatus()
    assert (scale.hold_now, scale.wake_at) == (None, None)
    assert not (scale.opted_out)
    assert not (scale.deleting)
    assert not (scale.finalized)


def test_what_people_write_on_it_is_read() -> None:
    """Annotations, label, deletion and our finalizer among others."""
    document = scale_document(mode="Release")
    document["metadata"] |= {
        "annotations": {
            "kueue-gpu-scaler.dev/hold-now": "2026-03-01T10:00:00Z",
            "kueue-gpu-scaler.dev/wake": "now",
        },
        "labels": {"kueue-gpu-scaler.dev/ignore": "True"},
        "deletionTimestamp": "2026-03-01T10:00:00Z",
        "finalizers": ["foregroundDeletion", "kueue-gpu-scaler.dev/restore"],
    }
    del document["spec"]["target"]["component"]
    scale = a_scale(document)
    assert (scale.mode, scale.target.component) == (Mode.RELEASE, None)
    assert (scale.hold_now, scale.wake_at) == (NOW, 0.0)
    assert scale.opted_out
    assert scale.deleting
    assert scale.finalized
    assert scale.finalizers == ("foregroundDeletion", "kueue-gpu-scaler.dev/restore")


@pytest.mark.parametrize("text", ["", "soon", "1772359200", "2026-03-01"])
def test_a_malformed_time_takes_nothing(text: str) -> None:
    """hold-now is meant by a person, who sees that nothing happens."""
    document = scale_document()
    document["metadata"]["annotations"] = {"kueue-gpu-scaler.dev/hold-now": text}
    assert a_scale(document).hold_now is None


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"mode": "Sleep"}, "spec.mode"),
        ({"maxHold": "an hour"}, "spec.maxHold"),
        ({"maxHold": "0s"}, "spec.maxHold"),
        ({"replicas": -1}, "replicas"),
        ({"replicas": "none"}, "replicas"),
        ({"target": {"kind": "RayCluster", "name": "rc"}}, "apiVersion"),
        ({"target": None}, "target"),
    ],
)
def test_a_malformed_spec_is_skipped_and_named(spec: Document, said: str) -> None:
    """Nobody can guess what was meant; the next one counts."""
    items = [scale_document(**spec), scale_document()]
    raw = json.dumps({"kind": "List", "items": items}).encode()
    decoded = decode(Kind.WORKER_SCALES, raw)
    assert (len(decoded.records), decoded.skipped) == (1, 1)
    assert decoded.malformed == (("ml", "ws"),)
    assert said in decoded.problems[0]


def test_a_malformed_status_costs_nothing_else() -> None:
    """The spec is what people want."""
    document = {**scale_document(replicas=0), "status": {"hold": 7, "state": "Running"}}
    scale = a_scale(document)
    assert (scale.replicas, scale.status) == (0, WorkerScaleStatus(state="Running"))


# --- owners ------------------------------------------------------------------------------------


def test_metadata_alone_tells_who_controls_an_object() -> None:
    """And nothing that changes with each status, so that nothing is decided anew."""
    for kind, name in ((Kind.RAY_CLUSTERS, "RayCluster"), (Kind.JOBS, "Job")):
        record = owner(kind, an_object("PartialObjectMetadata", owners=RAY_JOB))
        assert record == Controlled(
            uid="uid-x", kind=name, namespace="ml", name="x", controller_uid="uid-j"
        )
        free = json.dumps(an_object("PartialObjectMetadata")).encode()
        assert decode(kind, free) == Decoded(records=(), skipped=0)


def test_a_raycluster_with_a_spec_is_kept_whole() -> None:
    """Groups in their order, counted as Kueue counts them."""
    groups = [
        {"groupName": "gpu", "replicas": 2, "numOfHosts": 4, "suspend": True},
        {"groupName": "Cpu", "replicas": 0, "numOfHosts": 0, "suspend": False},
        {"groupName": "one"},
    ]
    document = an_object(
        "RayCluster",
        spec={
            "suspend": True,
            "enableInTreeAutoscaling": True,
            "upgradeStrategy": {"type": "Recreate"},
            "workerGroupSpecs": groups,
        },
        status={"observedGeneration": 3, "desiredWorkerReplicas": 8},
    )
    document["metadata"] |= {"annotations": MARKED, "deletionTimestamp": "2026-03-01T10:00:00Z"}
    assert owner(Kind.RAY_CLUSTERS, document) == Controlled(
        uid="uid-x",
        kind="RayCluster",
        namespace="ml",
        name="x",
        controller_uid=None,
        generation=4,
        resource_version="9",
        deleting=True,
        marks=(Mark(component="gpu", by="ws", uid="uid-ws", was="false"),),
        part=RayClusterPart(
            groups=(
                WorkerGroup(name="gpu", pods=8, suspended=True),
                WorkerGroup(name="Cpu", pods=0, suspended=False),
                WorkerGroup(name="one", pods=1),
            ),
            suspended=True,
            autoscaling=True,
            recreates=True,
            observed_generation=3,
            desired_workers=8,
        ),
    )


def test_a_raycluster_that_says_little_is_read() -> None:
    """A new one has no status, a plain one no groups."""
    record = owner(Kind.RAY_CLUSTERS, an_object("RayCluster", spec={}, owners=RAY_JOB))
    assert (record.part, record.controller_uid) == (RayClusterPart(groups=()), "uid-j")


def test_a_child_job_names_its_jobset() -> None:
    """And its replicated job, which is the podset."""
    document = an_object("Job", spec={"parallelism": 0, "suspend": True})
    document["metadata"]["labels"] = {
        "jobset.sigs.k8s.io/jobset-name": "js",
        "jobset.sigs.k8s.io/replicatedjob-name": "w",
    }
    part = JobPart(parallelism=0, suspended=True, job_set="js", replicated_job="w")
    assert owner(Kind.JOBS, document).part == part
    assert owner(Kind.JOBS, an_object("Job", spec={})).part == JobPart(parallelism=1)


def test_jobsets_and_notebooks_are_kept_by_their_metadata() -> None:
    """Only the actuator asks for them."""
    job_set = owner(Kind.JOB_SETS, an_object("PartialObjectMetadata"))
    assert (job_set.kind, job_set.controller_uid, job_set.part) == ("JobSet", None, None)
    document = an_object("PartialObjectMetadata")
    assert owner(Kind.NOTEBOOKS, document).part == NotebookPart()
    document["metadata"]["annotations"] = {"kubeflow-resource-stopped": "", **MARKED}
    notebook = owner(Kind.NOTEBOOKS, document)
    assert notebook.part == NotebookPart(stopped="")
    assert notebook.resource_version == "9"
    assert [mark.by for mark in notebook.marks] == ["ws"]


def test_a_group_without_a_name_makes_the_cluster_malformed() -> None:
    """Patches test the name at an index: none may be left out."""
    document = an_object("RayCluster", spec={"workerGroupSpecs": [{"replicas": 1}]})
    decoded = decode(Kind.RAY_CLUSTERS, json.dumps(document).encode())
    assert decoded.malformed == (("ml", "x"),)
    assert "groupName" in decoded.problems[0]


# --- Workloads ---------------------------------------------------------------------------------


def test_evictions_are_summed() -> None:
    """Over all reasons."""
    assert a_workload(workload()).evictions == 0
    stats = {"evictions": [{"reason": "Preempted", "count": 2}, {"reason": "x", "count": 1}]}
    document = {**workload(), "status": {"schedulingStats": stats}}
    assert a_workload(document).evictions == 3
    assert a_workload({**workload(), "status": {"schedulingStats": {}}}).evictions == 0


@pytest.mark.parametrize(
    ("status", "want"),
    [("True", "True"), ("False", "False/WaitForRecovery"), ("Unknown", "Unknown/WaitForRecovery")],
)
def test_readiness_of_pods_has_its_reason(status: str, want: str) -> None:
    """Without the condition waitForPodsReady is off."""
    condition = {"type": "PodsReady", "status": status, "reason": "WaitForRecovery"}
    document = {**workload(), "status": {"conditions": [condition]}}
    assert a_workload(document).pods_ready == want
    assert a_workload(FULL_WORKLOAD).pods_ready is None


def test_who_released_a_workload_is_read() -> None:
    """By our annotation."""
    document = workload()
    assert a_workload(document).released_by is None
    document["metadata"]["annotations"] = {"kueue-gpu-scaler.dev/released-by": "ws"}
    assert a_workload(document).released_by == "ws"
