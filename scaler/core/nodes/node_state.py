"""What one node shows: devices, taints, its age, and what its pods leave of it."""

from collections.abc import Iterable
from typing import Final

from scaler.core.model import Amounts, Instant, Node, Taint
from scaler.core.nodes.packing import PODS
from scaler.core.policy import Pool
from scaler.core.quantity import minus
from scaler.core.snapshot import Snapshot

KUBERNETES: Final = "node.kubernetes.io/"
"""The node controller's taints: they follow a node's state, and say nothing of the next node."""

_JUDGED = frozenset(KUBERNETES + one for one in ("not-ready", "unreachable", "unschedulable"))
"""Taints that only repeat what is judged by the node's own fields."""

_ENDING = 30.0
"""Seconds after its grace period in which a pod may still be taken down."""


def turned(node: Node) -> Instant:
    """Give when it last turned Ready or not."""
    return node.created if node.ready_changed is None else node.ready_changed


def is_young(node: Node, pool: Pool, now: Instant) -> bool:
    """Say whether what a node still lacks may only be on its way."""
    return now - node.created < pool.provisioning_timeout


def _devices(pool: Pool) -> Iterable[str]:
    return (resource for resource, amount in pool.node if "/" in resource and amount)


def has_devices(node: Node, pool: Pool) -> bool:
    """Say whether it shows some of each of the pool's devices."""
    there = dict(node.allocatable)
    return all(there.get(resource, 0) for resource in _devices(pool))


def taints_of(node: Node) -> tuple[Taint, ...]:
    """Give its taints, but for those that only repeat what its own fields say."""
    return tuple(one for one in node.taints if one.key not in _JUDGED)


def is_settled(node: Node, pool: Pool, now: Instant) -> bool:
    """Say whether it is Ready, and old enough to have all that it will have."""
    return node.ready and not node.deleting and not is_young(node, pool, now)


def is_idle(pool: Pool, requested: Amounts) -> bool:
    """Say whether nothing requests the pool's devices."""
    devices = frozenset(_devices(pool))
    return not any(resource in devices and amount for resource, amount in requested)


def held_on(snapshot: Snapshot, node: str, pool: Pool, now: Instant) -> Amounts:
    """Give what a node's pods hold, but for those that will be gone before a new node came.

    Else each preemption, whose victims end in peace, would buy a node that stays.
    """
    held = snapshot.node_requests.get(node, ())
    for pod in snapshot.gpu_pods_by_node.get(node, ()):
        if pod.gone_by is not None and not pod.finished and not pod.placeholder:
            overdue = now - pod.gone_by
            if -pool.provisioning_timeout <= overdue < _ENDING:
                held = minus(held, (*pod.requests, (PODS, 1)))
    return held


def left_of(there: Amounts, requested: Amounts) -> Amounts:
    """Subtract, and keep a resource of which nothing is left: unnamed ones may have no limit."""
    taken = dict(requested)
    return tuple((name, max(0, amount - taken.get(name, 0))) for name, amount in there)
