"""Failure reports of Kueue's users, as demand sees them."""

import pytest

from scaler.core.model import (
    Admission,
    AdmissionCheck,
    Assignment,
    ClusterQueue,
    LocalQueue,
    OwnerRef,
    Quota,
    StopPolicy,
)
from scaler.core.reasons import WorkloadClass
from tests.builders import (
    GPU,
    LONG_AGO,
    NOW,
    make_cluster_queue,
    make_controlled,
    make_flavor,
    make_group,
    make_local_queue,
    make_owner,
    make_pod,
    make_pod_set,
    make_shape,
    make_snapshot,
    make_workload,
)
from tests.core.demand_fixture import (
    ask,
    classes,
    counted,
    pending_gpus,
    total_gpus,
    unplaced_gpus,
)

FLAVOR = ((GPU, "gpu"),)


def test_k07_borrowed_quota() -> None:
    """K07: quota that is used beyond its nominal amount never makes a number negative."""
    used = make_workload(pods=10, admitted=True, admitted_at=NOW)
    queue = make_cluster_queue(quota=8)
    found = ask(make_snapshot(workloads=[used], cluster_queues=[queue]))
    assert pending_gpus(found) == 0
    assert total_gpus(found) == 10


@pytest.mark.parametrize("stage", ["waiting", "admitted", "unschedulable", "running"])
def test_k11_no_dip(stage: str) -> None:
    """K11: from the queue to running, three one-GPU Workloads are three GPUs all the way."""
    admitted = stage != "waiting"
    workloads = [
        make_workload(name=f"a-{number}", admitted=admitted, admitted_at=NOW if admitted else None)
        for number in range(3)
    ]
    running = stage == "running"
    pods = [
        make_pod(
            name=one.name,
            workload=one.name,
            phase="Running" if running else "Pending",
            node="node-0" if running else None,
            unschedulable=not running,
        )
        for one in workloads
        if stage in ("unschedulable", "running")
    ]
    found = ask(make_snapshot(workloads=workloads, pods=pods))
    assert total_gpus(found) == 3
    assert unplaced_gpus(found) == (3 if stage in ("admitted", "unschedulable") else 0)


def test_q01_objects_count() -> None:
    """Q01: two Workloads without quota are two, whatever a status field says."""
    found = ask(make_snapshot(workloads=[make_workload(name="a"), make_workload(name="b")]))
    assert pending_gpus(found) == 2


def test_q02_deleting_cluster_queue() -> None:
    """Q02: a ClusterQueue that is being deleted attracts no nodes, what runs in it counts."""
    found = ask(
        make_snapshot(
            workloads=[make_workload(name="new"), make_workload(name="runs", admitted=True)],
            pods=[make_pod(workload="runs", node="node-0")],
            cluster_queues=[make_cluster_queue(deleting=True)],
        )
    )
    assert (pending_gpus(found), found.admitted_gpus) == (0, 1)


@pytest.mark.parametrize(
    "local_queues",
    [
        pytest.param([], id="missing"),
        pytest.param([make_local_queue(stop_policy=StopPolicy.HOLD)], id="held"),
        pytest.param([make_local_queue(deleting=True)], id="deleting"),
    ],
)
@pytest.mark.parametrize("standing", [WorkloadClass.NOT_EVALUATED, WorkloadClass.NOT_DEMAND])
def test_q03_no_local_queue(local_queues: list[LocalQueue], standing: WorkloadClass) -> None:
    """Q03: behind a LocalQueue that lets nothing pass, Workloads count as not routable."""
    workloads = [make_workload(name=name, standing=standing) for name in ("a", "b")]
    found = ask(make_snapshot(workloads=workloads, local_queues=local_queues))
    assert total_gpus(found) == 0
    assert found.not_routable == 2


def test_q04_pods_long_gone() -> None:
    """Q04: of 52 admitted Workloads whose pods are mostly gone, the two that have pods count."""
    workloads = [
        make_workload(
            name=f"wl-{number}",
            admitted=True,
            owners=(make_owner(uid=f"pod-{number}", kind="Pod", api_version="v1"),),
        )
        for number in range(52)
    ]
    pods = [make_pod(name=f"p{number}", uid=f"pod-{number}", node="node-0") for number in (0, 1)]
    found = ask(make_snapshot(workloads=workloads, pods=pods))
    assert total_gpus(found) == 2
    assert not found.needs


