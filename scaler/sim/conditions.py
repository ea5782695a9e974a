"""Conditions in an object's status, as Kubernetes' controllers write them."""

from scaler.core.model import Instant
from scaler.sim.objects import timestamp
from scaler.sim.patches import Document


def set_condition(
    document: Document, type_: str, *, status: bool, reason: str, message: str, now: Instant
) -> None:
    """Write one condition; lastTransitionTime moves only where True becomes False or back."""
    conditions = document.setdefault("status", {}).setdefault("conditions", [])
    condition = _found(conditions, type_)
    if condition is None:
        condition = {"type": type_}
        conditions.append(condition)
    wanted = str(status)
    if condition.get("status") != wanted:
        condition["lastTransitionTime"] = timestamp(now)
    condition.update(status=wanted, reason=reason, message=message)
    condition["observedGeneration"] = document["metadata"].get("generation", 1)


def condition_of(document: Document, type_: str) -> Document:
    """Give one condition, an empty object where it is absent."""
    return _found(document.get("status", {}).get("conditions", []), type_) or {}


def is_true(document: Document, type_: str) -> bool:
    """Say whether a condition is there and True."""
    return bool(condition_of(document, type_).get("status") == "True")


def _found(conditions: list[Document], type_: str) -> Document | None:
    return next((c for c in conditions if c["type"] == type_), None)
