"""Turn ScaledObjects, and the HorizontalPodAutoscalers that KEDA makes, into records."""

from scaler.core.model import Hpa, ScaledObject, TargetRef, TriggerSpec
from scaler.core.quantity import amount
from scaler.kube.decode_meta import FALSE, by_type, moment, moment_or, opted_out, wake_at
from scaler.kube.structs_core import (
    Behavior,
    HpaMetadata,
    HpaStatus,
    ScaledObjectAnnotations,
    ScaleTargetRef,
    WireHpa,
    WireScaledObject,
)

_OPERATOR = "keda-operator"
_MAX_REPLICAS = 100
"""KEDA's default."""
_NOT_PAUSED = frozenset({"0", "f", "F", "false", "FALSE", "False"})
"""What Go's ParseBool reads as false; KEDA takes any other value as paused."""


def scaled_object(wire: WireScaledObject) -> ScaledObject:
    """Make a ScaledObject's record, with KEDA's defaults."""
    meta, spec = wire.metadata, wire.spec
    largest = spec.max_replica_count
    return ScaledObject(
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        created=moment_or(meta.creation_timestamp, 0.0),
        target=_target(spec.scale_target_ref),
        triggers=tuple(
            TriggerSpec(type=each.type, metadata=tuple(sorted((each.metadata or {}).items())))
            for each in spec.triggers or ()
        ),
        min_replicas=spec.min_replica_count or 0,
        max_replicas=_MAX_REPLICAS if largest is None else largest,
        idle_replicas=spec.idle_replica_count,
        paused=_paused(meta.annotations),
        hpa_name=(wire.status.hpa_name or None) if wire.status is not None else None,
        opted_out=opted_out(meta.labels, meta.annotations),
        wake_at=wake_at(meta.annotations),
        deleting=meta.deletion_timestamp is not None,
    )


def _target(wire: ScaleTargetRef) -> TargetRef:
    return TargetRef(
        name=wire.name,
        kind=wire.kind or "Deployment",
        api_version=wire.api_version or "apps/v1",
    )


def _paused(annotations: ScaledObjectAnnotations | None) -> bool:
    if annotations is None:
        return False
    if annotations.paused_replicas is not None:
        return True
    return annotations.paused is not None and annotations.paused not in _NOT_PAUSED


def _tolerance(behavior: Behavior | None) -> str | int | float | None:
    up = behavior.scale_up if behavior is not None else None
    return up.tolerance if up is not None else None


def hpa(wire: WireHpa) -> Hpa | None:
    """Make the record of a HorizontalPodAutoscaler that KEDA made; None for anyone else's.

    Raises:
        ValueError: the tolerance is no quantity.
    """
    if not _made_by_keda(wire.metadata):
        return None
    status = wire.status
    active = by_type(status.conditions).get("ScalingActive")
    inactive = active is not None and active.status == FALSE
    disabled = inactive and active is not None and active.reason == "ScalingDisabled"
    tolerance = _tolerance(wire.spec.behavior)
    return Hpa(
        namespace=wire.metadata.namespace,
        name=wire.metadata.name,
        current_replicas=status.current_replicas,
        desired_replicas=None if _refused(status) else status.desired_replicas,
        scaling_disabled=disabled,
        scaling_failed=inactive and not disabled,
        scaling_active_changed=moment(active.last_transition_time) if active is not None else None,
        last_scale=moment(status.last_scale_time),
        tolerance_up=None if tolerance is None else amount("cpu", tolerance) / 1000,
    )


def _refused(status: HpaStatus) -> bool:
    """Say whether the last sync could not write the size: desiredReplicas is of an earlier one."""
    able = by_type(status.conditions).get("AbleToScale")
    return able is not None and able.status == FALSE and able.reason == "FailedUpdateScale"


def _made_by_keda(meta: HpaMetadata) -> bool:
    labels = meta.labels
    if labels is not None and (labels.scaled_object or labels.managed_by == _OPERATOR):
        return True
    return any(
        owner.kind == "ScaledObject" and owner.api_version.startswith("keda.sh/")
        for owner in meta.owner_references or ()
    )
