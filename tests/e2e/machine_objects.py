"""Machines and the sets that keep them, as the API server and kwok are told of them."""

import uuid
from collections.abc import Mapping, Sequence

from tests.e2e.api import Object
from tests.e2e.devices import RESOURCE

OPENSHIFT = "machine.openshift.io/v1beta1"
CLUSTER_API = "cluster.x-k8s.io/v1beta2"
GPUS = "e2e/gpus"
CPU = "e2e/cpu"
MEMORY = "e2e/memory"
NODE_DELAY = "e2e/node-delay"
"""Seconds from a Machine to its Node, as `2` or `2s`."""
GPU_DELAY = "e2e/gpu-delay"
"""Seconds from a Node to its GPUs, likewise."""

SUFFIX = 5
"""Letters of chance at the end of a Machine's name."""
SELECTOR_OF = {"MachineSet": "labelSelector", "MachineDeployment": "selector"}
"""Where each kind's status has its label selector, which an HPA can't do without."""


def crds() -> tuple[Object, ...]:
    """Give the definitions of MachineSet, MachineDeployment and OpenShift's Machine."""
    return (
        _crd(OPENSHIFT, "MachineSet", "machinesets"),
        _crd(CLUSTER_API, "MachineDeployment", "machinedeployments"),
        _crd(OPENSHIFT, "Machine", "machines"),
    )


def _crd(api_version: str, kind: str, plural: str) -> Object:
    group, version = api_version.split("/")
    served: Object = {
        "name": version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": _SCHEMA},
        "subresources": {"status": {}},
    }
    if kind in SELECTOR_OF:
        served["subresources"]["scale"] = {
            "specReplicasPath": ".spec.replicas",
            "statusReplicasPath": ".status.replicas",
            "labelSelectorPath": f".status.{SELECTOR_OF[kind]}",
        }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
            "versions": [served],
        },
    }


_OPEN: Object = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_COUNT: Object = {"type": "integer", "format": "int32", "minimum": 0}
_SCHEMA: Object = {
    "type": "object",
    "properties": {
        "spec": _OPEN | {"properties": {"replicas": _COUNT}},
        "status": _OPEN | {"properties": {"replicas": _COUNT}},
    },
}


def machine(owner: Object, name: str) -> Object:
    """Build a set's Machine; Cluster API's sets have OpenShift's Machines here too."""
    meta = owner["metadata"]
    reference = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": meta["name"],
        "uid": meta["uid"],
        "controller": True,
    }
    return {
        "apiVersion": OPENSHIFT,
        "kind": "Machine",
        "metadata": {
            "name": name,
            "namespace": meta["namespace"],
            "labels": _template(owner)[0],
            "ownerReferences": [reference],
        },
        "spec": {},
    }


def node(
    name: str,
    labels: Mapping[str, str],
    *,
    gpus: int,
    cpu: str = "64",
    memory: str = "512Gi",
    gpus_now: bool = True,
    annotations: Mapping[str, str] | None = None,
    taints: Sequence[Object] = (),
) -> Object:
    """Build a Node that kwok plays, whole: it turns Ready by itself.

    Without gpus_now its driver is not up yet, so that it has no GPUs to offer.
    """
    own = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
    }
    offer = {"cpu": cpu, "memory": memory, "pods": "110"}
    if gpus and gpus_now:
        offer[RESOURCE] = str(gpus)
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": own | dict(labels),
            "annotations": {"kwok.x-k8s.io/node": "fake"} | dict(annotations or {}),
        },
        "spec": {"taints": list(taints)} if taints else {},
        "status": {"capacity": offer, "allocatable": offer},
    }


def node_of(owner: Object, name: str) -> Object:
    """Build the Node of a set's Machine as its template and annotations have it."""
    meta, kind = owner["metadata"], owner["kind"]
    wanted = meta.get("annotations") or {}
    return node(
        name,
        _template(owner)[1],
        gpus=int(wanted.get(GPUS, 0)),
        cpu=wanted.get(CPU, "64"),
        memory=wanted.get(MEMORY, "512Gi"),
        gpus_now=not seconds(owner, GPU_DELAY),
        annotations=_bearer(meta["namespace"], name, kind=kind),
        taints=_inner(owner).get("taints") or (),
    )


def _bearer(namespace: str, name: str, *, kind: str) -> dict[str, str]:
    """Give the annotation by which a Node names its Machine; OpenShift's has the namespace too."""
    if kind == "MachineSet":
        return {"machine.openshift.io/machine": f"{namespace}/{name}"}
    return {"cluster.x-k8s.io/machine": name}


def gpus_of(owner: Object) -> Object:
    """Give the change to a Node's status with which its GPUs appear."""
    count = (owner["metadata"].get("annotations") or {}).get(GPUS, "0")
    return {"status": {"capacity": {RESOURCE: count}, "allocatable": {RESOURCE: count}}}


def seconds(owner: Object, annotation: str) -> float:
    """Read a delay; 0 where a set does not name it."""
    text = (owner["metadata"].get("annotations") or {}).get(annotation, "0")
    return float(text.removesuffix("s"))


def replicas_of(owner: Object) -> int:
    """Give how many Machines a set wants, 1 where it doesn't say, as both kinds default it."""
    return int((owner.get("spec") or {}).get("replicas", 1))


def selector_of(owner: Object) -> str:
    """Give a set's label selector as text."""
    labels = ((owner["spec"].get("selector") or {}).get("matchLabels")) or {}
    return ",".join(f"{key}={value}" for key, value in sorted(labels.items()))


def stem_of(owner: Object) -> str:
    """Give what a set's Machines are called before the part of chance.

    A MachineDeployment's have the name of a MachineSet between.
    """
    meta = owner["metadata"]
    if owner["kind"] == "MachineSet":
        return str(meta["name"])
    return f"{meta['name']}-{uuid.uuid5(uuid.NAMESPACE_OID, meta['uid']).hex[:SUFFIX]}"


def _inner(owner: Object) -> Object:
    inner: Object = (owner["spec"].get("template") or {}).get("spec") or {}
    return inner


def _template(owner: Object) -> tuple[dict[str, str], dict[str, str]]:
    """Give the labels of a set's Machines and of its Nodes.

    OpenShift takes a Node's labels from spec.template.spec.metadata alone; Cluster API hands the
    Machine's own down.
    """
    template = owner["spec"].get("template") or {}
    machines: dict[str, str] = (template.get("metadata") or {}).get("labels") or {}
    nodes: dict[str, str] = (_inner(owner).get("metadata") or {}).get("labels") or {}
    return machines, nodes if owner["kind"] == "MachineSet" else machines | nodes
