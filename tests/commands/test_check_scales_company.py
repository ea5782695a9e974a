"""WorkerScales are judged together with policies, with each other, and with their ScaledObjects."""

import json
from typing import Any

import pytest

from scaler.commands.check import all_findings
from scaler.commands.check_files import Finding, Severity, read_files
from tests.commands.test_check_rules import IDLE, TRIGGER, edited, put
from tests.commands.test_check_scales import HOLD, TARGET, release
from tests.commands.test_check_targets import ON_SCALE


def found(*documents: object) -> list[Finding]:
    """Judge documents together; text is a policy."""
    texts = (one if isinstance(one, str) else json.dumps(one) for one in documents)
    return list(all_findings(read_files((f"f{at}", text) for at, text in enumerate(texts))))


# --- the allow-list ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "listed"),
    [
        ("workerScales: {kinds: [JobSet, Job]}", "JobSet, Job"),
        ("workerScales: {kinds: []}", "none"),
    ],
)
def test_the_policy_names_the_kinds(policy: str, listed: str) -> None:
    """A kind that the policy leaves out is an error, which lists what it allows."""
    (finding,) = found(HOLD, policy)
    assert (finding.severity, finding.problem.path) == (Severity.ERROR, f"{TARGET}.kind")
    assert finding.problem.allowed.endswith(f"allows {listed}")


def test_without_a_list_all_kinds_are_allowed() -> None:
    """Without a policy, and without the key, all kinds are allowed."""
    for policies in ((), ("{}",), ("workerScales: {}",), ("workerScales: {kinds: [RayCluster]}",)):
        assert found(HOLD, *policies) == []


def test_a_kind_that_nobody_can_take_is_told_once() -> None:
    """A kind that no policy could allow is told once."""
    odd = edited(HOLD, put(f"{TARGET}.kind", "Deployment"))
    assert len(found(odd, "{}")) == 1


# --- two of the same workers ---------------------------------------------------------------------


def other(**target: str) -> dict[str, Any]:
    """Write a second WorkerScale, with parts of its target changed."""
    tree = edited(HOLD, put("metadata.name", "second"))
    tree["spec"]["target"] |= target
    return tree


def test_two_of_one_component() -> None:
    """The second WorkerScale of one component is an error that names the first."""
    for second in (other(), other(component="GPU")):
        (finding,) = found(HOLD, second)
        assert (finding.severity, finding.subject) == (Severity.ERROR, "WorkerScale team-a/second")
        assert "WorkerScale team-a/ray has the same workers" in str(finding)


def test_a_release_takes_every_component() -> None:
    """A Release has all workers, so nothing may stand beside it."""
    whole = edited(release("RayCluster", "ray.io/v1"), put("metadata.name", "second"))
    whole["spec"]["target"]["name"] = "ray"
    assert len(found(HOLD, whole)) == 1


def test_others_may_stand_side_by_side() -> None:
    """Another component, target or namespace, or the same file twice, is no rival."""
    elsewhere = edited(other(), put("metadata.namespace", "team-b"))
    for second in (other(component="cpu"), other(name="x"), elsewhere, HOLD):
        assert found(HOLD, second) == []


# --- what targets them ---------------------------------------------------------------------------


def test_a_scaled_object_on_it() -> None:
    """A ScaledObject on a WorkerScale is fine as it stands, and both are counted as read."""
    assert found(ON_SCALE, HOLD) == []


@pytest.mark.parametrize(
    ("edit", "path"),
    [
        (put("spec.fallback", {"failureThreshold": 3, "replicas": 1}), "spec.fallback"),
        (put(f"{TRIGGER}.metricType", "Value"), "spec.triggers[0].metricType"),
    ],
)
def test_what_no_target_may_have(edit: Any, path: str) -> None:  # noqa: ANN401 - an Edit
    """Fallback and metricType Value are refused on a WorkerScale as elsewhere."""
    (finding,) = found(edited(ON_SCALE, edit), HOLD)
    assert (finding.severity, finding.problem.path) == (Severity.ERROR, path)


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("component", "gpu", False),
        ("workload", "RayCluster/ray", False),
        ("component", "cpu", True),
        ("workload", "RayJob/other", True),
    ],
)
def test_a_trigger_on_other_workers_is_warned_of(key: str, value: str, *, said: bool) -> None:
    """Who names other workers than the WorkerScale takes is told that both must be idle."""
    tree = edited(ON_SCALE, put(f"{TRIGGER}.metadata.{key}", value))
    findings = found(tree, HOLD)
    assert [one.problem.path for one in findings] == (
        [f"spec.triggers[0].metadata.{key}"] if said else []
    )
    assert all(one.severity is Severity.WARNING for one in findings)


# --- KServe --------------------------------------------------------------------------------------

PREDICTOR = edited(IDLE, put("spec.scaleTargetRef.name", "llm-predictor"))


def service(
    autoscaler: str | None, *, name: str = "llm", namespace: str = "team-a"
) -> dict[str, Any]:
    """Write an InferenceService."""
    marks = {} if autoscaler is None else {"serving.kserve.io/autoscalerClass": autoscaler}
    return {
        "apiVersion": "serving.kserve.io/v1beta1",
        "kind": "InferenceService",
        "metadata": {"name": name, "namespace": namespace, "annotations": marks},
    }


@pytest.mark.parametrize("autoscaler", [None, "hpa", "none", "keda"])
def test_a_predictor_needs_an_external_autoscaler(autoscaler: str | None) -> None:
    """KServe undoes what KEDA does unless its autoscalerClass is external; missing means hpa."""
    (finding,) = found(PREDICTOR, service(autoscaler))
    assert (finding.severity, finding.problem.path) == (
        Severity.ERROR,
        "spec.scaleTargetRef.name",
    )
    assert "autoscalerClass: external" in finding.problem.allowed
    assert ("default is hpa" in finding.problem.allowed) == (autoscaler is None)


@pytest.mark.parametrize("mode", ["Serverless", "Knative"])
def test_a_predictor_without_a_deployment(mode: str) -> None:
    """Knative runs it then, and KEDA would look for a Deployment that nobody makes."""
    knative = edited(
        service("external"),
        put("metadata.annotations", {"serving.kserve.io/deploymentMode": mode}),
    )
    (finding,) = found(PREDICTOR, knative)
    assert finding.severity is Severity.ERROR
    assert "serving.kserve.io/deploymentMode: Standard" in finding.problem.allowed


def test_a_predictor_that_is_left_alone() -> None:
    """External is fine, and so is a Deployment that only has such a name."""
    assert found(PREDICTOR, service("external")) == []
    assert found(PREDICTOR, service("hpa", name="another")) == []
    assert found(PREDICTOR, service("hpa", namespace="team-b")) == []
    assert found(IDLE, service("hpa", name="chat")) == []
