"""Build records and snapshots for tests: keyword arguments with the defaults of one small cluster.

That cluster: LocalQueue `ml/lq` leads to ClusterQueue `gpu-cq`, whose flavor `gpu` covers
`nvidia.com/gpu` without a limit in sight, on nodes labelled `pool=gpu` with 8 GPUs each.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from itertools import count as serial

from scaler.core.model import (
    Admission,
    AdmissionCheck,
    Amounts,
    Assignment,
    ClusterQueue,
    Cohort,
    Controlled,
    Hpa,
    Instant,
    Kind,
    LocalQueue,
    Name,
    Node,
    NodeRequirement,
    OwnerRef,
    PlacedPod,
    Pod,
    PodSet,
    PodShape,
    Quota,
    ResourceFlavor,
    ResourceGroup,
    ScaledObject,
    SourceState,
    StopPolicy,
    Taint,
    Target,
    TargetRef,
    Toleration,
    TopologyRequest,
    TriggerSpec,
    Workload,
)
from scaler.core.reasons import WorkloadClass
from scaler.core.snapshot import GroupKey, QueuePartition, Snapshot, is_plain
from scaler.core.usage import QueryAnswer, QueryKey, Usage

GPU = "nvidia.com/gpu"
NOW: Instant = 1_800_000_000.0
LONG_AGO: Instant = NOW - 7200.0
PLENTY = 1_000_000
POOL_LABELS = (("pool", "gpu"),)

_SERIAL = serial()


def _next_uid(prefix: str) -> str:
    return f"{prefix}-uid-{next(_SERIAL):09d}"


def amounts(entries: Mapping[str, int] | None = None, *, gpu: int = 0) -> Amounts:
    """Build Amounts: sorted, without zeros."""
    merged = Counter(entries or {})
    merged[GPU] += gpu
    return tuple(sorted((name, value) for name, value in merged.items() if value))


def make_shape(
    *,
    gpus: int = 1,
    requests: Mapping[str, int] | None = None,
    node_selector: Mapping[str, str] | None = None,
    affinity: tuple[tuple[NodeRequirement, ...], ...] = (),
    tolerations: tuple[Toleration, ...] = (),
    dra_only: bool = False,
) -> PodShape:
    """Build a PodShape; `requests` come on top of `gpus` devices."""
    return PodShape(
        requests=amounts(requests, gpu=gpus),
        node_selector=tuple(sorted((node_selector or {}).items())),
        affinity=affinity,
        tolerations=tolerations,
        dra_only=dra_only,
    )


def make_pod_set(
    *,
    name: str = "main",
    count: int = 1,
    gpus: int = 1,
    shape: PodShape | None = None,
    min_count: int | None = None,
    topology: TopologyRequest | None = None,
) -> PodSet:
    """Build a PodSet of `count` pods with `gpus` devices each."""
    return PodSet(
        name=name,
        count=count,
        shape=shape or make_shape(gpus=gpus),
        min_count=min_count,
        topology=topology,
    )


def make_owner(
    *,
    uid: str,
    kind: str = "Job",
    api_version: str = "batch/v1",
    name: str = "owner",
    controller: bool = True,
) -> OwnerRef:
    """Build an ownerReference."""
    return OwnerRef(api_version=api_version, kind=kind, name=name, uid=uid, controller=controller)


def make_assignment(
    *, pod_set: PodSet, count: int | None = None, flavor: str = "gpu", topology: bool = False
) -> Assignment:
    """Build a PodSet's admission: every resource from `flavor`, usage = requests x count."""
    pods = pod_set.count if count is None else count
    return Assignment(
        pod_set=pod_set.name,
        count=pods,
        flavors=tuple((resource, flavor) for resource, _ in pod_set.shape.requests),
        usage=tuple((resource, value * pods) for resource, value in pod_set.shape.requests),
        topology_assigned=topology,
    )


def make_admission(
    *, pod_sets: tuple[PodSet, ...], cluster_queue: str = "gpu-cq", flavor: str = "gpu"
) -> Admission:
    """Build a whole admission of all PodSets into one flavor."""
    return Admission(
        cluster_queue=cluster_queue,
        assignments=tuple(make_assignment(pod_set=one, flavor=flavor) for one in pod_sets),
    )


