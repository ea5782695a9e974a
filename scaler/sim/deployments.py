"""Deployments: as many pods as replicas; the youngest goes first."""

from scaler.core.model import Kind
from scaler.sim.clock import Clock
from scaler.sim.conditions import is_true
from scaler.sim.objects import Objects, name_of
from scaler.sim.patches import Document
from scaler.sim.pods import finished, owned


def deployment(
    *,
    namespace: str,
    name: str,
    template: Document,
    replicas: int = 1,
    labels: dict[str, str] | None = None,
) -> Document:
    """Write a Deployment whose pods carry the label `app`."""
    matched = {"app": name}
    metadata = template["metadata"] | {"labels": template["metadata"]["labels"] | matched}
    return {
        "metadata": {"name": name, "namespace": namespace, "labels": labels or {}},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": matched},
            "template": template | {"metadata": metadata},
        },
    }


class Deployments:
    """Bring the pods of every Deployment to its replicas."""

    def __init__(self, *, objects: Objects, clock: Clock) -> None:
        self._objects = objects
        self._clock = clock

    def step(self) -> None:
        """Create missing pods, delete surplus ones, write the status."""
        pods = self._objects.all(Kind.PODS)
        for document in self._objects.all(Kind.DEPLOYMENTS):
            live = [p for p in owned(pods, self._replica_set(document)["uid"]) if not finished(p)]
            live.sort(key=lambda pod: int(pod["metadata"]["resourceVersion"]))
            self._fit(document, live)
            ready = sum(is_true(pod, "Ready") for pod in live)
            self._report(document, present=len(live), ready=ready)

    def _fit(self, document: Document, live: list[Document]) -> None:
        wanted = document["spec"]["replicas"]
        while len(live) > wanted:
            self._objects.delete(Kind.PODS, name_of(live.pop()))
        while len(live) < wanted:
            live.append(self._objects.create(Kind.PODS, self._pod(document)))

    def _pod(self, document: Document) -> Document:
        template, owner = document["spec"]["template"], self._replica_set(document)
        metadata = {
            **template["metadata"],
            "generateName": f"{owner['name']}-",
            "namespace": document["metadata"]["namespace"],
            "ownerReferences": [owner],
        }
        status = {"phase": "Pending"}
        return {"metadata": metadata, "spec": template["spec"], "status": status}

    def _replica_set(self, document: Document) -> Document:
        """Refer to the ReplicaSet between; the object itself is nobody's business here."""
        uid, name = document["metadata"]["uid"], document["metadata"]["name"]
        return {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "name": f"{name}-{uid[:8]}",
            "uid": f"rs-{uid}",
            "controller": True,
        }

    def _report(self, document: Document, *, present: int, ready: int) -> None:
        def write(after: Document) -> None:
            counts = {"replicas": present, "readyReplicas": ready, "availableReplicas": ready}
            after["status"] = counts | {"observedGeneration": after["metadata"]["generation"]}

        self._objects.modify(Kind.DEPLOYMENTS, name_of(document), write)
