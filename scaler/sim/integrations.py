"""The kinds of job that the embedded Kueue queues: their podsets, and how they start and stop."""

from collections.abc import Iterator, Mapping
from copy import deepcopy

from scaler.core.model import Kind
from scaler.sim.conditions import is_true
from scaler.sim.patches import Document
from scaler.sim.pods import owner_reference

QUEUE = "kueue.x-k8s.io/queue-name"
WORKLOAD = "kueue.x-k8s.io/workload"
PLURALS = (Kind.JOBS, Kind.RAY_CLUSTERS)
NAMES = {"Job": "job", "RayCluster": "raycluster"}


def workload_name(job: Document) -> str:
    """Give the name of a job's Workload."""
    metadata = job["metadata"]
    return f"{NAMES[job['kind']]}-{metadata['name']}-{metadata['uid'][:5]}"


def workload_of(job: Document) -> Document:
    """Write a job's Workload."""
    metadata, pod_sets = job["metadata"], pod_sets_of(job)
    return {
        "metadata": {
            "name": workload_name(job),
            "namespace": metadata["namespace"],
            "labels": {"kueue.x-k8s.io/job-uid": metadata["uid"]},
            "finalizers": ["kueue.x-k8s.io/resource-in-use"],
            "ownerReferences": [owner_reference(job)],
        },
        "spec": {
            "active": True,
            "podSets": pod_sets,
            "priority": pod_sets[0]["template"]["spec"].get("priority", 0),
            "queueName": metadata["labels"][QUEUE],
        },
    }


def pod_sets_of(job: Document) -> list[Document]:
    """Give a job's podsets.

    A RayCluster's group counts by replicas and numOfHosts; Kueue never looks at its suspend.
    """
    return [
        {"name": name, "count": count, "template": deepcopy(template)}
        for name, count, template in _parts(job)
    ]


def _parts(job: Document) -> Iterator[tuple[str, int, Document]]:
    """Give podset, pods and the pod template as it stands in the job."""
    spec = job["spec"]
    if job["kind"] == "Job":
        yield "main", spec["parallelism"], spec["template"]
        return
    yield "head", 1, spec["headGroupSpec"]["template"]
    for group in spec["workerGroupSpecs"]:
        count = group.get("replicas", 1) * group.get("numOfHosts", 1)
        yield group["groupName"].lower(), count, group["template"]


def same_size(job: Document, workload: Document) -> bool:
    """Say whether a Workload still has its job's podsets and counts."""
    wanted = [(name, count) for name, count, _ in _parts(job)]
    return wanted == [(p["name"], p["count"]) for p in workload["spec"]["podSets"]]


def finished(job: Document) -> bool:
    """Say whether a job is done; a RayCluster never is."""
    return is_true(job, "Complete")


def start(
    job: Document,
    workload: Document,
    *,
    cluster_queue: str,
    node_labels: Mapping[str, Mapping[str, str]],
) -> None:
    """Write an admission into a job: its podsets' node labels and names, and no suspend."""
    for name, _, template in _parts(job):
        spec, metadata = template["spec"], template["metadata"]
        spec["nodeSelector"] = {**spec.get("nodeSelector", {}), **node_labels.get(name, {})}
        annotations = metadata.get("annotations", {})
        metadata["annotations"] = annotations | {WORKLOAD: workload["metadata"]["name"]}
        metadata["labels"] = metadata.get("labels", {}) | {
            "kueue.x-k8s.io/podset": name,
            "kueue.x-k8s.io/local-queue-name": workload["spec"]["queueName"],
            "kueue.x-k8s.io/cluster-queue-name": cluster_queue,
        }
    job["spec"]["suspend"] = False


def stop(job: Document, workload: Document) -> None:
    """Suspend a job, and put its pod templates back as they were queued."""
    before = {p["name"]: p["template"] for p in workload["spec"]["podSets"]}
    for name, _, template in _parts(job):
        template.update(deepcopy(before.get(name, template)))
    job["spec"]["suspend"] = True
