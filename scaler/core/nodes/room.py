"""A pool with its nodes, its size and what may still be opened: what needs are packed into."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from scaler.core.constraints import admits, agree, tolerations_of
from scaler.core.demand.need import PodNeed
from scaler.core.model import Amounts, Instant, PodShape, ResourceFlavor, TargetRef, Toleration
from scaler.core.nodes.bins import UNLIMITED, Stage
from scaler.core.nodes.fleet import Fleet, fleet_of
from scaler.core.nodes.packing import PODS, Item, Packed, Space, pack
from scaler.core.policy import Pool
from scaler.core.snapshot import Snapshot

Pods = tuple[PodNeed, ...]
"""The pods of a Workload that belong to one pool, shared between equal Workloads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """A pool and the nodes that may count for it."""

    pool: Pool
    fleet: Fleet
    spaces: tuple[Space, ...]
    max_new: int
    """Nodes that may still be opened."""

    def pack(self, items: Sequence[Item]) -> Packed:
        """Pack onto the pool's nodes, then onto new ones."""
        node = self._new_node(items)
        return pack(
            items,
            [one if one.complete else replace(one, free=node) for one in self.spaces],
            node=node,
            max_new=self.max_new,
            labels=self.fleet.labels,
            may_bear=self.fleet.may_bear,
            taints=self.fleet.taints,
        )

    def _new_node(self, items: Sequence[Item]) -> Amounts:
        """Give what a new node will offer: what the policy says, but no more than those that came.

        A pool that names only its devices' number limits nothing else.
        """
        asked = {name for item in items for name, _ in item.shape.requests}
        node = {name: UNLIMITED for name in asked if self.pool.open_ended or "/" not in name}
        node |= dict(self.pool.node)
        if self.fleet.offered is not None:
            shown = {PODS: UNLIMITED, **dict(self.fleet.offered)}
            node = {name: min(amount, shown.get(name, 0)) for name, amount in node.items()}
        return tuple(sorted(node.items()))

    def takes(self, shape: PodShape) -> bool:
        """Say whether the pod may go to the pool's nodes, whatever their size and taints."""
        offered = {name for name, amount in self.pool.node if amount}
        asked = {name for name, _ in shape.requests if "/" in name}
        devices = offered <= asked if self.pool.open_ended else asked <= offered
        return devices and admits(shape, self.fleet.labels, (), complete=False)

    def holds(self, item: Item) -> bool:
        """Say whether empty nodes of the pool would hold the pods that must be together."""
        one = replace(item, count=item.together)
        empty = replace(self, spaces=(), max_new=max(self.pool.max_nodes, 1))
        return empty.pack([one]).on_new == one.count


def total_room(
    *,
    snapshot: Snapshot,
    pool: Pool,
    tolerations: Iterable[Toleration],
    size: int,
    resized_at: Instant | None,
    since: Instant | None = None,
    target: TargetRef | None = None,
    now: Instant,
) -> Room:
    """Take all nodes into account, those that are coming too; growth counts from the size.

    `since` is when the oldest of the needs began.
    """
    fleet = fleet_of(
        snapshot=snapshot,
        pool=pool,
        tolerations=(*tolerations, *_own_tolerations(pool, snapshot.flavors.values())),
        size=size,
        resized_at=resized_at,
        since=since,
        target=target,
        now=now,
    )
    return Room(pool=pool, fleet=fleet, spaces=fleet.spaces, max_new=max(0, pool.max_nodes - size))


def pending_room(
    *,
    snapshot: Snapshot,
    pool: Pool,
    tolerations: Iterable[Toleration],
    since: Instant | None = None,
    now: Instant,
) -> Room:
    """Take only usable nodes into account, so that what is coming still counts as needed."""
    fleet = fleet_of(
        snapshot=snapshot,
        pool=pool,
        tolerations=(*tolerations, *_own_tolerations(pool, snapshot.flavors.values())),
        size=None,
        resized_at=None,
        since=since,
        now=now,
    )
    return Room(
        pool=pool,
        fleet=fleet,
        spaces=tuple(one for one in fleet.spaces if one.stage is Stage.USABLE),
        max_new=max(0, pool.max_nodes - fleet.usable - fleet.broken),
    )


def items_of(
    counted: Iterable[tuple[Pods, int]], flavors: Mapping[str, ResourceFlavor]
) -> tuple[Item, ...]:
    """Count pods by shape; `counted` says how many Workloads need the same pods.

    A flavor's node labels and tolerations come with admission, so they count too.
    """
    counts: Counter[int] = Counter()
    shared: dict[int, Pods] = {}
    for pods, workloads in counted:
        counts[id(pods)] += workloads
        shared[id(pods)] = pods
    totals: Counter[Item] = Counter()
    for key, workloads in counts.items():
        for one in shared[key]:
            for item in _items(one, flavors):
                totals[replace(item, count=item.together)] += item.count * workloads
    return tuple(replace(item, count=count) for item, count in totals.items())


def tolerations_in(parts: Iterable[Pods]) -> frozenset[Toleration]:
    """Give every toleration that any of the pods has."""
    return frozenset(
        toleration for pods in parts for one in pods for toleration in tolerations_of(one.shape)
    )


def flavored(need: PodNeed, flavors: Mapping[str, ResourceFlavor]) -> PodShape:
    """Give the shape that the pods have once they start under their flavor."""
    flavor = flavors.get(need.flavors[0]) if need.flavors else None
    if flavor is None or not (flavor.node_labels or flavor.tolerations):
        return need.shape
    selector = {**dict(need.shape.node_selector), **dict(flavor.node_labels)}
    return replace(
        need.shape,
        node_selector=tuple(sorted(selector.items())),
        tolerations=(*need.shape.tolerations, *flavor.tolerations),
    )


def _items(need: PodNeed, flavors: Mapping[str, ResourceFlavor]) -> Iterable[Item]:
    """Give one Item for the pods of a podset, two where its slices leave a rest."""
    if need.shape.dra_only or need.count <= 0:
        return
    shape, topology = flavored(need, flavors), need.topology
    if topology is not None and topology.required is not None:
        yield Item(shape=shape, count=need.count, level=topology.required, together=need.count)
    elif topology is not None and topology.slice_level is not None and topology.slice_size:
        rest = need.count % topology.slice_size
        for count, together in ((need.count - rest, topology.slice_size), (rest, rest)):
            if count:
                yield Item(shape=shape, count=count, level=topology.slice_level, together=together)
    else:
        yield Item(shape=shape, count=need.count)


def _own_tolerations(pool: Pool, flavors: Iterable[ResourceFlavor]) -> Iterable[Toleration]:
    """Give what the pool's flavors tolerate or declare, and the pool's devices as taint keys."""
    selector = dict(pool.node_selector)
    for flavor in flavors:
        if agree(flavor.node_labels, selector):
            yield from flavor.tolerations
            yield from (
                Toleration(key=one.key, value=one.value, effect=one.effect) for one in flavor.taints
            )
    yield from (
        Toleration(key=resource, operator="Exists") for resource, _ in pool.node if "/" in resource
    )
