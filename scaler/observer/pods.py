"""Keep pods: whole ones by namespace, node and Workload, of the others only what they hold."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from scaler.core.model import Amounts, Controlled, Name, PlacedPod, Pod, Workload
from scaler.core.snapshot import Part, Partition
from scaler.core.usage import Usage
from scaler.observer.sharded import Sharded, ShardedMapping

MAX_DEPTH = 4
"""Pod, Job, JobSet, TrainJob is the longest chain; a cycle must end too."""


class NodeSums:
    """Add up the requests of each node's pods; owned by the observer's thread."""

    def __init__(self) -> None:
        self._sums: dict[str, dict[str, int]] = {}
        self._frozen: dict[str, Amounts] = {}
        self._dirty: set[str] = set()

    def add(self, node: str | None, requests: Amounts, *, sign: int) -> None:
        """Add a pod's requests to its node, or with sign -1 take them away."""
        if node is None:
            return
        sums = self._sums.setdefault(node, {})
        for resource, number in (*requests, ("pods", 1)):
            sums[resource] = sums.get(resource, 0) + sign * number
        self._dirty.add(node)

    def freeze(self) -> bool:
        """Bring the published sums up to date; say whether one changed."""
        changed = bool(self._dirty)
        for node in self._dirty:
            amounts = tuple(sorted((r, n) for r, n in self._sums[node].items() if n > 0))
            if amounts:
                self._frozen[node] = amounts
            else:
                self._frozen.pop(node, None)
                del self._sums[node]
        self._dirty.clear()
        return changed

    @property
    def amounts(self) -> Mapping[str, Amounts]:
        """Give each node's sum as of the last freeze."""
        return MappingProxyType(dict(self._frozen))


