"""A queue signal in nodes: the pool, the Workloads that belong to it, and what packing gives."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from scaler.core.claims import claim_of, owner_of
from scaler.core.decision import PoolEvidence
from scaler.core.demand import demand
from scaler.core.fleet import belongs, resized_at
from scaler.core.model import Instant, ScaledObject
from scaler.core.need import Demand, Need
from scaler.core.packing import Packed
from scaler.core.policy import Policy, Pool
from scaler.core.pool import Share, pool_value, routes, shares_of
from scaler.core.reasons import WorkloadClass
from scaler.core.room import Room, items_of, pending_room, tolerations_in, total_room
from scaler.core.schedule import spare_nodes
from scaler.core.size import Size, size_of
from scaler.core.snapshot import Snapshot
from scaler.core.trigger import QueueTrigger, TriggerRef

_LARGEST = 2**31 - 1
"""Replicas are int32."""

_PATIENCE = 60.0
"""Seconds that Kueue has to place what fits before it counts as disagreeing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A queue trigger, and all that its answer is made of."""

    snapshot: Snapshot
    ref: TriggerRef
    trigger: QueueTrigger
    policy: Policy
    now: Instant
    scaled_object: ScaledObject | None
    size: Size

    def ripe(self, need: Need) -> bool:
        """Say whether a Workload has waited for scaleUpDelay."""
        return self.now - need.since >= self.trigger.scale_up_delay


@dataclass(frozen=True, slots=True, kw_only=True)
class Nodes:
    """A number of nodes and how it came about."""

    value: int
    floor: int
    """What the value is without any demand."""
    pool: PoolEvidence
    packed: Packed
    workloads: int
    """Workloads that make demand in this pool."""
    topology_disagrees: bool
    every_queue: bool
    """Workloads of all ClusterQueues competed for the pools."""


def pool_asked(question: Question) -> Pool | None:
    """Give the pool of the policy, or the nameless one of gpusPerNode; None = there is none.

    The nameless pool has no maxNodes of its own: the ScaledObject's maximum stands for it.
    """
    trigger, scaled_object = question.trigger, question.scaled_object
    if trigger.pool is not None:
        return question.policy.pools.get(trigger.pool)
    if trigger.gpus_per_node is None:
        return None
    return Pool(
        name=f"gpusPerNode={trigger.gpus_per_node}",
        node_selector=(),
        node=((trigger.resource, trigger.gpus_per_node),),
        max_nodes=_LARGEST if scaled_object is None else scaled_object.max_replicas,
    )


def nodes_of(question: Question, *, pool: Pool, found: Demand, size: int | None) -> Nodes:
    """Pack what belongs to the pool; `size` is S, None where the scope is `pending`."""
    snapshot, now = question.snapshot, question.now
    rooms = _rooms(question, pool=pool, size=size, needs=found.needs)
    shares, every_queue = _own(question, pool=pool, found=found, rooms=rooms)
    ripe = [one for one in shares if question.ripe(one.need)]
    room = next(one for one in rooms if one.pool.name == pool.name)
    if size is None:
        tolerations = tolerations_in(one.pods for one in ripe)
        room = pending_room(snapshot=snapshot, pool=pool, tolerations=tolerations, now=now)
    packed = room.pack(items_of((one.pods for one in ripe), snapshot.flavors))
    spare = spare_nodes(question.policy, pool, now)
    floor = 0 if size is None else size
    total = pool_value(
        packed=packed,
        size=floor,
        spare=spare,
        max_nodes=room.max_new if size is None else pool.max_nodes,
    )
    return Nodes(
        value=total.value,
        floor=floor,
        pool=PoolEvidence(
            pool=pool.name,
            present=room.fleet.present,
            usable=room.fleet.usable,
            coming=room.fleet.coming,
            broken=room.fleet.broken,
            new=packed.new,
            empty=packed.empty,
            spare=spare,
            max_nodes=pool.max_nodes,
            size=question.size.value,
            capped=total.capped,
            pods_placed=packed.placed,
            pods_fit_no_node=packed.fits_no_node,
        ),
        packed=packed,
        workloads=len({one.need.workload.key for one in ripe}),
        topology_disagrees=_disagrees(ripe, packed=packed, room=room, now=now),
        every_queue=every_queue,
    )


def _rooms(
    question: Question, *, pool: Pool, size: int | None, needs: Sequence[Need]
) -> tuple[Room, ...]:
    """Give every pool of the policy that may compete for the needs, in the policy's order."""
    named = question.trigger.pool is not None
    tolerations = tolerations_in(one.pods for one in needs)
    rooms = []
    for one in question.policy.pools.values() if named else (pool,):
        own = size is not None and one.name == pool.name
        owner = (
            question.scaled_object if own or not named else owner_of(question.snapshot, one.name)
        )
        rooms.append(
            total_room(
                snapshot=question.snapshot,
                pool=one,
                tolerations=tolerations,
                size=size if own and size is not None else _size(question, one, owner),
                resized_at=resized_at(snapshot=question.snapshot, scaled_object=owner),
                now=question.now,
            )
        )
    return tuple(rooms)


def _size(question: Question, pool: Pool, owner: ScaledObject | None) -> int:
    """Give the size of another's pool; where it can't be read, its present nodes."""
    snapshot = question.snapshot
    trigger = None if owner is None else claim_of(owner, pool.name)
    if trigger is not None:
        size = size_of(
            snapshot=snapshot,
            scaled_object=owner,
            policy=question.policy,
            trigger=trigger,
            now=question.now,
        )
        if size.value is not None:
            return size.value
    return sum(belongs(node, pool) for node in snapshot.nodes.values())


def _own(
    question: Question, *, pool: Pool, found: Demand, rooms: Sequence[Room]
) -> tuple[Sequence[Share], bool]:
    """Give what belongs to the trigger's pool, and whether all ClusterQueues had to be asked."""
    flavors, trigger = question.snapshot.flavors, question.trigger
    shares = [
        one
        for one in shares_of(found.needs, rooms=rooms, flavors=flavors)
        if pool.name in one.pools
    ]
    if all(len(one.pools) == 1 for one in shares):
        return shares, False
    everybody = demand(
        snapshot=question.snapshot,
        cluster_queues=tuple(sorted(question.snapshot.cluster_queues)),
        resource=trigger.resource,
        flavor=None,
        quota_follows_nodes=trigger.quota_follows_nodes,
        provisioning_timeout=pool.provisioning_timeout,
        now=question.now,
    )
    chosen = routes(
        shares_of(everybody.needs, rooms=rooms, flavors=flavors), rooms=rooms, flavors=flavors
    )
    own = [
        one
        for one in shares
        if chosen.get((one.need.workload.key, one.pools), one.pools[0]) == pool.name
    ]
    return own, True


def _disagrees(shares: Iterable[Share], *, packed: Packed, room: Room, now: Instant) -> bool:
    """Say whether all fits on usable nodes, while Kueue has long said that some doesn't."""
    if packed.new or packed.on_coming or packed.capped or packed.fits_no_node:
        return False
    ready = room.fleet.newest_ready or 0.0
    return any(
        one.need.workload_class is WorkloadClass.TOPOLOGY
        and now - max(ready, one.need.since, one.need.workload.waiting_since) > _PATIENCE
        for one in shares
    )
