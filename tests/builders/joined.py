"""Join flat lists of records into a Snapshot, with all its indexes."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from scaler.core.model import (
    AdmissionCheck,
    Amounts,
    ClusterQueue,
    Cohort,
    Controlled,
    Hpa,
    Instant,
    Kind,
    LocalQueue,
    Name,
    Node,
    PlacedPod,
    Pod,
    ResourceFlavor,
    ScaledObject,
    SourceState,
    Target,
    WorkerScale,
    Workload,
)
from scaler.core.reasons import WorkloadClass
from scaler.core.snapshot import GroupKey, QueuePartition, Snapshot, is_plain
from scaler.core.usage import QueryAnswer, QueryKey, Usage
from tests.builders.queues import make_cluster_queue, make_flavor, make_local_queue
from tests.builders.values import NOW, amounts


def make_snapshot(
    *,
    at: Instant = NOW,
    workloads: Iterable[Workload] = (),
    cluster_queues: Iterable[ClusterQueue] | None = None,
    local_queues: Iterable[LocalQueue] | None = None,
    cohorts: Iterable[Cohort] = (),
    flavors: Iterable[ResourceFlavor] | None = None,
    checks: Iterable[AdmissionCheck] = (),
    owners: Iterable[Controlled] = (),
    nodes: Iterable[Node] = (),
    pods: Iterable[Pod | PlacedPod] = (),
    targets: Iterable[Target] = (),
    scaled_objects: Iterable[ScaledObject] = (),
    hpas: Iterable[Hpa] = (),
    worker_scales: Iterable[WorkerScale] = (),
    usage: Iterable[Usage] = (),
    answers: Mapping[QueryKey, QueryAnswer] | None = None,
    sources: Mapping[Kind, SourceState] | None = None,
    skipped: Mapping[Kind, int] | None = None,
    bundle: bool = False,
) -> Snapshot:
    """Join flat lists of records into a Snapshot with all its indexes.

    Every source is synced and alive but for those given in `sources`. ClusterQueues, LocalQueues
    and ResourceFlavors default to the one of each that the builders make.
    """
    unfinished = [one for one in workloads if one.standing is not WorkloadClass.FINISHED]
    links = {
        (one.namespace, one.name): one
        for one in ((make_local_queue(),) if local_queues is None else tuple(local_queues))
    }
    controlled = {one.uid: one for one in owners}
    all_pods = list(pods)
    whole = [one for one in all_pods if isinstance(one, Pod)]
    queues, unroutable = _partition(unfinished, links)
    return Snapshot(
        at=at,
        sources={kind: SourceState(synced=True, last_alive=at) for kind in Kind}
        | dict(sources or {}),
        queues=queues,
        unroutable=unroutable,
        workloads_by_owner=_by_owner(unfinished),
        workloads_by_owner_name=_by_owner_name(unfinished),
        workload_index={one.key: one for one in unfinished},
        cluster_queues={
            one.name: one
            for one in ((make_cluster_queue(),) if cluster_queues is None else cluster_queues)
        },
        local_queues=links,
        cohorts={one.name: one for one in cohorts},
        flavors={one.name: one for one in ((make_flavor(),) if flavors is None else flavors)},
        checks={one.name: one for one in checks},
        owners=controlled,
        nodes={one.name: one for one in nodes},
        node_requests=_node_requests(all_pods),
        pods=_by_namespace(whole),
        pods_by_workload=_pods_by_workload(unfinished, whole, controlled),
        gpu_pods_by_node=_gpu_pods_by_node(whole),
        targets={(one.kind, one.namespace, one.name): one for one in targets},
        scaled_objects={one.key: one for one in scaled_objects},
        hpas={(one.namespace, one.name): one for one in hpas},
        worker_scales={one.key: one for one in worker_scales},
        usage={one.key: one for one in usage},
        answers=answers or {},
        skipped=skipped or {},
        bundle=bundle,
    )


_Groups = dict[GroupKey, tuple[Workload, ...]]


def _grouped(workloads: Iterable[Workload]) -> _Groups:
    groups: defaultdict[GroupKey, list[Workload]] = defaultdict(list)
    for one in workloads:
        key = GroupKey(standing=one.standing, pod_sets=one.pod_sets, plain=is_plain(one))
        groups[key].append(one)
    return {
        key: tuple(sorted(members, key=lambda one: (-one.priority, one.queued_at, one.uid)))
        for key, members in groups.items()
    }


def _partition(
    workloads: Iterable[Workload], links: Mapping[Name, LocalQueue]
) -> tuple[dict[str, QueuePartition], _Groups]:
    by_queue: defaultdict[str, list[Workload]] = defaultdict(list)
    lost: list[Workload] = []
    for one in workloads:
        link = links.get((one.namespace, one.queue_name))
        if one.admission is not None:
            by_queue[one.admission.cluster_queue].append(one)
        elif link is not None:
            by_queue[link.cluster_queue].append(one)
        else:
            lost.append(one)
    queues = {name: QueuePartition(groups=_grouped(inside)) for name, inside in by_queue.items()}
    return queues, _grouped(lost)


def _by_owner(workloads: Iterable[Workload]) -> dict[str, tuple[Workload, ...]]:
    index: defaultdict[str, list[Workload]] = defaultdict(list)
    for one in workloads:
        for owner in one.owners:
            index[owner.uid].append(one)
    return {uid: tuple(owned) for uid, owned in index.items()}


def _by_owner_name(workloads: Iterable[Workload]) -> dict[Name, tuple[Workload, ...]]:
    index: defaultdict[Name, list[Workload]] = defaultdict(list)
    for one in workloads:
        for owner in one.owners:
            index[one.namespace, owner.name].append(one)
    return {name: tuple(owned) for name, owned in index.items()}


def _node_requests(pods: Iterable[Pod | PlacedPod]) -> dict[str, Amounts]:
    sums: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for one in pods:
        if one.node is None or (isinstance(one, Pod) and (one.finished or one.placeholder)):
            continue
        sums[one.node].update(dict(one.requests))
        sums[one.node]["pods"] += 1
    return {node: amounts(total) for node, total in sums.items()}


def _by_namespace(pods: Iterable[Pod]) -> dict[str, dict[str, Pod]]:
    index: defaultdict[str, dict[str, Pod]] = defaultdict(dict)
    for one in pods:
        index[one.namespace][one.name] = one
    return dict(index)


def _pods_by_workload(
    workloads: Iterable[Workload], pods: Iterable[Pod], controlled: Mapping[str, Controlled]
) -> dict[Name, tuple[Pod, ...]]:
    owned = {owner.uid: one.key for one in workloads for owner in one.owners}
    index: defaultdict[Name, list[Pod]] = defaultdict(list)
    for pod in pods:
        key = (pod.namespace, pod.workload) if pod.workload else None
        for uid in _lineage(pod, controlled) if key is None else ():
            key = key or owned.get(uid)
        if key is not None:
            index[key].append(pod)
    return {key: tuple(found) for key, found in index.items()}


def _lineage(pod: Pod, controlled: Mapping[str, Controlled]) -> tuple[str, ...]:
    """Give the uids by which a Workload may own the pod: itself, its owners, and theirs."""
    uids = [pod.uid, *(owner.uid for owner in pod.owners)]
    for uid in uids:
        above = controlled[uid].controller_uid if uid in controlled else None
        if above is not None and above not in uids:
            uids.append(above)
    return tuple(uids)


def _gpu_pods_by_node(pods: Iterable[Pod]) -> dict[str, tuple[Pod, ...]]:
    index: defaultdict[str, list[Pod]] = defaultdict(list)
    for one in pods:
        if one.node is not None and any("/" in resource for resource, _ in one.requests):
            index[one.node].append(one)
    return {node: tuple(found) for node, found in index.items()}
