"""What a ScaledObject may target: no PyTorchJob's workers at zero, a WorkerScale only whole."""

from collections.abc import Mapping
from typing import Any

import pytest

from scaler.commands.check_files import Finding, Severity
from scaler.commands.check_targets import judge_target
from tests.commands.test_check_rules import IDLE, POOL, TRIGGER, Edit, drop, edited, manifest, put

TARGET = "spec.scaleTargetRef"
HANDLE = {"apiVersion": "kueue-gpu-scaler.dev/v1alpha1", "kind": "WorkerScale", "name": "ray"}
ON_SCALE = edited(IDLE, put(TARGET, HANDLE))
PYTORCH = edited(IDLE, put(f"{TARGET}.kind", "PyTorchJob"))


def found(tree: Mapping[str, Any]) -> list[Finding]:
    """Judge a tree."""
    return list(judge_target(manifest(tree)))


def test_clean() -> None:
    """What KEDA can scale, and what a WorkerScale stands for, give no finding."""
    for tree in (IDLE, POOL, ON_SCALE):
        assert found(tree) == []


def test_one_that_is_not_ours_is_not_judged() -> None:
    """A ScaledObject without a trigger of ours is no business of ours."""
    odd = edited(ON_SCALE, put("spec.maxReplicaCount", 0))
    assert found(edited(odd, put(f"{TRIGGER}.type", "cron"))) == []
    assert found(edited(PYTORCH, put("kind", "ScaledJob"))) == []


def test_a_pytorch_job_may_not_go_to_zero_by_another_trigger_either() -> None:
    """It breaks the same, whoever asks for it; above zero it is no business of ours."""
    tree = edited(PYTORCH, put(f"{TRIGGER}.type", "cron"))
    (finding,) = found(tree)
    assert (finding.severity, finding.problem.path) == (Severity.ERROR, "spec.minReplicaCount")
    assert found(edited(tree, put("spec.minReplicaCount", 1))) == []


@pytest.mark.parametrize(
    ("sizes", "path", "value"),
    [
        ({}, "spec.minReplicaCount", "0"),
        ({"minReplicaCount": 0}, "spec.minReplicaCount", "0"),
        ({"minReplicaCount": 2, "idleReplicaCount": 0}, "spec.idleReplicaCount", "0"),
    ],
)
def test_a_pytorch_job_may_not_go_to_zero(sizes: dict[str, int], path: str, value: str) -> None:
    """Its own scale at 0 breaks it: refused, with what can be done instead."""
    tree = edited(PYTORCH, lambda one: one["spec"].update(sizes))
    (finding,) = found(tree)
    assert finding.severity is Severity.ERROR
    assert (finding.problem.path, finding.problem.value) == (path, value)
    assert "mode: Release" in finding.problem.allowed


def test_a_pytorch_job_above_zero_loses_its_workload_at_each_change() -> None:
    """Above 0 it may be scaled, at the price of its Workload."""
    (finding,) = found(edited(PYTORCH, put("spec.minReplicaCount", 1)))
    assert finding.severity is Severity.WARNING
    assert "deletes the Workload" in str(finding)


@pytest.mark.parametrize("kind", ["RayCluster", "RayJob", "JobSet", "TrainJob", "Job", "Notebook"])
def test_a_kind_without_scale_needs_a_worker_scale(kind: str) -> None:
    """A kind without /scale is no target, but a WorkerScale of it is."""
    (finding,) = found(edited(IDLE, put(f"{TARGET}.kind", kind)))
    assert finding.severity is Severity.WARNING
    assert "make a WorkerScale of it" in str(finding)


def test_an_inference_service_is_scaled_by_its_predictor() -> None:
    """It has no /scale, and no WorkerScale stands for it."""
    (finding,) = found(edited(IDLE, put(f"{TARGET}.kind", "InferenceService")))
    assert finding.severity is Severity.WARNING
    assert "target its predictor's Deployment" in str(finding)


@pytest.mark.parametrize(
    ("edit", "path"),
    [
        pytest.param(drop(f"{TARGET}.name"), f"{TARGET}.name", id="no name"),
        pytest.param(drop(f"{TARGET}.apiVersion"), f"{TARGET}.apiVersion", id="KEDA's default"),
        pytest.param(put(f"{TARGET}.apiVersion", "x.dev/v1"), f"{TARGET}.apiVersion", id="group"),
        pytest.param(put("spec.maxReplicaCount", 0), "spec.maxReplicaCount", id="never above zero"),
        pytest.param(
            put(f"{TRIGGER}.metadata", POOL["spec"]["triggers"][0]["metadata"]),
            "spec.triggers[0].metadata.signal",
            id="a signal of nodes",
        ),
    ],
)
def test_errors_on_a_worker_scale(edit: Edit, path: str) -> None:
    """What can't work with a WorkerScale is an error at its path."""
    (finding,) = found(edited(ON_SCALE, edit))
    assert (finding.severity, finding.problem.path) == (Severity.ERROR, path)
