"""Objects as the API server writes them."""

import json
from collections.abc import Mapping
from typing import Any, TypeAlias

Document: TypeAlias = dict[str, Any]

GPU = "nvidia.com/gpu"


def line(kind: str, document: Document) -> bytes:
    """Write one line of a watch."""
    return json.dumps({"type": kind, "object": document}).encode() + b"\n"


def workload(name: str = "job-a", *, gpus: int = 1, count: int = 1) -> Document:
    """Write a pending Workload of one podset, `count` pods of `gpus` each."""
    container = {"name": "c", "resources": {"requests": {"nvidia.com/gpu": str(gpus)}}}
    template = {"spec": {"containers": [container]}}
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {
            "name": name,
            "namespace": "ml",
            "uid": f"uid-{name}",
            "creationTimestamp": "2026-03-01T10:00:00Z",
        },
        "spec": {
            "active": True,
            "queueName": "lq",
            "podSets": [{"name": "main", "count": count, "template": template}],
        },
    }


def pod(
    *,
    requests: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    spec: Mapping[str, object] | None = None,
    phase: str = "Running",
) -> Document:
    """Write a running pod on node n1, of one CPU and nothing else."""
    container = {"resources": {"requests": dict(requests or {"cpu": "1"})}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "p",
            "namespace": "ml",
            "labels": dict(labels or {}),
            "annotations": dict(annotations or {}),
        },
        "spec": {"nodeName": "n1", "containers": [container], **(spec or {})},
        "status": {"phase": phase},
    }


def scaled_object(**annotations: str) -> Document:
    """Write a ScaledObject with these annotations under autoscaling.keda.sh."""
    return {
        "metadata": {
            "name": "so",
            "namespace": "ml",
            "annotations": {
                f"autoscaling.keda.sh/{key.replace('_', '-')}": value
                for key, value in annotations.items()
            },
        },
        "spec": {
            "scaleTargetRef": {"name": "workers"},
            "triggers": [{"type": "external-push", "metadata": {"signal": "idle"}}],
        },
    }


FULL_WORKLOAD: Document = {
    **workload("victim", gpus=2),
    "status": {
        "conditions": [
            {
                "type": "Admitted",
                "status": "True",
                "reason": "Admitted",
                "lastTransitionTime": "2026-03-01T10:00:00Z",
            }
        ],
        "admission": {
            "clusterQueue": "gpu-cq",
            "podSetAssignments": [
                {"name": "main", "flavors": {GPU: "f"}, "resourceUsage": {GPU: "2"}, "count": 1}
            ],
        },
        "reclaimablePods": [{"name": "main", "count": 1}],
        "admissionChecks": [{"name": "c", "state": "Ready"}],
        "requeueState": {"requeueAt": "2026-03-01T10:00:00Z"},
    },
}
