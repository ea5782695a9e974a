"""The objects of patients: workloads on which a wrong answer to KEDA would show."""

from collections.abc import Mapping

from tests.e2e.api import Object
from tests.e2e.deployed import adapted, example, one
from tests.e2e.machine_objects import CPU as CPU_OF_NODES
from tests.e2e.machine_objects import GPUS as GPUS_OF_NODES
from tests.e2e.machine_objects import OPENSHIFT, node
from tests.e2e.policies import NODE, POOL_LABEL
from tests.e2e.queues import cluster_queue, deployment, flavor, job, local_queue
from tests.e2e.stack import service_address

IDLE_AFTER = 6.0
COOLDOWN = 5
SIZES: Mapping[str, int] = {"busy": 3, "dry": 2, "asleep": 0, "kept": 2}
"""Deployments: at work, idle in a dry run, at zero, and at work with minReplicaCount 1."""
POOL = "pool"
"""The MachineSet: its nodes are full, and a job waits for quota."""
POOL_SIZE = 2
IDLE = tuple(SIZES)
RUNNING = ("busy", "dry", "kept")


def pool_of(installation: str) -> str:
    """Give the name of the pool that an installation's patients have."""
    return f"patients-{installation}"


def objects(installation: str, namespace: str) -> list[Object]:
    """Give everything but the job that waits; the ScaledObjects come last."""
    return [
        _node(installation),
        *_queue(installation, namespace),
        *(job_of(namespace, f"running-{number}") for number in range(POOL_SIZE)),
        _machine_set(installation, namespace),
        *(_deployment(installation, namespace, name) for name in SIZES),
        *(_idle(installation, namespace, name) for name in SIZES),
        _grown(installation, namespace),
    ]


def job_of(namespace: str, name: str) -> Object:
    """Give a Job that fills one node of the pool."""
    return job(
        name, namespace=namespace, queue="patients", pods=1, gpus=int(NODE["nvidia.com/gpu"])
    )


def queue_of(installation: str, *, nodes: int = POOL_SIZE) -> Object:
    """Give the ClusterQueue, with quota for so many nodes."""
    pool = pool_of(installation)
    return cluster_queue(pool, flavor=pool, gpus=nodes * int(NODE["nvidia.com/gpu"]))


def _node(installation: str) -> Object:
    """Give the one node of all Deployments; it belongs to no pool."""
    name = f"{installation}-deployments"
    return node(name, {POOL_LABEL: name}, gpus=16, cpu="96")


def _queue(installation: str, namespace: str) -> list[Object]:
    pool = pool_of(installation)
    return [
        flavor(pool, pool=pool),
        queue_of(installation),
        local_queue("patients", namespace=namespace, cluster_queue=pool),
    ]


def _machine_set(installation: str, namespace: str) -> Object:
    labels = {"set": pool_of(installation)}
    nodes = {"metadata": {"labels": {POOL_LABEL: pool_of(installation)}}}
    return {
        "apiVersion": OPENSHIFT,
        "kind": "MachineSet",
        "metadata": {
            "name": POOL,
            "namespace": namespace,
            "annotations": {
                GPUS_OF_NODES: str(NODE["nvidia.com/gpu"]),
                CPU_OF_NODES: str(NODE["cpu"]),
            },
        },
        "spec": {
            "replicas": POOL_SIZE,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": nodes},
        },
    }


def _deployment(installation: str, namespace: str, name: str) -> Object:
    return deployment(
        name,
        namespace=namespace,
        replicas=SIZES[name],
        gpus=1,
        pool=f"{installation}-deployments",
    )


def _idle(installation: str, namespace: str, name: str) -> Object:
    """Give a Deployment's ScaledObject: whatever is wrong with the answer, it goes at once."""
    size = SIZES[name] or 1
    return adapted(
        one(example("inference-deployment.yaml"), "ScaledObject"),
        namespace=namespace,
        address=service_address(installation),
        name=name,
        target=name,
        cooldown=COOLDOWN,
        minimum=1 if name == "kept" else 0,
        maximum=size,
        metadata={
            "idleAfter": f"{IDLE_AFTER:.0f}s",
            "replicas": str(size),
            "dryRun": str(name == "dry").lower(),
        },
    )


def _grown(installation: str, namespace: str) -> Object:
    """Give the MachineSet's ScaledObject without all that guards a pool against wrong answers."""
    grown = adapted(
        one(example("machineset.yaml"), "ScaledObject"),
        namespace=namespace,
        address=service_address(installation),
        name=POOL,
        target=POOL,
        cooldown=COOLDOWN,
        metadata={"clusterQueue": pool_of(installation), "pool": pool_of(installation)},
    )
    grown["metadata"].pop("annotations")
    behavior = grown["spec"]["advanced"]["horizontalPodAutoscalerConfig"]["behavior"]
    behavior["scaleDown"].pop("selectPolicy")
    return grown
