"""Build objects as Kubernetes and Kueue serve them, from few keyword arguments.

Times are in seconds from the start of a case's clock. Everything is in namespace `ml`, where
LocalQueue `lq` leads to ClusterQueue `gpu-cq`, whose flavor `gpu` has plenty of quota.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TypeAlias, cast

Object: TypeAlias = dict[str, object]

GPU = "nvidia.com/gpu"
KUEUE = "kueue.x-k8s.io/v1beta2"
START = datetime(2026, 3, 1, 10, tzinfo=UTC)
"""The instant t = 0."""
LONG_AGO = -7200
"""Since when everything stands as it is, unless a case says otherwise."""


def clock(t: float) -> str:
    """Write the instant t as Kubernetes does."""
    return (START + timedelta(seconds=t)).isoformat().replace("+00:00", "Z")


def metadata(
    name: str,
    *,
    namespace: str | None = "ml",
    created: float = LONG_AGO,
    deleted: float | None = None,
    owners: Sequence[Object] = (),
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    uid: str | None = None,
) -> Object:
    """Build metadata; the uid follows from the name."""
    built: Object = {
        "name": name,
        "uid": uid or f"uid-{name}",
        "creationTimestamp": clock(created),
        "labels": dict(labels or {}),
        "annotations": dict(annotations or {}),
        "ownerReferences": list(owners),
    }
    if namespace is not None:
        built["namespace"] = namespace
    if deleted is not None:
        built["deletionTimestamp"] = clock(deleted)
    return built


def owner(kind: str, name: str, *, api: str = "batch/v1", uid: str | None = None) -> Object:
    """Build a controlling ownerReference."""
    return {
        "apiVersion": api,
        "kind": kind,
        "name": name,
        "uid": uid or f"uid-{name}",
        "controller": True,
    }


def condition(
    kind: str, status: str, reason: str = "", *, message: str = "", at: float = LONG_AGO
) -> Object:
    """Build one of status.conditions; its status is True or False as text."""
    return {
        "type": kind,
        "status": status,
        "reason": reason or kind,
        "message": message,
        "lastTransitionTime": clock(at),
    }


# --- pods and podsets --------------------------------------------------------------------------


def container(
    requests: Mapping[str, object] | None = None,
    *,
    limits: Mapping[str, object] | None = None,
    name: str = "c",
    restart_policy: str | None = None,
) -> Object:
    """Build a container."""
    resources = {"requests": requests, "limits": limits}
    built: Object = {"name": name, "resources": {k: v for k, v in resources.items() if v}}
    if restart_policy is not None:
        built["restartPolicy"] = restart_policy
    return built


def pod_spec(gpus: int = 1, **more: object) -> Object:
    """Build a pod's spec: one container that requests GPUs, and what else there is to say."""
    requests = {GPU: str(gpus)} if gpus else {"cpu": "1"}
    return {"containers": [container(requests)], **more}


def pod_set(
    name: str = "main",
    *,
    count: int = 1,
    gpus: int = 1,
    spec: Mapping[str, object] | None = None,
    **more: object,
) -> Object:
    """Build a podset; `more` are fields beside the template (minCount, topologyRequest)."""
    template = {"spec": pod_spec(gpus) if spec is None else spec}
    return {"name": name, "count": count, "template": template, **more}


def pod(
    name: str,
    *,
    workload: str | None = None,
    pod_set: str = "main",
    gpus: int = 1,
    node: str | None = "n1",
    phase: str = "Running",
    ready: float | None = LONG_AGO,
    unschedulable: bool = False,
    deleted: float | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    owners: Sequence[Object] = (),
    spec: Mapping[str, object] | None = None,
) -> Object:
    """Build a pod; with `workload` it is one that Kueue admitted.

    `ready` is since when it is Ready; None, or another phase than Running: it is not.
    """
    marks = dict(annotations or {})
    tags = dict(labels or {})
    if workload is not None:
        marks |= {"kueue.x-k8s.io/workload": workload}
        tags |= {"kueue.x-k8s.io/podset": pod_set, "kueue.x-k8s.io/local-queue-name": "lq"}
    runs = phase == "Running" and ready is not None
    since = LONG_AGO if ready is None else ready
    conditions = [condition("Ready", str(runs), at=since)]
    if unschedulable:
        conditions.append(condition("PodScheduled", "False", "Unschedulable"))
    placed: Object = {} if node is None or unschedulable else {"nodeName": node}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata(
            name, created=since, deleted=deleted, labels=tags, annotations=marks, owners=owners
        ),
        "spec": dict(pod_spec(gpus) if spec is None else spec) | placed,
        "status": {"phase": phase, "startTime": clock(since), "conditions": conditions},
    }


