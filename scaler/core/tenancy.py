"""Who has the GPUs: pods with their ClusterQueue, quota with its use, and how long work waits.

For people who watch and pay; no decision reads it. All of it is what Kueue and the pods say
themselves, of every ClusterQueue and pod, with a trigger or without.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from scaler.core.demand.cohorts import Slot, quotas_of
from scaler.core.demand.granted import assigned_flavor, quota_of, usage
from scaler.core.demand.holds import NOT_HELD, held_sets
from scaler.core.model import Amounts, Instant, Name, Pod, Workload
from scaler.core.profile import MetricProfile
from scaler.core.reasons import WorkloadClass
from scaler.core.shape import is_extended
from scaler.core.snapshot import GroupKey, QueuePartition, Snapshot

_WAITS = frozenset(
    {
        WorkloadClass.TOPOLOGY,
        WorkloadClass.CHECKS,
        WorkloadClass.QUOTA,
        WorkloadClass.EXCEEDS,
        WorkloadClass.NO_FLAVOR,
        WorkloadClass.PREEMPTING,
        WorkloadClass.BLOCKED,
        WorkloadClass.NOT_EVALUATED,
    }
)
"""Standings of Workloads that somebody waits for."""
_WITH_QUOTA = frozenset({WorkloadClass.RUNNING, WorkloadClass.CHECKS})
"""Standings that a plain group's members can hold quota in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuPod:
    """A live pod on a node, the devices that it has, and whose they are; "" where nobody says."""

    namespace: str
    pod: str
    node: str
    devices: int
    workload: str = ""
    owner: str = ""
    """`Kind/name` of what the Workload stands for, else of the pod's controller."""
    cluster_queue: str = ""
    cohort: str = ""
    flavor: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaLine:
    """The quota of one extended resource on one flavor in one ClusterQueue."""

    cluster_queue: str
    cohort: str
    flavor: str
    resource: str
    nominal: int
    used: int
    held: int
    """The part of `used` whose pods a WorkerScale took."""

    @property
    def borrowed(self) -> int:
        """Give what is used beyond the own nominal quota."""
        return max(0, self.used - self.nominal)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """The longest wait in one ClusterQueue, of Workloads of one standing."""

    cluster_queue: str
    standing: WorkloadClass
    since: Instant


def gpu_pods(snapshot: Snapshot, profile: MetricProfile) -> Iterator[GpuPod]:
    """Give the pods that have devices which the profile's metrics speak of."""
    workload_of = _workloads_by_pod(snapshot)
    for pods in snapshot.pods.values():
        for pod in pods.values():
            devices = profile.devices(pod.requests)
            if devices and pod.live and pod.node is not None:
                found = workload_of.get(pod.key)
                yield _gpu_pod(snapshot, pod, found, devices=devices, node=pod.node)


def quota_lines(snapshot: Snapshot) -> Iterator[QuotaLine]:
    """Give every quota of an extended resource, and what is used where there is none."""
    held = _held(snapshot)
    for name, queue in snapshot.cluster_queues.items():
        quotas = quotas_of(queue.groups)
        nominal = {slot: quota.nominal for slot, quota in quotas.items() if is_extended(slot[1])}
        used = _used(snapshot, name)
        for flavor, resource in sorted({*nominal, *used}):
            yield QuotaLine(
                cluster_queue=name,
                cohort=queue.cohort or "",
                flavor=flavor,
                resource=resource,
                nominal=nominal.get((flavor, resource), 0),
                used=used.get((flavor, resource), 0),
                held=held.get((name, flavor, resource), 0),
            )


def waits(snapshot: Snapshot) -> Iterator[Wait]:
    """Give the longest wait of each ClusterQueue and standing where any Workload waits."""
    for name, partition in snapshot.queues.items():
        for standing, since in _first_of(snapshot, name, partition).items():
            yield Wait(cluster_queue=name, standing=standing, since=since)


def _workloads_by_pod(snapshot: Snapshot) -> Mapping[Name, Workload]:
    index = snapshot.workload_index
    return {
        pod.key: index[key]
        for key, pods in snapshot.pods_by_workload.items()
        if key in index
        for pod in pods
    }


