"""What `kubectl apply -k deploy/` installs keeps the rules of the code and of KEDA's contract."""

from pathlib import Path

import pytest

import scaler
from scaler import cli
from tests.kustomized import DEPLOY, Document, containers, kustomization, named, rendered

NAME = "kueue-gpu-scaler"
OVERLAYS = sorted(path.parent for path in (DEPLOY / "overlays").glob("*/kustomization.yaml"))
INSTALLATIONS = (DEPLOY, *OVERLAYS)
LABELS = {
    "app.kubernetes.io/name": NAME,
    "app.kubernetes.io/instance": NAME,
    "app.kubernetes.io/component": "scaler",
}
each_installation = pytest.mark.parametrize(
    "folder", INSTALLATIONS, ids=[path.name for path in INSTALLATIONS]
)


def shipped(kind: str, name: str | None = None) -> Document:
    """Give the only object of a kind of the base, or the one of a name."""
    return named(rendered(DEPLOY), kind, name)


def pod(deployment: Document) -> Document:
    """Give the spec of the pods of a Deployment."""
    spec: Document = deployment["spec"]["template"]["spec"]
    return spec


def container(deployment: Document) -> Document:
    """Give the one container of a Deployment's pods."""
    (only,) = containers(deployment)
    return only


def port(name: str, deployment: Document) -> int:
    """Give the number of a named port of the container."""
    entries = container(deployment)["ports"]
    return {entry["name"]: int(entry["containerPort"]) for entry in entries}[name]


def deployments(folder: Path) -> list[Document]:
    """Give the Deployments of an installation; there is one at least."""
    found = [each for each in rendered(folder) if each["kind"] == "Deployment"]
    assert found
    return found


# --- the files ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "folder",
    sorted(path.parent for path in DEPLOY.rglob("kustomization.yaml")),
    ids=lambda path: path.name,
)
def test_every_file_is_in_its_kustomization(folder: Path) -> None:
    """A manifest that no kustomization names would be installed by nobody.

    What is for some alone is named in its comments.
    """
    wanted = kustomization(folder)
    text = (folder / "kustomization.yaml").read_text(encoding="utf-8")
    comments = [line for line in text.splitlines() if line.startswith("#")]
    named_here = {*wanted.get("resources", ()), "kustomization.yaml"}
    for generated in wanted.get("configMapGenerator", ()):
        named_here |= set(generated["files"])
    named_here |= {patch["path"] for patch in wanted.get("patches", ()) if "path" in patch}
    present = {path.relative_to(folder).as_posix() for path in folder.glob("*.yaml")}
    assert [each for each in present - named_here if each not in " ".join(comments)] == []


@each_installation
def test_names_are_there_once(folder: Path) -> None:
    """Nothing is installed twice, and what has a namespace has the one that is installed."""
    objects = rendered(folder)
    keys = [(each["kind"], each["metadata"]["name"]) for each in objects]
    assert len(keys) == len(set(keys))
    assert {each["metadata"].get("namespace", NAME) for each in objects} == {NAME}


def test_the_base_is_what_answers_keda_alone() -> None:
    """What may patch workloads comes by an overlay that is asked for."""
    assert [each["metadata"]["name"] for each in deployments(DEPLOY)] == [NAME]
    assert container(shipped("Deployment"))["args"][0] == "serve"
    assert shipped("CustomResourceDefinition")["spec"]["group"] == "kueue-gpu-scaler.dev"


# --- the policy --------------------------------------------------------------------------------


@each_installation
def test_policy_name_stays(folder: Path) -> None:
    """A changed policy reaches running pods under the name that they mount."""
    config_map = named(rendered(folder), "ConfigMap", f"{NAME}-policy")
    assert set(config_map["data"]) == {"policy.yaml"}
    assert kustomization(DEPLOY / "base")["generatorOptions"]["disableNameSuffixHash"] is True
    for deployment in deployments(folder):
        volumes = {each["name"]: each for each in pod(deployment)["volumes"]}
        assert volumes["policy"]["configMap"] == {"name": config_map["metadata"]["name"]}


@each_installation
def test_policy_mount(folder: Path) -> None:
    """The policy is mounted as a directory, which the kubelet updates, and read from there."""
    for deployment in deployments(folder):
        mounts = {each["name"]: each for each in container(deployment)["volumeMounts"]}
        assert not any("subPath" in each for each in mounts.values())
        path = f"{mounts['policy']['mountPath']}/policy.yaml"
        assert f"--policy={path}" in container(deployment)["args"]


# --- how it runs -------------------------------------------------------------------------------


@each_installation
def test_arguments(folder: Path) -> None:
    """The pods start with arguments that the command line takes, on the ports that are named."""
    for deployment in deployments(folder):
        args = cli.parser().parse_args(container(deployment)["args"])
        assert args.status.port == port("http", deployment)


def test_drain() -> None:
    """It serves where KEDA asks, and its drain leaves time for the end of the streams."""
    deployment = shipped("Deployment")
    args = cli.parser().parse_args(container(deployment)["args"])
    assert args.grpc.port == port("grpc", deployment)
    assert 0 < args.drain < pod(deployment)["terminationGracePeriodSeconds"] / 2


def test_a_hung_pod_is_killed_soon() -> None:
    """KEDA waits for it, other scalers' targets with it; the drain is for pods that answer."""
    deployment = shipped("Deployment")
    probe, args = container(deployment)["livenessProbe"], container(deployment)["args"]
    grace = pod(deployment)["terminationGracePeriodSeconds"]
    assert probe["terminationGracePeriodSeconds"] < cli.parser().parse_args(args).drain
    assert probe["periodSeconds"] * probe["failureThreshold"] < grace


