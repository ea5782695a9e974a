"""Which pool each Workload's pods belong to, and what a pool's value is.

A podset belongs to the pool of its admission's flavor, else of its first candidate flavor, which
is one with quota. Where several pools' nodes bear a flavor's labels, the policy's order decides,
and what the earlier pool can't take at its maxNodes goes to the next. A podset without devices
goes where those with devices of its Workload go, if it has their flavor; else to no pool.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from scaler.core.model import Name, ResourceFlavor
from scaler.core.need import Need, PodNeed
from scaler.core.packing import Packed
from scaler.core.reasons import WorkloadClass
from scaler.core.room import Pods, Room, flavored, items_of

Candidates = tuple[str, ...]
"""Pools that may take pods, in the order in which they are asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """The pods of one Workload that may go to the same pools."""

    need: Need
    pods: Pods
    pools: Candidates
    """Empty: they belong to no pool of the policy."""


def shares_of(
    needs: Iterable[Need], *, rooms: Sequence[Room], flavors: Mapping[str, ResourceFlavor]
) -> tuple[Share, ...]:
    """Cut Workloads by the pools that may take their pods."""
    cuts: dict[int, tuple[tuple[Pods, Candidates], ...]] = {}
    shares: list[Share] = []
    for need in needs:
        if id(need.pods) not in cuts:
            cuts[id(need.pods)] = tuple(_cut(need.pods, rooms=rooms, flavors=flavors))
        shares.extend(
            Share(need=need, pods=pods, pools=pools) for pods, pools in cuts[id(need.pods)]
        )
    return tuple(shares)


def routes(
    shares: Sequence[Share], *, rooms: Sequence[Room], flavors: Mapping[str, ResourceFlavor]
) -> Mapping[tuple[Name, Candidates], str]:
    """Choose one pool for each share that several may take.

    `shares` are those of all ClusterQueues, as they compete. In the order of Kueue, each pool
    takes as many as fit within its maxNodes; what fits nowhere stays with the first.
    """
    taken: defaultdict[str, list[Pods]] = defaultdict(list)
    waiting: defaultdict[Candidates, list[Share]] = defaultdict(list)
    for share in shares:
        if len(share.pools) == 1:
            taken[share.pools[0]].append(share.pods)
        elif share.pools:
            waiting[share.pools].append(share)
    by_name = {room.pool.name: room for room in rooms}
    order = {room.pool.name: number for number, room in enumerate(rooms)}
    chosen: dict[tuple[Name, Candidates], str] = {}
    for pools in sorted(waiting, key=lambda one: [order[name] for name in one]):
        left = sorted(waiting[pools], key=_queue_order)
        for name in pools:
            number = _fitting(left, taken[name], room=by_name[name], flavors=flavors)
            taken[name].extend(share.pods for share in left[:number])
            chosen |= {(share.need.workload.key, pools): name for share in left[:number]}
            left = left[number:]
        chosen |= {(share.need.workload.key, pools): pools[0] for share in left}
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
    items = items_of([(need,)], flavors)
    large = [room for room in suited if all(room.holds(item) for item in items)]
    return tuple(room.pool.name for room in large or suited)


def _has_devices(need: PodNeed) -> bool:
    return any("/" in resource for resource, _ in need.shape.requests)


def _queue_order(share: Share) -> tuple[bool, int, float, str]:
    workload = share.need.workload
    admitted = share.need.workload_class is WorkloadClass.UNPLACED
    return (not admitted, -workload.priority, workload.queued_at, workload.uid)


def _fitting(
    shares: Sequence[Share],
    taken: Sequence[Pods],
    *,
    room: Room,
    flavors: Mapping[str, ResourceFlavor],
) -> int:
    """Give how many of the shares, from the front, fit beside those taken, by bisection."""

    def fits(number: int) -> bool:
        pods = [*taken, *(share.pods for share in shares[:number])]
        return not room.pack(items_of(pods, flavors)).capped

    if fits(len(shares)):
        return len(shares)
    low, high = 0, len(shares)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
