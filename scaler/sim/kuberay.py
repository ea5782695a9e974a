"""KubeRay: a head pod and groups of workers for each RayCluster, as KubeRay 1.6 keeps them."""

from collections.abc import Iterator, Mapping

from scaler.core.model import Kind
from scaler.sim.clock import Clock
from scaler.sim.conditions import is_true
from scaler.sim.integrations import QUEUE
from scaler.sim.kinds import EVENTS
from scaler.sim.objects import Objects, name_of, timestamp
from scaler.sim.patches import Document
from scaler.sim.pods import finished, owned, owner_reference, pod_template

CLUSTER = "ray.io/cluster"
NODE_TYPE = "ray.io/node-type"
GROUP = "ray.io/group"
HEAD_GROUP = "headgroup"
GATE = "can be suspended only when the RayJobDeletionPolicy feature gate is enabled"


def ray_cluster(
    *,
    namespace: str,
    name: str,
    queue: str,
    head: dict[str, str],
    groups: Mapping[str, tuple[int, dict[str, str]]],
) -> Document:
    """Write a suspended RayCluster for a LocalQueue; a group is its workers and their requests."""
    workers = [
        {
            "groupName": group,
            "replicas": count,
            "minReplicas": 0,
            "maxReplicas": count,
            "numOfHosts": 1,
            "rayStartParams": {},
            "template": pod_template(requests=requests),
        }
        for group, (count, requests) in groups.items()
    ]
    return {
        "metadata": {"name": name, "namespace": namespace, "labels": {QUEUE: queue}},
        "spec": {
            "suspend": True,
            "headGroupSpec": {"rayStartParams": {}, "template": pod_template(requests=head)},
            "workerGroupSpecs": workers,
        },
    }


class KubeRay:
    """Bring the pods of every RayCluster to its spec; a suspended group has none.

    Without `suspends_groups`, as before KubeRay 1.6, a spec with a suspended group is invalid: the
    cluster is left alone from then on, and observedGeneration stays behind.
    """

    def __init__(self, *, objects: Objects, clock: Clock, suspends_groups: bool = True) -> None:
        self._objects = objects
        self._clock = clock
        self._suspends_groups = suspends_groups

    def step(self) -> None:
        """Create missing pods, delete surplus ones, write the status."""
        pods = self._objects.all(Kind.PODS)
        clusters = self._objects.all(Kind.RAY_CLUSTERS)
        for document in clusters:
            if not self._suspends_groups and any(map(_is_suspended, _groups(document))):
                self._say_invalid(document)
                continue
            mine = [p for p in owned(pods, document["metadata"]["uid"]) if not finished(p)]
            for group, count, template in _wanted(document):
                self._fit(document, group, count, template, _of_group(mine, group))
            self._report(document, mine)
        self._drop_orphans(pods, {document["metadata"]["uid"] for document in clusters})

    def _fit(
        self, document: Document, group: str, count: int, template: Document, live: list[Document]
    ) -> None:
        for pod in live[count:]:
            self._objects.delete(Kind.PODS, name_of(pod))
        for _ in range(count - len(live)):
            self._objects.create(Kind.PODS, _pod(document, group, template))

    def _report(self, document: Document, live: list[Document]) -> None:
        desired = sum(count for group, count, _ in _wanted(document) if group != HEAD_GROUP)
        workers = [p for p in live if p["metadata"]["labels"][GROUP] != HEAD_GROUP]
        ready = sum(is_true(pod, "Ready") for pod in workers)
        started = bool(live) and all(is_true(pod, "Ready") for pod in live)

        def write(after: Document) -> None:
            status = after.setdefault("status", {})
            status["observedGeneration"] = after["metadata"]["generation"]
            if after["spec"].get("suspend"):
                status["state"] = "suspended"
            elif started:
                status["state"] = "ready"
            for key, count in (
                ("desiredWorkerReplicas", desired),
                ("readyWorkerReplicas", ready),
                ("availableWorkerReplicas", len(workers)),
            ):
                status.pop(key, None)
                status.update({key: count} if count else {})

        if self._objects.get(Kind.RAY_CLUSTERS, name_of(document)) is document:
            self._objects.modify(Kind.RAY_CLUSTERS, name_of(document), write)

    def _say_invalid(self, document: Document) -> None:
        namespace, name = name_of(document)
        key = (namespace, f"{name}.invalid-{document['metadata']['generation']}")
        if self._objects.get(EVENTS, key) is not None:
            return
        event = {
            "metadata": {"namespace": namespace, "name": key[1]},
            "type": "Warning",
            "reason": "InvalidRayClusterSpec",
            "message": f"The RayCluster spec is invalid {namespace}/{name}: a worker group {GATE}",
            "involvedObject": {"kind": "RayCluster", "namespace": namespace, "name": name},
            "lastTimestamp": timestamp(self._clock.now()),
        }
        self._objects.create(EVENTS, event)

    def _drop_orphans(self, pods: list[Document], clusters: set[str]) -> None:
        """Collect the garbage of deleted RayClusters."""
        for pod in pods:
            for owner in pod["metadata"].get("ownerReferences", []):
                if owner["kind"] == "RayCluster" and owner["uid"] not in clusters:
                    self._objects.delete(Kind.PODS, name_of(pod))


def _wanted(document: Document) -> Iterator[tuple[str, int, Document]]:
    """Give group, pods and pod template."""
    runs = not document["spec"].get("suspend")
    yield HEAD_GROUP, int(runs), document["spec"]["headGroupSpec"]["template"]
    for group in _groups(document):
        count = group.get("replicas", 1) * group.get("numOfHosts", 1)
        yield group["groupName"], count * (runs and not _is_suspended(group)), group["template"]


def _groups(document: Document) -> list[Document]:
    groups: list[Document] = document["spec"]["workerGroupSpecs"]
    return groups


def _is_suspended(group: Document) -> bool:
    return bool(group.get("suspend"))


def _of_group(pods: list[Document], group: str) -> list[Document]:
    mine = [pod for pod in pods if pod["metadata"]["labels"][GROUP] == group]
    return sorted(mine, key=lambda pod: str(pod["metadata"]["creationTimestamp"]))


def _pod(document: Document, group: str, template: Document) -> Document:
    metadata = document["metadata"]
    is_head = group == HEAD_GROUP
    stem = f"{metadata['name']}-head-" if is_head else f"{metadata['name']}-{group}-worker-"
    named = {
        CLUSTER: metadata["name"],
        NODE_TYPE: "head" if is_head else "worker",
        GROUP: group,
    }
    version = {"ray.io/kuberay-version": "v1.6.0"} if is_head else {}
    return {
        "metadata": {
            **template["metadata"],
            "generateName": stem,
            "namespace": metadata["namespace"],
            "labels": template["metadata"].get("labels", {}) | named,
            "annotations": template["metadata"].get("annotations", {}) | version,
            "ownerReferences": [owner_reference(document)],
        },
        "spec": template["spec"],
        "status": {"phase": "Pending"},
    }
