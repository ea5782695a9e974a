"""Which pool each Workload's pods belong to, and what a pool's value is.

A podset belongs to the pool of its admission's flavor, else of its first candidate flavor, which
is one with quota. Where several pools' nodes bear a flavor's labels, the policy's order decides,
and what the earlier pool can't take at its maxNodes goes to the next. A podset without devices
goes where those with devices of its Workload go, if it has their flavor; else to no pool.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from scaler.core.demand.need import Need, PodNeed
from scaler.core.model import Name, ResourceFlavor
from scaler.core.nodes.packing import Packed
from scaler.core.nodes.room import Pods, Room, flavored, items_of
from scaler.core.reasons import WorkloadClass

Candidates = tuple[str, ...]
"""Pools that may take pods, in the order in which they are asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """Pods that may go to the same pools, of Workloads that need the same."""

    needs: tuple[Need, ...]
    pods: Pods
    """Of each of the needs."""
    pools: Candidates
    """Empty: they belong to no pool of the policy."""

    @property
    def counted(self) -> tuple[Pods, int]:
        """Give the pods and how many Workloads need them."""
        return self.pods, len(self.needs)


def alike(needs: Iterable[Need]) -> tuple[Share, ...]:
    """Group Workloads that need the same, before any pool is asked."""
    groups: defaultdict[int, list[Need]] = defaultdict(list)
    for need in needs:
        groups[id(need.pods)].append(need)
    return tuple(
        Share(needs=tuple(group), pods=group[0].pods, pools=()) for group in groups.values()
    )


def shares_of(
    groups: Iterable[Share], *, rooms: Sequence[Room], flavors: Mapping[str, ResourceFlavor]
) -> tuple[Share, ...]:
    """Cut Workloads by the pools that may take their pods."""
    return tuple(
        Share(needs=group.needs, pods=pods, pools=pools)
        for group in groups
        for pods, pools in _cut(group.pods, rooms=rooms, flavors=flavors)
    )


def routes(
    shares: Sequence[Share], *, rooms: Sequence[Room], flavors: Mapping[str, ResourceFlavor]
) -> Mapping[tuple[Name, Candidates], str]:
    """Choose one pool for each Workload's pods that several may take.

    `shares` are those of all ClusterQueues, as they compete. In the order of Kueue, each pool
    takes as many as fit within its maxNodes; what fits nowhere stays with the first.
    """
    taken: defaultdict[str, list[tuple[Pods, int]]] = defaultdict(list)
    waiting: defaultdict[Candidates, list[tuple[Need, Pods]]] = defaultdict(list)
    for share in shares:
        if len(share.pools) == 1:
            taken[share.pools[0]].append(share.counted)
        elif share.pools:
            waiting[share.pools].extend((need, share.pods) for need in share.needs)
    by_name = {room.pool.name: room for room in rooms}
    order = {room.pool.name: number for number, room in enumerate(rooms)}
    chosen: dict[tuple[Name, Candidates], str] = {}
    for pools in sorted(waiting, key=lambda one: [order[name] for name in one]):
        left = sorted(waiting[pools], key=_queue_order)
        for name in pools:
            number = _fitting(left, taken[name], room=by_name[name], flavors=flavors)
            taken[name].extend((pods, 1) for _, pods in left[:number])
            chosen |= {(need.workload.key, pools): name for need, _ in left[:number]}
            left = left[number:]
        chosen |= {(need.workload.key, pools): pools[0] for need, _ in left}
    return chosen


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolValue:
    """A pool's value, and whether maxNodes cut it."""

    value: int
    new: int
    """Nodes wanted beyond the size: opened ones, and what is lacking of the spare ones."""
    capped: bool


def pool_value(*, packed: Packed, size: int, spare: int, max_nodes: int) -> PoolValue:
    """Give S + new nodes + the spare nodes that are lacking, never above max(maxNodes, S)."""
    wanted = size + packed.new + max(0, spare - packed.empty)
    value = min(wanted, max(max_nodes, size))
    return PoolValue(value=value, new=value - size, capped=wanted > value or packed.capped > 0)


def _cut(
    pods: Pods, *, rooms: Sequence[Room], flavors: Mapping[str, ResourceFlavor]
) -> Iterable[tuple[Pods, Candidates]]:
    devices = [one for one in pods if _has_devices(one)]
    cuts: defaultdict[Candidates, list[PodNeed]] = defaultdict(list)
    flavor_pools: dict[tuple[str, ...], Candidates] = {}
    for one in devices:
        pools = _candidates(one, rooms=rooms, flavors=flavors)
        cuts[pools].append(one)
        flavor_pools.setdefault(one.flavors[:1], pools)
    for one in pods:
        if not _has_devices(one) and one.flavors and one.flavors[:1] in flavor_pools:
            cuts[flavor_pools[one.flavors[:1]]].append(one)
    return ((tuple(cut), pools) for pools, cut in cuts.items())


def _candidates(
    need: PodNeed, *, rooms: Sequence[Room], flavors: Mapping[str, ResourceFlavor]
) -> Candidates:
    """Give the pools whose labels and devices suit, of these the ones with large enough nodes."""
    shape = flavored(need, flavors)
    suited = [room for room in rooms if room.takes(shape)]
    items = items_of([((need,), 1)], flavors)
    large = [room for room in suited if all(room.holds(item) for item in items)]
    return tuple(room.pool.name for room in large or suited)


def _has_devices(need: PodNeed) -> bool:
    return any("/" in resource for resource, _ in need.shape.requests)


def _queue_order(waiting: tuple[Need, Pods]) -> tuple[bool, int, float, str]:
    need, _ = waiting
    admitted = need.workload_class is WorkloadClass.UNPLACED
    return (not admitted, -need.workload.priority, need.workload.queued_at, need.workload.uid)


def _fitting(
    waiting: Sequence[tuple[Need, Pods]],
    taken: Sequence[tuple[Pods, int]],
    *,
    room: Room,
    flavors: Mapping[str, ResourceFlavor],
) -> int:
    """Give how many of those waiting, from the front, fit beside those taken, by bisection."""

    def fits(number: int) -> bool:
        counted = [*taken, *((pods, 1) for _, pods in waiting[:number])]
        return not room.pack(items_of(counted, flavors)).capped

    if fits(len(waiting)):
        return len(waiting)
    low, high = 0, len(waiting)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
