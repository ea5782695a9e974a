"""Who has the GPUs, what of the quota is used, borrowed and held, and who waits the longest."""

from dataclasses import replace

import pytest

from scaler.core.model import Mode, Quota
from scaler.core.policy import PrometheusSettings
from scaler.core.profile import metric_profile
from scaler.core.reasons import WorkloadClass
from scaler.core.snapshot import Snapshot
from scaler.core.tenancy import GpuPod, QuotaLine, Wait, gpu_pods, quota_lines, waits
from tests.builders import (
    GPU,
    NOW,
    make_admission,
    make_assignment,
    make_cluster_queue,
    make_group,
    make_hold,
    make_owner,
    make_pod,
    make_pod_set,
    make_snapshot,
    make_worker_scale,
    make_workload,
)

PROFILE = metric_profile(PrometheusSettings())
TWO_SETS = (make_pod_set(name="head", gpus=0), make_pod_set(name="gpu", count=2, gpus=4))


def pods_of(snapshot: Snapshot) -> dict[str, GpuPod]:
    """Give the GPU pods by name."""
    return {one.pod: one for one in gpu_pods(snapshot, PROFILE)}


def line_of(snapshot: Snapshot, flavor: str = "gpu") -> QuotaLine:
    """Give a flavor's only line."""
    (found,) = (one for one in quota_lines(snapshot) if one.flavor == flavor)
    return found


def test_a_pod_is_told_with_its_queue_cohort_flavor_and_owner() -> None:
    """All that use and cost are split by."""
    workload = make_workload(
        pod_sets=TWO_SETS,
        admitted=True,
        owners=(make_owner(uid="r", kind="RayCluster", name="ray"),),
    )
    snapshot = make_snapshot(
        workloads=[workload],
        cluster_queues=[make_cluster_queue(cohort="all")],
        pods=[make_pod(name="w-0", gpus=4, node="n1", workload="wl", pod_set="gpu")],
    )
    assert pods_of(snapshot) == {
        "w-0": GpuPod(
            namespace="ml",
            pod="w-0",
            node="n1",
            devices=4,
            workload="wl",
            owner="RayCluster/ray",
            cluster_queue="gpu-cq",
            cohort="all",
            flavor="gpu",
        )
    }


def test_a_pod_that_kueue_does_not_know_has_a_namespace_and_an_owner() -> None:
    """As an inference Deployment's: nobody else says whose it is."""
    pod = make_pod(name="vllm-0", node="n1", owners=(make_owner(uid="x", kind="ReplicaSet"),))
    found = pods_of(make_snapshot(pods=[pod]))["vllm-0"]
    assert (found.namespace, found.owner, found.cluster_queue) == ("ml", "ReplicaSet/owner", "")
    assert (found.workload, found.cohort, found.flavor) == ("", "", "")


@pytest.mark.parametrize(
    "pod",
    [
        make_pod(node=None),
        make_pod(node="n1", gpus=0),
        make_pod(node="n1", phase="Succeeded"),
        make_pod(node="n1", deleting=True),
        make_pod(node="n1", gpus=0, requests={"example.com/npu": 1}),
    ],
    ids=["not bound", "no device", "ended", "terminating", "a device of another profile"],
)
def test_what_has_no_gpu_is_not_told(pod: object) -> None:
    """Each series stands for devices that somebody has."""
    assert not pods_of(make_snapshot(pods=[pod]))  # type: ignore[list-item]  # all are pods


def test_each_podset_has_the_flavor_that_it_was_admitted_on() -> None:
    """One Workload may sit on two; a pod that names no podset is on none of them."""
    one, two = make_pod_set(name="a"), make_pod_set(name="b")
    admission = replace(
        make_admission(pod_sets=()),
        assignments=(
            make_assignment(pod_set=one, flavor="a100"),
            make_assignment(pod_set=two, flavor="h100"),
        ),
    )
    snapshot = make_snapshot(
        workloads=[make_workload(pod_sets=(one, two), admitted=True, admission=admission)],
        pods=[
            make_pod(name="a-0", node="n", workload="wl", pod_set="a"),
            make_pod(name="b-0", node="n", workload="wl", pod_set="b"),
            make_pod(name="c-0", node="n", workload="wl"),
        ],
    )
    flavors = {name: pod.flavor for name, pod in pods_of(snapshot).items()}
    assert flavors == {"a-0": "a100", "b-0": "h100", "c-0": ""}


