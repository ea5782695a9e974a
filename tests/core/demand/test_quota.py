"""The simulated admission: whom quota is free for, in which order, on which flavors."""

from dataclasses import replace

import pytest

from scaler.core.demand.quota import simulated
from scaler.core.model import ClusterQueue, Kind, Quota, SourceState, Workload
from scaler.core.reasons import WorkloadClass
from scaler.core.snapshot import Snapshot
from tests.builders import (
    GPU,
    LONG_AGO,
    NOW,
    make_cluster_queue,
    make_cohort,
    make_group,
    make_local_queue,
    make_pod_set,
    make_shape,
    make_snapshot,
    make_workload,
)
from tests.core.demand_fixture import ask, counted, pending_gpus


def _queued(name: str, order: int, *, gpus: int = 8, priority: int = 0) -> Workload:
    return make_workload(name=name, gpus=gpus, created=LONG_AGO + order, priority=priority)


def _in(*workloads: Workload, queue: ClusterQueue) -> Snapshot:
    return make_snapshot(workloads=workloads, cluster_queues=[queue])


def test_order() -> None:
    """Priority goes first, then the older queue timestamp."""
    workloads = [_queued("old", 1), _queued("young", 2), _queued("urgent", 3, priority=10)]
    snapshot = _in(*workloads, queue=make_cluster_queue(quota=16))
    assert counted(ask(snapshot)) == ["urgent", "old"]


def test_best_effort_goes_past() -> None:
    """BestEffortFIFO goes past what does not fit to what does."""
    workloads = [_queued("big", 1, gpus=16), _queued("small", 2, gpus=4)]
    assert counted(ask(_in(*workloads, queue=make_cluster_queue(quota=8)))) == ["small"]


@pytest.mark.parametrize(
    "standing",
    [WorkloadClass.QUOTA, WorkloadClass.EXCEEDS, WorkloadClass.NO_FLAVOR, WorkloadClass.BLOCKED],
)
def test_strict_fifo_stops(standing: WorkloadClass) -> None:
    """StrictFIFO stops at a head that does not fit, and at one that never will."""
    head = make_workload(name="head", gpus=16, created=LONG_AGO - 1, standing=standing)
    behind = make_workload(name="behind", gpus=4)
    queue = make_cluster_queue(quota=8, strict_fifo=True)
    assert counted(ask(_in(head, behind, queue=queue))) == []
    backing_off = make_workload(name="head", created=LONG_AGO - 1, requeue_at=NOW + 60)
    assert counted(ask(_in(backing_off, behind, queue=queue))) == ["behind"]


def test_whole_or_nothing() -> None:
    """A Workload counts whole, or with its minCount, or not at all."""
    whole = make_workload(name="whole", pods=10)
    least = make_workload(name="least", pod_sets=(make_pod_set(count=10, min_count=4),))
    queue = make_cluster_queue(quota=4)
    assert pending_gpus(ask(_in(whole, queue=queue))) == 0
    assert pending_gpus(ask(_in(least, queue=queue))) == 4
    assert pending_gpus(ask(_in(least, queue=make_cluster_queue(quota=10)))) == 10
    assert pending_gpus(ask(_in(least, queue=make_cluster_queue(quota=3)))) == 0


def test_usage_is_what_was_admitted() -> None:
    """Quota in use is what admissions say, less the pods that were reclaimed."""
    runs = make_workload(name="runs", pods=8, admitted=True, reclaimable=(("main", 5),))
    waits = make_workload(name="waits", pods=5)
    assert pending_gpus(ask(_in(runs, waits, queue=make_cluster_queue(quota=8)))) == 5
    assert pending_gpus(ask(_in(runs, waits, queue=make_cluster_queue(quota=7)))) == 0


def test_contradictory_holds_quota() -> None:
    """An admission that its conditions deny still holds its quota: nothing grows by mistake."""
    odd = make_workload(
        name="odd", gpus=8, admitted=True, reserved=True, standing=WorkloadClass.CONTRADICTORY
    )
    waits = make_workload(name="waits", gpus=8)
    assert pending_gpus(ask(_in(odd, waits, queue=make_cluster_queue(quota=8)))) == 0


@pytest.mark.parametrize(
    "standing",
    [WorkloadClass.PREEMPTING, WorkloadClass.BLOCKED, WorkloadClass.CONTRADICTORY],
)
def test_a_place_in_the_queue_is_kept(standing: WorkloadClass) -> None:
    """What an earlier Workload will take can't be had by a later one, though it adds nothing."""
    first = make_workload(name="first", gpus=8, created=LONG_AGO - 1, standing=standing)
    second = make_workload(name="second", gpus=8)
    assert counted(ask(_in(first, second, queue=make_cluster_queue(quota=8)))) == []


