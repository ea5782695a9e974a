"""GPUs of nodes, and which running pod holds which: as a device plugin hands them out."""

import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tests.e2e.api import Object
from tests.e2e.mirror import Listing, Mirror

RESOURCE = "nvidia.com/gpu"
FAMILY = uuid.UUID("6f1f2f7c-2b4e-4a52-9d3c-0d4b8f6f7a11")
"""Whose names GPUs have; arbitrary, so that a GPU's UUID is the same in every run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """The container that holds a GPU."""

    namespace: str
    pod: str
    container: str
    ordinal: int
    """Which GPU of its pod it is, from 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """A GPU of a node."""

    node: str
    index: int
    holder: Holder | None = None
    """None = no pod holds it."""

    @property
    def uuid(self) -> str:
        """Give its UUID, of node and index alone."""
        return f"GPU-{uuid.uuid5(FAMILY, f'{self.node}/{self.index}')}"


def capacity_of(node: Object) -> int:
    """Give how many GPUs a Node says it has."""
    capacity = (node.get("status") or {}).get("capacity") or {}
    return int(capacity.get(RESOURCE, 0))


def claims_of(pod: Object) -> tuple[str, ...]:
    """Name the container of each GPU that a pod's containers and sidecars ask for."""
    spec = pod["spec"]
    sidecars = (
        each for each in spec.get("initContainers") or () if each.get("restartPolicy") == "Always"
    )
    return tuple(
        container["name"]
        for container in (*sidecars, *spec.get("containers", ()))
        for _ in range(_asked(container))
    )


def runs(pod: Object) -> bool:
    """Say whether a pod runs on a node."""
    phase = (pod.get("status") or {}).get("phase")
    return phase == "Running" and bool(pod["spec"].get("nodeName"))


def _asked(container: Object) -> int:
    resources = container.get("resources") or {}
    limits, wanted = resources.get("limits") or {}, resources.get("requests") or {}
    return int(limits.get(RESOURCE, wanted.get(RESOURCE, 0)))


class Slots:
    """Hands out the free GPUs of each node, lowest index first, for as long as a pod lives."""

    def __init__(self) -> None:
        self._held: dict[str, tuple[str, tuple[int, ...], tuple[Holder, ...]]] = {}
        """Node, indices and holders by the pod's uid."""

    def assign(self, *, nodes: Iterable[Object], pods: Sequence[Object]) -> tuple[Gpu, ...]:
        """Give every GPU there is, held ones beyond a node's capacity too."""
        alive = {pod["metadata"]["uid"]: pod for pod in pods if runs(pod) and claims_of(pod)}
        self._held = {uid: held for uid, held in self._held.items() if uid in alive}
        for uid, pod in alive.items():
            if uid not in self._held:
                self._held[uid] = self._take(pod)
        holders = dict(self._holders())
        capacity = {node["metadata"]["name"]: capacity_of(node) for node in nodes}
        every = set(holders) | set(_places(capacity))
        return tuple(
            Gpu(node=node, index=index, holder=holders.get((node, index)))
            for node, index in sorted(every)
        )

    def _take(self, pod: Object) -> tuple[str, tuple[int, ...], tuple[Holder, ...]]:
        meta, node = pod["metadata"], pod["spec"]["nodeName"]
        taken = {index for where, index in dict(self._holders()) if where == node}
        claims = claims_of(pod)
        free = [index for index in range(len(taken) + len(claims)) if index not in taken]
        holders = tuple(
            Holder(namespace=meta["namespace"], pod=meta["name"], container=name, ordinal=ordinal)
            for ordinal, name in enumerate(claims)
        )
        return node, tuple(free[: len(claims)]), holders

    def _holders(self) -> Iterator[tuple[tuple[str, int], Holder]]:
        for node, indices, holders in self._held.values():
            for index, holder in zip(indices, holders, strict=True):
                yield (node, index), holder


def _places(capacity: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    return ((node, index) for node, count in capacity.items() for index in range(count))


class Fleet:
    """The cluster's GPUs and pods as they are now; exporters may share it."""

    def __init__(self, source: Listing) -> None:
        self._nodes = Mirror(source, "Node")
        self._pods = Mirror(source, "Pod")
        self._lock = threading.Lock()
        """Guards _slots: a pod holds the same GPUs in any two answers while it lives."""
        self._slots = Slots()
        self._started = False

    def start(self, *, within: float = 30.0) -> None:
        """Begin to read the cluster, once; give up waiting for the first list after a time."""
        if not self._started:
            self._started = True
            self._each(Mirror.start)
        self._each(lambda mirror: mirror.synced(within))

    def stop(self) -> None:
        """Stop reading."""
        self._each(Mirror.stop)

    def gpus(self) -> tuple[Gpu, ...]:
        """Give every GPU, held or free."""
        with self._lock:
            return self._slots.assign(nodes=self._nodes.objects(), pods=self._pods.objects())

    def running(self, label: tuple[str, str]) -> list[tuple[str, str]]:
        """Give (namespace, name) of the running pods with a label, sorted."""
        key, value = label
        metas = (pod["metadata"] for pod in self._pods.objects() if runs(pod))
        return sorted(
            (meta["namespace"], meta["name"])
            for meta in metas
            if (meta.get("labels") or {}).get(key) == value
        )

    def _each(self, act: Callable[[Mirror], object]) -> None:
        for mirror in (self._nodes, self._pods):
            act(mirror)
