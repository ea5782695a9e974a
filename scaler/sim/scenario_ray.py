"""The demo's second act: a RayCluster on a pool that another team shares, and a PyTorchJob."""

from scaler.core.model import Kind
from scaler.sim.cluster import Cluster
from scaler.sim.kinds import PYTORCH_JOBS
from scaler.sim.kuberay import ray_cluster
from scaler.sim.nodes import GPU, NAMESPACE
from scaler.sim.patches import Document
from scaler.sim.pods import pod_template
from scaler.sim.scenario import NODE, pool_scaler

RAY_POOL, HEAD_POOL = "h100", "cpu"
ROBOTS, VIDEO = "team-robots", "team-video"
SIM, SIM_WORKERS = (ROBOTS, "sim"), (ROBOTS, "sim-workers")
TUNE, TUNE_WORKERS = (VIDEO, "tune"), (VIDEO, "tune-workers")
RAY_SCALER = (NAMESPACE, "h100-pool")
WORKERS, GPUS_EACH = 2, 4
RAY_IDLE_AFTER = 180.0
RAY_COOLDOWN = 60.0
WORKER_SCALE = "kueue-gpu-scaler.dev/v1alpha1"


def furnish_ray(cluster: Cluster, *, scaler_address: str) -> None:
    """Put the pool, the two teams and the RayCluster into the cluster, with what scales them."""
    cluster.add_pool(RAY_POOL, capacity=NODE, nodes=1)
    cluster.add_pool(HEAD_POOL, capacity={"cpu": "60", "pods": "110"}, nodes=1)
    cluster.add_flavor(RAY_POOL, pool=RAY_POOL)
    cluster.add_flavor(HEAD_POOL, pool=HEAD_POOL)
    quota = {"cpu": "100", GPU: "8"}
    cluster.add_team(ROBOTS, flavor=RAY_POOL, quota=quota, before={HEAD_POOL: {"cpu": "8"}})
    cluster.add_team(VIDEO, flavor=RAY_POOL, quota=quota)
    cluster.set_load(SIM, percent=71)
    cluster.send_tasks(SIM, 0)
    group = {"gpu": (WORKERS, {"cpu": "16", GPU: str(GPUS_EACH)})}
    cluster.apply(
        Kind.RAY_CLUSTERS,
        ray_cluster(namespace=ROBOTS, name=SIM[1], queue="jobs", head={"cpu": "8"}, groups=group),
    )
    target = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "name": SIM[1], "component": "gpu"}
    cluster.apply(Kind.WORKER_SCALES, worker_scale(SIM_WORKERS, target))
    grower = pool_scaler(scaler_address, RAY_SCALER, pool=RAY_POOL, teams=(ROBOTS, VIDEO))
    cluster.apply(Kind.SCALED_OBJECTS, grower)
    cluster.apply(Kind.SCALED_OBJECTS, _workers_scaler(scaler_address))


def worker_scale(name: tuple[str, str], target: Document) -> Document:
    """Write a WorkerScale in mode Hold that says nothing of replicas."""
    return {
        "metadata": {"namespace": name[0], "name": name[1]},
        "spec": {"target": target, "mode": "Hold"},
    }


def furnish_tune(cluster: Cluster) -> None:
    """Put a PyTorchJob into the cluster, and a WorkerScale that wants to hold its workers."""
    template = pod_template(requests={GPU: "8"})
    document = {
        "metadata": {"namespace": TUNE[0], "name": TUNE[1]},
        "spec": {
            "runPolicy": {"suspend": True},
            "pytorchReplicaSpecs": {
                "Master": {"replicas": 1, "template": template},
                "Worker": {"replicas": 2, "template": template},
            },
        },
    }
    cluster.apply(PYTORCH_JOBS, document)
    target = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "name": TUNE[1],
        "component": "worker",
    }
    cluster.apply(Kind.WORKER_SCALES, worker_scale(TUNE_WORKERS, target))


def _workers_scaler(address: str) -> Document:
    """Take a RayCluster's workers to zero while they are idle, wake them by Ray's own tasks."""
    metadata = {
        "scalerAddress": address,
        "signal": "idle",
        "idleAfter": "3m",
        "wake": "ray-tasks",
    }
    behavior = {"scaleUp": {"tolerance": "0"}, "scaleDown": {"tolerance": "0"}}
    return {
        "metadata": {"namespace": SIM_WORKERS[0], "name": SIM_WORKERS[1]},
        "spec": {
            "scaleTargetRef": {
                "apiVersion": WORKER_SCALE,
                "kind": "WorkerScale",
                "name": SIM_WORKERS[1],
            },
            "minReplicaCount": 0,
            "maxReplicaCount": WORKERS,
            "pollingInterval": 15,
            "cooldownPeriod": int(RAY_COOLDOWN),
            "initialCooldownPeriod": 60,
            "advanced": {"horizontalPodAutoscalerConfig": {"behavior": behavior}},
            "triggers": [{"type": "external-push", "metadata": metadata}],
        },
    }