def test_q05_terminating() -> None:
    """Q05: Workloads that a finalizer keeps from going count nothing without live pods."""
    going = [
        make_workload(name=f"old-{number}", admitted=True, deleting=True) for number in range(1000)
    ]
    live = [make_workload(name=f"live-{number}", admitted=True) for number in range(3)]
    pods = [make_pod(name=one.name, workload=one.name, node="node-0") for one in live]
    found = ask(make_snapshot(workloads=[*going, *live], pods=pods))
    assert found.admitted_gpus == 3
    assert found.admitted_workloads == 3
    assert classes(found) == {WorkloadClass.FINISHED: 1000, WorkloadClass.RUNNING: 3}


def test_q06_replaced_slices() -> None:
    """Q06: Finished slices that were never collected count nowhere."""
    over = [
        make_workload(name=f"old-{number}", gpus=4, admitted=True, standing=WorkloadClass.FINISHED)
        for number in range(5)
    ]
    live = make_workload(name="live", gpus=4, admitted=True, admitted_at=NOW)
    found = ask(make_snapshot(workloads=[*over, live]))
    assert (pending_gpus(found), found.admitted_gpus) == (0, 4)


def test_q07_replacement_pods() -> None:
    """Q07: a pod group without its replacement pods asks for nothing."""
    group = make_workload(pods=4, standing=WorkloadClass.NOT_DEMAND, requeue_at=NOW - 60)
    assert total_gpus(ask(make_snapshot(workloads=[group]))) == 0


def test_q08_back_off() -> None:
    """Q08: a back-off counts nothing until it is over, and then once."""
    evicted = make_workload(pods=8, evicted=True, requeue_at=NOW + 60)
    snapshot = make_snapshot(workloads=[evicted])
    assert total_gpus(ask(snapshot, now=NOW)) == 0
    assert total_gpus(ask(snapshot, now=NOW + 60)) == 8
    assert total_gpus(ask(snapshot, now=NOW + 59.9)) == 0
    requeued = make_snapshot(workloads=[make_workload(pods=8, evicted=True)])
    assert total_gpus(ask(requeued)) == 8


@pytest.mark.parametrize("policy", [StopPolicy.HOLD, StopPolicy.HOLD_AND_DRAIN])
def test_q09_stop_policy(policy: StopPolicy) -> None:
    """Q09: a stopped ClusterQueue admits nothing more, what it admitted still counts."""
    workloads = [
        make_workload(name="runs", admitted=True),
        make_workload(name="starts", admitted=True),
        make_workload(name="waits"),
    ]
    pods = [
        make_pod(name="r", workload="runs", node="node-0"),
        make_pod(name="s", workload="starts", phase="Pending", unschedulable=True),
    ]
    queue = make_cluster_queue(stop_policy=policy)
    found = ask(make_snapshot(workloads=workloads, pods=pods, cluster_queues=[queue]))
    assert (pending_gpus(found), found.admitted_gpus) == (0, 2)
    assert classes(found) == {
        WorkloadClass.UNPLACED: 1,
        WorkloadClass.RUNNING: 1,
        WorkloadClass.NOT_DEMAND: 1,
    }


def test_q09_drained() -> None:
    """Q09: once the evictions show and the pods are gone, nothing is left to count."""
    evicted = make_workload(admitted=True, evicted=True)
    queue = make_cluster_queue(stop_policy=StopPolicy.HOLD_AND_DRAIN)
    still_there = make_pod(workload="wl", node="node-0")
    with_pod = make_snapshot(workloads=[evicted], cluster_queues=[queue], pods=[still_there])
    assert total_gpus(ask(with_pod)) == 1
    assert total_gpus(ask(make_snapshot(workloads=[evicted], cluster_queues=[queue]))) == 0


def test_q10_limits_as_requests() -> None:
    """Q10: a shape made from limits alone counts as any other (shape has the rule itself)."""
    assert pending_gpus(ask(make_snapshot(workloads=[make_workload(pods=4, gpus=2)]))) == 8


