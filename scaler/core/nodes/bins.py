"""Equal nodes as one bin with a count: the arithmetic under packing.

Amounts are tuples of numbers, one place for each resource, so that a fit is integer division.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple, TypeAlias

UNLIMITED = 1 << 96
"""Stands for an amount that nobody named: no sum of requests (int64 each) comes near it."""

Free: TypeAlias = tuple[int, ...]
"""What is left on a node, by place of the resource."""

Ask: TypeAlias = tuple[tuple[int, int], ...]
"""(place of the resource, amount above 0), never empty; what runs out first comes first."""


class Stage(IntEnum):
    """Order the nodes by how soon pods can start on them."""

    USABLE = 0
    COMING = 1
    NEW = 2


class Bin(NamedTuple):
    """Equal nodes; sorted, they are in the order in which they are tried: fullest first."""

    stage: Stage
    idle: bool
    free: Free
    sort: int
    """Which labels and taints it has, as a number."""
    nodes: int


@dataclass(slots=True, kw_only=True)
class Bins:
    """The nodes while they fill up."""

    there: list[Bin]
    fresh: Bin
    """A new node; its number is the number that may still be opened."""
    opened: int = 0

    def rooms(self, ask: Ask, domains: Sequence[str | None]) -> Mapping[str, int]:
        """Give how often `ask` fits into each domain; `domains` maps sort to domain, None = out."""
        rooms: Counter[str] = Counter()
        for one in self.there:
            domain = domains[one.sort]
            if domain is not None:
                rooms[domain] += one.nodes * fits(one.free, ask)
        return rooms

    def fill(self, ask: Ask, units: int, allowed: Sequence[bool]) -> Counter[Stage]:
        """Put up to `units` onto the nodes that are there; give how many went where."""
        placed: Counter[Stage] = Counter()
        filled: list[Bin] = []
        for position, one in enumerate(self.there):
            if not units:
                filled.extend(self.there[position:])
                break
            each = fits(one.free, ask) if allowed[one.sort] else 0
            if not each:
                filled.append(one)
                continue
            here = min(units, each * one.nodes)
            filled.extend(_loaded(one, ask, here, each=each))
            placed[one.stage] += here
            units -= here
        self.there = filled
        return placed

    def open(self, ask: Ask, units: int) -> int:
        """Put up to `units` onto new nodes; give how many found a place."""
        each = fits(self.fresh.free, ask)
        nodes = min(self.fresh.nodes, -(-units // each))
        here = min(units, nodes * each)
        self.there.extend(_loaded(self.fresh._replace(nodes=nodes), ask, here, each=each))
        self.fresh = self.fresh._replace(nodes=self.fresh.nodes - nodes)
        self.opened += nodes
        return here


def fits(free: Free, ask: Ask) -> int:
    """Give how often `ask` fits into `free`."""
    least = UNLIMITED
    for place, amount in ask:
        often = free[place] // amount
        if often < least:
            if not often:
                return 0
            least = often
    return least


def _loaded(one: Bin, ask: Ask, units: int, *, each: int) -> list[Bin]:
    """Split equal nodes, each of which takes `each`, into full, partly filled and untouched."""
    full, rest = divmod(units, each)
    split = [(each, full), (rest, 1 if rest else 0), (0, one.nodes - full - (1 if rest else 0))]
    return [
        one._replace(free=_less(one.free, ask, load), idle=one.idle and not load, nodes=nodes)
        for load, nodes in split
        if nodes
    ]


def _less(free: Free, ask: Ask, units: int) -> Free:
    left = list(free)
    for place, amount in ask:
        left[place] -= amount * units
    return tuple(left)
