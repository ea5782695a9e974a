"""Objects of the cases as the API server writes them: the shared fixtures by short name."""

from collections.abc import Mapping
from typing import Any, TypeAlias

from scaler.core.model import Instant
from scaler.sim.objects import timestamp

Document: TypeAlias = dict[str, Any]

GPU = "nvidia.com/gpu"
START: Instant = 1_800_000_000.0
"""t = 0; a multiple of the scrape interval."""
LONG_AGO = -7200.0
POOL_SCALER = "pool"
ADMITTED = {"QuotaReserved": "True", "Admitted": "True"}


def moment(t: float) -> str:
    """Write a time that is given in seconds from the start of the test."""
    return timestamp(START + t)


def _condition(kind: str, status: str, *, t: float, reason: str = "AsTheCaseSays") -> Document:
    return {"type": kind, "status": status, "reason": reason, "lastTransitionTime": moment(t)}


def _template(gpus: int) -> Document:
    return {"spec": {"containers": [{"name": "c", "resources": {"requests": {GPU: str(gpus)}}}]}}


def workload(
    name: str,
    *,
    pods: int = 1,
    gpus: int = 1,
    conditions: Mapping[str, str] | None = None,
    created: float = LONG_AGO,
    at: float = LONG_AGO,
) -> Document:
    """Write WL(name, pods x gpus): without conditions Kueue did not look at it yet.

    `at` is the time of the conditions; QuotaReserved True brings the admission.
    """
    document: Document = {
        "metadata": {"name": name, "namespace": "ml", "creationTimestamp": moment(created)},
        "spec": {
            "active": True,
            "queueName": "lq",
            "podSets": [{"name": "main", "count": pods, "template": _template(gpus)}],
        },
    }
    if conditions:
        document["status"] = status(conditions, pods=pods, gpus=gpus, at=at)
    return document


def status(conditions: Mapping[str, str], *, pods: int, gpus: int, at: float) -> Document:
    """Write a Workload's status."""
    written: Document = {
        "conditions": [_condition(kind, word, t=at) for kind, word in conditions.items()]
    }
    if conditions.get("QuotaReserved") == "True":
        assignment = {
            "name": "main",
            "flavors": {GPU: "gpu"},
            "resourceUsage": {GPU: str(pods * gpus)},
            "count": pods,
        }
        written["admission"] = {"clusterQueue": "gpu-cq", "podSetAssignments": [assignment]}
    return written


def pod(name: str, *, owner: str, node: str = "n1", gpus: int = 1) -> Document:
    """Write a pod of a Workload, Running and Ready for long."""
    spec = _template(gpus)["spec"] | {"nodeName": node}
    return {
        "metadata": {
            "name": name,
            "namespace": "ml",
            "creationTimestamp": moment(LONG_AGO),
            "labels": {"app": owner, "kueue.x-k8s.io/podset": "main"},
            "annotations": {"kueue.x-k8s.io/workload": owner},
        },
        "spec": spec,
        "status": {
            "phase": "Running",
            "startTime": moment(LONG_AGO),
            "conditions": [_condition("Ready", "True", t=LONG_AGO)],
        },
    }


def node(name: str, *, gpus: int = 8) -> Document:
    """Write a usable node of pool `gpu`."""
    room = {GPU: str(gpus), "cpu": "96", "memory": "1000Gi", "pods": "110"}
    return {
        "metadata": {
            "name": name,
            "labels": {"pool": "gpu"},
            "creationTimestamp": moment(LONG_AGO),
        },
        "spec": {},
        "status": {
            "allocatable": room,
            "capacity": room,
            "conditions": [_condition("Ready", "True", t=LONG_AGO)],
        },
    }


def deployment(name: str, *, replicas: int, gpus: int = 1) -> Document:
    """Write a Deployment that KEDA scales."""
    selector = {"matchLabels": {"app": name}}
    template = _template(gpus) | {"metadata": {"labels": {"app": name}}}
    return {
        "metadata": {"name": name, "namespace": "ml", "creationTimestamp": moment(LONG_AGO)},
        "spec": {"replicas": replicas, "selector": selector, "template": template},
    }


def scaled_object(
    name: str, *, metadata: Mapping[str, str], kind: str = "Deployment", target: str | None = None
) -> Document:
    """Write a ScaledObject of one `external-push` trigger, as KEDA has completed it."""
    version = "machine.openshift.io/v1beta1" if kind == "MachineSet" else "apps/v1"
    reference = {"apiVersion": version, "kind": kind, "name": target or name}
    return {
        "metadata": {"name": name, "namespace": "ml", "creationTimestamp": moment(LONG_AGO)},
        "spec": {
            "scaleTargetRef": reference,
            "minReplicaCount": 0,
            "triggers": [{"type": "external-push", "metadata": dict(metadata)}],
        },
        "status": {"hpaName": f"keda-hpa-{name}"},
    }


def hpa(name: str, *, replicas: int) -> Document:
    """Write the HPA that KEDA made for a ScaledObject; at zero it is switched off."""
    active = (
        _condition("ScalingActive", "True", t=LONG_AGO, reason="ValidMetricFound")
        if replicas
        else _condition("ScalingActive", "False", t=LONG_AGO, reason="ScalingDisabled")
    )
    return {
        "metadata": {
            "name": f"keda-hpa-{name}",
            "namespace": "ml",
            "labels": {"scaledobject.keda.sh/name": name},
        },
        "spec": {"behavior": {"scaleUp": {"tolerance": "0"}}},
        "status": {"conditions": [active]} | ({"currentReplicas": replicas} if replicas else {}),
    }
