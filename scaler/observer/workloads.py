"""Keep Workloads sorted into their ClusterQueues, one change at a time."""

from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TypeAlias

from scaler.core.model import Instant, LocalQueue, Name, Workload
from scaler.core.reasons import WorkloadClass
from scaler.core.snapshot import GroupKey, Part, Partition, QueuePartition, is_plain
from scaler.observer.sharded import Sharded, ShardedMapping

Bucket: TypeAlias = str | None
"""A ClusterQueue's name; None holds the Workloads whose LocalQueue does not exist."""

Place: TypeAlias = tuple[Bucket, GroupKey]


def queue_order(workload: Workload) -> tuple[int, Instant, str]:
    """Give Kueue's order: higher priority first, then the older queue timestamp, then the uid."""
    return (-workload.priority, workload.queued_at, workload.uid)


class WorkloadIndex:
    """Sort Workloads into groups; owned by the observer's thread.

    Invariant: each indexed Workload stands in exactly one group, the one that `_places` names, and
    every group's list is in queue order.
    """

    def __init__(self) -> None:
        self._index: Sharded[Name, Workload] = Sharded()
        self._owners: Sharded[str, tuple[Workload, ...]] = Sharded()
        self._places: dict[Name, Place] = {}
        self._groups: dict[Bucket, dict[GroupKey, list[Workload]]] = {}
        self._frozen: dict[Bucket, dict[GroupKey, tuple[Workload, ...]]] = {}
        self._partitions: dict[str, QueuePartition] = {}
        self._dirty: set[Place] = set()
        self._keys: dict[tuple[WorkloadClass, int, bool], GroupKey] = {}
        self._routes: dict[Name, str] = {}
        self._waiting: dict[Name, set[Name]] = {}

    def replace(self, workloads: Iterable[Workload]) -> None:
        """Take a complete list: what is not in it is gone."""
        listed = {workload.key: workload for workload in workloads}
        for key in [key for key in self._places if key not in listed]:
            self.remove(key)
        fresh: dict[Place, list[Workload]] = {}
        for workload in listed.values():
            if workload.key in self._places:
                self.put(workload)
            elif workload.standing is not WorkloadClass.FINISHED:
                fresh.setdefault(self._register(workload), []).append(workload)
        self._merge(fresh)

    def put(self, workload: Workload) -> None:
        """Take a new or changed Workload."""
        self.remove(workload.key)
        if workload.standing is WorkloadClass.FINISHED:
            return
        bucket, key = self._register(workload)
        insort(self._groups[bucket].setdefault(key, []), workload, key=queue_order)

    def remove(self, key: Name) -> None:
        """Forget a Workload."""
        place = self._places.pop(key, None)
        workload = self._index.get(key)
        if place is None or workload is None:
            return
        bucket, group_key = place
        group = self._groups[bucket][group_key]
        del group[bisect_left(group, queue_order(workload), key=queue_order)]
        if not group:
            del self._groups[bucket][group_key]
        self._dirty.add(place)
        self._index.drop(key)
        self._waiting.get((workload.namespace, workload.queue_name), set()).discard(key)
        for owner in workload.owners:
            self._disown(owner.uid, key)

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
                    self.put(workload)

    def freeze(self) -> set[Partition]:
        """Bring the published partitions up to date and say which of them changed."""
        touched: set[Partition] = set()
        for bucket, key in self._dirty:
            frozen = self._frozen.setdefault(bucket, {})
            members = self._groups.get(bucket, {}).get(key)
            if members:
                frozen[key] = tuple(members)
            else:
                frozen.pop(key, None)
                self._keys.pop((key.standing, id(key.pod_sets), key.plain), None)
            touched.add((Part.QUEUE, bucket or ""))
        for bucket in {bucket for bucket, _ in self._dirty}:
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

    def _publish(self, bucket: Bucket) -> None:
        if bucket is None:
            return
        groups = self._frozen.get(bucket)
        if groups:
            self._partitions[bucket] = QueuePartition(groups=MappingProxyType(dict(groups)))
        else:
            self._partitions.pop(bucket, None)

    def _register(self, workload: Workload) -> Place:
        queue = (workload.namespace, workload.queue_name)
        if workload.admission is None:
            self._waiting.setdefault(queue, set()).add(workload.key)
            bucket = self._routes.get(queue)
        else:
            bucket = workload.admission.cluster_queue
        place = (bucket, self._key(workload))
        self._groups.setdefault(bucket, {})
        self._places[workload.key] = place
        self._dirty.add(place)
        self._index.put(workload.key, workload)
        for owner in workload.owners:
            self._owners.put(owner.uid, (*(self._owners.get(owner.uid) or ()), workload))
        return place

    def _merge(self, fresh: Mapping[Place, list[Workload]]) -> None:
        """Sort once a group: a first list of 100,000 must not be inserted one by one."""
        for (bucket, key), workloads in fresh.items():
            group = self._groups[bucket].setdefault(key, [])
            group.extend(workloads)
            group.sort(key=queue_order)

    def _key(self, workload: Workload) -> GroupKey:
        """Find the group's key by identity: decoding shares equal podsets, hashing them is slow.

        The key keeps its podsets alive, so their identity can't be reused by others.
        """
        pod_sets, plain = workload.pod_sets, is_plain(workload)
        key = self._keys.get((workload.standing, id(pod_sets), plain))
        if key is None:
            key = GroupKey(standing=workload.standing, pod_sets=pod_sets, plain=plain)
            self._keys[(workload.standing, id(pod_sets), plain)] = key
        return key

    def _disown(self, uid: str, key: Name) -> None:
        rest = tuple(w for w in self._owners.get(uid) or () if w.key != key)
        if rest:
            self._owners.put(uid, rest)
        else:
            self._owners.drop(uid)
