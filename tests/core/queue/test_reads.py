"""Reads: the kinds a queue signal can't do without, and the partitions it depends on."""

from dataclasses import replace

import pytest

from scaler.core.model import Kind
from scaler.core.queue.reads import needed_kinds, partitions
from scaler.core.snapshot import Part, Snapshot
from scaler.core.trigger import QueueTrigger, Scope, Unit
from tests.builders import (
    make_cluster_queue,
    make_cohort,
    make_local_queue,
    make_pod_set,
    make_snapshot,
    make_workload,
)
from tests.core.queue_fixture import NODES, make_sizer

ALWAYS = {Kind.WORKLOADS, Kind.CLUSTER_QUEUES, Kind.LOCAL_QUEUES}
TOTAL = QueueTrigger(cluster_queues=("gpu-cq",), pool="gpu")


@pytest.mark.parametrize(
    ("trigger", "want"),
    [
        pytest.param(TOTAL, {Kind.NODES, Kind.PODS, Kind.RESOURCE_FLAVORS}, id="nodes of a pool"),
        pytest.param(
            QueueTrigger(cluster_queues=("gpu-cq",), gpus_per_node=8),
            {Kind.NODES, Kind.PODS},
            id="nodes without a pool",
        ),
        pytest.param(
            QueueTrigger(cluster_queues=("gpu-cq",), gpus_per_node=8, flavor="gpu"),
            {Kind.NODES, Kind.PODS, Kind.RESOURCE_FLAVORS},
            id="nodes of a flavor",
        ),
        pytest.param(
            QueueTrigger(cluster_queues=("gpu-cq",), unit=Unit.GPUS), {Kind.PODS}, id="GPUs"
        ),
        pytest.param(
            QueueTrigger(cluster_queues=("gpu-cq",), unit=Unit.WORKLOADS), set(), id="Workloads"
        ),
        pytest.param(
            QueueTrigger(cluster_queues=("gpu-cq",), unit=Unit.WORKLOADS, scope=Scope.PENDING),
            {Kind.PODS},
            id="Workloads that are pending",
        ),
        pytest.param(
            QueueTrigger(cluster_queues=("gone",), pool="gpu"),
            {Kind.NODES, Kind.PODS},
            id="a ClusterQueue that is not there names no flavor",
        ),
    ],
)
def test_as_few_kinds_as_are_safe(trigger: QueueTrigger, want: set[Kind]) -> None:
    """What a signal does not look at can't hold it."""
    assert needed_kinds(make_snapshot(), trigger) == ALWAYS | want


def _namespaces(snapshot: Snapshot, part: Part, *, every_queue: bool = False) -> set[str]:
    read = partitions(snapshot, TOTAL, key=("ml", "so"), every_queue=every_queue)
    return {name for one, name in read if one is part}


def test_cohort_trees_are_read_whole() -> None:
    """Quota is shared within a cohort tree, so all its ClusterQueues are read."""
    snapshot = make_snapshot(
        cluster_queues=[
            make_cluster_queue(cohort="left"),
            make_cluster_queue(name="cousin", cohort="right"),
            make_cluster_queue(name="stranger", cohort="elsewhere"),
        ],
        cohorts=[make_cohort(name="left", parent="root"), make_cohort(name="right", parent="root")],
    )
    assert _namespaces(snapshot, Part.QUEUE) == {"gpu-cq", "cousin", ""}
    every = {"gpu-cq", "cousin", "stranger", ""}
    assert _namespaces(snapshot, Part.QUEUE, every_queue=True) == every


def test_a_missing_cluster_queue_is_read_all_the_same() -> None:
    """When it comes, the decision changes."""
    snapshot = make_snapshot(cluster_queues=[])
    assert _namespaces(snapshot, Part.QUEUE) == {"gpu-cq", ""}


def test_pods_are_read_where_the_workloads_are() -> None:
    """A LocalQueue's namespace counts, and that of an admitted Workload without one."""
    left = make_workload(name="left", namespace="orphans", admitted=True)
    waiting = make_workload(name="lost", namespace="nowhere", queue_name="none")
    snapshot = make_snapshot(
        workloads=[left, waiting],
        local_queues=[
            make_local_queue(),
            make_local_queue(namespace="far", cluster_queue="other-cq"),
        ],
    )
    assert _namespaces(snapshot, Part.PODS) == {"ml", "orphans"}


def test_holds_are_read_where_pods_are() -> None:
    """A hold says which pods are missing on purpose."""
    assert _namespaces(make_snapshot(), Part.HOLDS) == {""}
    workloads = QueueTrigger(cluster_queues=("gpu-cq",), unit=Unit.WORKLOADS)
    read = partitions(make_snapshot(), workloads, key=("ml", "so"), every_queue=False)
    assert (Part.HOLDS, "") not in read


def test_who_may_own_the_pool_is_read() -> None:
    """Another ScaledObject for the pool may lie in another namespace."""
    rival = make_sizer(name="rival")
    elsewhere = make_sizer({**NODES, "pool": "other"}, name="elsewhere")
    rival_far = replace(rival, namespace="far")
    elsewhere_far = replace(elsewhere, namespace="farther")
    snapshot = make_snapshot(scaled_objects=[make_sizer(), rival_far, elsewhere_far])
    assert _namespaces(snapshot, Part.TARGETS) == {"ml", "far"}
    assert _namespaces(snapshot, Part.TARGETS, every_queue=True) == {"ml", "far", "farther"}


def test_checks_are_read_where_a_workload_that_may_count_has_some() -> None:
    """Who answers a check matters once it may count: MultiKueue's need no nodes here.

    Kueue names a Workload's checks before it has quota. While they are pending it counts for
    nothing, whoever answers.
    """
    checked = (("multi", "Ready"),)
    checking = make_workload(pod_sets=(make_pod_set(),), reserved=True, checks=checked)
    waiting = make_workload(name="w", checks=checked)
    admitted = make_workload(name="m", admitted=True, checks=checked)
    assert Kind.ADMISSION_CHECKS not in needed_kinds(make_snapshot(workloads=[checking]), TOTAL)
    assert Kind.ADMISSION_CHECKS in needed_kinds(make_snapshot(workloads=[waiting]), TOTAL)
    assert Kind.ADMISSION_CHECKS in needed_kinds(make_snapshot(workloads=[admitted]), TOTAL)
