"""Which ScaledObject sizes a pool: only one may, as two would shrink each other's nodes."""

from scaler.core.metadata import parse
from scaler.core.model import ScaledObject
from scaler.core.snapshot import Snapshot
from scaler.core.trigger import QueueTrigger, Scope, Unit


def owner_of(snapshot: Snapshot, pool: str) -> ScaledObject | None:
    """Give the ScaledObject that sizes the pool: the oldest that is not paused, then by name."""
    claims = (
        one
        for one in snapshot.scaled_objects.values()
        if not one.paused and not one.deleting and claim_of(one, pool) is not None
    )
    return min(claims, key=lambda one: (one.created, one.key), default=None)


def claim_of(scaled_object: ScaledObject, pool: str) -> QueueTrigger | None:
    """Give the trigger by which a ScaledObject sizes the pool as a whole."""
    for spec in scaled_object.triggers:
        # A look at the pair first: most triggers size no pool, and parsing all of them costs.
        if ("pool", pool) not in spec.metadata or spec.signal != "queue":
            continue
        trigger = parse(dict(spec.metadata))
        if isinstance(trigger, QueueTrigger) and sizes_pool(trigger):
            return trigger
    return None


def sizes_pool(trigger: QueueTrigger) -> bool:
    """Say whether the value is the size of a whole pool, not what is needed beyond it."""
    return trigger.unit is Unit.NODES and trigger.scope is Scope.TOTAL
