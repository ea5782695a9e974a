"""What of a pool would have to be larger: its number of nodes, or one node."""

from collections.abc import Iterator
from dataclasses import replace

from scaler.core.decision import Decision, PoolEvidence
from scaler.core.demand.need import Need, PodNeed
from scaler.core.model import Amounts
from scaler.core.nodes.fleet import belongs
from scaler.core.nodes.node_state import has_devices, is_young
from scaler.core.policy import Policy, Pool
from scaler.core.quantity import format_duration, several
from scaler.core.queue.nodes import pool_asked
from scaler.core.remedy.growing import Growing
from scaler.core.remedy.remedy import Lever, Remedy, amount_told, outcome_told
from scaler.core.remedy.what_if import Asked, least, outcome_of

_MOST_NODES = 1 << 20
_SHAPES_SHOWN = 3
_NODES_SHOWN = 3


def nodes_remedies(growing: Growing) -> Iterator[Remedy]:
    """Give what the pool's maxNodes, or a node of it, would have to be."""
    pool = growing.pool
    if pool is not None and pool.capped:
        yield from _more_nodes(growing, pool)
    if pool is not None and pool.pods_fit_no_node:
        yield from _larger_node(growing, pool)
    if pool is not None and pool.coming + pool.broken:
        yield from _bare_nodes(growing)


def _more_nodes(growing: Growing, pool: PoolEvidence) -> Iterator[Remedy]:
    enough = least(lambda more: not _capped(_with_more(growing, more)), most=_MOST_NODES)
    if enough is None:
        return
    named = growing.trigger.pool is not None
    limit = "maxNodes" if named else "maxReplicaCount"
    then = outcome_of(_with_more(growing, enough))
    told = outcome_told(then, growing.asked.decision.value)
    yield Remedy(
        lever=Lever.MAX_NODES if named else Lever.MAX_REPLICAS,
        subject=f"pool/{pool.pool}",
        more=(("nodes", enough),),
        text=(
            f"needs {several(enough, 'more node')} of pool {pool.pool}, and {limit} "
            f"{pool.max_nodes} caps it: with {limit} {pool.max_nodes + enough} {told}"
        ),
        then=then,
    )


def _with_more(growing: Growing, more: int) -> Decision:
    asked, name, scaled_object = growing.asked, growing.trigger.pool, growing.scaled_object
    if name is not None:
        there = asked.policy.pools[name]
        larger = replace(there, max_nodes=there.max_nodes + more)
        return asked.decide(policy=_with_pool(asked, larger))
    if scaled_object is None:
        return asked.decision
    raised = replace(scaled_object, max_replicas=scaled_object.max_replicas + more)
    changed = {**asked.snapshot.scaled_objects, scaled_object.key: raised}
    return asked.decide(snapshot=replace(asked.snapshot, scaled_objects=changed))


def _with_pool(asked: Asked, pool: Pool) -> Policy:
    return replace(asked.policy, pools={**asked.policy.pools, pool.name: pool})


def _capped(decision: Decision) -> bool:
    pool = None if decision.queue is None else decision.queue.pool
    return pool is not None and pool.capped


def _bare_nodes(growing: Growing) -> Iterator[Remedy]:
    """Name what is Ready and shows no devices: most often no device plugin runs there."""
    pool, now = pool_asked(growing.question), growing.asked.now
    if pool is None:
        return
    bare = [
        node
        for _, node in sorted(growing.asked.snapshot.nodes.items())
        if belongs(node, pool) and node.ready and not node.deleting and not node.unschedulable
        if not has_devices(node, pool)
    ]
    for young in (True, False):
        names = [node.name for node in bare if is_young(node, pool, now) is young]
        if names:
            yield _bare(pool, names, young=young)


def _bare(pool: Pool, names: list[str], *, young: bool) -> Remedy:
    devices = ", ".join(name for name, amount in pool.node if "/" in name and amount)
    shown = ", ".join(names[:_NODES_SHOWN])
    more = f" and {len(names) - _NODES_SHOWN} more" if len(names) > _NODES_SHOWN else ""
    timeout = format_duration(pool.provisioning_timeout)
    stands = (
        f"it is coming until provisioningTimeout {timeout} is over"
        if young
        else f"it is broken, since provisioningTimeout {timeout} is over"
    )
    return Remedy(
        lever=Lever.DEVICES,
        subject=f"pool/{pool.name}",
        text=f"node {shown}{more} is Ready, but shows no {devices} yet (does its device plugin run "
        f"there?): {stands}",
    )


def _larger_node(growing: Growing, pool: PoolEvidence) -> Iterator[Remedy]:
    """Name each pod that asks for more than a node has; of others only their number is known."""
    there = pool_asked(growing.question)
    large = [] if there is None else list(_too_large(growing.needs, there))
    shown: set[Amounts] = set()
    for need, pod, lacks in large:
        if lacks not in shown and len(shown) < _SHAPES_SHOWN and there is not None:
            shown.add(lacks)
            yield _larger(growing, there, need, pod, lacks)
    if not large:
        yield Remedy(
            lever=Lever.NODE,
            subject=f"pool/{pool.pool}",
            text=(
                f"{several(pool.pods_fit_no_node, 'pod')} would fit a node of pool {pool.pool} by "
                "size: its nodes' labels, taints, domains or what other pods leave of them "
                "don't suit"
            ),
        )


def _too_large(needs: tuple[Need, ...], pool: Pool) -> Iterator[tuple[Need, PodNeed, Amounts]]:
    """Find the pods of the pool's devices of which one asks for more than a node offers."""
    node = dict(pool.node)
    for need in needs:
        for pod in need.pods:
            asks = dict(pod.shape.requests)
            devices = {name for name in asks if "/" in name}
            lacks = tuple(
                (name, amount)
                for name, amount in sorted(asks.items())
                if amount > node.get(name, 0)
                if not pool.open_ended or name in node
            )
            if devices and devices <= node.keys() and lacks:
                yield need, pod, lacks


def _larger(growing: Growing, pool: Pool, need: Need, pod: PodNeed, lacks: Amounts) -> Remedy:
    asked, node = growing.asked, dict(pool.node)
    said = " and ".join(
        f"asks {amount_told(name, amount)}, a node of pool {pool.name} has "
        f"{amount_told(name, node.get(name, 0))}"
        for name, amount in lacks
    )
    then = None
    if growing.trigger.pool is not None:
        larger = replace(pool, node=tuple(sorted({**node, **dict(lacks)}.items())))
        then = outcome_of(asked.decide(policy=_with_pool(asked, larger)))
    workload = "/".join(need.workload.key)
    told = "" if then is None else f": with that {outcome_told(then, asked.decision.value)}"
    return Remedy(
        lever=Lever.NODE,
        subject=f"workload/{workload}",
        more=tuple((name, amount - node.get(name, 0)) for name, amount in lacks),
        text=f"a pod of Workload {workload} ({pod.pod_set}) fits no node: it {said}{told}",
        then=then,
    )