def _default_standing(*, active: bool, admitted: bool, reserved: bool) -> WorkloadClass:
    if admitted:
        return WorkloadClass.RUNNING
    if not active:
        return WorkloadClass.NOT_DEMAND
    return WorkloadClass.CHECKS if reserved else WorkloadClass.NOT_EVALUATED


def make_workload(
    *,
    name: str = "wl",
    namespace: str = "ml",
    uid: str | None = None,
    queue_name: str = "lq",
    pods: int = 1,
    gpus: int = 1,
    pod_sets: tuple[PodSet, ...] | None = None,
    standing: WorkloadClass | None = None,
    created: Instant = LONG_AGO,
    priority: int = 0,
    queued_at: Instant | None = None,
    waiting_since: Instant | None = None,
    message: str = "",
    active: bool = True,
    deleting: bool = False,
    reserved: bool | None = None,
    admitted: bool = False,
    admitted_at: Instant | None = None,
    evicted: bool = False,
    requeue_at: Instant | None = None,
    cluster_queue: str = "gpu-cq",
    flavor: str = "gpu",
    admission: Admission | None = None,
    reclaimable: tuple[tuple[str, int], ...] = (),
    owners: tuple[OwnerRef, ...] = (),
    checks: tuple[tuple[str, str], ...] = (),
    cluster_name: str | None = None,
    replaces: Name | None = None,
    variant_parent: bool = False,
    allowed_flavors: tuple[str, ...] | None = None,
    opted_out: bool = False,
    wake_at: Instant | None = None,
) -> Workload:
    """Build a Workload, by default one that Kueue has not looked at yet.

    `admitted=True` also reserves quota and, unless given, makes the admission (into
    `cluster_queue` and `flavor`) at `created`.
    """
    sets = (make_pod_set(count=pods, gpus=gpus),) if pod_sets is None else pod_sets
    has_quota = admitted if reserved is None else reserved
    if has_quota and admission is None:
        admission = make_admission(pod_sets=sets, cluster_queue=cluster_queue, flavor=flavor)
    return Workload(
        namespace=namespace,
        name=name,
        uid=uid or _next_uid(name),
        queue_name=queue_name,
        standing=standing
        or _default_standing(active=active, admitted=admitted, reserved=has_quota),
        pod_sets=sets,
        created=created,
        priority=priority,
        queued_at=created if queued_at is None else queued_at,
        waiting_since=created if waiting_since is None else waiting_since,
        message=message,
        active=active,
        deleting=deleting,
        reserved=has_quota,
        admitted=admitted,
        admitted_at=created if admitted and admitted_at is None else admitted_at,
        evicted=evicted,
        requeue_at=requeue_at,
        admission=admission,
        reclaimable=reclaimable,
        owners=owners,
        checks=checks,
        cluster_name=cluster_name,
        replaces=replaces,
        variant_parent=variant_parent,
        allowed_flavors=allowed_flavors,
        opted_out=opted_out,
        wake_at=wake_at,
    )


def make_pod(
    *,
    name: str = "pod",
    namespace: str = "ml",
    uid: str | None = None,
    phase: str = "Running",
    created: Instant = LONG_AGO,
    gpus: int = 1,
    requests: Mapping[str, int] | None = None,
    node: str | None = None,
    deleting: bool = False,
    ready_since: Instant | None = None,
    started: Instant | None = None,
    unschedulable: bool = False,
    gated: bool = False,
    placeholder: bool = False,
    labels: Mapping[str, str] | None = None,
    workload: str | None = None,
    pod_set: str | None = None,
    owners: tuple[OwnerRef, ...] = (),
    opted_out: bool = False,
) -> Pod:
    """Build a whole Pod; a Running one is Ready since it was created unless told otherwise."""
    running = phase == "Running"
    return Pod(
        namespace=namespace,
        name=name,
        uid=uid or _next_uid(name),
        phase=phase,
        created=created,
        requests=amounts(requests, gpu=gpus),
        node=node,
        deleting=deleting,
        ready_since=created if running and ready_since is None else ready_since,
        started=created if running and started is None else started,
        unschedulable=unschedulable,
        gated=gated,
        placeholder=placeholder,
        labels=labels or {},
        workload=workload,
        pod_set=pod_set,
        owners=owners,
        opted_out=opted_out,
    )


