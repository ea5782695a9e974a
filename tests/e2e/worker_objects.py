"""Jobs of several pods as teams write them, and the WorkerScales that take their workers."""

from collections.abc import Callable, Mapping
from functools import partial

from tests.e2e.api import Object
from tests.e2e.policies import GPUS
from tests.e2e.queues import QUEUE_LABEL, job, job_set, pod_spec, ray_cluster

GROUP = "kueue-gpu-scaler.dev"
WAKE = f"{GROUP}/wake"
HOLD_NOW = f"{GROUP}/hold-now"
RUNTIME = "plain"
ANCESTOR = "trainer.kubeflow.org/trainjob-ancestor-step"


def ray_job(name: str, *, namespace: str, queue: str, workers: int, gpus: int) -> Object:
    """Give a RayJob with a cluster as ray_cluster's; Kueue wants it deleted at the job's end."""
    cluster = ray_cluster(name, namespace=namespace, queue=queue, workers=workers, gpus=gpus)
    spec = {key: each for key, each in cluster["spec"].items() if key != "suspend"}
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "metadata": {"name": name, "namespace": namespace, "labels": {QUEUE_LABEL: queue}},
        "spec": {
            "suspend": True,
            "entrypoint": "python train.py",
            "shutdownAfterJobFinishes": True,
            "rayClusterSpec": spec,
        },
    }


def two_groups(cluster: Object, *names: str) -> Object:
    """Give a RayCluster with a worker group of each name in place of its one."""
    (group,) = cluster["spec"]["workerGroupSpecs"]
    groups = [{**group, "groupName": name} for name in names]
    return {**cluster, "spec": {**cluster["spec"], "workerGroupSpecs": groups}}


def training_runtime(namespace: str) -> Object:
    """Give a TrainingRuntime as the shipped ones are, without a framework's own variables."""
    spec = pod_spec(gpus=0, more={"restartPolicy": "Never"})
    spec["containers"][0]["name"] = "node"
    job = {
        "name": "node",
        "template": {
            "metadata": {"labels": {ANCESTOR: "trainer"}},
            "spec": {"template": {"spec": spec}},
        },
    }
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainingRuntime",
        "metadata": {"name": RUNTIME, "namespace": namespace},
        "spec": {"mlPolicy": {"numNodes": 1}, "template": {"spec": {"replicatedJobs": [job]}}},
    }


def train_job(name: str, *, namespace: str, queue: str, nodes: int, gpus: int) -> Object:
    """Give a TrainJob of the runtime above."""
    amounts = {GPUS: str(gpus), "cpu": "1", "memory": "1Gi"}
    trainer = {
        "numNodes": nodes,
        "image": "registry.example/train:1",
        "resourcesPerNode": {"requests": amounts, "limits": {GPUS: str(gpus)}},
    }
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": name, "namespace": namespace, "labels": {QUEUE_LABEL: queue}},
        "spec": {
            "suspend": True,
            "runtimeRef": {"kind": "TrainingRuntime", "name": RUNTIME},
            "trainer": trainer,
        },
    }


def worker_scale(
    name: str,
    *,
    namespace: str,
    target: Object,
    component: str = "",
    mode: str = "Hold",
    labels: Mapping[str, str] | None = None,
    **more: object,
) -> Object:
    """Give a WorkerScale of an object's workers; without a size, as people write it."""
    named = {
        "apiVersion": target["apiVersion"],
        "kind": target["kind"],
        "name": target["metadata"]["name"],
    }
    return {
        "apiVersion": f"{GROUP}/v1alpha1",
        "kind": "WorkerScale",
        "metadata": {"name": name, "namespace": namespace, "labels": dict(labels or {})},
        "spec": {
            "target": named | ({"component": component} if component else {}),
            "mode": mode,
            **more,
        },
    }


def _job(name: str, namespace: str, queue: str, pods: int, gpus: int) -> Object:
    return job(name, namespace=namespace, queue=queue, pods=pods, gpus=gpus)


def _job_set(name: str, namespace: str, queue: str, pods: int, gpus: int) -> Object:
    return job_set(name, namespace=namespace, queue=queue, pods=pods, gpus=gpus)


def _ray(
    build: Callable[..., Object], name: str, namespace: str, queue: str, pods: int, gpus: int
) -> Object:
    return build(name, namespace=namespace, queue=queue, workers=pods, gpus=gpus)


def _train_job(name: str, namespace: str, queue: str, pods: int, gpus: int) -> Object:
    return train_job(name, namespace=namespace, queue=queue, nodes=pods, gpus=gpus)


BUILDERS: Mapping[str, Callable[[str, str, str, int, int], Object]] = {
    "Job": _job,
    "JobSet": _job_set,
    "RayCluster": partial(_ray, ray_cluster),
    "RayJob": partial(_ray, ray_job),
    "TrainJob": _train_job,
}
"""From name, namespace, LocalQueue, pods and GPUs of each, by kind."""
