"""Kueue's objects as platform teams write them, and the jobs that teams queue."""

from collections.abc import Mapping, Sequence

from tests.e2e.api import KUEUE, Object
from tests.e2e.policies import GPUS, POOL_LABEL

QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
HOSTNAME = "kubernetes.io/hostname"


def topology(name: str, *levels: str) -> Object:
    """Give a Topology; its lowest level is the node."""
    return {
        "apiVersion": KUEUE,
        "kind": "Topology",
        "metadata": {"name": name},
        "spec": {"levels": [{"nodeLabel": level} for level in (*levels, HOSTNAME)]},
    }


def flavor(name: str, *, pool: str, topology: str = "") -> Object:
    """Give a ResourceFlavor of a pool's nodes, topology-aware where a Topology is named."""
    spec: Object = {"nodeLabels": {POOL_LABEL: pool}}
    return {
        "apiVersion": KUEUE,
        "kind": "ResourceFlavor",
        "metadata": {"name": name},
        "spec": spec | ({"topologyName": topology} if topology else {}),
    }


def cluster_queue(
    name: str, *, flavor: str, gpus: int, cohort: str = "", cpu: int = 1000, **more: object
) -> Object:
    """Give a ClusterQueue with nominal quota in one flavor."""
    quotas = {GPUS: gpus, "cpu": cpu, "memory": "100Ti"}
    spec: Object = {
        "namespaceSelector": {},
        "resourceGroups": [
            {
                "coveredResources": list(quotas),
                "flavors": [
                    {
                        "name": flavor,
                        "resources": [
                            {"name": resource, "nominalQuota": amount}
                            for resource, amount in quotas.items()
                        ],
                    }
                ],
            }
        ],
        **more,
    }
    return {
        "apiVersion": KUEUE,
        "kind": "ClusterQueue",
        "metadata": {"name": name},
        "spec": spec | ({"cohortName": cohort} if cohort else {}),
    }


def local_queue(name: str, *, namespace: str, cluster_queue: str) -> Object:
    """Give a LocalQueue."""
    return {
        "apiVersion": KUEUE,
        "kind": "LocalQueue",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"clusterQueue": cluster_queue},
    }


def pod_spec(
    *, gpus: int, cpu: str = "1", memory: str = "1Gi", more: Object | None = None
) -> Object:
    """Give a pod spec with one container."""
    amounts: Mapping[str, object] = {"cpu": cpu, "memory": memory} | ({GPUS: gpus} if gpus else {})
    limits = {"limits": {GPUS: gpus}} if gpus else {}
    container: Object = {
        "name": "main",
        "image": "registry.example/worker:1",
        "resources": {"requests": dict(amounts), **limits},
    }
    return {"containers": [container], **(more or {})}


def job(
    name: str,
    *,
    namespace: str,
    queue: str,
    pods: int,
    gpus: int,
    cpu: str = "1",
    more: Object | None = None,
) -> Object:
    """Give a Job of equal pods that all run at once, queued in a LocalQueue."""
    template = {
        "spec": pod_spec(gpus=gpus, cpu=cpu, more={"restartPolicy": "Never", **(more or {})})
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": namespace, "labels": {QUEUE_LABEL: queue}},
        "spec": {
            "suspend": True,
            "parallelism": pods,
            "completions": pods,
            "backoffLimit": 0,
            "template": template,
        },
    }


def job_set(name: str, *, namespace: str, queue: str, pods: int, gpus: int) -> Object:
    """Give a JobSet with one replicated Job."""
    template = {"spec": pod_spec(gpus=gpus, more={"restartPolicy": "Never"})}
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": name, "namespace": namespace, "labels": {QUEUE_LABEL: queue}},
        "spec": {
            "suspend": True,
            "replicatedJobs": [
                {
                    "name": "workers",
                    "replicas": 1,
                    "template": {
                        "spec": {"parallelism": pods, "completions": pods, "template": template}
                    },
                }
            ],
        },
    }


def ray_cluster(name: str, *, namespace: str, queue: str, workers: int, gpus: int) -> Object:
    """Give a RayCluster: a head without GPUs and one worker group."""
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {"name": name, "namespace": namespace, "labels": {QUEUE_LABEL: queue}},
        "spec": {
            "suspend": True,
            "rayVersion": "2.52.0",
            "headGroupSpec": {"rayStartParams": {}, "template": {"spec": _ray(gpus=0)}},
            "workerGroupSpecs": [
                {
                    "groupName": "gpu",
                    "replicas": workers,
                    "minReplicas": workers,
                    "maxReplicas": workers,
                    "rayStartParams": {},
                    "template": {"spec": _ray(gpus=gpus)},
                }
            ],
        },
    }


def _ray(*, gpus: int) -> Object:
    spec = pod_spec(gpus=gpus)
    container = spec["containers"][0]
    container["name"] = "ray"
    container["resources"].setdefault("limits", {}).update({"cpu": "1", "memory": "1Gi"})
    return spec


def deployment(
    name: str,
    *,
    namespace: str,
    replicas: int,
    gpus: int,
    labels: Mapping[str, str] | None = None,
    kind: str = "Deployment",
    queue: str = "",
    pool: str = "",
    tolerations: Sequence[Object] = (),
) -> Object:
    """Give a Deployment or StatefulSet, of a LocalQueue where one is named."""
    selector = {"app": name}
    own = {QUEUE_LABEL: queue} if queue else {}
    spec = pod_spec(gpus=gpus, more={"tolerations": list(tolerations)})
    placed = spec | ({"nodeSelector": {POOL_LABEL: pool}} if pool else {})
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace, "labels": own},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": selector},
            "template": {
                "metadata": {"labels": {**selector, **(labels or {})}},
                "spec": placed,
            },
            **({"serviceName": name} if kind == "StatefulSet" else {}),
        },
    }