@pytest.mark.parametrize(("live", "want"), [(3, 3), (1, 1)])
@pytest.mark.parametrize("admitted_at", [LONG_AGO, NOW])
def test_q11_restarted_pods(live: int, want: int, admitted_at: float) -> None:
    """Q11: pods that run count, though Kueue believes that they gave their quota back."""
    workload = make_workload(
        pods=3, admitted=True, admitted_at=admitted_at, reclaimable=(("main", 2),)
    )
    pods = [make_pod(name=f"p{number}", workload="wl", node="node-0") for number in range(live)]
    found = ask(make_snapshot(workloads=[workload], pods=pods))
    assert found.admitted_gpus == want
    assert not found.needs


@pytest.mark.parametrize(
    ("reclaimed", "live", "over", "want"),
    [(0, 4, 0, 4), (3, 4, 0, 4), (8, 2, 2, 2)],
)
@pytest.mark.parametrize("admitted_at", [LONG_AGO, NOW])
def test_q12_partial_admission(
    reclaimed: int, live: int, over: int, want: int, admitted_at: float
) -> None:
    """Q12: a partly admitted Workload is charged for the pods that it was admitted with."""
    main = make_pod_set(count=10, min_count=4)
    assignment = Assignment(pod_set="main", count=4, flavors=FLAVOR, usage=((GPU, 4),))
    workload = make_workload(
        pod_sets=(main,),
        admitted=True,
        admitted_at=admitted_at,
        admission=Admission(cluster_queue="gpu-cq", assignments=(assignment,)),
        reclaimable=(("main", reclaimed),) if reclaimed else (),
    )
    pods = [
        make_pod(
            name=f"p{number}",
            workload="wl",
            node="node-0",
            phase="Running" if number < live else "Succeeded",
        )
        for number in range(live + over)
    ]
    found = ask(make_snapshot(workloads=[workload], pods=pods))
    assert (pending_gpus(found), found.admitted_gpus) == (0, want)
    assert not found.needs


@pytest.mark.parametrize(
    ("controller_uid", "want"), [pytest.param("a", 8, id="owned"), pytest.param(None, 16, id="not")]
)
def test_q13_label_copied(controller_uid: str | None, want: int) -> None:
    """Q13: a RayJob and its RayCluster with a Workload each are one demand, not two."""
    workloads = [
        make_workload(name="job", gpus=8, owners=(make_owner(uid="a", kind="RayJob"),)),
        make_workload(name="cluster", gpus=8, owners=(make_owner(uid="b", kind="RayCluster"),)),
    ]
    owners = [make_controlled(uid="b", controller_uid=controller_uid)]
    found = ask(make_snapshot(workloads=workloads, owners=owners))
    assert pending_gpus(found) == want


def test_q13_unreadable_owner() -> None:
    """Q13: where the owner can't be read, both Workloads count."""
    workloads = [
        make_workload(name="job", owners=(make_owner(uid="a"),)),
        make_workload(name="cluster", owners=(make_owner(uid="b"),)),
    ]
    assert pending_gpus(ask(make_snapshot(workloads=workloads))) == 2


def test_q14_stateful_set_at_zero() -> None:
    """Q14: an old Workload that is evicted, still admitted and without pods takes no node."""
    stale = make_workload(gpus=8, admitted=True, evicted=True, admitted_at=NOW)
    found = ask(make_snapshot(workloads=[stale]))
    assert total_gpus(found) == 0
    assert found.admitted_workloads == 0
    assert classes(found) == {WorkloadClass.NOT_DEMAND: 1}


def _b300(*, strict_fifo: bool) -> ClusterQueue:
    return make_cluster_queue(flavors={"b300": 16, "b200": 40}, strict_fifo=strict_fifo)


@pytest.mark.parametrize(
    ("strict_fifo", "want"),
    [
        pytest.param(True, [], id="StrictFIFO"),
        pytest.param(False, ["2", "3", "4"], id="BestEffort"),
    ],
)
def test_q16_strict_fifo(want: list[str], *, strict_fifo: bool) -> None:
    """Q16: under StrictFIFO a head without quota stops all behind it, else they go past."""
    jobs = [("1", "b300", 8), ("2", "b200", 8), ("3", "b200", 8), ("4", "b200", 2)]
    waiting = [
        make_workload(
            name=name,
            created=LONG_AGO + int(name),
            pod_sets=(make_pod_set(shape=make_shape(gpus=gpus, node_selector={"pool": pool})),),
        )
        for name, pool, gpus in jobs
    ]
    full = make_workload(name="full", gpus=16, admitted=True, flavor="b300")
    found = ask(
        make_snapshot(
            workloads=[*waiting, full],
            cluster_queues=[_b300(strict_fifo=strict_fifo)],
            flavors=[make_flavor(name=name) for name in ("b300", "b200")],
        )
    )
    assert counted(found) == want
    assert pending_gpus(found) == (0 if strict_fifo else 18)