def pods(
    workload: str,
    count: int,
    *,
    gpus: int = 1,
    node: str | None = "n1",
    phase: str = "Running",
    ready: float | None = LONG_AGO,
    unschedulable: bool = False,
) -> list[Object]:
    """Build a Workload's pods: `NAME-0`, `NAME-1` and so on."""
    return [
        pod(
            f"{workload}-{number}",
            workload=workload,
            gpus=gpus,
            node=node,
            phase=phase,
            ready=ready,
            unschedulable=unschedulable,
        )
        for number in range(count)
    ]


# --- Workloads ---------------------------------------------------------------------------------


def workload(
    name: str,
    *,
    pods: int = 1,
    gpus: int = 1,
    pod_sets: Sequence[Object] | None = None,
    queue: str = "lq",
    conditions: Sequence[Object] = (),
    status: Mapping[str, object] | None = None,
    active: bool = True,
    created: float = LONG_AGO,
    deleted: float | None = None,
    owners: Sequence[Object] = (),
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
) -> Object:
    """Build a Workload that waits, without a status unless given."""
    finalizers = {"finalizers": ["kueue.x-k8s.io/resource-in-use"]}
    return {
        "apiVersion": KUEUE,
        "kind": "Workload",
        "metadata": finalizers
        | metadata(
            name,
            created=created,
            deleted=deleted,
            owners=owners,
            labels=labels,
            annotations=annotations,
        ),
        "spec": {
            "active": active,
            "queueName": queue,
            "podSets": list(pod_sets or [pod_set(count=pods, gpus=gpus)]),
        },
        "status": {"conditions": list(conditions), **(status or {})},
    }


def assignment(name: str = "main", *, count: int = 1, gpus: int = 1, flavor: str = "gpu") -> Object:
    """Build a podSetAssignment; `gpus` is the podset's sum."""
    if not gpus:
        return {"name": name, "count": count, "flavors": {}, "resourceUsage": {}}
    usage = {GPU: str(gpus)}
    return {"name": name, "count": count, "flavors": {GPU: flavor}, "resourceUsage": usage}


def admission(*assignments: Object, cluster_queue: str = "gpu-cq") -> Object:
    """Build the part of a status that holds the admission."""
    return {"admission": {"clusterQueue": cluster_queue, "podSetAssignments": list(assignments)}}


def reserved(at: float = LONG_AGO) -> list[Object]:
    """Build the condition of a Workload with quota."""
    return [condition("QuotaReserved", "True", at=at)]


def granted(at: float = LONG_AGO) -> list[Object]:
    """Build the conditions of an admitted Workload."""
    return [*reserved(at), condition("Admitted", "True", at=at)]


def admitted(
    name: str,
    *,
    pods: int = 1,
    gpus: int = 1,
    at: float = LONG_AGO,
    conditions: Sequence[Object] = (),
    status: Mapping[str, object] | None = None,
    active: bool = True,
    deleted: float | None = None,
    owners: Sequence[Object] = (),
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
) -> Object:
    """Build a Workload of one podset that was admitted whole at `at`."""
    given = admission(assignment(count=pods, gpus=pods * gpus))
    return workload(
        name,
        pods=pods,
        gpus=gpus,
        conditions=[*granted(at), *conditions],
        status=given | dict(status or {}),
        active=active,
        deleted=deleted,
        owners=owners,
        labels=labels,
        annotations=annotations,
    )


def with_(built: Object, **sections: Mapping[str, object]) -> Object:
    """Give an object with fields of its sections (metadata, spec, status) put otherwise."""
    return built | {
        name: cast("Object", built.get(name, {})) | dict(fields)
        for name, fields in sections.items()
    }


def every(*groups: Object | Iterable[Object]) -> list[Object]:
    """Put objects and lists of objects into one list."""
    return [one for group in groups for one in ([group] if isinstance(group, dict) else group)]
