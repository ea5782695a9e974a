"""The objects of a bench: a target, what scales it, and the smallest kind that can be scaled."""

from collections.abc import Mapping

from tests.e2e.api import Object

POLL = 2
"""Seconds between KEDA's polls."""
COOLDOWN = 5
"""Seconds from the last active poll to zero."""
LAB_SCALE = "LabScale"
_GROUP = "lab.example"


def lab_scale_crd() -> Object:
    """Give the smallest custom resource that can be scaled; its replicas have no default."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    scale = {
        "specReplicasPath": ".spec.replicas",
        "statusReplicasPath": ".status.replicas",
        "labelSelectorPath": ".status.selector",
    }
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}, "scale": scale},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"labscales.{_GROUP}"},
        "spec": {
            "group": _GROUP,
            "scope": "Namespaced",
            "names": {"kind": LAB_SCALE, "plural": "labscales", "singular": "labscale"},
            "versions": [version],
        },
    }


def target(kind: str, namespace: str, name: str, *, replicas: int | None) -> Object:
    """Give a Deployment whose pods run anywhere, or a LabScale; None = without the field."""
    size: Object = {} if replicas is None else {"replicas": replicas}
    return {
        "apiVersion": _version(kind),
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace},
        "spec": size if kind == LAB_SCALE else size | _pods(name),
    }


def scaled_object(kind: str, namespace: str, name: str, *, changes: Mapping[str, object]) -> Object:
    """Give the ScaledObject of a target, with changes to what is usual here."""
    usual: Object = {
        "scaleTargetRef": {"apiVersion": _version(kind), "kind": kind, "name": name},
        "pollingInterval": POLL,
        "cooldownPeriod": COOLDOWN,
        "minReplicaCount": 0,
        "maxReplicaCount": 10,
    }
    return {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": {"name": name, "namespace": namespace},
        "spec": usual | dict(changes),
    }


def external(address: str, *, push: bool = False, **metadata: str) -> Object:
    """Give a trigger."""
    return {
        "type": "external-push" if push else "external",
        "metadata": {"scalerAddress": address} | metadata,
    }


def hpa_behavior(**behavior: object) -> Object:
    """Give `advanced` with the HPA's behavior."""
    return {"horizontalPodAutoscalerConfig": {"behavior": behavior}}


def _version(kind: str) -> str:
    return f"{_GROUP}/v1" if kind == LAB_SCALE else "apps/v1"


def _pods(name: str) -> Object:
    labels = {"app": name}
    container = {"name": "main", "image": "none.example/none"}
    everywhere = [{"operator": "Exists"}]
    return {
        "selector": {"matchLabels": labels},
        "template": {
            "metadata": {"labels": labels},
            "spec": {
                "containers": [container],
                "tolerations": everywhere,
                "terminationGracePeriodSeconds": 0,
            },
        },
    }
