"""A queue signal in nodes: the pool, the Workloads that belong to it, and what packing gives."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from scaler.core.decision import PoolEvidence
from scaler.core.demand.need import Demand, Need
from scaler.core.demand.total import demand
from scaler.core.model import Instant, Name, ScaledObject
from scaler.core.nodes.fleet import belongs, resized_at
from scaler.core.nodes.packing import Packed
from scaler.core.nodes.pool import Candidates, Share, alike, pool_value, routes, shares_of
from scaler.core.nodes.room import Room, items_of, pending_room, tolerations_in, total_room
from scaler.core.policy import Policy, Pool
from scaler.core.queue.claims import claim_of, owner_of
from scaler.core.reasons import WorkloadClass
from scaler.core.schedule import spare_nodes
from scaler.core.size import Size, labels_asked, size_of
from scaler.core.snapshot import Snapshot
from scaler.core.trigger import QueueTrigger, TriggerRef

_LARGEST = 2**31 - 1
"""Replicas are int32."""

_PATIENCE = 60.0
"""Seconds that Kueue has to place what fits before it counts as disagreeing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueQuestion:
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
        delay = self.trigger.scale_up_delay
        return not delay or self.now - need.since >= delay

    def ripened(self, needs: tuple[Need, ...]) -> tuple[Need, ...]:
        """Give the Workloads that have waited for scaleUpDelay."""
        if not self.trigger.scale_up_delay:
            return needs
        return tuple(need for need in needs if self.ripe(need))


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


def pool_asked(question: QueueQuestion) -> Pool | None:
    """Give the pool of the policy, or the nameless one of gpusPerNode; None = there is none.

    The nameless pool has no maxNodes of its own: the ScaledObject's maximum stands for it. Where
    the trigger names a ResourceFlavor its nodes are that flavor's; other nodes with such devices
    would be taken for the target's own, and hide those that are still to come.
    """
    trigger, scaled_object = question.trigger, question.scaled_object
    if trigger.pool is not None:
        return question.policy.pools.get(trigger.pool)
    if trigger.gpus_per_node is None:
        return None
    return Pool(
        name=f"gpusPerNode={trigger.gpus_per_node}",
        node_selector=labels_asked(snapshot=question.snapshot, trigger=trigger),
        node=((trigger.resource, trigger.gpus_per_node),),
        max_nodes=_LARGEST if scaled_object is None else scaled_object.max_replicas,
        open_ended=True,
    )


def nodes_of(question: QueueQuestion, *, pool: Pool, found: Demand, size: int | None) -> Nodes:
    """Pack what belongs to the pool; `size` is S, None where the scope is `pending`."""
    groups = alike(found.needs)
    rooms = _rooms(question, pool=pool, size=size, groups=groups)
    shares, every_queue = _own(question, pool=pool, groups=groups, rooms=rooms)
    room = next(one for one in rooms if one.pool.name == pool.name)
    if size is None:
        room = pending_room(
            snapshot=question.snapshot,
            pool=pool,
            tolerations=tolerations_in(one.pods for one in shares),
            since=_since(shares),
            now=question.now,
        )
    packed = room.pack(items_of((one.counted for one in shares), question.snapshot.flavors))
    spare = spare_nodes(question.policy, pool, question.now)
    total = pool_value(
        packed=packed,
        size=0 if size is None else size,
        spare=spare,
        max_nodes=room.max_new if size is None else pool.max_nodes,
    )
    return Nodes(
        value=total.value,
        floor=0 if size is None else size,
        pool=_evidence(room, packed, spare=spare, capped=total.capped, size=question.size.value),
        packed=packed,
        workloads=len({id(need) for share in shares for need in share.needs}),
        topology_disagrees=_disagrees(shares, packed=packed, room=room, now=question.now),
        every_queue=every_queue,
    )


