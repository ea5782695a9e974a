"""What the harness installs is what deploy/ has, with other names."""

from collections.abc import Mapping

import pytest

from tests.e2e.api import Object
from tests.e2e.deployed import (
    actuator,
    adapted,
    arguments,
    environment,
    example,
    installation,
    one,
    secrets,
)
from tests.kustomized import DEPLOY

SHIPPED = "kueue-gpu-scaler"
TEXT = "defaults: {}\n"
EXAMPLES = sorted(path.name for path in (DEPLOY / "examples").glob("*.yaml"))


def scaled(file: str) -> Object:
    """Give the ScaledObject of an example."""
    return one(example(file), "ScaledObject")


def names(objects: tuple[Object, ...]) -> Mapping[str, tuple[str, str]]:
    """Give namespace and name by kind."""
    return {
        each["kind"]: (each["metadata"].get("namespace", ""), each["metadata"]["name"])
        for each in objects
    }


def test_names_as_shipped() -> None:
    """In the namespace that is shipped the objects have the names that are shipped."""
    assert names(installation(SHIPPED, TEXT)) == {
        "Namespace": ("", SHIPPED),
        "PriorityClass": ("", SHIPPED),
        "ServiceAccount": (SHIPPED, SHIPPED),
        "ClusterRole": ("", SHIPPED),
        "ClusterRoleBinding": ("", SHIPPED),
        "Deployment": (SHIPPED, SHIPPED),
        "PodDisruptionBudget": (SHIPPED, SHIPPED),
        "Service": (SHIPPED, SHIPPED),
        "NetworkPolicy": (SHIPPED, SHIPPED),
        "ConfigMap": (SHIPPED, f"{SHIPPED}-policy"),
    }


def test_mounted_secrets() -> None:
    """The base has none; with certificates it is theirs, where the flags look for it."""
    secured = one(installation(SHIPPED, TEXT, overlay="mtls"), "Deployment")
    assert secrets(one(installation(SHIPPED, TEXT), "Deployment")) == {}
    assert secrets(secured) == {"/etc/kueue-gpu-scaler-tls": "kueue-gpu-scaler-server"}


def test_side_by_side() -> None:
    """A second installation shares no object with the first."""
    first, second = names(installation(SHIPPED, TEXT)), names(installation("second", TEXT))
    assert first.keys() == second.keys()
    assert not set(first.values()) & set(second.values())


def test_the_actuator_by_itself() -> None:
    """What its overlay adds, and what of the base it needs; nothing of the replicas'."""
    found = names(actuator(SHIPPED, TEXT))
    assert found["Deployment"] == found["Role"] == (SHIPPED, f"{SHIPPED}-actuator")
    assert found["ConfigMap"] == (SHIPPED, f"{SHIPPED}-policy")
    assert found["PriorityClass"] == ("", SHIPPED)
    assert not {"Service", "CustomResourceDefinition"} & found.keys()
    own = names(actuator("second", TEXT))
    assert not set(found.values()) & set(own.values())
    spec = one(actuator("second", TEXT), "Deployment")["spec"]["template"]["spec"]
    assert spec["priorityClassName"] == own["PriorityClass"][1]


def test_second_binding() -> None:
    """A second installation binds its own role to its own account."""
    objects = installation("second", TEXT)
    binding, role = one(objects, "ClusterRoleBinding"), one(objects, "ClusterRole")
    assert binding["roleRef"]["name"] == role["metadata"]["name"] == f"{SHIPPED}-second"
    (subject,) = binding["subjects"]
    assert (subject["namespace"], subject["name"]) == names(objects)["ServiceAccount"]


def test_policy_volume() -> None:
    """The policy's text is mounted under the name that is generated."""
    objects = installation("second", TEXT)
    config_map, deployment = one(objects, "ConfigMap"), one(objects, "Deployment")
    (volume,) = deployment["spec"]["template"]["spec"]["volumes"]
    assert volume["configMap"]["name"] == config_map["metadata"]["name"]
    assert config_map["data"] == {"policy.yaml": TEXT}


