"""What the project ships, read as a user installs it."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

from tests.e2e.api import Object
from tests.kustomized import DEPLOY, containers, documents, named, place, rendered

ROOT = DEPLOY.parent
CLUSTER_WIDE = ("ClusterRole", "ClusterRoleBinding", "PriorityClass")
"""Kinds that several installations would share if they had one name."""
DEFINITION = "CustomResourceDefinition"
SHARED = ("Namespace", "PriorityClass", "ConfigMap")
"""Kinds of the base that the actuator needs too."""


def installation(namespace: str, policy: str, *, overlay: str = "") -> tuple[Object, ...]:
    """Give the objects of deploy/, or of an overlay, for a namespace and with a policy's text.

    In a namespace other than the one that is shipped, what has none gets its name as `nameSuffix`,
    so that several installations stand side by side. The definitions are given by `definitions`.
    """
    objects = rendered(DEPLOY / "overlays" / overlay if overlay else DEPLOY)
    return _placed([each for each in objects if each["kind"] != DEFINITION], namespace, policy)


def actuator(namespace: str, policy: str) -> tuple[Object, ...]:
    """Give likewise what the actuator's overlay adds, with what of the base it can't be without."""
    base = [_key(each) for each in rendered(DEPLOY) if each["kind"] not in SHARED]
    overlay = rendered(DEPLOY / "overlays" / "actuator")
    return _placed([each for each in overlay if _key(each) not in base], namespace, policy)


def definitions() -> list[Object]:
    """Give the CRDs that are shipped."""
    return [each for each in rendered(DEPLOY) if each["kind"] == DEFINITION]


def without_pods(wanted: Object) -> Object:
    """Give a Deployment that wants no pods, since processes are its pods; all else as it is."""
    if wanted["kind"] != "Deployment":
        return wanted
    return {**wanted, "spec": {**wanted["spec"], "replicas": 0}}


def _key(wanted: Object) -> tuple[str, str]:
    return wanted["kind"], wanted["metadata"]["name"]


def _placed(objects: Sequence[Object], namespace: str, policy: str) -> tuple[Object, ...]:
    shipped = named(objects, "Namespace")["metadata"]["name"]
    suffix = "" if namespace == shipped else f"-{namespace}"
    for each in objects:
        if each["kind"] == "ConfigMap":
            each["data"] = dict.fromkeys(each["data"], policy)
        place(each, namespace)
        _suffix(each, suffix)
    return tuple(objects)


def one(objects: Sequence[Object], kind: str) -> Object:
    """Give the only object of a kind."""
    return named(objects, kind)


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


def secrets(deployment: Object) -> dict[str, str]:
    """Give the names of the mounted Secrets by the folder that each is mounted at."""
    volumes = deployment["spec"]["template"]["spec"]["volumes"]
    named_so = {each["name"]: each["secret"]["secretName"] for each in volumes if "secret" in each}
    mounts = _container(deployment)["volumeMounts"]
    return {
        each["mountPath"]: named_so[each["name"]] for each in mounts if each["name"] in named_so
    }


def example(file: str) -> list[Object]:
    """Give the objects of a file of deploy/examples."""
    return list(documents(DEPLOY / "examples" / file))


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


def _suffix(wanted: Object, suffix: str) -> None:
    if wanted["kind"] in CLUSTER_WIDE:
        wanted["metadata"]["name"] += suffix
    if wanted["kind"] == "ClusterRoleBinding":
        wanted["roleRef"]["name"] += suffix
    if wanted["kind"] == "Deployment":
        wanted["spec"]["template"]["spec"]["priorityClassName"] += suffix


def _container(deployment: Object) -> Object:
    (found,) = containers(deployment)
    return found


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
