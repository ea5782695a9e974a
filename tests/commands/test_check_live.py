"""`check --live` judges what is in a cluster, together with the files that are given."""

import json
from pathlib import Path

import pytest

from scaler import cli
from scaler.core.model import Kind
from scaler.sim.patches import Document
from scaler.sim.scenario import LLM, POOL_SCALER
from scaler.sim.scenario_ray import worker_scale
from tests.commands.furnished import Furnished


def run(cluster: Furnished, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """Run `check --live` on the cluster."""
    code = cli.entry(["check", "--live", "--kubeconfig", str(cluster.kubeconfig), *arguments])
    return code, capsys.readouterr().out


def spoil(cluster: Furnished, **metadata: str) -> None:
    """Set keys of the idle trigger."""
    cluster.change_trigger(**metadata)


def test_a_good_cluster_is_counted(cluster: Furnished, capsys: pytest.CaptureFixture[str]) -> None:
    """Its ScaledObjects are two."""
    code, said = run(cluster, capsys)
    assert code == 0
    assert "ScaledObjects: 2, errors: 0" in said


def test_every_problem_of_a_live_object_is_told(
    cluster: Furnished, capsys: pytest.CaptureFixture[str]
) -> None:
    """With its path, its value and what is allowed."""
    spoil(cluster, idleAfter="soon", colour="red")
    code, said = run(cluster, capsys, "--all-namespaces")
    assert code == 2
    assert f"cluster: ScaledObject {'/'.join(LLM)}: error: " in said
    assert "'soon' is not allowed" in said
    assert "colour" in said
    assert "errors: 2" in said


def test_what_is_not_read_otherwise_is_judged_too(
    cluster: Furnished, capsys: pytest.CaptureFixture[str]
) -> None:
    """A fallback scales down by design."""

    def change(document: Document) -> None:
        document["spec"]["fallback"] = {"failureThreshold": 3, "replicas": 1}

    cluster.cluster.objects.modify(Kind.SCALED_OBJECTS, LLM, change)
    _, said = run(cluster, capsys)
    assert "fallback" in said


def test_replicas_of_a_live_worker_scale_are_no_mistake(
    cluster: Furnished, capsys: pytest.CaptureFixture[str]
) -> None:
    """KEDA wrote them; only in a file they are warned of."""
    target = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "name": "ray", "component": "gpu"}
    scale = worker_scale(("team-a", "ray-gpu"), target)
    scale["spec"]["replicas"] = 2
    cluster.cluster.apply(Kind.WORKER_SCALES, scale)
    code, said = run(cluster, capsys)
    assert code == 0
    assert "WorkerScales: 1, errors: 0" in said
    assert "spec.replicas" not in said


def test_another_namespace_s_findings_are_left_out(
    cluster: Furnished, capsys: pytest.CaptureFixture[str]
) -> None:
    """A team reads of its own alone."""
    spoil(cluster, idleAfter="soon")
    assert run(cluster, capsys, "-n", POOL_SCALER[0])[0] == 0
    assert run(cluster, capsys, "-n", LLM[0])[0] == 2


def test_a_policy_is_judged_together_with_what_is_live(
    cluster: Furnished, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before it takes a pool away that a live ScaledObject sizes."""
    policy = tmp_path / "new.yaml"
    policy.write_text("pools: {}\n", encoding="utf-8")
    code, said = run(cluster, capsys, str(policy), "-o", "json")
    findings = json.loads(said)["findings"]
    assert code == 0
    assert [one for one in findings if one["file"] == "cluster" and one["path"].endswith("pool")]


def test_a_kind_that_can_not_be_read_is_told_and_the_rest_judged(
    cluster: Furnished, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is a warning: what was not seen is not called good."""
    cluster.cluster.api.faults.forbidden.add(Kind.STATEFUL_SETS)
    code, said = run(cluster, capsys)
    assert code == 0
    assert "cluster: warning: statefulsets: not judged: 403" in said


def test_without_scaled_objects_there_is_nothing_to_judge(
    cluster: Furnished, capsys: pytest.CaptureFixture[str]
) -> None:
    """One sentence, with the words of the API server."""
    cluster.cluster.api.faults.forbidden.add(Kind.SCALED_OBJECTS)
    code = cli.entry(["check", "--live", "--kubeconfig", str(cluster.kubeconfig)])
    assert code == 2
    assert "ScaledObjects can't be read: 403" in capsys.readouterr().err
