"""Objects as a busy cluster holds them: Workloads of 3 kB, and the queues and targets about them.

A Workload's text is made from one of a few dozen drafts, each cut at its placeholders once, so
that 100,000 of them are made in seconds.
"""

import json
import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

Document: TypeAlias = dict[str, object]

WORKLOAD_BYTES = 3_000
GPU = "nvidia.com/gpu"
NODE_GPUS = 8
FLAVOR = "gpu-a"
CREATED = "2026-01-05T08:00:00Z"
_RAY_EVERY = 3
_ADMITTED_EVERY = 5
_SIZES = tuple((gpus, pods) for gpus in (1, 2, 4, 8) for pods in (1, 2, 3, 4, 6, 8, 12, 16))
"""(GPUs a pod, pods)."""
_CPUS_PER_GPU = (4, 8, 12)
_DRAFTS = _RAY_EVERY * len(_SIZES) * len(_CPUS_PER_GPU)
_DRAFTS_OF_QUEUE = 12
"""A team submits the same few sorts of jobs again and again."""
_PADDING = "<arguments>"
_MARK = re.compile(r"<<(\w+)>>")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """How much there is: Workloads spread evenly over queues, one trigger a queue."""

    workloads: int
    queues: int
    idle: bool = False
    """No ScaledObject asks for anything."""

    @property
    def triggers(self) -> int:
        """Count the ScaledObjects' triggers."""
        return 0 if self.idle else self.queues

    def namespace(self, queue: int) -> str:
        """Give the namespace of a queue's LocalQueue, Workloads and ScaledObject."""
        return f"team-{queue % 100:03}"

    def admitted(self, number: int) -> bool:
        """Say whether a Workload is running: each queue has some, and they hold all its quota."""
        return number // self.queues % _ADMITTED_EVERY == 0

    def quota(self, queue: int) -> int:
        """Give the GPUs that a queue's running Workloads hold."""
        mine = range(queue, self.workloads, self.queues)
        return sum(_gpus(self.draft(number)) for number in mine if self.admitted(number))

    def draft(self, number: int) -> int:
        """Give the number of the draft that a Workload is made from."""
        turn, queue = divmod(number, self.queues)
        return (queue * 7 + turn % _DRAFTS_OF_QUEUE) % _DRAFTS


def _size(draft: int) -> tuple[int, int]:
    return _SIZES[draft // _RAY_EVERY % len(_SIZES)]


def _gpus(draft: int) -> int:
    gpus, pods = _size(draft)
    return gpus * pods


# --- Workloads ---------------------------------------------------------------------------------


def workloads(fleet: Fleet) -> Iterator[bytes]:
    """Give the JSON of each Workload."""
    drafts: dict[tuple[int, bool], list[str]] = {}
    for number in range(fleet.workloads):
        admitted = fleet.admitted(number)
        variant = (fleet.draft(number), admitted)
        if variant not in drafts:
            drafts[variant] = _cut(_workload(*variant))
        yield _fill(drafts[variant], _values(fleet, number, queue=number % fleet.queues))


def waiting_for_nodes(fleet: Fleet, *, queue: int, version: int = 1_000_001) -> bytes:
    """Give a new Workload that has quota, and for whose pods there are no nodes.

    Versions grow from event to event, as an API server's do: one that falls means a new list.
    """
    draft = _workload(0, admitted=False)
    draft["status"] = {
        "conditions": [
            _condition(
                "QuotaReserved",
                "False",
                reason="TopologyPlacementFailed",
                message='topology "default" doesn\'t allow to fit any of 1 pod(s)',
            )
        ]
    }
    values = _values(fleet, fleet.workloads + queue, queue=queue)
    return _fill(_cut(draft), {**values, "version": str(version)})


def _values(fleet: Fleet, number: int, *, queue: int) -> Mapping[str, str]:
    return {
        "name": f"train-{number:06}",
        "namespace": fleet.namespace(queue),
        "queue": f"queue-{queue:04}",
        "uid": _uid("workload", number),
        "owner": _uid("owner", number),
        "minute": f"{number // 60 % 60:02}:{number % 60:02}",
        "version": str(10_000 + number),
    }


def _uid(kind: str, number: int) -> str:
    return str(uuid.UUID(int=number + (1 << 127 if kind == "owner" else 1 << 126)))


def _cut(draft: Document) -> list[str]:
    """Pad a draft to its size, and cut it into text and placeholders, in turn."""
    cut = _MARK.split(json.dumps(draft, separators=(",", ":")))
    room = WORKLOAD_BYTES - len(_fill(cut, _SAMPLE))
    cut[0] = cut[0].replace(_PADDING, ("--learning-rate=3e-4 " * 99)[: room + len(_PADDING)])
    return cut


_SAMPLE = {
    "name": "n" * 12,
    "namespace": "n" * 8,
    "queue": "q" * 10,
    "uid": "u" * 36,
    "owner": "u" * 36,
    "minute": "m" * 5,
    "version": "v" * 6,
}


def _fill(cut: Sequence[str], values: Mapping[str, str]) -> bytes:
    filled = list(cut)
    filled[1::2] = [values[mark] for mark in cut[1::2]]
    return "".join(filled).encode()


def _workload(draft: int, admitted: bool) -> Document:  # noqa: FBT001 - a draft's own key
    ray = draft % _RAY_EVERY == 0
    kind, group = ("RayCluster", "ray.io/v1") if ray else ("Job", "batch/v1")
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {
            "annotations": {"example.com/launched-with": _PADDING, "example.com/run": "<<name>>"},
            "creationTimestamp": "2026-01-05T08:<<minute>>Z",
            "finalizers": ["kueue.x-k8s.io/resource-in-use"],
            "generation": 1,
            "labels": {
                "kueue.x-k8s.io/job-uid": "<<owner>>",
                "app.kubernetes.io/part-of": "training",
            },
            "name": "<<name>>",
            "namespace": "<<namespace>>",
            "ownerReferences": [
                {
                    "apiVersion": group,
                    "blockOwnerDeletion": True,
                    "controller": True,
                    "kind": kind,
                    "name": "<<name>>",
                    "uid": "<<owner>>",
                }
            ],
            "resourceVersion": "<<version>>",
            "uid": "<<uid>>",
        },
        "spec": {
            "active": True,
            "podSets": _pod_sets(draft, ray=ray),
            "priority": draft % 4 * 100,
            "queueName": "<<queue>>",
        },
        "status": _admitted(draft, ray=ray) if admitted else _pending(draft),
    }


