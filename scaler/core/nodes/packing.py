"""Pack counted pod shapes onto nodes: first-fit-decreasing by dominant share.

Shapes are placed as whole counts by integer division, never pod by pod, and equal nodes are one
bin, so the cost grows with the number of distinct shapes and of distinct nodes. Nodes are tried
fullest first: those with work before idle ones, usable before coming, new ones last.
First-fit-decreasing opens at most 11/9 of the fewest possible nodes (plus one), and exactly the
fewest for GPU-only pods of which each size divides the next and the node.
"""

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from scaler.core.constraints import HOSTNAME, admits
from scaler.core.model import Amounts, PodShape, Taint
from scaler.core.nodes.bins import UNLIMITED, Ask, Bin, Bins, Stage, fits

PODS = "pods"


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """Pods of one shape that need a place."""

    shape: PodShape
    count: int
    level: str | None = None
    """Node label of which one domain must hold `together` of the pods; None = anywhere."""
    together: int = 1
    """Divides count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """What a node still offers."""

    free: Amounts
    """A resource that is not named here is not there, but for `pods`: without a limit. One of
    which nothing is left is named with 0."""
    labels: Mapping[str, str]
    taints: tuple[Taint, ...] = ()
    stage: Stage = Stage.USABLE
    idle: bool = True
    """Holds no work yet."""
    complete: bool = True
    """False before the Node exists: it may bear other labels too, and what `free` does not name
    is limited only where it is an extended resource."""
    labelled: bool = True
    """False while the Node is young: labels may still come."""
    may_bear: Container[str] | None = None
    """Keys of labels that may come; None = any."""
    count: int = 1
    """Equal nodes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """Where the pods went: each is in exactly one of placed, on_new, capped and fits_no_node."""

    new: int
    """Nodes opened."""
    empty: int
    """Given nodes that hold no work afterwards."""
    placed: int
    """Pods on given nodes."""
    on_coming: int
    """The part of `placed` that waits for a coming node."""
    on_new: int
    """Pods on nodes opened."""
    capped: int
    """Pods that new nodes would take, were more of them allowed."""
    fits_no_node: int
    """Pods that found no room and fit no empty node."""


def pack(
    pods: Sequence[Item],
    nodes: Sequence[Space],
    *,
    node: Amounts,
    max_new: int,
    labels: Mapping[str, str] | None = None,
    may_bear: Container[str] | None = None,
    taints: tuple[Taint, ...] = (),
) -> Packed:
    """Place pods onto nodes, then onto at most `max_new` new ones.

    Each new one offers `node` and bears `labels` and `taints`; it may bear other labels too, of
    the keys in `may_bear` (None = of any). A native resource (cpu, memory) that `node` does not
    name is not limited, an extended one is not there.
    """
    fresh = Space(
        free=node,
        labels=labels or {},
        taints=taints,
        stage=Stage.NEW,
        complete=False,
        may_bear=may_bear,
        count=max(0, max_new),
    )
    packing = _Packing.of(pods=pods, nodes=nodes, fresh=fresh)
    for item in sorted(pods, key=packing.order):
        packing.add(item)
    return packing.result()


class _Sort(NamedTuple):
    """What pods can tell of a node: taints, and the labels that any of them asks about."""

    labels: tuple[tuple[str, str], ...]
    taints: tuple[Taint, ...]
    complete: bool
    absent: tuple[str, ...]


