"""The /scale part of targets, as autoscaling/v1 shows it."""

from typing import Any

from scaler.sim.patches import Document


def scale_of(document: Document) -> Document:
    """Give a target's Scale: wanted and present replicas, and a selector in words."""
    metadata = document["metadata"]
    matched = document["spec"].get("selector", {}).get("matchLabels", {})
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {key: metadata[key] for key in ("name", "namespace", "uid", "resourceVersion")},
        "spec": {"replicas": document["spec"].get("replicas", 1)},
        "status": {
            "replicas": document.get("status", {}).get("replicas", 0),
            "selector": ",".join(f"{key}={value}" for key, value in sorted(matched.items())),
        },
    }


def write_scale(document: Document, scale: Any) -> None:  # noqa: ANN401 - a patched JSON value
    """Write a Scale's wanted replicas to its target."""
    document["spec"]["replicas"] = int(scale["spec"]["replicas"])