def _gpu_pod(
    snapshot: Snapshot, pod: Pod, workload: Workload | None, *, devices: int, node: str
) -> GpuPod:
    admission = None if workload is None else workload.admission
    cluster_queue = "" if admission is None else admission.cluster_queue
    queue = snapshot.cluster_queues.get(cluster_queue)
    return GpuPod(
        namespace=pod.namespace,
        pod=pod.name,
        node=node,
        devices=devices,
        workload="" if workload is None else workload.name,
        owner=_owner(pod, workload),
        cluster_queue=cluster_queue,
        cohort="" if queue is None else queue.cohort or "",
        flavor=_flavor(pod, workload),
    )


def _owner(pod: Pod, workload: Workload | None) -> str:
    """Name the Workload's controller, or its first owner; without a Workload the pod's."""
    owners = pod.owners if workload is None else workload.owners
    first = next((one for one in owners if one.controller), owners[0] if owners else None)
    return "" if first is None else f"{first.kind}/{first.name}"


def _flavor(pod: Pod, workload: Workload | None) -> str:
    """Give the flavor of the pod's podset, or of the only one there is."""
    if workload is None or workload.admission is None:
        return ""
    parts = workload.admission.assignments
    named = [one for one in parts if one.pod_set == pod.pod_set]
    part = named[0] if named else parts[0] if len(parts) == 1 else None
    device = _device(pod.requests)
    return "" if part is None else assigned_flavor(part.flavors, device) or ""


def _device(requests: Amounts) -> str:
    return next((resource for resource, _ in requests if is_extended(resource)), "")


def _used(snapshot: Snapshot, cluster_queue: str) -> Mapping[Slot, int]:
    partition = snapshot.queues.get(cluster_queue)
    if partition is None:
        return {}
    return snapshot.memo.recall(
        ("quota used", cluster_queue), (partition,), lambda: _sum_used(partition)
    )


def _sum_used(partition: QueuePartition) -> Mapping[Slot, int]:
    sums: defaultdict[Slot, int] = defaultdict(int)
    for key, members in partition.groups.items():
        if not key.plain or key.standing in _WITH_QUOTA:
            for (flavor, resource), amount in usage(members):
                if is_extended(resource):
                    sums[flavor, resource] += amount
    return sums


def _held(snapshot: Snapshot) -> Mapping[tuple[str, str, str], int]:
    """Add up the quota of held podsets by (ClusterQueue, flavor, resource)."""
    sums: defaultdict[tuple[str, str, str], int] = defaultdict(int)
    for workload in _held_workloads(snapshot):
        sets = held_sets(snapshot).get((workload.namespace, workload.uid), NOT_HELD)
        away = frozenset[str | None](sets.away)
        admission = workload.admission
        for flavor, resource in {slot for slot, _ in usage([workload])}:
            if admission is not None and is_extended(resource):
                sums[admission.cluster_queue, flavor, resource] += quota_of(
                    workload, resource=resource, flavor=flavor, pod_sets=away
                )
    return sums


def _held_workloads(snapshot: Snapshot) -> Iterable[Workload]:
    """Give each Workload once, whatever number of WorkerScales holds podsets of it."""
    found: dict[str, Workload] = {}
    for scale in snapshot.worker_scales.values():
        hold = scale.status.hold
        key = (scale.namespace, "" if hold is None else hold.workload)
        workload = snapshot.workload_index.get(key)
        if hold is not None and workload is not None and workload.uid == hold.workload_uid:
            found[workload.uid] = workload
    return found.values()


def _first_of(
    snapshot: Snapshot, cluster_queue: str, partition: QueuePartition
) -> Mapping[WorkloadClass, Instant]:
    return snapshot.memo.recall(
        ("first that waits", cluster_queue), (partition,), lambda: _first(partition)
    )


def _first(partition: QueuePartition) -> Mapping[WorkloadClass, Instant]:
    first: dict[WorkloadClass, Instant] = {}
    for key, members in partition.groups.items():
        if _is_waiting(key):
            since = min(one.waiting_since for one in members)
            first[key.standing] = min(since, first.get(key.standing, since))
    return first


def _is_waiting(key: GroupKey) -> bool:
    return key.standing in _WAITS
