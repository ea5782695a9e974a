"""Laws of demand, over queues that nobody would set up."""

from collections import defaultdict
from dataclasses import replace
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from scaler.core.demand.granted import usage
from scaler.core.demand.need import Demand
from scaler.core.model import (
    ClusterQueue,
    Controlled,
    LocalQueue,
    OwnerRef,
    Pod,
    PodSet,
    Quota,
    StopPolicy,
    Workload,
)
from scaler.core.reasons import WorkloadClass
from scaler.core.snapshot import GroupKey, QueuePartition, Snapshot
from tests.builders import (
    NOW,
    make_cluster_queue,
    make_controlled,
    make_local_queue,
    make_owner,
    make_pod,
    make_pod_set,
    make_snapshot,
    make_workload,
)
from tests.core.demand_fixture import ask, counted, pending_gpus

NAMES = ("a", "b")
SHAPES: tuple[tuple[PodSet, ...], ...] = (
    (make_pod_set(count=2, gpus=4),),
    (make_pod_set(count=4, gpus=2, min_count=1),),
    (make_pod_set(name="head", gpus=1), make_pod_set(name="main", count=3, gpus=2)),
)
WAITING = tuple(
    one
    for one in WorkloadClass
    if one
    not in (
        WorkloadClass.RUNNING,
        WorkloadClass.CHECKS,
        WorkloadClass.UNPLACED,
        WorkloadClass.FINISHED,
    )
)
PARENT = OwnerRef(api_version="kueue.x-k8s.io/v1beta2", kind="Workload", name="parent", uid="uid-0")
OWNERS = ((), (), (), (PARENT,), (make_owner(uid="x"),), (make_owner(uid="y"),))

_SMALL = st.integers(0, 20)
_QUOTAS = st.builds(
    Quota,
    nominal=_SMALL,
    borrowing_limit=st.none() | _SMALL,
    lending_limit=st.none() | _SMALL,
)


@st.composite
def _workloads(draw: st.DrawFn) -> list[Workload]:
    found: list[Workload] = []
    for number in range(draw(st.integers(0, 20))):
        stage = draw(st.sampled_from(["waiting", "waiting", "reserved", "admitted"]))
        name = draw(st.sampled_from(NAMES))
        found.append(
            make_workload(
                name=f"wl-{number}",
                uid=f"uid-{number}",
                queue_name=draw(st.sampled_from((*NAMES, "none"))),
                cluster_queue=name,
                pod_sets=draw(st.sampled_from(SHAPES)),
                standing=draw(st.sampled_from(WAITING)) if stage == "waiting" else None,
                reserved=stage != "waiting",
                admitted=stage == "admitted",
                admitted_at=draw(st.sampled_from([NOW, NOW - 7200]))
                if stage == "admitted"
                else None,
                created=NOW - draw(st.integers(0, 3)),
                priority=draw(st.integers(0, 1)),
                deleting=draw(st.integers(0, 5)) == 0,
                evicted=draw(st.integers(0, 5)) == 0,
                requeue_at=draw(st.sampled_from([None, None, NOW - 1, NOW + 1])),
                reclaimable=draw(st.sampled_from([(), (), (("main", 1),)])),
                owners=draw(st.sampled_from(OWNERS)),
                replaces=draw(st.sampled_from([None, None, ("ml", "wl-1")])),
                variant_parent=number == 0,
            )
        )
    return found


@st.composite
def _cluster_queues(draw: st.DrawFn) -> list[ClusterQueue]:
    return [
        make_cluster_queue(
            name=name,
            quota=draw(_QUOTAS),
            cohort=draw(st.sampled_from([None, "all"])),
            strict_fifo=draw(st.booleans()),
            stop_policy=draw(st.sampled_from([StopPolicy.NONE, StopPolicy.NONE, StopPolicy.HOLD])),
        )
        for name in NAMES
    ]


@st.composite
def _pods(draw: st.DrawFn) -> list[Pod]:
    return [
        make_pod(
            name=f"pod-{number}",
            workload=f"wl-{draw(st.integers(0, 11))}",
            phase=draw(st.sampled_from(["Pending", "Running", "Succeeded"])),
            unschedulable=draw(st.booleans()),
            gpus=draw(st.integers(0, 4)),
        )
        for number in range(draw(st.integers(0, 8)))
    ]


LINKS: list[LocalQueue] = [make_local_queue(name=name, cluster_queue=name) for name in NAMES]
CONTROLLED: list[Controlled] = [make_controlled(uid="y", controller_uid="x")]


def _snapshot(workloads: list[Workload], queues: list[ClusterQueue], pods: list[Pod]) -> Snapshot:
    return make_snapshot(
        workloads=workloads,
        cluster_queues=queues,
        local_queues=LINKS,
        owners=CONTROLLED,
        pods=pods,
    )


def _asked(snapshot: Snapshot, *, quota_follows_nodes: bool = False) -> Demand:
    return ask(snapshot, *NAMES, quota_follows_nodes=quota_follows_nodes)


@given(workloads=_workloads(), queues=_cluster_queues(), pods=_pods())
def test_each_in_one_class(
    workloads: list[Workload], queues: list[ClusterQueue], pods: list[Pod]
) -> None:
    """Every Workload of the ClusterQueues is in exactly one class."""
    snapshot = _snapshot(workloads, queues, pods)
    routed = sum(
        len(members)
        for partition in snapshot.queues.values()
        for members in partition.groups.values()
    )
    found = _asked(snapshot)
    assert sum(row.workloads for row in found.classes) == routed
    rows = [(row.cluster_queue, row.workload_class) for row in found.classes]
    assert len(set(rows)) == len(rows)