def _pod_sets(draft: int, *, ray: bool) -> list[Document]:
    gpus, pods = _size(draft)
    cpus = gpus * _CPUS_PER_GPU[draft // _RAY_EVERY // len(_SIZES)]
    worker = _pod_set("workers" if ray else "main", pods, _resources(cpus, gpus=gpus))
    return [_pod_set("head", 1, _resources(2)), worker] if ray else [worker]


def _resources(cpus: int, *, gpus: int = 0) -> dict[str, str]:
    named = {"cpu": str(cpus), "memory": f"{cpus * 8}Gi"}
    return named | ({GPU: str(gpus)} if gpus else {})


def _pod_set(name: str, count: int, resources: dict[str, str]) -> Document:
    environment = {"RUN_NAME": "<<name>>", "NCCL_DEBUG": "WARN"}
    container = {
        "env": [{"name": key, "value": value} for key, value in environment.items()],
        "image": "registry.example.com/training/torch:2.9.1-cuda12.8",
        "name": name,
        "resources": {"limits": resources, "requests": resources},
        "volumeMounts": [{"mountPath": "/dev/shm", "name": "shm"}],  # noqa: S108 - inside the pod
    }
    spec = {
        "containers": [container],
        "dnsPolicy": "ClusterFirst",
        "restartPolicy": "Never",
        "tolerations": [{"effect": "NoSchedule", "key": GPU, "operator": "Exists"}],
        "volumes": [{"emptyDir": {"medium": "Memory"}, "name": "shm"}],
    }
    labels = {"batch.kubernetes.io/job-name": "<<name>>"}
    return {
        "count": count,
        "name": name,
        "template": {"metadata": {"labels": labels}, "spec": spec},
    }


def _condition(kind: str, status: str, *, reason: str, message: str) -> Document:
    return {
        "lastTransitionTime": "2026-01-05T09:<<minute>>Z",
        "message": message,
        "observedGeneration": 1,
        "reason": reason,
        "status": status,
        "type": kind,
    }


def _pending(draft: int) -> Document:
    message = (
        f"couldn't assign flavors to pod set main: insufficient unused quota for {GPU} in flavor "
        f"{FLAVOR}, {_gpus(draft)} more needed"
    )
    return {"conditions": [_condition("QuotaReserved", "False", reason="Pending", message=message)]}


def _admitted(draft: int, *, ray: bool) -> Document:
    gpus, pods = _size(draft)
    resources = _resources(gpus * pods * _CPUS_PER_GPU[draft // _RAY_EVERY // len(_SIZES)])
    workers: Document = {
        "count": pods,
        "flavors": dict.fromkeys((*resources, GPU), FLAVOR),
        "name": "workers" if ray else "main",
        "resourceUsage": resources | {GPU: str(gpus * pods)},
    }
    head: Document = {
        "count": 1,
        "flavors": dict.fromkeys(resources, FLAVOR),
        "name": "head",
        "resourceUsage": _resources(2),
    }
    return {
        "admission": {
            "clusterQueue": "<<queue>>",
            "podSetAssignments": [head, workers] if ray else [workers],
        },
        "conditions": [
            _condition(
                "QuotaReserved",
                "True",
                reason="QuotaReserved",
                message="Quota reserved in ClusterQueue <<queue>>",
            ),
            _condition("Admitted", "True", reason="Admitted", message="The workload is admitted"),
        ],
    }


# --- queues and targets ------------------------------------------------------------------------


def resource_flavor() -> Document:
    """Give the one ResourceFlavor."""
    return {"metadata": {"name": FLAVOR}, "spec": {"nodeLabels": {"pool": FLAVOR}}}


def cluster_queue(fleet: Fleet, queue: int) -> Document:
    """Give a ClusterQueue whose GPUs are all taken."""
    quotas = {"cpu": "100k", "memory": "1000Ti", GPU: str(fleet.quota(queue))}
    resources = [{"name": name, "nominalQuota": quota} for name, quota in quotas.items()]
    return {
        "metadata": {"name": f"queue-{queue:04}", "uid": f"cq-{queue}"},
        "spec": {
            "namespaceSelector": {},
            "queueingStrategy": "BestEffortFIFO",
            "resourceGroups": [
                {
                    "coveredResources": list(quotas),
                    "flavors": [{"name": FLAVOR, "resources": resources}],
                }
            ],
            "stopPolicy": "None",
        },
        "status": {"conditions": [{"type": "Active", "status": "True", "reason": "Ready"}]},
    }


def local_queue(fleet: Fleet, queue: int) -> Document:
    """Give the LocalQueue that leads to a ClusterQueue of the same name."""
    name = f"queue-{queue:04}"
    return {
        "metadata": {"name": name, "namespace": fleet.namespace(queue)},
        "spec": {"clusterQueue": name},
    }


def metadata(queue: int) -> dict[str, str]:
    """Give the metadata of a queue's trigger."""
    return {
        "signal": "queue",
        "clusterQueue": f"queue-{queue:04}",
        "gpusPerNode": str(NODE_GPUS),
        "scalerAddress": "kueue-gpu-scaler.kueue-gpu-scaler.svc:6000",
    }


def scaled_object(fleet: Fleet, queue: int) -> Document:
    """Give the ScaledObject that sizes a queue's nodes."""
    name = f"nodes-{queue:04}"
    return {
        "metadata": {
            "name": name,
            "namespace": fleet.namespace(queue),
            "uid": f"so-{queue}",
            "creationTimestamp": CREATED,
        },
        "spec": {
            "scaleTargetRef": {
                "apiVersion": "cluster.x-k8s.io/v1beta1",
                "kind": "MachineDeployment",
                "name": name,
            },
            "minReplicaCount": 0,
            "maxReplicaCount": 16,
            "triggers": [{"type": "external-push", "metadata": metadata(queue)}],
        },
        "status": {"hpaName": f"keda-hpa-{name}"},
    }


def hpa(fleet: Fleet, queue: int) -> Document:
    """Give the HorizontalPodAutoscaler that KEDA makes, its target at zero."""
    name = f"nodes-{queue:04}"
    return {
        "metadata": {
            "name": f"keda-hpa-{name}",
            "namespace": fleet.namespace(queue),
            "labels": {
                "scaledobject.keda.sh/name": name,
                "app.kubernetes.io/managed-by": "keda-operator",
            },
            "ownerReferences": [
                {
                    "apiVersion": "keda.sh/v1alpha1",
                    "kind": "ScaledObject",
                    "name": name,
                    "uid": f"so-{queue}",
                    "controller": True,
                }
            ],
        },
        "status": {
            "desiredReplicas": 0,
            "conditions": [
                {
                    "type": "ScalingActive",
                    "status": "False",
                    "reason": "ScalingDisabled",
                    "lastTransitionTime": CREATED,
                }
            ],
        },
    }
