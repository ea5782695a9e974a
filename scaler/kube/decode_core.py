"""Turn nodes, pods, targets and owners into records."""

from sys import intern

from scaler.core.model import Node as NodeRecord
from scaler.core.model import NodeRequirement, PlacedPod, Pod, Target
from scaler.core.quantity import amounts
from scaler.core.shape import asks_extended
from scaler.kube.decode_meta import (
    FALSE,
    TRUE,
    by_type,
    is_true,
    moment,
    moment_or,
    opted_out,
    owner_refs,
)
from scaler.kube.decode_shapes import requirements, shape, shape_key, taints
from scaler.kube.structs import Condition, Labels
from scaler.kube.structs_core import (
    NodeAnnotations,
    PodAnnotations,
    Selector,
    WireNode,
    WirePod,
    WireTarget,
)

_GROUP = "kueue.x-k8s.io/pod-group-name"
_POD_SET = "kueue.x-k8s.io/podset"
_QUEUE = "kueue.x-k8s.io/queue-name"
_MANAGED = "kueue.x-k8s.io/managed"
_IGNORE = "kueue-gpu-scaler.dev/ignore"
_PLACEHOLDER = "kueue-gpu-scaler.dev/placeholder"
_UNDER_KUEUE = (_GROUP, _QUEUE, _MANAGED)
_FINISHED = ("Succeeded", "Failed")
_NO_ANNOTATIONS = PodAnnotations()


def node(wire: WireNode) -> NodeRecord:
    """Make a Node's record.

    Raises:
        ValueError: a quantity is malformed.
    """
    meta, status = wire.metadata, wire.status
    ready = by_type(status.conditions).get("Ready")
    return NodeRecord(
        name=meta.name,
        labels=meta.labels or {},
        allocatable=amounts(status.allocatable or {}),
        created=moment_or(meta.creation_timestamp, 0.0),
        ready=ready is not None and ready.status == TRUE,
        ready_changed=moment(ready.last_transition_time) if ready is not None else None,
        unschedulable=wire.spec.unschedulable is True,
        deleting=meta.deletion_timestamp is not None,
        taints=taints(wire.spec.taints),
        machine=_machine(meta.annotations),
    )


def _machine(annotations: NodeAnnotations | None) -> str | None:
    if annotations is None:
        return None
    named = annotations.openshift or annotations.cluster_api
    return named.rpartition("/")[2] or None if named else None


def pod(wire: WirePod) -> Pod | PlacedPod:
    """Make a pod's record: whole with an extended resource or under Kueue, else its claim only.

    Raises:
        ValueError: a quantity is malformed.
    """
    labels = wire.metadata.labels or {}
    annotations = wire.metadata.annotations or _NO_ANNOTATIONS
    requests = shape(shape_key(wire.spec)).requests
    if asks_extended(requests) or _under_kueue(labels, annotations):
        return _whole(wire, labels, annotations)
    holds_nothing = wire.status.phase in _FINISHED or _is_placeholder(wire, labels)
    return PlacedPod(
        namespace=intern(wire.metadata.namespace),
        name=wire.metadata.name,
        node=None if holds_nothing or not wire.spec.node_name else intern(wire.spec.node_name),
        requests=requests,
    )


def _under_kueue(labels: Labels, annotations: PodAnnotations) -> bool:
    if annotations.workload or annotations.group:
        return True
    return any(key in labels for key in _UNDER_KUEUE)


def _is_placeholder(wire: WirePod, labels: Labels) -> bool:
    return (wire.spec.priority or 0) < 0 or _PLACEHOLDER in labels


def _whole(wire: WirePod, labels: Labels, annotations: PodAnnotations) -> Pod:
    meta, spec, status = wire.metadata, wire.spec, wire.status
    conditions = by_type(status.conditions)
    return Pod(
        namespace=intern(meta.namespace),
        name=meta.name,
        uid=meta.uid,
        phase=intern(status.phase),
        created=moment_or(meta.creation_timestamp, 0.0),
        requests=shape(shape_key(spec)).requests,
        node=intern(spec.node_name) if spec.node_name else None,
        deleting=meta.deletion_timestamp is not None,
        gone_by=moment(meta.deletion_timestamp),
        ready_since=_ready_since(conditions.get("Ready")),
        unschedulable=_unschedulable(conditions.get("PodScheduled")),
        placeholder=_is_placeholder(wire, labels),
        labels=labels,
        workload=annotations.workload or annotations.group or labels.get(_GROUP) or None,
        pod_set=labels.get(_POD_SET),
        owners=owner_refs(meta.owner_references),
        opted_out=opted_out(annotations) or is_true(labels.get(_IGNORE, "")),
    )


def _ready_since(ready: Condition | None) -> float | None:
    """Give since when a pod is Ready; one that does not tell is taken for not Ready."""
    if ready is None or ready.status != TRUE:
        return None
    return moment(ready.last_transition_time)


def _unschedulable(scheduled: Condition | None) -> bool:
    return (
        scheduled is not None and scheduled.status == FALSE and scheduled.reason == "Unschedulable"
    )


# --- targets and owners ------------------------------------------------------------------------


def target(wire: WireTarget, *, kind: str) -> Target:
    """Make the record of a Deployment or StatefulSet.

    Raises:
        ValueError: a quantity is malformed.
    """
    meta, spec = wire.metadata, wire.spec
    return Target(
        kind=kind,
        namespace=meta.namespace,
        name=meta.name,
        replicas=1 if spec.replicas is None else spec.replicas,
        selector=_selector(spec.selector),
        shape=shape(shape_key(spec.template.spec)),
        uid=meta.uid,
        queue_name=(meta.labels.queue_name or None) if meta.labels is not None else None,
        opted_out=opted_out(meta.labels, meta.annotations),
    )


def _selector(wire: Selector) -> tuple[NodeRequirement, ...]:
    return (
        *(
            NodeRequirement(key=key, operator="In", values=(value,))
            for key, value in sorted((wire.match_labels or {}).items())
        ),
        *requirements(wire.match_expressions or ()),
    )
