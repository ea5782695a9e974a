"""The examples under deploy/examples keep the rules of the code and of the contract with KEDA."""

from collections.abc import Mapping

import pytest

from scaler.commands import check
from scaler.commands.check_files import read_files
from scaler.core import metadata
from scaler.core.policy import Policy
from scaler.core.trigger import IdleTrigger, InvalidTrigger, QueueTrigger, Trigger, Unit
from scaler.policyfile import parse_policy
from tests.kustomized import DEPLOY, Document, documents, named, rendered

POLICY = DEPLOY / "base" / "policy.yaml"


def scaled_objects() -> Mapping[str, Document]:
    """Give the ScaledObject of each example, by file."""
    return {
        path.stem: document
        for path in sorted((DEPLOY / "examples").glob("*.yaml"))
        for document in documents(path)
        if document["kind"] == "ScaledObject"
    }


EXAMPLES = scaled_objects()
each_example = pytest.mark.parametrize("example", EXAMPLES.values(), ids=EXAMPLES.keys())


def trigger_of(example: Document) -> Trigger:
    """Parse the one trigger of an example."""
    (trigger,) = example["spec"]["triggers"]
    parsed = metadata.parse(trigger["metadata"])
    assert not isinstance(parsed, InvalidTrigger), parsed.problems
    return parsed


def policy() -> Policy:
    """Parse the policy that is shipped."""
    parsed = parse_policy(POLICY.read_text(encoding="utf-8"))
    assert isinstance(parsed, Policy), parsed
    return parsed


def behavior_of(example: Document) -> Document:
    """Give the HPA behavior of an example."""
    behavior: Document = example["spec"]["advanced"]["horizontalPodAutoscalerConfig"]["behavior"]
    return behavior


def test_kinds_of_target() -> None:
    """There is an example for each kind of target."""
    kinds = {
        example["spec"]["scaleTargetRef"].get("kind", "Deployment") for example in EXAMPLES.values()
    }
    assert kinds == {"MachineSet", "MachineDeployment", "Deployment", "StatefulSet", "WorkerScale"}


def test_check_accepts_all() -> None:
    """`check` finds nothing to say of the policy and the examples, judged together."""
    paths = (POLICY, *sorted((DEPLOY / "examples").glob("*.yaml")))
    checked = read_files([(path.name, path.read_text(encoding="utf-8")) for path in paths])
    assert len(checked.manifests) >= len(EXAMPLES)
    assert check.all_findings(checked) == ()


@each_example
def test_metadata_parses(example: Document) -> None:
    """The metadata of an example parses."""
    assert isinstance(trigger_of(example), QueueTrigger | IdleTrigger)


@each_example
def test_scaler_address(example: Document) -> None:
    """An example asks the Service that is shipped."""
    (trigger,) = example["spec"]["triggers"]
    service = named(rendered(DEPLOY), "Service")
    (port,) = (each["port"] for each in service["spec"]["ports"] if each["name"] == "grpc")
    host = f"{service['metadata']['name']}.{service['metadata']['namespace']}.svc"
    assert trigger["type"] == "external-push"
    assert trigger["metadata"]["scalerAddress"] == f"{host}:{port}"


@each_example
def test_no_fallback(example: Document) -> None:
    """An example has nothing that scales down on missing data, or runs away."""
    (trigger,) = example["spec"]["triggers"]
    assert "fallback" not in example["spec"]
    assert "scalingModifiers" not in example["spec"]["advanced"]
    assert trigger.get("metricType", "AverageValue") == "AverageValue"


@each_example
def test_cooldowns(example: Document) -> None:
    """An example guards the start, and survives an outage of ten minutes."""
    assert example["spec"]["initialCooldownPeriod"] >= 1800
    assert example["spec"]["cooldownPeriod"] >= 600


@each_example
def test_tolerance(example: Document) -> None:
    """An example lets the HPA act on a change of one."""
    tolerances = [behavior_of(example)[way]["tolerance"] for way in ("scaleUp", "scaleDown")]
    assert tolerances == ["0", "0"]


@each_example
def test_name_length(example: Document) -> None:
    """An example's name leaves room for the name of its HPA."""
    assert len(f"keda-hpa-{example['metadata']['name']}") <= 63


@each_example
def test_nodes_only_come(example: Document) -> None:
    """KEDA never takes a node away; all else it may scale in."""
    trigger = trigger_of(example)
    of_nodes = isinstance(trigger, QueueTrigger) and trigger.unit is Unit.NODES
    annotations = example["metadata"].get("annotations", {})
    disabled = behavior_of(example)["scaleDown"].get("selectPolicy") == "Disabled"
    assert disabled is of_nodes
    assert ("autoscaling.keda.sh/paused-scale-in" in annotations) is of_nodes


@each_example
def test_names_of_the_policy(example: Document) -> None:
    """An example names what the shipped policy has, and the pool's bound is the policy's."""
    trigger = trigger_of(example)
    if isinstance(trigger, IdleTrigger):
        assert {trigger.keep_alive, trigger.wake} - {None} <= policy().queries.keys()
    elif trigger.pool is not None:
        assert example["spec"]["maxReplicaCount"] == policy().pools[trigger.pool].max_nodes
    else:
        assert trigger.gpus_per_node is not None


@each_example
def test_no_dry_run(example: Document) -> None:
    """An example does what it says: no rule of the shipped policy makes it a dry run."""
    rules = policy()
    namespace = rules.namespaces.get(example["metadata"]["namespace"])
    assert not rules.defaults.dry_run
    assert namespace is None or not namespace.dry_run


@each_example
def test_stateful_set(example: Document) -> None:
    """A StatefulSet under Kueue goes to zero and back whole."""
    spec = example["spec"]
    if spec["scaleTargetRef"].get("kind") != "StatefulSet":
        assert "idleReplicaCount" not in spec
        return
    assert spec["idleReplicaCount"] == 0
    assert spec["minReplicaCount"] == spec["maxReplicaCount"] > 0
