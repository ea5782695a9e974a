"""Keep Workloads sorted into their ClusterQueues, one change at a time."""

from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TypeAlias, TypeVar

from scaler.core.model import Instant, LocalQueue, Name, PodSet, Workload
from scaler.core.reasons import WorkloadClass
from scaler.core.snapshot import GroupKey, Part, Partition, QueuePartition, is_plain
from scaler.observer.sharded import Sharded, ShardedMapping

K = TypeVar("K")

Bucket: TypeAlias = str | None
"""A ClusterQueue's name; None holds the Workloads whose LocalQueue does not exist."""


def queue_order(workload: Workload) -> tuple[int, Instant, str]:
    """Give Kueue's order: higher priority first, then the older queue timestamp, then the uid."""
    return (-workload.priority, workload.queued_at, workload.uid)


class Group:
    """The Workloads of one ClusterQueue that have standing and podsets in common, in queue order.

    `alike` keeps equal podsets alive by whose identity the group is found, so that no other
    object can take that identity.
    """

    __slots__ = ("alike", "bucket", "key", "members")

    def __init__(self, *, bucket: Bucket, key: GroupKey) -> None:
        self.bucket = bucket
        self.key = key
        self.members: list[Workload] = []
        self.alike: list[tuple[PodSet, ...]] = []