def test_labels_and_tag() -> None:
    """Every object is labeled, and the image has a tag."""
    objects = installation(SHIPPED, TEXT)
    assert all(each["metadata"]["labels"]["app.kubernetes.io/name"] == SHIPPED for each in objects)
    (container,) = one(objects, "Deployment")["spec"]["template"]["spec"]["containers"]
    assert container["image"].startswith(f"{SHIPPED}:")


def test_arguments() -> None:
    """The container's arguments keep their order; only the values asked for differ."""
    deployment = one(installation(SHIPPED, TEXT), "Deployment")
    shipped = arguments(deployment)
    changed = arguments(deployment, policy="/elsewhere", drain="1")
    assert [flag.partition("=")[0] for flag in changed] == [
        flag.partition("=")[0] for flag in shipped
    ]
    assert set(changed) - set(shipped) == {"--policy=/elsewhere", "--drain=1"}


def test_unknown_argument() -> None:
    """A flag that the container lacks is refused, since its value would be lost."""
    deployment = one(installation(SHIPPED, TEXT), "Deployment")
    with pytest.raises(ValueError, match="--nothing"):
        arguments(deployment, nothing="1")


def test_environment() -> None:
    """Each fieldRef is read from the pod."""
    deployment = one(installation(SHIPPED, TEXT), "Deployment")
    pod = {"metadata": {"namespace": "n", "name": "p", "uid": "u"}}
    assert environment(deployment, pod) == {
        "POD_NAMESPACE": "n",
        "POD_NAME": "p",
        "POD_UID": "u",
    }


@pytest.mark.parametrize("file", EXAMPLES)
def test_example_kept(file: str) -> None:
    """Annotations, `advanced`, the target's kind and the trigger's own keys stay as shipped."""
    shipped = scaled(file)
    changed = adapted(shipped, namespace="n", name="s", target="t", address="127.0.0.1:1")
    assert changed["metadata"] == {**shipped["metadata"], "namespace": "n", "name": "s"}
    assert changed["spec"]["advanced"] == shipped["spec"]["advanced"]
    assert changed["spec"]["scaleTargetRef"] == {**shipped["spec"]["scaleTargetRef"], "name": "t"}
    (before,), (after,) = shipped["spec"]["triggers"], changed["spec"]["triggers"]
    assert after["type"] == before["type"]
    assert after["metadata"] == {**before["metadata"], "scalerAddress": "127.0.0.1:1"}


@pytest.mark.parametrize("file", EXAMPLES)
def test_seconds_and_bounds(file: str) -> None:
    """Seconds are short, and bounds stay unless they are given."""
    shipped = scaled(file)["spec"]
    kept = adapted(scaled(file), namespace="n", address="a:1")["spec"]
    assert (kept["pollingInterval"], kept["cooldownPeriod"]) == (2, 5)
    bounds = ("minReplicaCount", "maxReplicaCount", "idleReplicaCount")
    assert [kept.get(each) for each in bounds] == [shipped.get(each) for each in bounds]
    given = adapted(
        scaled(file), namespace="n", address="a:1", minimum=1, maximum=7, idle=0, cooldown=9
    )["spec"]
    assert [given[each] for each in (*bounds, "cooldownPeriod")] == [1, 7, 0, 9]


def test_trigger_values() -> None:
    """The trigger's values are laid over, and the example stays as it was."""
    shipped = scaled("machineset.yaml")
    changed = adapted(shipped, namespace="n", address="a:1", metadata={"pool": "other"})
    assert shipped == scaled("machineset.yaml")
    (trigger,) = changed["spec"]["triggers"]
    assert trigger["metadata"]["pool"] == "other"
    assert trigger["metadata"]["signal"] == "queue"
