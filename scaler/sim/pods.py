"""Pods of the embedded cluster: what they ask for, and whether a node may take them.

They have main containers only, so no init or sidecar rule is needed here.
"""

from collections.abc import Iterable

from scaler.core.model import Amounts
from scaler.core.quantity import amounts, plus
from scaler.sim.conditions import is_true
from scaler.sim.patches import Document

DURATION = "sim.kueue-gpu-scaler.dev/duration-seconds"
"""Annotation of a pod: it succeeds so many cluster seconds after its start."""


def pod_template(
    *,
    requests: dict[str, str],
    labels: dict[str, str] | None = None,
    duration: float | None = None,
) -> Document:
    """Write a pod template that tolerates the GPU pools' taint."""
    annotations = {} if duration is None else {DURATION: str(duration)}
    container = {"name": "main", "image": "example.test/img:1"}
    return {
        "metadata": {"labels": labels or {}, "annotations": annotations},
        "spec": {
            "containers": [container | {"resources": {"requests": requests, "limits": requests}}],
            "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
        },
    }


def requests_of(spec: Document) -> Amounts:
    """Give a pod spec's requests, without the pod itself."""
    total: Amounts = ()
    for container in spec["containers"]:
        total = plus(total, amounts(container.get("resources", {}).get("requests", {})))
    return total


def finished(pod: Document) -> bool:
    """Say whether a pod has ended."""
    return pod.get("status", {}).get("phase") in ("Succeeded", "Failed")


def owned(pods: Iterable[Document], uid: str) -> list[Document]:
    """Give the pods that an object controls."""
    return [pod for pod in pods if uid in {o["uid"] for o in _owners(pod)}]


def _owners(pod: Document) -> list[Document]:
    owners: list[Document] = pod["metadata"].get("ownerReferences", [])
    return owners


def owner_reference(document: Document) -> Document:
    """Write the reference by which an object controls another."""
    metadata = document["metadata"]
    return {
        "apiVersion": document["apiVersion"],
        "kind": document["kind"],
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def admits(node: Document, spec: Document) -> bool:
    """Say whether a node is Ready, schedulable, selected by the pod and tolerated by it."""
    labels = node["metadata"]["labels"]
    if node["spec"].get("unschedulable") or not is_true(node, "Ready"):
        return False
    if any(labels.get(key) != value for key, value in spec.get("nodeSelector", {}).items()):
        return False
    tolerations = spec.get("tolerations", [])
    taints = [t for t in node["spec"].get("taints", []) if t["effect"] != "PreferNoSchedule"]
    return all(any(_tolerates(t, taint) for t in tolerations) for taint in taints)


def _tolerates(toleration: Document, taint: Document) -> bool:
    if toleration.get("effect", taint["effect"]) != taint["effect"]:
        return False
    if toleration.get("operator", "Equal") == "Exists":
        return bool(toleration.get("key", taint["key"]) == taint["key"])
    wanted = (toleration.get("key"), toleration.get("value", ""))
    return bool(wanted == (taint["key"], taint.get("value", "")))
