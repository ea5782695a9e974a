"""The /scale part of targets, as autoscaling/v1 shows it."""

from typing import Any

from scaler.sim.patches import Document


def scale_of(document: Document) -> Document:
    """Give a target's Scale: wanted and present replicas, and a selector in words.

    A custom kind's selector is a text in its status, a built-in one's is in its spec.
    """
    metadata, status = document["metadata"], document.get("status", {})
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {key: metadata[key] for key in ("name", "namespace", "uid", "resourceVersion")},
        "spec": {"replicas": document["spec"].get("replicas", 1)},
        "status": {
            "replicas": status.get("replicas", 0),
            "selector": status.get("selector") or _selector(document["spec"]),
        },
    }


def _selector(spec: Document) -> str:
    matched = spec.get("selector", {}).get("matchLabels", {})
    return ",".join(f"{key}={value}" for key, value in sorted(matched.items()))


def write_scale(document: Document, scale: Any) -> None:  # noqa: ANN401 - a patched JSON value
    """Write a Scale's wanted replicas to its target."""
    document["spec"]["replicas"] = int(scale["spec"]["replicas"])
