"""Read a WorkerScale's status, and write it: one comes back as it went."""

from collections.abc import Mapping
from datetime import datetime

import msgspec

from scaler.core.model import (
    Amounts,
    HoldRecord,
    Instant,
    Latch,
    ScaleCondition,
    WorkerScaleStatus,
)
from scaler.core.quantity import amounts, format_instant
from scaler.kube.structs_hold import WireHold, WireScaleCondition, WireScaleStatus

Json = Mapping[str, object]

_MALFORMED = (ValueError, OverflowError, RecursionError)
_EMPTY = WorkerScaleStatus()
_status = msgspec.json.Decoder(WireScaleStatus)
_parts = msgspec.json.Decoder(dict[str, msgspec.Raw])


# --- reading -----------------------------------------------------------------------------------


def read(raw: msgspec.Raw) -> WorkerScaleStatus:
    """Read a status; a part that is malformed is as good as absent, and the others count."""
    if not bytes(raw):
        return _EMPTY
    try:
        return _record(_status.decode(raw))
    except _MALFORMED:
        return _readable(raw)


def _readable(raw: msgspec.Raw) -> WorkerScaleStatus:
    try:
        parts = _parts.decode(raw)
    except _MALFORMED:
        return _EMPTY
    kept: dict[str, msgspec.Raw] = {}
    for name, value in parts.items():
        one = msgspec.json.encode({name: value})
        try:
            _record(_status.decode(one))
        except _MALFORMED:
            continue
        kept[name] = value
    return _record(_status.decode(msgspec.json.encode(kept)))


def _record(wire: WireScaleStatus) -> WorkerScaleStatus:
    latch = wire.latch
    return WorkerScaleStatus(
        observed_generation=wire.observed_generation,
        replicas=wire.replicas,
        selector=wire.selector,
        size=wire.size,
        state=wire.state,
        reason=wire.reason,
        message=wire.message,
        hold=_hold(wire.hold) if wire.hold is not None else None,
        latch=Latch(cause=latch.cause, message=latch.message, generation=latch.generation)
        if latch is not None
        else None,
        conditions=tuple(_condition(each) for each in wire.conditions or ()),
    )


def _hold(wire: WireHold) -> HoldRecord:
    return HoldRecord(
        workload=wire.workload,
        workload_uid=wire.workload_uid,
        usage=amounts(wire.usage),
        pod_sets=tuple(sorted((each.name, each.pods) for each in wire.pod_sets)),
        since=_read(wire.since),
        reserved_at=_known(wire.reserved_at),
        evictions=wire.evictions,
        target_uid=wire.target_uid,
        taken_at=_known(wire.taken_at),
        gone_at=_known(wire.gone_at),
        waking_at=_known(wire.waking_at),
        reason=wire.reason,
        ordered=_known(wire.ordered),
    )


def _read(time: datetime) -> Instant:
    """Read a time that can be written again: the schema lets others through too.

    Raises:
        ValueError, OverflowError: in UTC it is of no year from 1 to 9999.
    """
    found = time.timestamp()
    format_instant(found)
    return found


def _known(time: datetime | None) -> Instant | None:
    return None if time is None else _read(time)


def _condition(wire: WireScaleCondition) -> ScaleCondition:
    return ScaleCondition(
        type=wire.type,
        status=wire.status,
        reason=wire.reason,
        message=wire.message,
        changed=_read(wire.last_transition_time),
        observed_generation=wire.observed_generation,
    )


# --- writing -----------------------------------------------------------------------------------


def patch(*, before: WorkerScaleStatus, after: WorkerScaleStatus) -> Json:
    """Give the merge patch of one status into another; null takes a field away.

    Amounts that only `before` has are nulls too: a merge keeps what a map does not name.
    """
    latch = after.latch
    return {
        "observedGeneration": after.observed_generation,
        "replicas": after.replicas,
        "selector": after.selector,
        "size": after.size,
        "state": after.state,
        "reason": after.reason,
        "message": after.message,
        "hold": None if after.hold is None else _hold_patch(before.hold, after.hold),
        "latch": None
        if latch is None
        else {"cause": latch.cause, "message": latch.message, "generation": latch.generation},
        "conditions": [_condition_written(each) for each in after.conditions],
    }


def _hold_patch(before: HoldRecord | None, after: HoldRecord) -> Json:
    gone = dict.fromkeys(dict(before.usage)) if before is not None else {}
    return {
        "workload": after.workload,
        "workloadUid": after.workload_uid,
        "usage": {**gone, **_amounts_written(after.usage)},
        "podSets": [{"name": name, "pods": pods} for name, pods in after.pod_sets],
        "since": format_instant(after.since),
        "reservedAt": _written(after.reserved_at),
        "evictions": after.evictions,
        "targetUid": after.target_uid,
        "takenAt": _written(after.taken_at),
        "goneAt": _written(after.gone_at),
        "wakingAt": _written(after.waking_at),
        "reason": after.reason,
        "ordered": _written(after.ordered),
    }


def _condition_written(condition: ScaleCondition) -> Json:
    return {
        "type": condition.type,
        "status": condition.status,
        "reason": condition.reason,
        "message": condition.message,
        "lastTransitionTime": format_instant(condition.changed),
        "observedGeneration": condition.observed_generation,
    }


def _amounts_written(usage: Amounts) -> dict[str, str]:
    """Write amounts as Kubernetes' quantities."""
    return {name: f"{value}m" if name == "cpu" else str(value) for name, value in usage}


def _written(instant: Instant | None) -> str | None:
    return None if instant is None else format_instant(instant)
