"""The triggers of a table: found by what a reader looks for, in an order, cut into pages."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from scaler.core.decision import Decision, Status
from scaler.core.model import Kind, ScaledObject
from scaler.core.scales import scale_of
from scaler.core.snapshot import Snapshot
from scaler.core.trigger import TriggerRef
from scaler.status.page.view import ROWS, View
from scaler.store import State

URGENCY = (Status.INVALID, Status.HOLD, Status.OK)
"""What needs a look comes first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """One page of what was found."""

    rows: tuple[tuple[TriggerRef, Decision], ...]
    found: int
    """All that fits, on whichever page."""
    reasons: Mapping[tuple[Status, str], int]
    """How many have each status and reason, whatever reason was asked for."""


def listing(state: State, view: View) -> Listing:
    """Find, order and cut: what needs a look first, then by name."""
    fitting = [one for one in state.decisions.items() if _fits(one, view)]
    reasons = Counter((decision.status, str(decision.reason)) for _, decision in fitting)
    found = [one for one in fitting if _has_reason(one[1], view)]
    found.sort(key=_order)
    return Listing(
        rows=tuple(found[view.offset : view.offset + ROWS]), found=len(found), reasons=reasons
    )


def signal_of(ref: TriggerRef, decision: Decision) -> str:
    """Say which signal a trigger has; `invalid` where it says nothing that is known."""
    if decision.queue is not None:
        return "queue"
    if decision.idle is not None:
        return "idle"
    named = dict(ref.metadata).get("signal", "")
    return named if named in ("queue", "idle") else "invalid"


def trigger_id(ref: TriggerRef) -> str:
    """Name a trigger among those of its ScaledObject; the same in every replica."""
    written = repr(sorted(ref.metadata)).encode("utf-8", "backslashreplace")
    return hashlib.sha256(written).hexdigest()[:10]


def link(ref: TriggerRef, view: View) -> str:
    """Link to a trigger's own page."""
    return view.href(
        "trigger", namespace=ref.namespace, name=ref.name, id=trigger_id(ref), span=view.span
    )


def find(state: State, view: View) -> tuple[TriggerRef, Decision] | None:
    """Find the trigger that a link names; where its metadata changed, the ScaledObject's first."""
    own = [one for one in state.decisions.items() if one[0].key == (view.namespace, view.name)]
    own.sort(key=lambda one: (trigger_id(one[0]) != view.id, one[1].metric))
    return own[0] if own else None


def target_words(snapshot: Snapshot, ref: TriggerRef) -> str:
    """Say what a trigger scales."""
    scaled_object = snapshot.scaled_objects.get(ref.key)
    if scaled_object is not None:
        return f"{scaled_object.target.kind}/{scaled_object.target.name}"
    scale = scale_of(snapshot, ref)
    return "not known" if scale is None else f"WorkerScale/{scale.name}"


def outdated(snapshot: Snapshot, ref: TriggerRef) -> bool:
    """Say whether no ScaledObject has this trigger any more, though it was asked for lately."""
    source = snapshot.sources.get(Kind.SCALED_OBJECTS)
    if source is None or not source.synced:
        return False
    scaled_object = snapshot.scaled_objects.get(ref.key)
    if scaled_object is not None:
        return not _has(scaled_object, ref)
    return scale_of(snapshot, ref) is None


def _has(scaled_object: ScaledObject, ref: TriggerRef) -> bool:
    return any(frozenset(one.metadata) == ref.metadata for one in scaled_object.triggers)


def _fits(one: tuple[TriggerRef, Decision], view: View) -> bool:
    ref, decision = one
    if view.signal and signal_of(ref, decision) != view.signal:
        return False
    if view.namespace and decision.namespace != view.namespace:
        return False
    if not view.words:
        return True
    text = " ".join(_texts(ref, decision)).lower()
    return all(word in text for word in view.words)


def _texts(ref: TriggerRef, decision: Decision) -> Iterator[str]:
    yield f"{decision.namespace}/{decision.name} {decision.metric}"
    yield f"{decision.status} {decision.reason}"
    if decision.idle is not None:
        yield decision.idle.workload
    yield from _values(ref.metadata)


def _values(metadata: Iterable[tuple[str, str]]) -> Iterator[str]:
    return (value for key, value in metadata if key in ("clusterQueue", "pool", "workload"))


def _has_reason(decision: Decision, view: View) -> bool:
    return (not view.reason or decision.reason == view.reason) and (
        not view.state or decision.status == view.state
    )


def _order(one: tuple[TriggerRef, Decision]) -> tuple[int, str, str, str]:
    _, decision = one
    return (
        URGENCY.index(decision.status),
        decision.namespace,
        decision.name,
        decision.metric,
    )
