"""Asks: where Kueue counts devices under a name of its own, its word on quota is waited for."""

import pytest

from scaler.core.model import Admission, Assignment, TopologyRequest, Workload
from scaler.core.reasons import WorkloadClass
from scaler.core.snapshot import Snapshot
from tests.builders import (
    NOW,
    make_cluster_queue,
    make_flavor,
    make_group,
    make_pod_set,
    make_shape,
    make_snapshot,
    make_workload,
)
from tests.core.demand_fixture import ask, counted

MEMORY = "example.com/gpu-memory"
POD_SET = make_pod_set(shape=make_shape(gpus=8, requests={"cpu": 1000}))
ADMITTED = Admission(
    cluster_queue="gpu-cq",
    assignments=(
        Assignment(
            pod_set="main",
            count=1,
            flavors=(("cpu", "plain"), (MEMORY, "h100")),
            usage=(("cpu", 1000), (MEMORY, 640)),
        ),
    ),
)


def _snapshot(workload: Workload, *, strict_fifo: bool = False) -> Snapshot:
    """Join a ClusterQueue that counts GPUs by their memory, and CPUs on a flavor of their own."""
    groups = (
        make_group(resources={"plain": {"cpu": 1_000_000}}),
        make_group(flavors={"h100": 10_000}, resource=MEMORY),
    )
    return make_snapshot(
        workloads=[workload],
        cluster_queues=[make_cluster_queue(groups=groups, strict_fifo=strict_fifo)],
        flavors=[make_flavor(name="plain", node_labels={}), make_flavor(name="h100")],
    )


def _flavors(snapshot: Snapshot, *, quota_follows_nodes: bool = False) -> list[tuple[str, ...]]:
    found = ask(snapshot, quota_follows_nodes=quota_follows_nodes)
    return [pod.flavors for need in found.needs for pod in need.pods]


def test_transformed_devices_are_on_the_flavor_of_what_they_became() -> None:
    """Not on that of the CPUs, which would be anywhere."""
    running = make_workload(
        pod_sets=(POD_SET,), admitted=True, admission=ADMITTED, admitted_at=NOW - 5
    )
    assert _flavors(_snapshot(running)) == [("h100",)]
    placing = make_workload(pod_sets=(POD_SET,), standing=WorkloadClass.TOPOLOGY)
    assert _flavors(_snapshot(placing)) == [("h100",)]
    waiting = make_workload(pod_sets=(POD_SET,), standing=WorkloadClass.QUOTA)
    assert _flavors(_snapshot(waiting), quota_follows_nodes=True) == [("h100",)]


@pytest.mark.parametrize("strict_fifo", [False, True])
@pytest.mark.parametrize(
    ("standing", "want"),
    [
        (WorkloadClass.QUOTA, []),
        (WorkloadClass.NOT_EVALUATED, []),
        (WorkloadClass.TOPOLOGY, ["wl"]),
    ],
)
def test_transformed_devices_count_once_kueue_found_quota(
    *, standing: WorkloadClass, want: list[str], strict_fifo: bool
) -> None:
    """How much quota they take is not to be known, so free quota can't be told from exhausted."""
    workload = make_workload(pod_sets=(POD_SET,), standing=standing)
    assert counted(ask(_snapshot(workload, strict_fifo=strict_fifo))) == want


def test_devices_that_no_quota_is_kept_of_are_unlimited() -> None:
    """A ClusterQueue that covers no devices at all hides none."""
    workload = make_workload(pod_sets=(POD_SET,), standing=WorkloadClass.QUOTA)
    queue = make_cluster_queue(groups=(make_group(resources={"plain": {"cpu": 1_000_000}}),))
    snapshot = make_snapshot(
        workloads=[workload],
        cluster_queues=[queue],
        flavors=[make_flavor(name="plain", node_labels={})],
    )
    assert counted(ask(snapshot)) == ["wl"]


@pytest.mark.parametrize(
    ("topology", "want"),
    [
        (None, ("plain",)),
        (TopologyRequest(unconstrained=True), ("racks",)),
        (TopologyRequest(preferred="rack"), ("racks",)),
    ],
)
def test_a_podset_that_names_any_topology_takes_flavors_with_one(
    topology: TopologyRequest | None, want: tuple[str, ...]
) -> None:
    """Where a ClusterQueue mixes both sorts, `unconstrained` is a wish for topology too."""
    workload = make_workload(pod_sets=(make_pod_set(topology=topology),))
    snapshot = make_snapshot(
        workloads=[workload],
        cluster_queues=[make_cluster_queue(flavors={"plain": 8, "racks": 8})],
        flavors=[make_flavor(name="plain"), make_flavor(name="racks", topology="t")],
    )
    assert _flavors(snapshot) == [want]