@each_installation
def test_image_tag_and_version(folder: Path) -> None:
    """The image tag and the version label are the version of the package."""
    for deployment in deployments(folder):
        assert container(deployment)["image"] == f"{NAME}:{scaler.__version__}"
    for each in rendered(folder):
        assert each["metadata"]["labels"]["app.kubernetes.io/version"] == scaler.__version__


def test_probes() -> None:
    """Liveness asks the loop that answers KEDA, and gives up soon."""
    found = container(shipped("Deployment"))
    assert found["livenessProbe"]["grpc"]["port"] == port("grpc", shipped("Deployment"))
    assert found["livenessProbe"]["timeoutSeconds"] <= 2
    assert found["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "http"}


def test_service() -> None:
    """The Service has an address of its own and finds the pods."""
    spec, deployment = shipped("Service")["spec"], shipped("Deployment")
    assert spec["type"] == "ClusterIP"
    assert spec.get("clusterIP") != "None"
    assert spec["selector"] == LABELS
    assert {entry["name"]: entry["port"] for entry in spec["ports"]} == {
        "grpc": port("grpc", deployment),
        "http": port("http", deployment),
    }


# --- two of each, and apart --------------------------------------------------------------------


@each_installation
def test_one_stays(folder: Path) -> None:
    """Two replicas run, and one stays through a roll-out or a node's drain."""
    objects = rendered(folder)
    for deployment in deployments(folder):
        spec = deployment["spec"]
        assert spec["replicas"] == 2
        assert spec["strategy"]["rollingUpdate"]["maxUnavailable"] == 0
        budget = named(objects, "PodDisruptionBudget", deployment["metadata"]["name"])["spec"]
        assert budget["minAvailable"] == 1
        assert budget["selector"] == spec["selector"]


@each_installation
def test_replicas_are_spread(folder: Path) -> None:
    """Over nodes and zones, of one roll-out; a cluster with one node takes both."""
    for deployment in deployments(folder):
        spread = pod(deployment)["topologySpreadConstraints"]
        assert {each["topologyKey"] for each in spread} == {
            "kubernetes.io/hostname",
            "topology.kubernetes.io/zone",
        }
        for each in spread:
            assert each["labelSelector"] == deployment["spec"]["selector"]
            assert each["matchLabelKeys"] == ["pod-template-hash"]
            assert each["whenUnsatisfiable"] == "ScheduleAnyway"


@each_installation
def test_priority(folder: Path) -> None:
    """They come before jobs, and only they do."""
    priority = named(rendered(folder), "PriorityClass")
    assert 0 < priority["value"] < 1_000_000_000
    assert priority["globalDefault"] is False
    for deployment in deployments(folder):
        assert pod(deployment)["priorityClassName"] == priority["metadata"]["name"]


# --- labels ------------------------------------------------------------------------------------


@each_installation
def test_recommended_labels(folder: Path) -> None:
    """Every object says what it belongs to."""
    for each in rendered(folder):
        labels = each["metadata"]["labels"]
        assert labels["app.kubernetes.io/name"] == labels["app.kubernetes.io/part-of"] == NAME
        assert labels["app.kubernetes.io/instance"] == NAME


@each_installation
def test_selectors_never_change(folder: Path) -> None:
    """A selector can't be changed in place, so no version is in it, and each finds its own."""
    selectors = [each["spec"]["selector"]["matchLabels"] for each in deployments(folder)]
    for deployment in deployments(folder):
        component = deployment["metadata"]["labels"]["app.kubernetes.io/component"]
        want = LABELS | {"app.kubernetes.io/component": component}
        assert deployment["spec"]["selector"]["matchLabels"] == want
        labels = deployment["spec"]["template"]["metadata"]["labels"]
        assert [each for each in selectors if each.items() <= labels.items()] == [want]


# --- security ----------------------------------------------------------------------------------


def test_namespace_is_restricted() -> None:
    """A pod that would not fit is refused there, not only warned of."""
    labels = shipped("Namespace")["metadata"]["labels"]
    for mode in ("enforce", "audit", "warn"):
        assert labels[f"pod-security.kubernetes.io/{mode}"] == "restricted"


@each_installation
def test_security(folder: Path) -> None:
    """The pods fit the restricted security standard, and write nowhere."""
    for deployment in deployments(folder):
        spec, context = pod(deployment), container(deployment)["securityContext"]
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert context["allowPrivilegeEscalation"] is False
        assert context["capabilities"] == {"drop": ["ALL"]}
        assert context["readOnlyRootFilesystem"] is True
        assert all(each["readOnly"] for each in container(deployment)["volumeMounts"])
        assert not {"hostNetwork", "hostPID", "hostIPC", "initContainers"} & spec.keys()


@each_installation
def test_volumes_are_read_only_sources(folder: Path) -> None:
    """Nothing of a node is mounted, and nothing that could be written."""
    for deployment in deployments(folder):
        for volume in pod(deployment)["volumes"]:
            assert set(volume) - {"name"} <= {"configMap", "secret", "projected"}


@each_installation
def test_tokens(folder: Path) -> None:
    """An account's token is given to the pods that ask for it, and to no others."""
    objects = rendered(folder)
    for deployment in deployments(folder):
        account = named(objects, "ServiceAccount", pod(deployment)["serviceAccountName"])
        assert account["automountServiceAccountToken"] is False
        assert pod(deployment)["automountServiceAccountToken"] is True
        assert pod(deployment)["enableServiceLinks"] is False


@each_installation
def test_resources(folder: Path) -> None:
    """Requests for both and a bound for memory; no bound for CPU, which would slow the answers."""
    for deployment in deployments(folder):
        resources = container(deployment)["resources"]
        assert resources["requests"].keys() == {"cpu", "memory"}
        assert resources["limits"].keys() == {"memory"}