@dataclass(slots=True, kw_only=True)
class _Packing:
    """Pods and nodes translated into numbers, and the sums of what was placed."""

    places: Mapping[str, int]
    """Place of each resource in the bins' tuples."""
    sorts: tuple[_Sort, ...]
    bins: Bins
    pods: Counter[Stage] = field(default_factory=Counter)
    capped: int = 0
    fits_no_node: int = 0

    @classmethod
    def of(cls, *, pods: Sequence[Item], nodes: Sequence[Space], fresh: Space) -> "_Packing":
        names = {resource for item in pods for resource, _ in item.shape.requests} - {PODS}
        places = {name: place for place, name in enumerate([*sorted(names), PODS])}
        keys = frozenset(_asked_labels(pods))
        found = [_sort_of(space, keys) for space in (fresh, *nodes)]
        numbers = {sort: number for number, sort in enumerate(sorted(set(found), key=repr))}
        counts: Counter[Bin] = Counter()
        for space, sort in zip(nodes, found[1:], strict=True):
            counts[_bin(space, numbers[sort], places)] += space.count
        return cls(
            places=places,
            sorts=tuple(numbers),
            bins=Bins(
                there=[one._replace(nodes=number) for one, number in sorted(counts.items())],
                fresh=_bin(fresh, numbers[found[0]], places)._replace(nodes=fresh.count),
            ),
        )

    def order(self, item: Item) -> tuple[float, str]:
        """Put the largest dominant share of a new node first; a set of pods counts whole.

        What follows the share only gives equal ones the same order whatever the input's order.
        """
        whole = self.bins.fresh.free
        shares = (
            amount / whole[place] if whole[place] else float("inf")
            for place, amount in self._ask(item.shape, pods=item.together)
        )
        return (-max(shares), repr(item))

    def add(self, item: Item) -> None:
        """Place the pods of one shape, as many as there is room for."""
        allowed = [
            admits(
                item.shape,
                dict(sort.labels),
                sort.taints,
                complete=sort.complete,
                absent=sort.absent,
            )
            for sort in self.sorts
        ]
        if item.level is None:
            self._anywhere(self._ask(item.shape), item.count, allowed, pods=1)
        elif item.level == HOSTNAME:
            # One node is the whole domain, so what must be together is as one large pod.
            ask = self._ask(item.shape, pods=item.together)
            self._anywhere(ask, item.count // item.together, allowed, pods=item.together)
        else:
            self._in_domains(item, item.level, allowed)

    def result(self) -> Packed:
        """Give the sums."""
        return Packed(
            new=self.bins.opened,
            empty=sum(one.nodes for one in self.bins.there if one.idle),
            placed=self.pods[Stage.USABLE] + self.pods[Stage.COMING],
            on_coming=self.pods[Stage.COMING],
            on_new=self.pods[Stage.NEW],
            capped=self.capped,
            fits_no_node=self.fits_no_node,
        )

    def _ask(self, shape: PodShape, *, pods: int = 1) -> Ask:
        devices_first = sorted(shape.requests, key=lambda one: ("/" not in one[0], one))
        amounts = [
            (self.places[name], amount * pods)
            for name, amount in devices_first
            if name != PODS and amount
        ]
        return (*amounts, (self.places[PODS], pods))

    def _anywhere(self, ask: Ask, units: int, allowed: Sequence[bool], *, pods: int) -> None:
        left = units - self._fill(ask, units, allowed, pods=pods)
        self._open(ask, left, allowed, pods=pods)

    def _in_domains(self, item: Item, level: str, allowed: Sequence[bool]) -> None:
        """Place sets of pods, each whole in one domain; where none has room, onto new nodes.

        Nodes that do not exist yet share one domain, as which it will be can't be known.
        """
        ask, together, sets = self._ask(item.shape), item.together, item.count // item.together
        domains = [
            _domain(sort, level) if fit else None
            for sort, fit in zip(self.sorts, allowed, strict=True)
        ]
        fresh = domains[self.bins.fresh.sort]
        rooms = self.bins.rooms(ask, domains)
        for domain in sorted(rooms, key=lambda one: (one == fresh, one)):
            more = self._openable(ask) if domain == fresh else 0
            here = min(sets, (rooms[domain] + more) // together) * together
            inside = [one == domain for one in domains]
            left = here - self._fill(ask, here, inside, pods=1)
            self._open(ask, left, inside, pods=1)
            sets -= here // together
        whole = min(sets, self._openable(ask) // together) if fresh is not None else 0
        self._open(ask, whole * together, allowed, pods=1)
        fits_new = fresh is not None and self._fits_new(ask, allowed)
        self._report((sets - whole) * together, fits_new=fits_new)

    def _fill(self, ask: Ask, units: int, allowed: Sequence[bool], *, pods: int) -> int:
        placed = self.bins.fill(ask, units, allowed)
        for stage, here in placed.items():
            self.pods[stage] += here * pods
        return placed.total()

    def _open(self, ask: Ask, units: int, allowed: Sequence[bool], *, pods: int) -> None:
        fits_new = self._fits_new(ask, allowed)
        here = self.bins.open(ask, units) if units and fits_new else 0
        self.pods[Stage.NEW] += here * pods
        self._report((units - here) * pods, fits_new=fits_new)

    def _fits_new(self, ask: Ask, allowed: Sequence[bool]) -> bool:
        return allowed[self.bins.fresh.sort] and fits(self.bins.fresh.free, ask) > 0

    def _openable(self, ask: Ask) -> int:
        """Give how many pods all the nodes that may still be opened would take."""
        return self.bins.fresh.nodes * fits(self.bins.fresh.free, ask)

    def _report(self, pods: int, *, fits_new: bool) -> None:
        if fits_new:
            self.capped += pods
        else:
            self.fits_no_node += pods


def _asked_labels(pods: Iterable[Item]) -> Iterable[str]:
    for item in pods:
        yield from (key for key, _ in item.shape.node_selector)
        yield from (one.key for term in item.shape.affinity for one in term)
        if item.level not in (None, HOSTNAME):
            yield str(item.level)


def _sort_of(space: Space, keys: frozenset[str]) -> _Sort:
    labels = tuple(sorted((key, space.labels[key]) for key in keys if key in space.labels))
    bear = space.may_bear
    return _Sort(
        labels=labels,
        taints=space.taints,
        complete=space.complete and space.labelled,
        absent=() if bear is None else tuple(sorted(key for key in keys if key not in bear)),
    )


def _bin(space: Space, sort: int, places: Mapping[str, int]) -> Bin:
    """Translate a node; the caller counts equal ones, so the bin's own number is 0."""
    free = dict(space.free)
    numbers = tuple(
        free.get(name, UNLIMITED if name == PODS or (_native(name) and not space.complete) else 0)
        for name in places
    )
    return Bin(stage=space.stage, idle=space.idle, free=numbers, sort=sort, nodes=0)


def _native(resource: str) -> bool:
    return "/" not in resource


def _domain(sort: _Sort, level: str) -> str | None:
    known = sort.complete or level in sort.absent
    return dict(sort.labels).get(level, None if known else "")