@given(workloads=_workloads(), queues=_cluster_queues(), pods=_pods(), follows=st.booleans())
def test_needs_are_sound(
    workloads: list[Workload], queues: list[ClusterQueue], pods: list[Pod], *, follows: bool
) -> None:
    """No number is negative, no Workload needs twice, and what is counted is what is needed."""
    found = _asked(_snapshot(workloads, queues, pods), quota_follows_nodes=follows)
    assert found.admitted_gpus >= 0
    assert found.admitted_workloads >= 0
    assert found.not_routable >= 0
    assert all(need.pods and all(one.count > 0 for one in need.pods) for need in found.needs)
    assert len({need.workload.uid for need in found.needs}) == len(found.needs)
    assert sum(row.workloads for row in found.counted) == len(found.needs)
    have = {(row.cluster_queue, row.workload_class): row.workloads for row in found.classes}
    for row in found.counted:
        assert row.workloads <= have[(row.cluster_queue, row.workload_class)]


@given(workloads=_workloads(), queues=_cluster_queues(), pods=_pods(), seed=st.integers(0, 1 << 16))
def test_order_of_lists(
    workloads: list[Workload], queues: list[ClusterQueue], pods: list[Pod], seed: int
) -> None:
    """The order in which objects are listed changes nothing."""
    want = _asked(_snapshot(workloads, queues, pods))
    shuffled = Random(seed)  # noqa: S311  # shuffles a test's input
    for one in (workloads, queues, pods):
        shuffled.shuffle(one)
    assert _asked(_snapshot(workloads, queues, pods)) == want


@given(workloads=_workloads(), queues=_cluster_queues(), pods=_pods())
def test_plain_groups(
    workloads: list[Workload], queues: list[ClusterQueue], pods: list[Pod]
) -> None:
    """Taking plain groups whole gives what looking at each Workload gives."""
    want = _asked(_snapshot(workloads, queues, pods))
    snapshot = _snapshot(workloads, queues, pods)
    looked_at = {name: _not_plain(partition) for name, partition in snapshot.queues.items()}
    assert _asked(replace(snapshot, queues=looked_at)) == want


def _not_plain(partition: QueuePartition) -> QueuePartition:
    """Put plain and other Workloads of one sort into one group, in Kueue's order."""
    groups: defaultdict[GroupKey, list[Workload]] = defaultdict(list)
    for key, members in partition.groups.items():
        groups[replace(key, plain=False)].extend(members)
    return QueuePartition(
        groups={
            key: tuple(sorted(members, key=lambda one: (-one.priority, one.queued_at, one.uid)))
            for key, members in groups.items()
        }
    )


@given(workloads=_workloads(), queues=_cluster_queues())
def test_within_quota(workloads: list[Workload], queues: list[ClusterQueue]) -> None:
    """What D and J count fits into the quota that usage leaves, cohort-wide and borrowed."""
    snapshot = _snapshot(workloads, queues, [])
    found = _asked(snapshot)
    for names in ([one.name] for one in queues if one.cohort is None):
        _check_within(snapshot, found, names)
    _check_within(snapshot, found, [one.name for one in queues if one.cohort is not None])


def _check_within(snapshot: Snapshot, found: Demand, names: list[str]) -> None:
    quotas = [snapshot.cluster_queues[name].groups[0].flavors[0][1][0][1] for name in names]
    used = sum(
        amount
        for name in names
        for members in (snapshot.queues[name].groups.values() if name in snapshot.queues else ())
        for _, amount in usage(members)
    )
    wanted = sum(
        row.gpus
        for row in found.counted
        if row.cluster_queue in names
        and row.workload_class in (WorkloadClass.QUOTA, WorkloadClass.NOT_EVALUATED)
    )
    assert wanted <= max(0, sum(quota.nominal for quota in quotas) - used)


@given(workloads=_workloads(), queues=_cluster_queues(), pods=_pods())
def test_quota_only_adds(
    workloads: list[Workload], queues: list[ClusterQueue], pods: list[Pod]
) -> None:
    """Where quota follows nodes, whatever counts without that still counts."""
    snapshot = _snapshot(workloads, queues, pods)
    by_quota = set(counted(_asked(snapshot)))
    assert by_quota <= set(counted(_asked(snapshot, quota_follows_nodes=True)))


@given(
    shape=st.sampled_from(SHAPES),
    number=st.integers(0, 12),
    quota=st.integers(0, 60),
    more=st.integers(0, 20),
)
def test_more_quota_never_shrinks(
    shape: tuple[PodSet, ...], number: int, quota: int, more: int
) -> None:
    """One BestEffortFIFO queue of one shape counts no less when its quota grows."""
    workloads = [make_workload(name=f"wl-{one}", pod_sets=shape) for one in range(number)]
    less, rather_more = (
        pending_gpus(
            ask(make_snapshot(workloads=workloads, cluster_queues=[make_cluster_queue(quota=one)]))
        )
        for one in (quota, quota + more)
    )
    assert less <= rather_more


@given(workloads=_workloads(), queues=_cluster_queues(), pods=_pods(), seconds=st.floats(0, 10))
def test_memo(
    workloads: list[Workload], queues: list[ClusterQueue], pods: list[Pod], seconds: float
) -> None:
    """What is remembered from an earlier time is what would be worked out anew."""
    snapshot = _snapshot(workloads, queues, pods)
    ask(snapshot, *NAMES, now=NOW - 5)
    ask(snapshot, *NAMES, now=NOW + 5)
    now = NOW - 5 + seconds
    assert ask(snapshot, *NAMES, now=now) == ask(
        _snapshot(workloads, queues, pods), *NAMES, now=now
    )