class PodIndex:
    """Index pods; owned by the observer's thread.

    Invariant: `_sums` holds the requests of exactly the bound, unfinished pods in `_whole` and
    `_placed` that are no placeholders.
    """

    def __init__(self) -> None:
        self._whole: dict[str, dict[str, Pod]] = {}
        self._placed: dict[Name, PlacedPod] = {}
        self._sums = NodeSums()
        self._nodes: dict[str, dict[Name, Pod]] = {}
        self._by_node: dict[str, tuple[Pod, ...]] = {}
        self._namespaces: dict[str, Mapping[str, Pod]] = {}
        self._workloads: Sharded[Name, tuple[Pod, ...]] = Sharded()
        self._workloads_of: dict[str, frozenset[Name]] = {}
        self._dirty: set[str] = set()
        self._dirty_nodes: set[str] = set()

    def replace(self, pods: Iterable[Pod | PlacedPod]) -> None:
        """Take a complete list: what is not in it is gone."""
        listed = {pod.key: pod for pod in pods}
        known = [(ns, name) for ns, names in self._whole.items() for name in names]
        for key in [key for key in (*known, *self._placed) if key not in listed]:
            self.remove(key)
        for pod in listed.values():
            self.put(pod)

    def put(self, pod: Pod | PlacedPod) -> None:
        """Take a new or changed pod."""
        if self._known(pod.key) == pod:
            return
        self.remove(pod.key)
        self._sums.add(holding_node(pod), pod.requests, sign=1)
        if isinstance(pod, PlacedPod):
            self._placed[pod.key] = pod
            return
        self._whole.setdefault(pod.namespace, {})[pod.name] = pod
        if pod.node is not None:
            self._nodes.setdefault(pod.node, {})[pod.key] = pod
        self._touch(pod)

    def remove(self, key: Name) -> None:
        """Forget a pod."""
        placed = self._placed.pop(key, None)
        if placed is not None:
            self._sums.add(holding_node(placed), placed.requests, sign=-1)
            return
        pod = self._whole.get(key[0], {}).pop(key[1], None)
        if pod is None:
            return
        self._sums.add(holding_node(pod), pod.requests, sign=-1)
        if pod.node is not None:
            self._nodes.get(pod.node, {}).pop(key, None)
        self._touch(pod)

    def touch(self, namespaces: Iterable[str]) -> None:
        """Join these namespaces' pods to their Workloads anew: owners changed."""
        self._dirty.update(ns for ns in namespaces if self._whole.get(ns))

    def freeze(
        self,
        *,
        workloads_by_owner: Mapping[str, tuple[Workload, ...]],
        owners: Mapping[str, Controlled],
    ) -> set[Partition]:
        """Bring the published indexes up to date and say which partitions changed."""
        touched: set[Partition] = {(Part.PODS, namespace) for namespace in self._dirty}
        if self._sums.freeze() or self._dirty_nodes:
            touched.add((Part.NODES, ""))
        for namespace in self._dirty:
            self._join(namespace, workloads_by_owner, owners)
        for node in self._dirty_nodes:
            gpu_pods = tuple(p for p in self._nodes.get(node, {}).values() if extended(p.requests))
            if gpu_pods:
                self._by_node[node] = gpu_pods
            else:
                self._by_node.pop(node, None)
        self._dirty.clear()
        self._dirty_nodes.clear()
        return touched

    @property
    def pods(self) -> Mapping[str, Mapping[str, Pod]]:
        """Give the whole pods by namespace and name."""
        return MappingProxyType(dict(self._namespaces))

    @property
    def by_node(self) -> Mapping[str, tuple[Pod, ...]]:
        """Give the whole pods by node."""
        return MappingProxyType(dict(self._by_node))

    @property
    def by_workload(self) -> ShardedMapping[Name, tuple[Pod, ...]]:
        """Give the whole pods by Workload."""
        return self._workloads.freeze()

    @property
    def node_requests(self) -> Mapping[str, Amounts]:
        """Give what each node's pods request."""
        return self._sums.amounts

    def bystanders(self, usages: Iterable[Usage]) -> frozenset[Name]:
        """Give the pods without devices that are there, among those that readings name."""
        named = (name for usage in usages for name in usage.by_pod if name in self._placed)
        return frozenset(name for name in named if self._placed[name].node is not None)

    def _known(self, key: Name) -> Pod | PlacedPod | None:
        return self._placed.get(key) or self._whole.get(key[0], {}).get(key[1])

    def _touch(self, pod: Pod) -> None:
        self._dirty.add(pod.namespace)
        if pod.node is not None:
            self._dirty_nodes.add(pod.node)

    def _join(
        self,
        namespace: str,
        workloads_by_owner: Mapping[str, tuple[Workload, ...]],
        owners: Mapping[str, Controlled],
    ) -> None:
        pods = dict(self._whole.get(namespace, {}))
        joined: defaultdict[Name, list[Pod]] = defaultdict(list)
        for pod in pods.values():
            for key in workloads_of(pod, workloads_by_owner, owners):
                joined[key].append(pod)
        for gone in self._workloads_of.get(namespace, frozenset()) - joined.keys():
            self._workloads.drop(gone)
        for key, members in joined.items():
            self._workloads.put(key, tuple(members))
        self._workloads_of[namespace] = frozenset(joined)
        if pods:
            self._namespaces[namespace] = MappingProxyType(pods)
        else:
            self._namespaces.pop(namespace, None)
            self._whole.pop(namespace, None)
            self._workloads_of.pop(namespace, None)


def extended(requests: Amounts) -> bool:
    """Say whether an extended resource is among the requests."""
    return any("/" in resource for resource, _ in requests)


def holding_node(pod: Pod | PlacedPod) -> str | None:
    """Give the node on which a pod holds its requests; None where it holds nothing."""
    if isinstance(pod, PlacedPod):
        return pod.node
    return None if pod.finished or pod.placeholder else pod.node


def workloads_of(
    pod: Pod,
    workloads_by_owner: Mapping[str, tuple[Workload, ...]],
    owners: Mapping[str, Controlled],
) -> Iterator[Name]:
    """Find a pod's Workload: by its own word, else as its owner, else up the chain of controllers.

    Source: Kueue names the Workload on the pod since 0.14; before that only owners tell.
    """
    if pod.workload is not None:
        yield (pod.namespace, pod.workload)
        return
    for uid in controllers(pod, owners):
        found = [w for w in workloads_by_owner.get(uid, ()) if w.namespace == pod.namespace]
        if found:
            yield from (workload.key for workload in found)
            return


def controllers(pod: Pod, owners: Mapping[str, Controlled]) -> Iterator[str]:
    """Give the pod's uid, its controller's, and so on as far as owners are known."""
    yield pod.uid
    uid = next((owner.uid for owner in pod.owners if owner.controller), None)
    for _ in range(MAX_DEPTH):
        if uid is None:
            return
        yield uid
        controlled = owners.get(uid)
        uid = controlled.controller_uid if controlled else None
