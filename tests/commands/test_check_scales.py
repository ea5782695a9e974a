"""A WorkerScale is judged before it is applied: kind, mode, component and times."""

from collections.abc import Mapping
from typing import Any

import pytest

from scaler.commands.check_files import Finding, Severity
from scaler.commands.check_scales import judge_scale
from tests.commands.test_check_rules import IDLE, Edit, drop, edited, manifest, put

TARGET = "spec.target"
HOLD: Mapping[str, Any] = {
    "apiVersion": "kueue-gpu-scaler.dev/v1alpha1",
    "kind": "WorkerScale",
    "metadata": {"namespace": "team-a", "name": "ray"},
    "spec": {
        "target": {
            "apiVersion": "ray.io/v1",
            "kind": "RayCluster",
            "name": "ray",
            "component": "gpu",
        },
        "maxHold": "12h",
    },
}


def release(kind: str, version: str) -> dict[str, Any]:
    """Write a WorkerScale of mode Release."""
    tree = edited(HOLD, put("spec.mode", "Release"))
    tree["spec"]["target"] = {"apiVersion": version, "kind": kind, "name": "it"}
    return tree


def found(tree: Mapping[str, Any]) -> list[Finding]:
    """Judge a tree."""
    return list(judge_scale(manifest(tree)))


def problems(tree: Mapping[str, Any]) -> list[tuple[Severity, str]]:
    """Give severities and paths."""
    return [(one.severity, one.problem.path) for one in found(tree)]


@pytest.mark.parametrize(
    "tree",
    [
        HOLD,
        edited(HOLD, put("spec.mode", "Hold")),
        edited(HOLD, put(f"{TARGET}.component", "GPU-Group")),
        edited(HOLD, drop("spec.maxHold")),
        release("PyTorchJob", "kubeflow.org/v1"),
        release("RayCluster", "ray.io/v1"),
        release("Job", "batch/v1"),
        release("AppWrapper", "workload.codeflare.dev/v1beta2"),
        release("Notebook", "kubeflow.org/v1"),
        IDLE,
    ],
)
def test_clean(tree: Mapping[str, Any]) -> None:
    """What can be done gives no finding, and other kinds are not judged."""
    assert found(tree) == []


@pytest.mark.parametrize(
    ("edit", "path"),
    [
        pytest.param(put("apiVersion", "example.com/v1"), "apiVersion", id="another group"),
        pytest.param(drop("apiVersion"), "apiVersion", id="no group"),
        pytest.param(drop("metadata.name"), "metadata.name", id="no name"),
        pytest.param(drop(f"{TARGET}.name"), f"{TARGET}.name", id="no target"),
        pytest.param(put(f"{TARGET}.kind", "SparkApplication"), f"{TARGET}.kind", id="odd kind"),
        pytest.param(
            put(f"{TARGET}.apiVersion", "ray.io"), f"{TARGET}.apiVersion", id="no version"
        ),
        pytest.param(drop(f"{TARGET}.apiVersion"), f"{TARGET}.apiVersion", id="no apiVersion"),
        pytest.param(put("spec.mode", "hold"), "spec.mode", id="a mode in small letters"),
        pytest.param(drop(f"{TARGET}.component"), f"{TARGET}.component", id="no component"),
        pytest.param(put(f"{TARGET}.component", "head"), f"{TARGET}.component", id="the head"),
        pytest.param(put(f"{TARGET}.component", "a b"), f"{TARGET}.component", id="no name at all"),
        pytest.param(put("spec.mode", "Release"), f"{TARGET}.component", id="a part released"),
        pytest.param(put("spec.maxHold", 30), "spec.maxHold", id="a number of what"),
        pytest.param(put("spec.maxHold", "soon"), "spec.maxHold", id="no duration"),
        pytest.param(put("spec.maxHold", "1d"), "spec.maxHold", id="a unit that the CRD lacks"),
        pytest.param(put("spec.maxHold", "1.5h"), "spec.maxHold", id="a fraction"),
        pytest.param(put("spec.maxHold", "9999999h"), "spec.maxHold", id="too many digits"),
        pytest.param(put("spec.maxHold", ""), "spec.maxHold", id="an empty text"),
        pytest.param(put("spec.maxHold", "0s"), "spec.maxHold", id="no time at all"),
        pytest.param(put("spec.replicas", -1), "spec.replicas", id="negative"),
        pytest.param(put("spec.replicas", "2"), "spec.replicas", id="text"),
        pytest.param(put("spec.minReplicas", 1), "spec.minReplicas", id="a key of others"),
        pytest.param(put(f"{TARGET}.group", "x"), f"{TARGET}.group", id="an unknown part"),
    ],
)
def test_errors(edit: Edit, path: str) -> None:
    """What would be refused or dropped is one error, at its path."""
    assert problems(edited(HOLD, edit)) == [(Severity.ERROR, path)]


def test_a_size_in_a_file_is_warned_of() -> None:
    """Each apply would set back what KEDA wrote."""
    assert problems(edited(HOLD, put("spec.replicas", 0))) == [(Severity.WARNING, "spec.replicas")]


@pytest.mark.parametrize(
    ("kind", "version"),
    [
        ("Job", "batch/v1"),
        ("PyTorchJob", "kubeflow.org/v1"),
        ("RayService", "ray.io/v1"),
        ("Notebook", "kubeflow.org/v1"),
    ],
)
def test_a_kind_that_cannot_be_held_is_told_what_instead(kind: str, version: str) -> None:
    """The kinds whose Workload a hold would cost are refused, with the mode that works."""
    (finding,) = found(edited(release(kind, version), drop("spec.mode")))
    assert finding.problem.path == "spec.mode"
    assert "mode: Release" in finding.problem.allowed
    assert "RayCluster, RayJob, JobSet, TrainJob" in finding.problem.allowed
    assert str(finding).partition("spec.mode: ")[2].startswith("without it the mode is Hold, and ")


def test_a_mode_that_is_given_is_shown_as_it_was_written() -> None:
    """No word of the program's own stands where the file's should."""
    (finding,) = found(edited(release("Job", "batch/v1"), put("spec.mode", "Hold")))
    assert "spec.mode: 'Hold' is not allowed; Job can't be held" in str(finding)


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "LeaderWorkerSet"])
def test_a_kind_with_scale_is_sent_to_keda(kind: str) -> None:
    """A kind with a scale subresource needs no handle, and is told so."""
    (finding,) = found(edited(HOLD, put(f"{TARGET}.kind", kind)))
    assert finding.problem.path == f"{TARGET}.kind"
    assert "directly" in finding.problem.allowed


def test_all_problems_come_at_once() -> None:
    """All problems come at once."""
    tree = edited(release("Job", "apps/v1"), put("spec.maxHold", "x"))
    tree["spec"]["mode"] = "Keep"
    assert [path for _, path in problems(tree)] == [
        f"{TARGET}.apiVersion",
        "spec.mode",
        "spec.maxHold",
    ]


def test_an_empty_one() -> None:
    """Without a spec everything that is required is named."""
    tree = {"apiVersion": "kueue-gpu-scaler.dev/v1alpha1", "kind": "WorkerScale"}
    paths = [path for _, path in problems(tree)]
    assert paths == ["metadata.name", f"{TARGET}.name", f"{TARGET}.kind"]