def make_placed_pod(
    *,
    name: str = "daemon",
    namespace: str = "kube-system",
    node: str | None = "node-0",
    requests: Mapping[str, int] | None = None,
) -> PlacedPod:
    """Build a pod of which only its claim on a node counts."""
    return PlacedPod(namespace=namespace, name=name, node=node, requests=amounts(requests))


def make_node(
    *,
    name: str = "node-0",
    labels: Mapping[str, str] | None = None,
    gpus: int = 8,
    allocatable: Mapping[str, int] | None = None,
    created: Instant = LONG_AGO,
    ready: bool = True,
    ready_changed: Instant | None = None,
    unschedulable: bool = False,
    deleting: bool = False,
    taints: tuple[Taint, ...] = (),
) -> Node:
    """Build a Node of the pool `pool=gpu` with 8 GPUs, 188 cpus, 1900Gi and 110 pods."""
    rest = {"cpu": 188_000, "memory": 1900 << 30, "pods": 110}
    return Node(
        name=name,
        labels={**dict(POOL_LABELS), "kubernetes.io/hostname": name} if labels is None else labels,
        allocatable=amounts(rest if allocatable is None else allocatable, gpu=gpus),
        created=created,
        ready=ready,
        ready_changed=created if ready_changed is None else ready_changed,
        unschedulable=unschedulable,
        deleting=deleting,
        taints=taints,
    )


def make_flavor(
    *,
    name: str = "gpu",
    node_labels: Mapping[str, str] | None = None,
    taints: tuple[Taint, ...] = (),
    tolerations: tuple[Toleration, ...] = (),
    topology: str | None = None,
) -> ResourceFlavor:
    """Build a ResourceFlavor, by default on `pool=NAME`."""
    labels = {"pool": name} if node_labels is None else node_labels
    return ResourceFlavor(
        name=name,
        node_labels=tuple(sorted(labels.items())),
        taints=taints,
        tolerations=tolerations,
        topology=topology,
    )


def make_group(
    *,
    flavors: Mapping[str, int | Quota] | None = None,
    resource: str = GPU,
    resources: Mapping[str, Mapping[str, int | Quota]] | None = None,
) -> ResourceGroup:
    """Build a ResourceGroup: `flavors` maps flavor to the quota of `resource`.

    `resources` maps flavor -> resource -> quota, for groups that cover several resources.
    """
    table = resources or {
        flavor: {resource: quota} for flavor, quota in (flavors or {"gpu": PLENTY}).items()
    }
    covered = tuple(dict.fromkeys(name for row in table.values() for name in row))
    return ResourceGroup(
        resources=covered,
        flavors=tuple(
            (
                flavor,
                tuple(
                    (name, quota if isinstance(quota, Quota) else Quota(nominal=quota))
                    for name, quota in row.items()
                ),
            )
            for flavor, row in table.items()
        ),
    )


def make_cluster_queue(
    *,
    name: str = "gpu-cq",
    quota: int | Quota | None = None,
    flavors: Mapping[str, int | Quota] | None = None,
    groups: tuple[ResourceGroup, ...] | None = None,
    cohort: str | None = None,
    strict_fifo: bool = False,
    stop_policy: StopPolicy = StopPolicy.NONE,
    deleting: bool = False,
    inactive: str | None = None,
) -> ClusterQueue:
    """Build a ClusterQueue over GPUs: `quota` of flavor `gpu`, or a quota for each flavor."""
    if groups is None:
        groups = (make_group(flavors=flavors or {"gpu": PLENTY if quota is None else quota}),)
    return ClusterQueue(
        name=name,
        cohort=cohort,
        strict_fifo=strict_fifo,
        stop_policy=stop_policy,
        deleting=deleting,
        groups=groups,
        inactive=inactive,
    )