def test_q17_device_claims() -> None:
    """Q17: pods that ask for devices by claims alone are not counted, and said to be so."""
    by_claim = make_pod_set(shape=make_shape(gpus=0, dra_only=True))
    found = ask(make_snapshot(workloads=[make_workload(pod_sets=(by_claim,))]))
    assert not found.needs
    assert found.not_counted_dra == 1
    with_both = ask(make_snapshot(workloads=[make_workload(name="extended")]))
    assert (pending_gpus(with_both), with_both.not_counted_dra) == (1, 0)


PARENT = OwnerRef(
    api_version="kueue.x-k8s.io/v1beta2",
    kind="Workload",
    name="parent",
    uid="parent-uid",
    controller=True,
)


@pytest.mark.parametrize("admitted", [False, True])
def test_q18_variants(*, admitted: bool) -> None:
    """Q18: a parent and its variants are one Workload: waiting, or admitted by one of them."""
    workloads = [
        make_workload(name="parent", uid="parent-uid", gpus=8, variant_parent=True),
        make_workload(name="one", gpus=8, owners=(PARENT,), admitted=admitted, admitted_at=NOW),
        make_workload(name="two", gpus=8, owners=(PARENT,)),
    ]
    found = ask(make_snapshot(workloads=workloads))
    assert pending_gpus(found) == (0 if admitted else 8)
    assert found.admitted_gpus == (8 if admitted else 0)
    assert counted(found) == ["one" if admitted else "parent"]
    assert found.admitted_workloads == (1 if admitted else 0)


def test_q18_gated_parent() -> None:
    """Q18: where the parent itself is gated, one of its variants speaks for the family."""
    workloads = [
        make_workload(
            name="parent",
            uid="parent-uid",
            variant_parent=True,
            standing=WorkloadClass.NOT_DEMAND,
        ),
        make_workload(name="one", owners=(PARENT,), standing=WorkloadClass.NO_FLAVOR),
        make_workload(name="two", owners=(PARENT,), standing=WorkloadClass.TOPOLOGY),
    ]
    assert counted(ask(make_snapshot(workloads=workloads))) == ["two"]


@pytest.mark.parametrize("labelled", [False, True])
def test_q18_unlabelled_parent(*, labelled: bool) -> None:
    """Q18: a variant counts with the Workload that owns it, labelled or not."""
    workloads = [
        make_workload(name="parent", uid="parent-uid", variant_parent=labelled),
        make_workload(name="one", owners=(PARENT,)),
    ]
    assert counted(ask(make_snapshot(workloads=workloads))) == ["parent"]


@pytest.mark.parametrize("state", ["Pending", "Retry", "Rejected"])
def test_q19_provisioning_check(state: str) -> None:
    """Q19: with quota and a check that is not Ready, another system provisions."""
    workload = make_workload(pods=8, reserved=True, checks=(("prov", state),))
    found = ask(make_snapshot(workloads=[workload]))
    assert total_gpus(found) == 0
    assert classes(found) == {WorkloadClass.CHECKS: 1}


def test_q20_sidecars() -> None:
    """Q20: the sidecar rule is the shape's; demand multiplies what the shape says."""
    assert pending_gpus(ask(make_snapshot(workloads=[make_workload(gpus=3)]))) == 3


def test_n04_preemption() -> None:
    """N04: while its victims go, a preemptor asks for no node; afterwards it does."""
    victim = make_workload(name="victim", gpus=8, admitted=True, evicted=True)
    queue = make_cluster_queue(quota=8)
    for standing, want in ((WorkloadClass.PREEMPTING, 0), (WorkloadClass.TOPOLOGY, 8)):
        waits = make_workload(name="waits", gpus=8, standing=standing)
        found = ask(make_snapshot(workloads=[victim, waits], cluster_queues=[queue]))
        assert pending_gpus(found) == want


