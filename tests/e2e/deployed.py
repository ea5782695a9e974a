"""What the project ships, read as a user installs it."""

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import yaml

from tests.e2e.api import RESOURCES, Object

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
UNDERSTOOD = {
    "apiVersion",
    "kind",
    "namespace",
    "labels",
    "resources",
    "configMapGenerator",
    "generatorOptions",
    "images",
}
"""Keys of a kustomization that are followed here; another one is refused, not passed over."""
CLUSTER_ROLES = ("ClusterRole", "ClusterRoleBinding")
ACTUATOR = "-actuator.yaml"
"""Ends the names of the files that are the actuator's alone."""
DEFINITIONS = "crds/"


def installation(namespace: str, policy: str) -> tuple[Object, ...]:
    """Give the objects of deploy/kustomization.yaml, for a namespace and with a policy's text.

    As kustomize does it: `namespace`, `labels`, `images`, and the generated ConfigMap. In a
    namespace other than the one that is shipped, ClusterRole and ClusterRoleBinding have its name
    as `nameSuffix`, so that several installations stand side by side. The actuator's objects and
    the definitions are given by `actuator` and `definitions`.

    Raises:
        ValueError: the kustomization has a key that is not followed here.
    """
    files = [each for each in _shipped()["resources"] if not each.startswith(DEFINITIONS)]
    return _placed([each for each in files if not each.endswith(ACTUATOR)], namespace, policy)


def actuator(namespace: str, policy: str) -> tuple[Object, ...]:
    """Give the actuator's objects likewise, with the namespace and the ConfigMap that it reads."""
    own = sorted(path.name for path in DEPLOY.glob(f"*{ACTUATOR}"))
    return _placed(["namespace.yaml", *own], namespace, policy)


def definitions() -> list[Object]:
    """Give the CRDs that are shipped."""
    files = sorted((DEPLOY / DEFINITIONS).glob("*.yaml"))
    return [each for file in files for each in _documents(file)]


def without_pods(wanted: Object) -> Object:
    """Give a Deployment that wants no pods, since processes are its pods; all else as it is."""
    if wanted["kind"] != "Deployment":
        return wanted
    return {**wanted, "spec": {**wanted["spec"], "replicas": 0}}


def _shipped() -> Object:
    shipped = _documents(DEPLOY / "kustomization.yaml")[0]
    if unknown := shipped.keys() - UNDERSTOOD:
        raise ValueError(f"kustomization.yaml: {sorted(unknown)} not followed here")
    return shipped


def _placed(files: Sequence[str], namespace: str, policy: str) -> tuple[Object, ...]:
    shipped = _shipped()
    suffix = "" if namespace == shipped["namespace"] else f"-{namespace}"
    objects = [each for file in files for each in _documents(DEPLOY / file)]
    objects += _config_maps(shipped, policy)
    for each in objects:
        _label(each, shipped["labels"])
        _place(each, namespace)
        _tag(each, shipped["images"])
        _suffix(each, suffix)
    return tuple(objects)


def one(objects: Sequence[Object], kind: str) -> Object:
    """Give the only object of a kind."""
    (found,) = (each for each in objects if each["kind"] == kind)
    return found


def arguments(deployment: Object, **changed: str) -> list[str]:
    """Give the container's arguments, with other values for flags that it has.

    Raises:
        ValueError: a flag to change is not among the arguments.
    """
    flags = {f"--{name}": value for name, value in changed.items()}
    found = [_argument(each, flags) for each in _container(deployment)["args"]]
    if flags:
        raise ValueError(f"the Deployment has no argument {', '.join(flags)}")
    return found


def environment(deployment: Object, pod: Object) -> dict[str, str]:
    """Give the container's environment, its fieldRefs read from a pod."""
    return {
        each["name"]: _field(pod, each["valueFrom"]["fieldRef"]["fieldPath"])
        for each in _container(deployment)["env"]
    }


def example(file: str) -> list[Object]:
    """Give the objects of a file of deploy/examples."""
    return _documents(DEPLOY / "examples" / file)