def test_topology_counts_with_and_takes_quota() -> None:
    """TopologyPlacementFailed needs nodes as it stands, and what it takes is gone for others."""
    failed = make_workload(name="failed", gpus=8, standing=WorkloadClass.TOPOLOGY)
    later = make_workload(name="later", gpus=8, created=NOW)
    assert counted(ask(_in(failed, later, queue=make_cluster_queue(quota=8)))) == ["failed"]
    assert counted(ask(_in(failed, queue=make_cluster_queue(quota=0)))) == ["failed"]


def _two_flavors(first: int | Quota, second: int | Quota) -> ClusterQueue:
    return make_cluster_queue(flavors={"a": first, "b": second})


def test_flavor_with_room_first() -> None:
    """The predicted flavor is the first candidate with room; the others follow in order."""
    workloads = [_queued(name, order) for order, name in enumerate("xyz")]
    snapshot = make_snapshot(workloads=workloads, cluster_queues=[_two_flavors(8, 8)], flavors=[])
    unknown = {Kind.RESOURCE_FLAVORS: SourceState(synced=False)}
    readable = make_snapshot(
        workloads=workloads, cluster_queues=[_two_flavors(8, 8)], flavors=[], sources=unknown
    )
    assert counted(ask(snapshot)) == []
    found = ask(readable)
    assert [need.pods[0].flavors for need in found.needs] == [("a", "b"), ("b", "a")]
    assert counted(ask(readable, flavor="b")) == ["y"]
    assert counted(ask(readable, flavor="c")) == []


def test_podsets_share_the_room() -> None:
    """Podsets of one Workload can't each have the same last quota."""
    pair = make_workload(pod_sets=(make_pod_set(name="x", gpus=8), make_pod_set(name="y", gpus=8)))
    assert pending_gpus(ask(_in(pair, queue=make_cluster_queue(quota=15)))) == 0
    assert pending_gpus(ask(_in(pair, queue=make_cluster_queue(quota=16)))) == 16


def test_resources_of_a_group_go_together() -> None:
    """All resources of a group come from one flavor, so the scarcest decides."""
    queue = make_cluster_queue(
        groups=(
            make_group(
                resources={"a": {GPU: 8, "cpu": 1000}, "gpu": {GPU: 8, "cpu": 9000}},
            ),
        )
    )
    shape = make_shape(gpus=4, requests={"cpu": 2000})
    snapshot = make_snapshot(
        workloads=[make_workload(pod_sets=(make_pod_set(shape=shape),))],
        cluster_queues=[queue],
        sources={Kind.RESOURCE_FLAVORS: SourceState(synced=False)},
    )
    assert ask(snapshot).needs[0].pods[0].flavors == ("gpu", "a")


def test_pods_can_be_a_quota() -> None:
    """A ClusterQueue that covers `pods` counts them."""
    queue = make_cluster_queue(groups=(make_group(resources={"gpu": {GPU: 100, "pods": 3}}),))
    assert pending_gpus(ask(_in(make_workload(pods=4), queue=queue))) == 0
    assert pending_gpus(ask(_in(make_workload(pods=3), queue=queue))) == 3


def test_quota_follows_nodes() -> None:
    """Where quota follows nodes, all that waits for quota counts; what never fits does not."""
    workloads = [
        make_workload(name="d", gpus=8, standing=WorkloadClass.QUOTA),
        make_workload(name="j", gpus=8, standing=WorkloadClass.NOT_EVALUATED),
        make_workload(name="e", gpus=8, standing=WorkloadClass.EXCEEDS),
        make_workload(name="k", gpus=8, allowed_flavors=("none",)),
    ]
    snapshot = _in(*workloads, queue=make_cluster_queue(quota=0))
    assert set(counted(ask(snapshot, quota_follows_nodes=True))) == {"d", "j"}
    assert counted(ask(snapshot)) == []


def test_one_admission_for_the_whole_cohort() -> None:
    """Quota that two ClusterQueues share is given once, in the order of both."""
    queues = [make_cluster_queue(name=name, quota=4, cohort="all") for name in ("a", "b")]
    links = [make_local_queue(name=name, cluster_queue=name) for name in ("a", "b")]
    workloads = [
        make_workload(name="first", queue_name="b", gpus=8, created=LONG_AGO),
        make_workload(name="second", queue_name="a", gpus=8, created=NOW),
    ]
    snapshot = make_snapshot(workloads=workloads, cluster_queues=queues, local_queues=links)
    assert counted(ask(snapshot, "a", "b")) == ["first"]
    assert counted(ask(snapshot, "a")) == []


