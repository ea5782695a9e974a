"""How each kind is decoded: its Struct, the Struct of a page of them, and its record."""

import types
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, TypeAlias

import msgspec

from scaler.core.model import (
    AdmissionCheck,
    ClusterQueue,
    Cohort,
    Controlled,
    Hpa,
    Kind,
    LocalQueue,
    Name,
    Node,
    PlacedPod,
    Pod,
    ResourceFlavor,
    ScaledObject,
    Target,
    WorkerScale,
    Workload,
)
from scaler.kube import decode_core, decode_hold, decode_keda, decode_kueue, decode_queues
from scaler.kube.resources import RESOURCES
from scaler.kube.structs import Wire
from scaler.kube.structs_core import (
    WireHpa,
    WireNode,
    WirePod,
    WireScaledObject,
    WireTarget,
)
from scaler.kube.structs_hold import WireJob, WireOwned, WireRayCluster, WireWorkerScale
from scaler.kube.structs_kueue import (
    WireAdmissionCheck,
    WireClusterQueue,
    WireCohort,
    WireLocalQueue,
    WireResourceFlavor,
    WireWorkload,
)

Record: TypeAlias = (
    Workload
    | ClusterQueue
    | LocalQueue
    | Cohort
    | ResourceFlavor
    | AdmissionCheck
    | Node
    | Pod
    | PlacedPod
    | Target
    | ScaledObject
    | Hpa
    | Controlled
    | WorkerScale
)
Key: TypeAlias = Name | str
"""(namespace, name) of a namespaced kind, else the name."""


class ListMeta(Wire):
    """metadata of a List."""

    resource_version: str = ""
    next_page: str = msgspec.field(default="", name="continue")


class Form:
    """How one kind is decoded: its Struct, the Struct of a page of them, and its record."""

    def __init__(self, wire: type[Wire], record: Callable[[Any], Record | None]) -> None:
        items: object = types.GenericAlias(list, (wire,)) | None
        page = msgspec.defstruct(
            f"PageOf{wire.__name__}",
            [("kind", str, ""), ("metadata", ListMeta | None, None), ("items", items, None)],
            gc=False,
        )
        self.record = record
        self.one: msgspec.json.Decoder[Any] = msgspec.json.Decoder(wire)
        self.page: msgspec.json.Decoder[Any] = msgspec.json.Decoder(page)

    def records(self, items: Iterable[Any]) -> tuple[Record, ...]:
        """Make the records of a page, without those that are not kept."""
        return tuple([kept for kept in map(self.record, items) if kept is not None])


def _target_form(kind: Kind) -> Form:
    object_kind = RESOURCES[kind].object_kind
    return Form(WireTarget, partial(decode_core.target, kind=object_kind))


FORMS: Mapping[Kind, Form] = MappingProxyType(
    {
        Kind.WORKLOADS: Form(WireWorkload, decode_kueue.workload),
        Kind.CLUSTER_QUEUES: Form(WireClusterQueue, decode_queues.cluster_queue),
        Kind.LOCAL_QUEUES: Form(WireLocalQueue, decode_queues.local_queue),
        Kind.COHORTS: Form(WireCohort, decode_queues.cohort),
        Kind.RESOURCE_FLAVORS: Form(WireResourceFlavor, decode_queues.resource_flavor),
        Kind.ADMISSION_CHECKS: Form(WireAdmissionCheck, decode_queues.admission_check),
        Kind.NODES: Form(WireNode, decode_core.node),
        Kind.PODS: Form(WirePod, decode_core.pod),
        Kind.DEPLOYMENTS: _target_form(Kind.DEPLOYMENTS),
        Kind.STATEFUL_SETS: _target_form(Kind.STATEFUL_SETS),
        Kind.SCALED_OBJECTS: Form(WireScaledObject, decode_keda.scaled_object),
        Kind.HPAS: Form(WireHpa, decode_keda.hpa),
        Kind.RAY_CLUSTERS: Form(WireRayCluster, decode_hold.ray_cluster),
        Kind.JOBS: Form(WireJob, decode_hold.job),
        Kind.WORKER_SCALES: Form(WireWorkerScale, decode_hold.worker_scale),
        Kind.JOB_SETS: Form(WireOwned, decode_hold.job_set),
        Kind.NOTEBOOKS: Form(WireOwned, decode_hold.notebook),
    }
)
