"""Turn metadata, conditions and the product's own marks into the values of records."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from sys import intern

from scaler.core.model import Instant, OwnerRef
from scaler.core.quantity import instant
from scaler.kube.structs import Condition, Marks, Owner

TRUE = "True"
FALSE = "False"


def moment(time: datetime | None) -> Instant | None:
    """Give a time as an Instant."""
    return None if time is None else time.timestamp()


def moment_or(time: datetime | None, otherwise: Instant) -> Instant:
    """Give a time as an Instant, or what stands in for it."""
    return otherwise if time is None else time.timestamp()


def by_type(conditions: Iterable[Condition] | None) -> dict[str, Condition]:
    """Index conditions by type; of two of one type the last counts."""
    return {each.type: each for each in conditions or ()}


def holds(conditions: Mapping[str, Condition], kind: str) -> bool:
    """Say whether a condition is there and True."""
    found = conditions.get(kind)
    return found is not None and found.status == TRUE


def owner_refs(owners: Iterable[Owner] | None) -> tuple[OwnerRef, ...]:
    """Give owner references as records; kinds and versions are few and shared."""
    if not owners:
        return ()
    return tuple(
        [
            OwnerRef(
                api_version=intern(each.api_version),
                kind=intern(each.kind),
                name=each.name,
                uid=each.uid,
                controller=each.controller is True,
            )
            for each in owners
        ]
    )


def controller_uid(owners: Iterable[Owner] | None) -> str | None:
    """Give the uid of the owner that controls the object."""
    return next((each.uid for each in owners or () if each.controller), None)


def opted_out(*marks: Marks | None) -> bool:
    """Say whether label or annotation `ignore` is `true`, in any letter case."""
    for each in marks:
        if each is not None and each.ignore is not None and is_true(each.ignore):
            return True
    return False


def is_true(text: str) -> bool:
    """Say whether a mark's value is `true`, in any letter case; all else is not."""
    return text.strip().lower() == "true"


def wake_at(annotations: Marks | None) -> Instant | None:
    """Read annotation `wake`: a time, or `now` (0.0: past at any time); a malformed one is none."""
    return instant_or_now(annotations.wake if annotations is not None else None)


def instant_or_now(text: str | None) -> Instant | None:
    """Read a mark's time, or `now` (0.0); a malformed one is none."""
    if text is None:
        return None
    if text.strip().lower() == "now":
        return 0.0
    try:
        return instant(text.strip())
    except ValueError:
        return None