def test_circle_of_cohorts() -> None:
    """Cohorts in a circle admit nothing, so nodes would stand empty."""
    snapshot = make_snapshot(
        workloads=[
            make_workload(name="j"),
            make_workload(name="b", standing=WorkloadClass.TOPOLOGY),
        ],
        cluster_queues=[make_cluster_queue(cohort="x")],
        cohorts=[make_cohort(name="x", parent="y"), make_cohort(name="y", parent="x")],
    )
    assert counted(ask(snapshot)) == []


def _lacking_nodes(name: str, order: int, *, gpus: int = 8, queue_name: str = "lq") -> Workload:
    return make_workload(
        name=name,
        gpus=gpus,
        created=LONG_AGO + order,
        queue_name=queue_name,
        standing=WorkloadClass.TOPOLOGY,
    )


def test_class_b_counts_as_far_as_quota_is_free() -> None:
    """Kueue judges each alone: all of them together may want the same quota."""
    workloads = [_lacking_nodes("first", 1), _lacking_nodes("second", 2)]
    queue = make_cluster_queue(quota=8)
    assert counted(ask(_in(*workloads, queue=queue))) == ["first"]
    assert counted(ask(_in(*workloads, queue=make_cluster_queue(quota=16)))) == ["first", "second"]


def test_class_b_of_two_queues_gets_shared_quota_once() -> None:
    """Nodes are bought for one of them, whichever trigger asks."""
    queues = [make_cluster_queue(name=name, quota=4, cohort="all") for name in ("a", "b")]
    links = [make_local_queue(name=name, cluster_queue=name) for name in ("a", "b")]
    workloads = [
        _lacking_nodes("first", 1, queue_name="b"),
        _lacking_nodes("second", 2, queue_name="a"),
    ]
    snapshot = make_snapshot(workloads=workloads, cluster_queues=queues, local_queues=links)
    assert counted(ask(snapshot, "a", "b")) == ["first"]
    assert counted(ask(snapshot, "a")) == []


def test_class_b_goes_before_what_waits_for_quota() -> None:
    """Kueue found quota for it now, and none for the older one: its node is of use for sure."""
    older = make_workload(name="older", gpus=8, created=LONG_AGO, standing=WorkloadClass.QUOTA)
    snapshot = _in(older, _lacking_nodes("b", 1), queue=make_cluster_queue(quota=8))
    assert counted(ask(snapshot)) == ["b"]


def test_class_b_keeps_its_place_in_a_strict_queue() -> None:
    """A verdict behind a head that blocks is an old one."""
    head = make_workload(name="head", gpus=16, created=LONG_AGO, standing=WorkloadClass.QUOTA)
    queue = make_cluster_queue(quota=8, strict_fifo=True)
    assert counted(ask(_in(head, _lacking_nodes("b", 1), queue=queue))) == []


def test_one_class_b_counts_whatever_our_own_books_say() -> None:
    """Kueue found quota for it; without its node it would wait for ever."""
    workloads = [_lacking_nodes("first", 1, gpus=16), _lacking_nodes("second", 2, gpus=16)]
    assert counted(ask(_in(*workloads, queue=make_cluster_queue(quota=8)))) == ["first"]


def test_class_b_of_before_an_admission_is_an_old_verdict() -> None:
    """Kueue judges one after the other: of quota that one just took, others still say it is free.

    Its message has no time of its own, so that for a while our own books decide.
    """
    holds = make_workload(name="holds", gpus=8, admitted=True, reserved=True)
    snapshot = _in(
        replace(holds, reserved_at=NOW - 1),
        _lacking_nodes("b", 1),
        queue=make_cluster_queue(quota=8),
    )
    assert counted(ask(snapshot)) == []
    assert counted(ask(snapshot, now=NOW + 28)) == []
    assert counted(ask(snapshot, now=NOW + 29)) == ["b"]
    assert counted(ask(snapshot, now=NOW + 28)) == []


def test_simulated_once() -> None:
    """All that ask of one Snapshot share one simulation, until a back-off ends."""
    waits = [make_workload(name="a"), make_workload(name="b", requeue_at=NOW + 10)]
    snapshot = make_snapshot(workloads=waits)
    first = simulated(snapshot=snapshot, cluster_queue="gpu-cq", now=NOW)
    assert simulated(snapshot=snapshot, cluster_queue="gpu-cq", now=NOW + 9) is first
    later = simulated(snapshot=snapshot, cluster_queue="gpu-cq", now=NOW + 10)
    assert later is not first
    assert later is not None
    assert sum(len(grants) for grants in later.grants) == 2
    assert simulated(snapshot=snapshot, cluster_queue="nowhere", now=NOW) is None