def adapted(
    scaled_object: Object,
    *,
    namespace: str,
    address: str | None = None,
    name: str | None = None,
    target: str | None = None,
    polling: int = 2,
    cooldown: int = 5,
    initial_cooldown: int = 0,
    metadata: Mapping[str, str] | None = None,
    minimum: int | None = None,
    maximum: int | None = None,
    idle: int | None = None,
) -> Object:
    """Give an example's ScaledObject with other names, bounds, seconds and trigger values.

    Kept as shipped: annotations, the kind of the target, `advanced` with the HPA's behavior, the
    trigger's type, and every key of its metadata that `metadata` has no value for. What is None is
    kept too.

    Args:
        scaled_object: left as it is.
        namespace: where the target lives.
        address: host and port of the scaler.
        name: of the ScaledObject.
        target: name of the scale target.
        polling: seconds between KEDA's polls.
        cooldown: seconds from the last active poll to zero.
        initial_cooldown: seconds from the ScaledObject's creation to the first zero.
        metadata: the trigger's values that differ.
        minimum: minReplicaCount.
        maximum: maxReplicaCount.
        idle: idleReplicaCount.
    """
    changed = deepcopy(scaled_object)
    spec = changed["spec"]
    changed["metadata"] |= _given(namespace=namespace, name=name)
    spec["scaleTargetRef"] |= _given(name=target)
    spec |= _given(
        pollingInterval=polling,
        cooldownPeriod=cooldown,
        initialCooldownPeriod=initial_cooldown,
        minReplicaCount=minimum,
        maxReplicaCount=maximum,
        idleReplicaCount=idle,
    )
    for trigger in spec["triggers"]:
        trigger["metadata"] |= _given(scalerAddress=address) | dict(metadata or {})
    return changed


def _documents(path: Path) -> list[Object]:
    return list(yaml.safe_load_all(path.read_text(encoding="utf-8")))


def _config_maps(kustomization: Object, policy: str) -> Iterator[Object]:
    """Give the generated ConfigMaps, the policy's text in place of each file's."""
    for wanted in kustomization["configMapGenerator"]:
        yield {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": wanted["name"]},
            "data": dict.fromkeys(wanted["files"], policy),
        }


def _label(wanted: Object, labels: Sequence[Object]) -> None:
    """Add pairs to the object alone; selectors and templates have their own."""
    for each in labels:
        wanted["metadata"].setdefault("labels", {}).update(each["pairs"])


def _place(wanted: Object, namespace: str) -> None:
    if wanted["kind"] == "Namespace":
        wanted["metadata"]["name"] = namespace
    elif RESOURCES[wanted["kind"]].namespaced:
        wanted["metadata"]["namespace"] = namespace
    for subject in wanted.get("subjects", ()):
        subject["namespace"] = namespace


def _tag(wanted: Object, images: Sequence[Object]) -> None:
    if wanted["kind"] != "Deployment":
        return
    tags = {each["name"]: each["newTag"] for each in images}
    for container in wanted["spec"]["template"]["spec"]["containers"]:
        if tag := tags.get(container["image"]):
            container["image"] += f":{tag}"


def _suffix(wanted: Object, suffix: str) -> None:
    if wanted["kind"] in CLUSTER_ROLES:
        wanted["metadata"]["name"] += suffix
    if wanted["kind"] == "ClusterRoleBinding":
        wanted["roleRef"]["name"] += suffix


def _container(deployment: Object) -> Object:
    (found,) = deployment["spec"]["template"]["spec"]["containers"]
    container: Object = found
    return container


def _argument(shipped: str, flags: dict[str, str]) -> str:
    """Give an argument with the value that is wanted, and take that one out of the flags."""
    flag, _, _ = shipped.partition("=")
    return f"{flag}={flags.pop(flag)}" if flag in flags else shipped


def _field(pod: Object, path: str) -> str:
    found: Any = pod
    for key in path.split("."):
        found = found[key]
    return str(found)


def _given(**values: str | int | None) -> dict[str, str | int]:
    return {key: value for key, value in values.items() if value is not None}
