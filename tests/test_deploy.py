"""What is shipped under deploy/ keeps the rules that the code and the contract with KEDA set."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import pytest
import yaml

import scaler
from scaler import cli
from scaler.commands import check
from scaler.commands.check_files import read_files
from scaler.core import metadata
from scaler.core.policy import Policy
from scaler.core.trigger import IdleTrigger, InvalidTrigger, QueueTrigger, Trigger, Unit
from scaler.policyfile import parse_policy

Document: TypeAlias = Mapping[str, Any]

DEPLOY = Path(__file__).parent.parent / "deploy"
SHIPPED = (
    "namespace",
    "crds/workerscale",
    "serviceaccount",
    "rbac",
    "deployment",
    "poddisruptionbudget",
    "service",
    "rbac-actuator",
    "deployment-actuator",
)
NAME = {"app.kubernetes.io/name": "kueue-gpu-scaler"}
DEPLOYMENTS = ("deployment", "deployment-actuator")
each_deployment = pytest.mark.parametrize("deployment", DEPLOYMENTS)


def documents(path: Path) -> tuple[Document, ...]:
    """Read the documents of a YAML file."""
    return tuple(yaml.safe_load_all(path.read_text(encoding="utf-8")))


def shipped(name: str) -> Document:
    """Give the first document of a file of the base."""
    return documents(DEPLOY / f"{name}.yaml")[0]


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
    parsed = parse_policy((DEPLOY / "policy.yaml").read_text(encoding="utf-8"))
    assert isinstance(parsed, Policy), parsed
    return parsed


def behavior_of(example: Document) -> Document:
    """Give the HPA behavior of an example."""
    behavior: Document = example["spec"]["advanced"]["horizontalPodAutoscalerConfig"]["behavior"]
    return behavior


# --- the base ----------------------------------------------------------------------------------


def test_kustomization_is_whole() -> None:
    """The kustomization names every file of the base."""
    kustomization = shipped("kustomization")
    assert set(kustomization["resources"]) == {f"{name}.yaml" for name in SHIPPED}
    present = {path.name for path in DEPLOY.glob("*.yaml")}
    present |= {f"crds/{path.name}" for path in (DEPLOY / "crds").iterdir()}
    assert present == {*kustomization["resources"], "kustomization.yaml", "policy.yaml"}


def test_policy_name_stays() -> None:
    """A changed policy reaches running pods under the name that they mount."""
    kustomization = shipped("kustomization")
    (generated,) = kustomization["configMapGenerator"]
    assert kustomization["generatorOptions"]["disableNameSuffixHash"] is True
    for deployment in DEPLOYMENTS:
        (volume,) = pod(deployment)["volumes"]
        assert volume["configMap"]["name"] == generated["name"]
    assert generated["files"] == ["policy.yaml"]


@each_deployment
def test_policy_mount(deployment: str) -> None:
    """The policy is mounted as a directory, which the kubelet updates, and read from there."""
    (mount,) = container(deployment)["volumeMounts"]
    assert "subPath" not in mount
    assert f"--policy={mount['mountPath']}/policy.yaml" in container(deployment)["args"]


def test_arguments() -> None:
    """The pods start with arguments that the command line takes, on the ports that are named."""
    args = cli.parser().parse_args(container()["args"])
    assert (args.grpc.port, args.status.port) == (port("grpc"), port("http"))
    assert 0 < args.drain < pod()["terminationGracePeriodSeconds"] / 2


def test_a_hung_pod_is_killed_soon() -> None:
    """KEDA waits for it, other scalers' targets with it; the drain is for pods that answer."""
    probe = container()["livenessProbe"]
    assert (
        probe["terminationGracePeriodSeconds"] < cli.parser().parse_args(container()["args"]).drain
    )
    assert (
        probe["periodSeconds"] * probe["failureThreshold"] < pod()["terminationGracePeriodSeconds"]
    )


@each_deployment
def test_image_tag(deployment: str) -> None:
    """The image tag is the version of the package."""
    (image,) = shipped("kustomization")["images"]
    assert image["name"] == container(deployment)["image"]
    assert image["newTag"] == scaler.__version__


def test_replicas() -> None:
    """Two replicas answer, and one stays through a roll-out or a drain."""
    spec = shipped("deployment")["spec"]
    assert spec["replicas"] == 2
    assert spec["strategy"]["rollingUpdate"]["maxUnavailable"] == 0
    assert shipped("poddisruptionbudget")["spec"]["minAvailable"] == 1


def test_probes() -> None:
    """Liveness asks the loop that answers KEDA, and gives up soon."""
    probe = container()["livenessProbe"]
    assert probe["grpc"]["port"] == port("grpc")
    assert probe["timeoutSeconds"] <= 2
    assert container()["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "http"}


def test_service() -> None:
    """The Service has an address of its own and finds the pods."""
    spec = shipped("service")["spec"]
    assert spec["type"] == "ClusterIP"
    assert spec.get("clusterIP") != "None"
    assert spec["selector"] == NAME
    assert shipped("deployment")["spec"]["selector"]["matchLabels"] == NAME
    assert shipped("deployment")["spec"]["template"]["metadata"]["labels"] == NAME
    assert shipped("poddisruptionbudget")["spec"]["selector"]["matchLabels"] == NAME
    assert {entry["name"]: entry["port"] for entry in spec["ports"]} == {
        "grpc": port("grpc"),
        "http": port("http"),
    }


@each_deployment
def test_security(deployment: str) -> None:
    """The pod fits the restricted security standard."""
    context = container(deployment)["securityContext"]
    assert pod(deployment)["securityContext"]["runAsNonRoot"] is True
    assert pod(deployment)["securityContext"]["seccompProfile"]["type"] == "RuntimeDefault"
    assert context["allowPrivilegeEscalation"] is False
    assert context["capabilities"] == {"drop": ["ALL"]}
    assert context["readOnlyRootFilesystem"] is True


def pod(deployment: str = "deployment") -> Document:
    """Give the spec of the pods."""
    spec: Document = shipped(deployment)["spec"]["template"]["spec"]
    return spec


def container(deployment: str = "deployment") -> Document:
    """Give the one container of a pod."""
    only: Document
    (only,) = pod(deployment)["containers"]
    return only


def port(name: str, deployment: str = "deployment") -> int:
    """Give the number of a named port of the container."""
    entries = container(deployment)["ports"]
    return {entry["name"]: int(entry["containerPort"]) for entry in entries}[name]


# --- the examples ------------------------------------------------------------------------------


def test_kinds_of_target() -> None:
    """There is an example for each kind of target."""
    kinds = {
        example["spec"]["scaleTargetRef"].get("kind", "Deployment") for example in EXAMPLES.values()
    }
    assert kinds == {"MachineSet", "MachineDeployment", "Deployment", "StatefulSet", "WorkerScale"}


def test_check_accepts_all() -> None:
    """`check` finds nothing to say of the policy and the examples, judged together."""
    paths = (DEPLOY / "policy.yaml", *sorted((DEPLOY / "examples").glob("*.yaml")))
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
    service, namespace = (shipped(kind)["metadata"]["name"] for kind in ("service", "namespace"))
    assert trigger["type"] == "external-push"
    assert trigger["metadata"]["scalerAddress"] == f"{service}.{namespace}.svc:{port('grpc')}"


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
