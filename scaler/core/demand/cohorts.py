"""The cohort trees, and the quota that is free in one of them.

The arithmetic is Kueue's for hierarchical cohorts: a node keeps from its parent what its
lendingLimit does not lend and lends the rest; of its parent's quota it may use what nobody else
uses, at most borrowingLimit beyond what it lent itself. A resource of a flavor without a quota
has none.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from scaler.core.model import ClusterQueue, Cohort, Quota, ResourceGroup
from scaler.core.snapshot import Snapshot

Slot: TypeAlias = tuple[str, str]
"""What quota is counted by: (flavor, resource)."""

_NO_QUOTA: Final = Quota(nominal=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """One cohort root with all that is under it; a ClusterQueue without cohort is a tree too."""

    root: str
    """`clusterqueue/NAME` or `cohort/NAME`."""
    cluster_queues: tuple[str, ...]
    cohorts: tuple[str, ...] = ()
    cyclic: bool = False
    """Its Cohorts are each other's parents: Kueue admits nothing here."""


def trees(snapshot: Snapshot) -> Mapping[str, Tree]:
    """Give the tree of every ClusterQueue, by the ClusterQueue's name."""
    parts = (snapshot.cluster_queues, snapshot.cohorts)
    return snapshot.memo.recall("trees", parts, lambda: _trees(snapshot))


def _trees(snapshot: Snapshot) -> Mapping[str, Tree]:
    queues: defaultdict[tuple[str, bool], list[str]] = defaultdict(list)
    for name, queue in snapshot.cluster_queues.items():
        queues[_root_of(queue, snapshot.cohorts)].append(name)
    under: defaultdict[str, list[str]] = defaultdict(list)
    for name in _cohort_names(snapshot):
        under[_root(name, snapshot.cohorts)[0]].append(name)
    found: dict[str, Tree] = {}
    for (root, cyclic), names in queues.items():
        tree = Tree(
            root=root,
            cluster_queues=tuple(sorted(names)),
            cohorts=tuple(sorted(under.get(root, ()))),
            cyclic=cyclic,
        )
        found.update(dict.fromkeys(names, tree))
    return found


def _cohort_names(snapshot: Snapshot) -> frozenset[str]:
    named = {queue.cohort for queue in snapshot.cluster_queues.values()}
    parents = {cohort.parent for cohort in snapshot.cohorts.values()}
    return frozenset(name for name in named | parents | set(snapshot.cohorts) if name)


def _root_of(queue: ClusterQueue, cohorts: Mapping[str, Cohort]) -> tuple[str, bool]:
    return _root(queue.cohort, cohorts) if queue.cohort else (f"clusterqueue/{queue.name}", False)


def _root(name: str, cohorts: Mapping[str, Cohort]) -> tuple[str, bool]:
    """Walk up to the root; a circle is named by its first member, and said to be one."""
    path = [name]
    while (parent := _parent(path[-1], cohorts)) is not None:
        if parent in path:
            return f"cohort/{min(path[path.index(parent) :])}", True
        path.append(parent)
    return f"cohort/{path[-1]}", False


def _parent(name: str, cohorts: Mapping[str, Cohort]) -> str | None:
    cohort = cohorts.get(name)
    return cohort.parent or None if cohort is not None else None


def quotas_of(groups: Iterable[ResourceGroup]) -> dict[Slot, Quota]:
    """Give the quotas of a ClusterQueue or Cohort, in its order."""
    return {
        (flavor, resource): quota
        for group in groups
        for flavor, quotas in group.flavors
        for resource, quota in quotas
    }


class _Node:
    """A ClusterQueue or Cohort: its quotas, what its subtree has, and what is used of that."""

    __slots__ = ("children", "parent", "quotas", "subtree", "usage")

    def __init__(self, groups: Iterable[ResourceGroup]) -> None:
        self.parent: _Node | None = None
        self.children: list[_Node] = []
        self.quotas = quotas_of(groups)
        self.subtree: dict[Slot, int] = {}
        self.usage: dict[Slot, int] = {}

    def sum_up(self) -> None:
        """Add what the children lend to the own nominal quota, from the leaves up."""
        self.subtree = {slot: quota.nominal for slot, quota in self.quotas.items()}
        for child in self.children:
            child.sum_up()
            for slot, whole in child.subtree.items():
                self.subtree[slot] = self.subtree.get(slot, 0) + whole - child.kept(slot)

    def kept(self, slot: Slot) -> int:
        """Give the quota that is not lent to the parent."""
        limit = self.quotas.get(slot, _NO_QUOTA).lending_limit
        return 0 if limit is None else max(0, self.subtree.get(slot, 0) - limit)

    def free(self, slot: Slot) -> int:
        """Give what may still be used; negative where more is used than there is."""
        whole, used = self.subtree.get(slot, 0), self.usage.get(slot, 0)
        if self.parent is None:
            return whole - used
        kept = self.kept(slot)
        above = self.parent.free(slot)
        limit = self.quotas.get(slot, _NO_QUOTA).borrowing_limit
        if limit is not None:
            above = min(above, whole - kept - max(0, used - kept) + limit)
        return max(0, kept - used) + above

    def take(self, slot: Slot, amount: int) -> None:
        """Use an amount; what the own kept quota does not hold is the parent's."""
        used = self.usage.get(slot, 0)
        beyond = amount - max(0, self.kept(slot) - used)
        self.usage[slot] = used + amount
        if self.parent is not None and beyond > 0:
            self.parent.take(slot, beyond)


class Ledger:
    """Quota and usage of one tree, changed as a simulated admission goes on.

    Usage only grows, so what is free never grows: what did not fit once never will.
    """

    def __init__(
        self,
        *,
        tree: Tree,
        cluster_queues: Mapping[str, ClusterQueue],
        cohorts: Mapping[str, Cohort],
    ) -> None:
        above = {
            name: _Node(cohorts[name].groups if name in cohorts else ()) for name in tree.cohorts
        }
        self._queues = {name: _Node(cluster_queues[name].groups) for name in tree.cluster_queues}
        if tree.cyclic:
            return
        for name, node in above.items():
            _hang(node, above, _parent(name, cohorts))
        for name, node in self._queues.items():
            _hang(node, above, cluster_queues[name].cohort)
        for node in (*above.values(), *self._queues.values()):
            if node.parent is None:
                node.sum_up()

    def free(self, cluster_queue: str, slot: Slot) -> int:
        """Give what a ClusterQueue may still use of a slot, borrowed quota included."""
        return self._queues[cluster_queue].free(slot)

    def take(self, cluster_queue: str, slot: Slot, amount: int) -> None:
        """Count an amount as used by a ClusterQueue, whether it fits or not."""
        self._queues[cluster_queue].take(slot, amount)


def _hang(node: _Node, above: Mapping[str, _Node], parent: str | None) -> None:
    if parent:
        node.parent = above[parent]
        above[parent].children.append(node)
