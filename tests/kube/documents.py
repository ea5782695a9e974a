"""Objects as the API server writes them."""

import json
from typing import Any, TypeAlias

Document: TypeAlias = dict[str, Any]


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