def test_quota_is_nominal_used_and_borrowed() -> None:
    """Borrowed is what is used beyond the own nominal quota."""
    queue = make_cluster_queue(quota=Quota(nominal=6), cohort="all")
    snapshot = make_snapshot(
        cluster_queues=[queue], workloads=[make_workload(pod_sets=TWO_SETS, admitted=True)]
    )
    found = line_of(snapshot)
    assert (found.cohort, found.resource) == ("all", GPU)
    assert (found.nominal, found.used, found.borrowed, found.held) == (6, 8, 2, 0)


def test_an_idle_queue_borrows_nothing() -> None:
    """And what waits uses nothing."""
    snapshot = make_snapshot(
        cluster_queues=[make_cluster_queue(quota=6)], workloads=[make_workload(gpus=4)]
    )
    found = line_of(snapshot)
    assert (found.nominal, found.used, found.borrowed) == (6, 0, 0)


def test_only_devices_have_a_line() -> None:
    """CPU and memory are Kueue's own to chart."""
    group = make_group(resources={"gpu": {GPU: 8, "cpu": 1000}})
    snapshot = make_snapshot(
        cluster_queues=[make_cluster_queue(groups=(group,))],
        workloads=[make_workload(pod_sets=TWO_SETS, admitted=True)],
    )
    assert [one.resource for one in quota_lines(snapshot)] == [GPU]


def test_what_is_used_of_a_flavor_without_quota_is_told_too() -> None:
    """As after a flavor was taken out of the ClusterQueue."""
    snapshot = make_snapshot(
        cluster_queues=[make_cluster_queue(flavors={"a100": 8})],
        workloads=[make_workload(pod_sets=TWO_SETS, admitted=True, flavor="gone")],
    )
    assert (line_of(snapshot, "gone").nominal, line_of(snapshot, "gone").borrowed) == (0, 8)


def test_held_quota_is_that_of_the_podset_whose_pods_are_away() -> None:
    """It is used all the same; of another Workload of that name nothing is held."""
    workload = make_workload(pod_sets=TWO_SETS, admitted=True)
    hold = replace(make_hold(workload_uid=workload.uid), workload="wl")
    stale = replace(hold, workload_uid="before")
    for record, mode, held in (
        (hold, Mode.HOLD, 8),
        (stale, Mode.HOLD, 0),
        (replace(hold, waking_at=NOW), Mode.HOLD, 0),
        (hold, Mode.RELEASE, 0),
    ):
        scale = make_worker_scale(mode=mode, hold=record)
        found = line_of(make_snapshot(workloads=[workload], worker_scales=[scale]))
        assert (found.used, found.held) == (8, held)


def test_the_longest_wait_is_told_by_standing() -> None:
    """Of a ClusterQueue where nobody waits there is none."""
    snapshot = make_snapshot(
        cluster_queues=[make_cluster_queue(), make_cluster_queue(name="calm")],
        workloads=[
            make_workload(name="a", standing=WorkloadClass.QUOTA, waiting_since=NOW - 60),
            make_workload(name="b", standing=WorkloadClass.QUOTA, waiting_since=NOW - 90, gpus=2),
            make_workload(name="c", standing=WorkloadClass.TOPOLOGY, waiting_since=NOW - 5),
            make_workload(name="d", admitted=True),
            make_workload(name="e", standing=WorkloadClass.NOT_DEMAND, waiting_since=NOW - 999),
        ],
    )
    assert sorted(waits(snapshot), key=lambda one: one.standing) == [
        Wait(cluster_queue="gpu-cq", standing=WorkloadClass.TOPOLOGY, since=NOW - 5),
        Wait(cluster_queue="gpu-cq", standing=WorkloadClass.QUOTA, since=NOW - 90),
    ]