def _evidence(
    room: Room, packed: Packed, *, spare: int, capped: bool, size: int | None
) -> PoolEvidence:
    return PoolEvidence(
        pool=room.pool.name,
        present=room.fleet.present,
        usable=room.fleet.usable,
        coming=room.fleet.coming,
        broken=room.fleet.broken,
        new=packed.new,
        empty=packed.empty,
        spare=spare,
        max_nodes=room.pool.max_nodes,
        size=size,
        capped=capped,
        pods_placed=packed.placed,
        pods_fit_no_node=packed.fits_no_node,
    )


def _rooms(
    question: QueueQuestion, *, pool: Pool, size: int | None, groups: Iterable[Share]
) -> tuple[Room, ...]:
    """Give every pool of the policy that may compete for the needs, in the policy's order."""
    named = question.trigger.pool is not None
    tolerations, since = tolerations_in(one.pods for one in groups), _since(groups)
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
                resized_at=_resized_at(question, owner, own=own),
                since=since,
                target=None if owner is None else owner.target,
                now=question.now,
            )
        )
    return tuple(rooms)


def _resized_at(
    question: QueueQuestion, owner: ScaledObject | None, *, own: bool
) -> Instant | None:
    """Give when the size last changed; of our own target where no HPA tells: just now.

    What is missing of its size may be coming. Taken for broken it would be asked for at each
    poll again, and the size run away to the pool's maximum.
    """
    known = resized_at(snapshot=question.snapshot, scaled_object=owner)
    return question.now if known is None and own and owner is not None else known


def _since(shares: Iterable[Share]) -> Instant | None:
    """Give when the oldest of the needs began."""
    return min((need.since for share in shares for need in share.needs), default=None)


def _size(question: QueueQuestion, pool: Pool, owner: ScaledObject | None) -> int:
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
    question: QueueQuestion, *, pool: Pool, groups: Iterable[Share], rooms: Sequence[Room]
) -> tuple[Sequence[Share], bool]:
    """Give what belongs to the pool and is ripe; and whether all ClusterQueues had to be asked."""
    flavors = question.snapshot.flavors
    suited = [
        one for one in shares_of(groups, rooms=rooms, flavors=flavors) if pool.name in one.pools
    ]
    every_queue = any(len(one.pools) > 1 for one in suited)
    chosen = _routes(question, pool=pool, rooms=rooms) if every_queue else {}
    own: list[Share] = []
    for share in suited:
        needs = question.ripened(share.needs)
        if len(share.pools) > 1:
            first = share.pools[0]
            needs = tuple(
                need
                for need in needs
                if chosen.get((need.workload.key, share.pools), first) == pool.name
            )
        if needs:
            own.append(replace(share, needs=needs))
    return own, every_queue


def _routes(
    question: QueueQuestion, *, pool: Pool, rooms: Sequence[Room]
) -> Mapping[tuple[Name, Candidates], str]:
    """Choose pools over the needs of all ClusterQueues, so that every trigger sees the same."""
    everybody = demand(
        snapshot=question.snapshot,
        cluster_queues=tuple(sorted(question.snapshot.cluster_queues)),
        resource=question.trigger.resource,
        flavor=None,
        quota_follows_nodes=question.trigger.quota_follows_nodes,
        provisioning_timeout=pool.provisioning_timeout,
        now=question.now,
    )
    flavors = question.snapshot.flavors
    shares = shares_of(alike(everybody.needs), rooms=rooms, flavors=flavors)
    return routes(shares, rooms=rooms, flavors=flavors)


def _disagrees(shares: Iterable[Share], *, packed: Packed, room: Room, now: Instant) -> bool:
    """Say whether all fits on usable nodes, while Kueue has long said that some doesn't."""
    if packed.new or packed.on_coming or packed.capped or packed.fits_no_node:
        return False
    ready = room.fleet.newest_ready or 0.0
    return any(
        need.workload_class is WorkloadClass.TOPOLOGY
        and now - max(ready, need.since, need.workload.waiting_since) > _PATIENCE
        for share in shares
        for need in share.needs
    )