def test_n06_quota_beyond_hardware() -> None:
    """N06: admitted pods that no node takes are demand, each once."""
    workload = make_workload(pods=2, gpus=4, admitted=True)
    pods = [
        make_pod(name=f"p{number}", workload="wl", gpus=4, phase="Pending", unschedulable=True)
        for number in range(2)
    ]
    found = ask(make_snapshot(workloads=[workload], pods=pods))
    (need,) = found.needs
    assert need.workload_class is WorkloadClass.UNPLACED
    assert [(pods.count, pods.flavors) for pods in need.pods] == [(2, ("gpu",))]
    assert found.admitted_gpus == 8


def test_multikueue_is_elsewhere() -> None:
    """Workloads that MultiKueue sends to another cluster need nothing here, at any stage."""
    checks = [AdmissionCheck(name="far", controller="kueue.x-k8s.io/multikueue")]
    workloads = [
        make_workload(name="waits", checks=(("far", "Pending"),)),
        make_workload(name="named", cluster_name="worker-1"),
        make_workload(name="runs", admitted=True, admitted_at=NOW, checks=(("far", "Ready"),)),
        make_workload(name="here", checks=(("near", "Pending"),)),
    ]
    found = ask(make_snapshot(workloads=workloads, checks=checks))
    assert counted(found) == ["here"]
    assert (found.admitted_gpus, found.admitted_workloads) == (0, 0)


def test_slice_asks_the_difference() -> None:
    """An elastic slice asks for what it has more than the one that it replaces."""
    old = make_workload(name="old", pods=2, admitted=True)
    pods = [make_pod(name=f"p{number}", workload="old", node="node-0") for number in range(2)]
    new = make_workload(name="new", pods=5, replaces=("ml", "old"))
    queue = make_cluster_queue(quota=5)
    found = ask(make_snapshot(workloads=[old, new], pods=pods, cluster_queues=[queue]))
    assert (pending_gpus(found), found.admitted_gpus) == (3, 2)
    alone = ask(make_snapshot(workloads=[new], cluster_queues=[queue]))
    assert pending_gpus(alone) == 5


def test_slice_keeps_its_pods() -> None:
    """Pods that name a slice long finished belong to the one that replaced it."""
    new = make_workload(name="new", pods=2, admitted=True, admitted_at=NOW, replaces=("ml", "old"))
    pods = [make_pod(name=f"p{number}", workload="old", node="node-0") for number in range(2)]
    found = ask(make_snapshot(workloads=[new], pods=pods))
    assert not found.needs
    assert found.admitted_gpus == 2


def test_both_slices_admitted() -> None:
    """While the slice that is replaced is still there, the two hold what the new one asks."""
    old = make_workload(name="old", pods=2, admitted=True, admitted_at=NOW)
    new = make_workload(name="new", pods=5, admitted=True, admitted_at=NOW, replaces=("ml", "old"))
    found = ask(make_snapshot(workloads=[old, new]))
    assert found.admitted_gpus == 5
    assert unplaced_gpus(found) == 5


def test_borrowed_by_nobody_else() -> None:
    """What a ClusterQueue has borrowed is gone for the one that lent it."""
    borrower = make_cluster_queue(name="borrower", quota=0, cohort="all")
    lender = make_cluster_queue(name="lender", quota=Quota(nominal=8), cohort="all")
    snapshot = make_snapshot(
        workloads=[
            make_workload(name="runs", gpus=8, admitted=True, cluster_queue="borrower"),
            make_workload(name="waits", gpus=8),
        ],
        cluster_queues=[borrower, lender],
        local_queues=[make_local_queue(cluster_queue="lender")],
    )
    assert pending_gpus(ask(snapshot, "lender")) == 0


def test_uncovered_resource() -> None:
    """A resource that the ClusterQueue does not cover is unlimited, on any flavor."""
    queue = make_cluster_queue(groups=(make_group(flavors={"cpu": 0}, resource="cpu"),))
    found = ask(make_snapshot(workloads=[make_workload(pods=100)], cluster_queues=[queue]))
    assert pending_gpus(found) == 100
    assert found.needs[0].pods[0].flavors == ()