class WorkloadIndex:
    """Sort Workloads into groups; owned by the observer's thread.

    Invariant: each indexed Workload stands in exactly one group, the one that `_places` names, and
    every group's members are in queue order.
    """

    def __init__(self) -> None:
        self._index: Sharded[Name, Workload] = Sharded()
        self._owners: Sharded[str, tuple[Workload, ...]] = Sharded()
        self._owner_names: Sharded[Name, tuple[Workload, ...]] = Sharded()
        self._places: dict[Name, Group] = {}
        self._groups: dict[tuple[Bucket, GroupKey], Group] = {}
        self._found: dict[tuple[Bucket, WorkloadClass, int, bool], Group] = {}
        self._frozen: dict[Bucket, dict[GroupKey, tuple[Workload, ...]]] = {}
        self._partitions: dict[str, QueuePartition] = {}
        self._dirty: set[Group] = set()
        self._routes: dict[Name, str] = {}
        self._waiting: dict[Name, set[Name]] = {}

    def replace(self, workloads: Iterable[Workload]) -> None:
        """Take a complete list: what is not in it is gone."""
        listed = {workload.key: workload for workload in workloads}
        for key in [key for key in self._places if key not in listed]:
            self.remove(key)
        fresh: dict[Group, list[Workload]] = {}
        for key, workload in listed.items():
            if key in self._places:
                self.put(workload)
            elif workload.standing is not WorkloadClass.FINISHED:
                fresh.setdefault(self._register(key, workload), []).append(workload)
        for group, members in fresh.items():
            # Sorted once a group: a first list of 100,000 must not be inserted one by one.
            group.members.extend(members)
            group.members.sort(key=queue_order)

    def put(self, workload: Workload) -> None:
        """Take a new or changed Workload; one that is as it was touches nothing."""
        key = workload.key
        if self._index.get(key) != workload:
            self._place(workload)

    def _place(self, workload: Workload) -> None:
        """Put a Workload into the group where it belongs now."""
        self.remove(workload.key)
        if workload.standing is not WorkloadClass.FINISHED:
            insort(self._register(workload.key, workload).members, workload, key=queue_order)

    def remove(self, key: Name) -> None:
        """Forget a Workload."""
        group = self._places.pop(key, None)
        workload = self._index.get(key)
        if group is None or workload is None:
            return
        del group.members[bisect_left(group.members, queue_order(workload), key=queue_order)]
        self._dirty.add(group)
        self._index.drop(key)
        self._waiting.get((workload.namespace, workload.queue_name), set()).discard(key)
        for owner in workload.owners:
            _disown(self._owners, owner.uid, key)
            _disown(self._owner_names, (workload.namespace, owner.name), key)

    def route(self, local_queues: Mapping[Name, LocalQueue]) -> None:
        """Follow LocalQueues to their ClusterQueues; moves the Workloads of those that changed."""
        routes = {key: queue.cluster_queue for key, queue in local_queues.items()}
        changed = {
            key
            for key in routes.keys() | self._routes.keys()
            if routes.get(key) != self._routes.get(key)
        }
        self._routes = routes
        for queue in changed:
            for key in tuple(self._waiting.get(queue, ())):
                workload = self._index.get(key)
                if workload is not None:
                    self._place(workload)  # equal to what is known, but elsewhere from now on

    def freeze(self) -> set[Partition]:
        """Bring the published partitions up to date and say which of them changed."""
        touched: set[Partition] = set()
        for group in self._dirty:
            frozen = self._frozen.setdefault(group.bucket, {})
            if group.members:
                frozen[group.key] = tuple(group.members)
            else:
                frozen.pop(group.key, None)
                self._forget(group)
            touched.add((Part.QUEUE, group.bucket or ""))
        for bucket in {group.bucket for group in self._dirty}:
            self._publish(bucket)
        self._dirty.clear()
        return touched

    @property
    def partitions(self) -> Mapping[str, QueuePartition]:
        """Give the ClusterQueues' partitions as of the last freeze."""
        return MappingProxyType(dict(self._partitions))

    @property
    def unroutable(self) -> Mapping[GroupKey, tuple[Workload, ...]]:
        """Give the Workloads that no LocalQueue leads anywhere."""
        return MappingProxyType(dict(self._frozen.get(None, {})))

    @property
    def index(self) -> ShardedMapping[Name, Workload]:
        """Give all Workloads by namespace and name."""
        return self._index.freeze()

    @property
    def by_owner(self) -> ShardedMapping[str, tuple[Workload, ...]]:
        """Give all Workloads by their owners' uids."""
        return self._owners.freeze()

    @property
    def by_owner_name(self) -> ShardedMapping[Name, tuple[Workload, ...]]:
        """Give all Workloads by their owners' namespaces and names."""
        return self._owner_names.freeze()

    def _publish(self, bucket: Bucket) -> None:
        if bucket is None:
            return
        groups = self._frozen.get(bucket)
        if groups:
            self._partitions[bucket] = QueuePartition(groups=MappingProxyType(dict(groups)))
        else:
            self._partitions.pop(bucket, None)

    def _register(self, key: Name, workload: Workload) -> Group:
        if workload.admission is None:
            queue = (workload.namespace, workload.queue_name)
            waiting = self._waiting.get(queue)
            if waiting is None:
                waiting = self._waiting[queue] = set()
            waiting.add(key)
            bucket = self._routes.get(queue)
        else:
            bucket = workload.admission.cluster_queue
        group = self._group(bucket, workload)
        self._places[key] = group
        self._dirty.add(group)
        self._index.put(key, workload)
        for owner in workload.owners:
            _own(self._owners, owner.uid, workload)
            _own(self._owner_names, (workload.namespace, owner.name), workload)
        return group

    def _group(self, bucket: Bucket, workload: Workload) -> Group:
        """Find the group by identity first: decoding shares equal podsets, hashing them is slow."""
        pod_sets, plain = workload.pod_sets, is_plain(workload)
        quick = (bucket, workload.standing, id(pod_sets), plain)
        group = self._found.get(quick)
        if group is None:
            key = GroupKey(standing=workload.standing, pod_sets=pod_sets, plain=plain)
            group = self._groups.setdefault((bucket, key), Group(bucket=bucket, key=key))
            group.alike.append(pod_sets)
            self._found[quick] = group
        return group

    def _forget(self, group: Group) -> None:
        key = group.key
        del self._groups[(group.bucket, key)]
        for pod_sets in group.alike:
            del self._found[(group.bucket, key.standing, id(pod_sets), key.plain)]


def _own(owners: Sharded[K, tuple[Workload, ...]], owner: K, workload: Workload) -> None:
    known = owners.get(owner)
    owners.put(owner, (*known, workload) if known else (workload,))


def _disown(owners: Sharded[K, tuple[Workload, ...]], owner: K, key: Name) -> None:
    rest = tuple(w for w in owners.get(owner) or () if w.key != key)
    if rest:
        owners.put(owner, rest)
    else:
        owners.drop(owner)