def make_local_queue(
    *,
    name: str = "lq",
    namespace: str = "ml",
    cluster_queue: str = "gpu-cq",
    stop_policy: StopPolicy = StopPolicy.NONE,
    deleting: bool = False,
) -> LocalQueue:
    """Build a LocalQueue."""
    return LocalQueue(
        namespace=namespace,
        name=name,
        cluster_queue=cluster_queue,
        stop_policy=stop_policy,
        deleting=deleting,
    )


def make_cohort(
    *,
    name: str = "all",
    parent: str | None = None,
    flavors: Mapping[str, int | Quota] | None = None,
) -> Cohort:
    """Build a Cohort, by default without quota of its own."""
    groups = (make_group(flavors=flavors),) if flavors else ()
    return Cohort(name=name, parent=parent, groups=groups)


def make_controlled(
    *,
    uid: str,
    controller_uid: str | None,
    kind: str = "RayCluster",
    namespace: str = "ml",
    name: str = "child",
) -> Controlled:
    """Build a RayCluster's or Job's metadata."""
    return Controlled(
        uid=uid, kind=kind, namespace=namespace, name=name, controller_uid=controller_uid
    )


def make_target(
    *,
    kind: str = "Deployment",
    namespace: str = "ml",
    name: str = "workers",
    replicas: int = 1,
    selector: tuple[NodeRequirement, ...] | None = None,
    shape: PodShape | None = None,
    uid: str | None = None,
    queue_name: str | None = None,
    opted_out: bool = False,
) -> Target:
    """Build a Deployment or StatefulSet that selects `app=NAME`."""
    by_app = (NodeRequirement(key="app", operator="In", values=(name,)),)
    return Target(
        kind=kind,
        namespace=namespace,
        name=name,
        replicas=replicas,
        selector=by_app if selector is None else selector,
        shape=shape or make_shape(),
        uid=uid or _next_uid(name),
        queue_name=queue_name,
        opted_out=opted_out,
    )


def make_scaled_object(
    *,
    name: str = "so",
    namespace: str = "ml",
    created: Instant = LONG_AGO,
    target: TargetRef | None = None,
    metadata: Mapping[str, str] | None = None,
    triggers: tuple[TriggerSpec, ...] | None = None,
    min_replicas: int = 0,
    max_replicas: int = 100,
    idle_replicas: int | None = None,
    paused: bool = False,
    hpa_name: str | None = None,
    tolerance_set: bool = False,
    opted_out: bool = False,
    wake_at: Instant | None = None,
    deleting: bool = False,
) -> ScaledObject:
    """Build a ScaledObject on Deployment `workers` with one external-push trigger."""
    one = TriggerSpec(type="external-push", metadata=tuple(sorted((metadata or {}).items())))
    return ScaledObject(
        namespace=namespace,
        name=name,
        uid=_next_uid(name),
        created=created,
        target=target or TargetRef(name="workers"),
        triggers=(one,) if triggers is None else triggers,
        min_replicas=min_replicas,
        max_replicas=max_replicas,
        idle_replicas=idle_replicas,
        paused=paused,
        hpa_name=hpa_name,
        tolerance_set=tolerance_set,
        opted_out=opted_out,
        wake_at=wake_at,
        deleting=deleting,
    )


def make_hpa(
    *,
    name: str = "keda-hpa-so",
    namespace: str = "ml",
    current_replicas: int | None = 1,
    scaling_disabled: bool = False,
    scaling_active_changed: Instant | None = LONG_AGO,
    last_scale: Instant | None = None,
    tolerance_up: float | None = 0.0,
) -> Hpa:
    """Build the HorizontalPodAutoscaler of a ScaledObject."""
    return Hpa(
        namespace=namespace,
        name=name,
        current_replicas=current_replicas,
        scaling_disabled=scaling_disabled,
        scaling_active_changed=scaling_active_changed,
        last_scale=last_scale,
        tolerance_up=tolerance_up,
    )


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
