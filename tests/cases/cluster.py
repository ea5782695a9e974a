"""Build what stands around Workloads and pods: nodes, queues, quota, targets and their sizes."""

from collections.abc import Mapping, Sequence

from tests.cases.objects import GPU, KUEUE, LONG_AGO, Object, clock, condition, metadata, pod_spec

PLENTY = 10_000


def node(
    name: str,
    *,
    gpus: int = 8,
    pool: str = "gpu",
    ready: bool = True,
    created: float = LONG_AGO,
    deleted: float | None = None,
    labels: Mapping[str, str] | None = None,
    taints: Sequence[Object] = (),
) -> Object:
    """Build a node of a pool."""
    tags = {"pool": pool, "kubernetes.io/hostname": name, **(labels or {})}
    allocatable = {"cpu": "190", "memory": "1950Gi", "pods": "110"}
    if gpus:
        allocatable[GPU] = str(gpus)
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": metadata(name, namespace=None, created=created, deleted=deleted, labels=tags),
        "spec": {"taints": list(taints)},
        "status": {
            "allocatable": allocatable,
            "conditions": [condition("Ready", str(ready), "KubeletReady", at=created)],
        },
    }


def nodes(
    count: int, *, gpus: int = 8, pool: str = "gpu", created: float = LONG_AGO
) -> list[Object]:
    """Build nodes `n1`, `n2` and so on."""
    return [
        node(f"n{number + 1}", gpus=gpus, pool=pool, created=created) for number in range(count)
    ]


# --- queues ------------------------------------------------------------------------------------


def quota(flavor: str = "gpu", nominal: int = PLENTY, **limits: int) -> Object:
    """Build a flavor's quota of GPUs; `limits` are borrowingLimit and lendingLimit."""
    numbers = {"nominalQuota": nominal, **limits}
    return {
        "name": flavor,
        "resources": [{"name": GPU, **{key: str(value) for key, value in numbers.items()}}],
    }


def cluster_queue(
    name: str = "gpu-cq",
    *,
    flavors: Sequence[Object] | None = None,
    spec: Mapping[str, object] | None = None,
    status: Mapping[str, object] | None = None,
    deleted: float | None = None,
    active: bool = True,
) -> Object:
    """Build a ClusterQueue that covers GPUs."""
    group = {"coveredResources": [GPU], "flavors": list(flavors or [quota()])}
    ready = "Ready" if active else "Stopped"
    return {
        "apiVersion": KUEUE,
        "kind": "ClusterQueue",
        "metadata": metadata(name, namespace=None, deleted=deleted),
        "spec": {
            "resourceGroups": [group],
            "queueingStrategy": "BestEffortFIFO",
            "namespaceSelector": {},
            "stopPolicy": "None",
            **(spec or {}),
        },
        "status": {"conditions": [condition("Active", str(active), ready)], **(status or {})},
    }


def local_queue(name: str = "lq", *, leads_to: str = "gpu-cq", stop_policy: str = "None") -> Object:
    """Build a LocalQueue."""
    return {
        "apiVersion": KUEUE,
        "kind": "LocalQueue",
        "metadata": metadata(name),
        "spec": {"clusterQueue": leads_to, "stopPolicy": stop_policy},
    }


def flavor(name: str = "gpu", *, pool: str | None = None) -> Object:
    """Build a ResourceFlavor on the nodes of the pool of its name, unless given another."""
    return {
        "apiVersion": KUEUE,
        "kind": "ResourceFlavor",
        "metadata": metadata(name, namespace=None),
        "spec": {"nodeLabels": {"pool": pool or name}},
    }


def admission_check(name: str, controller: str) -> Object:
    """Build an AdmissionCheck."""
    return {
        "apiVersion": KUEUE,
        "kind": "AdmissionCheck",
        "metadata": metadata(name, namespace=None),
        "spec": {"controllerName": controller},
    }


def owned(kind: str, name: str, *, api: str, owners: Sequence[Object] = ()) -> Object:
    """Build an owner of which only the metadata is read: a RayCluster or a Job."""
    return {"apiVersion": api, "kind": kind, "metadata": metadata(name, owners=owners)}


# --- targets -----------------------------------------------------------------------------------


def target(
    kind: str, name: str, *, replicas: int, gpus: int = 1, queue: str | None = None
) -> Object:
    """Build a Deployment or StatefulSet whose pods are labelled `app=NAME`."""
    labels = {} if queue is None else {"kueue.x-k8s.io/queue-name": queue}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": metadata(name, labels=labels),
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": pod_spec(gpus)},
        },
    }


def scaled_object(
    trigger: Mapping[str, str],
    *,
    kind: str = "MachineSet",
    target: str = "gpu",
    minimum: int = 0,
    maximum: int = 100,
    idle_replicas: int | None = None,
    annotations: Mapping[str, str] | None = None,
    others: Sequence[Object] = (),
) -> Object:
    """Build the ScaledObject `ml/so` with a trigger of ours, and `others` beside it."""
    address = {"scalerAddress": "kueue-gpu-scaler.kueue-gpu-scaler:6000"}
    ours = {"type": "external-push", "metadata": address | dict(trigger)}
    behavior = {"scaleUp": {"tolerance": "0"}}
    version = "apps/v1" if kind in ("Deployment", "StatefulSet") else "example.test/v1"
    at_rest = {} if idle_replicas is None else {"idleReplicaCount": idle_replicas}
    return {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": metadata("so", annotations=annotations),
        "spec": {
            "scaleTargetRef": {"apiVersion": version, "kind": kind, "name": target},
            "minReplicaCount": minimum,
            "maxReplicaCount": maximum,
            **at_rest,
            "triggers": [ours, *others],
            "advanced": {"horizontalPodAutoscalerConfig": {"behavior": behavior}},
        },
        "status": {"hpaName": "keda-hpa-so"},
    }


def hpa(size: int, *, scaled: float = LONG_AGO) -> Object:
    """Build the HPA that KEDA made for `ml/so`, last scaled at `scaled`; at zero it is off."""
    disabled = condition("ScalingActive", "False", "ScalingDisabled", at=scaled)
    working = condition("ScalingActive", "True", "ValidMetricFound", at=scaled)
    status: Object = {"conditions": [working if size else disabled]}
    if size:
        status |= {"currentReplicas": size, "lastScaleTime": clock(scaled)}
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": metadata("keda-hpa-so", labels={"scaledobject.keda.sh/name": "so"}),
        "spec": {"behavior": {"scaleUp": {"tolerance": "0"}}},
        "status": status,
    }
