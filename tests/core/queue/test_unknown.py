"""Queue signals: what makes the answer HOLD, what is left out, and what was read."""

from dataclasses import replace

import pytest

from scaler.core.decision import Status
from scaler.core.model import (
    AdmissionCheck,
    Kind,
    SourceState,
)
from scaler.core.reasons import Reason
from scaler.core.snapshot import Part
from tests.builders import (
    NOW,
    make_cluster_queue,
    make_cohort,
    make_local_queue,
    make_pod_set,
    make_shape,
    make_snapshot,
    make_workload,
)
from tests.core.queue_fixture import (
    GPUS,
    NODES,
    ask,
    make_cluster,
    make_jobs,
    make_sized,
    make_sizer,
)

PENDING = {**NODES, "scope": "pending"}
SHORTHAND = {"signal": "queue", "clusterQueue": "gpu-cq", "gpusPerNode": "8"}


# --- what can't be known -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "metadata", "holds"),
    [
        (Kind.WORKLOADS, NODES, True),
        (Kind.CLUSTER_QUEUES, NODES, True),
        (Kind.LOCAL_QUEUES, NODES, True),
        (Kind.NODES, NODES, True),
        (Kind.PODS, NODES, True),
        (Kind.RESOURCE_FLAVORS, NODES, True),
        (Kind.COHORTS, NODES, False),
        (Kind.ADMISSION_CHECKS, NODES, False),
        (Kind.RAY_CLUSTERS, NODES, False),
        (Kind.JOBS, NODES, False),
        (Kind.DEPLOYMENTS, NODES, False),
        (Kind.PODS, GPUS, True),
        (Kind.NODES, GPUS, False),
        (Kind.RESOURCE_FLAVORS, GPUS, False),
        (Kind.PODS, {**GPUS, "unit": "workloads"}, False),
        (Kind.PODS, {**GPUS, "unit": "workloads", "scope": "pending"}, True),
    ],
)
def test_a_source_that_is_needed_holds(kind: Kind, metadata: dict[str, str], holds: bool) -> None:  # noqa: FBT001 -- a table's column
    """C03: a signal holds for the sources that it needs, and for no other."""
    denied = SourceState(synced=False, problem=f"403 on list {kind}")
    snapshot = replace(make_cluster(*make_jobs(1), size=1), sources={})
    snapshot = replace(
        snapshot,
        sources={
            one: denied if one is kind else SourceState(synced=True, last_alive=NOW) for one in Kind
        },
    )
    got = ask(snapshot, metadata)
    if holds:
        assert (got.status, got.reason) == (Status.HOLD, Reason.NOT_SYNCED)
        assert f"403 on list {kind}" in got.detail
        assert got.value is None
    else:
        assert got.status is Status.OK


def test_cohorts_are_needed_where_one_is_named() -> None:
    """A ClusterQueue in a cohort can't be judged without the Cohorts."""
    snapshot = make_snapshot(
        cluster_queues=[make_cluster_queue(cohort="all")],
        sources={Kind.COHORTS: SourceState(synced=False)},
    )
    assert ask(snapshot, GPUS).reason is Reason.NOT_SYNCED


def test_admission_checks_are_needed_where_one_was_passed() -> None:
    """Only an admitted Workload with checks asks who answered them."""
    remote = make_workload(name="m", admitted=True, checks=(("multi", "Ready"),))
    snapshot = make_snapshot(
        workloads=[remote],
        checks=[AdmissionCheck(name="multi", controller="kueue.x-k8s.io/multikueue")],
        sources={Kind.ADMISSION_CHECKS: SourceState(synced=False)},
    )
    assert ask(snapshot, GPUS).reason is Reason.NOT_SYNCED


def test_a_watch_that_went_silent_holds() -> None:
    """A source without a sign of life for maxWatchAge is stale."""
    got = ask(make_cluster(*make_jobs(1), size=1), now=NOW + 301)
    assert (got.status, got.reason) == (Status.HOLD, Reason.SOURCE_STALE)


def test_one_missing_cluster_queue_of_two_is_told() -> None:
    """The others still count, as a safe lower bound."""
    got = ask(make_cluster(*make_jobs(1)), {**NODES, "clusterQueue": "gpu-cq,gone"})
    assert (got.value, got.status) == (1, Status.OK)
    assert got.queue is not None
    assert got.queue.missing_cluster_queues == ("gone",)
    assert "There is no ClusterQueue gone." in got.detail


def test_skipped_objects_are_in_the_evidence() -> None:
    """Objects that could not be decoded count for nothing, visibly, if their kind matters."""
    snapshot = replace(make_cluster(), skipped={Kind.WORKLOADS: 2, Kind.DEPLOYMENTS: 5})
    got = ask(snapshot)
    assert got.queue is not None
    assert got.queue.skipped_objects == 2


def test_claims_only_pods_are_told() -> None:
    """Q17: pods that ask for devices by claims alone are not counted, visibly."""
    shape = make_shape(gpus=0, dra_only=True)
    got = ask(make_cluster(make_workload(pod_sets=(make_pod_set(shape=shape),))), GPUS)
    assert (got.value, got.reason) == (0, Reason.NO_DEMAND)
    assert got.queue is not None
    assert got.queue.not_counted_dra == 1
    assert "DRA claims: 1" in got.detail


# --- what was read -----------------------------------------------------------------------------


def test_a_decision_names_what_it_read() -> None:
    """A change to any of these partitions may change the decision."""
    snapshot = make_snapshot(
        workloads=make_jobs(1),
        cluster_queues=[
            make_cluster_queue(cohort="all"),
            make_cluster_queue(name="sibling", cohort="all"),
            make_cluster_queue(name="stranger"),
        ],
        local_queues=[
            make_local_queue(),
            make_local_queue(namespace="far", cluster_queue="stranger"),
        ],
        cohorts=[make_cohort()],
        scaled_objects=[make_sizer()],
        hpas=[make_sized(0)],
    )
    read = ask(snapshot).read
    for part in (
        (Part.QUEUE, "gpu-cq"),
        (Part.QUEUE, "sibling"),
        (Part.QUEUE, ""),
        (Part.QUOTA, ""),
        (Part.NODES, ""),
        (Part.PODS, "ml"),
        (Part.TARGETS, "ml"),
        (Part.POLICY, ""),
        (Part.OWNERS, ""),
        (Part.SOURCE, Kind.COHORTS),
    ):
        assert part in read
    for part in ((Part.QUEUE, "stranger"), (Part.PODS, "far"), (Part.USAGE, "")):
        assert part not in read


def test_a_sum_reads_no_nodes() -> None:
    """GPUs and Workloads don't depend on nodes; Workloads in total not on pods either."""
    gpus = ask(make_cluster(*make_jobs(1)), GPUS).read
    assert (Part.NODES, "") not in gpus
    assert (Part.PODS, "ml") in gpus
    workloads = ask(make_cluster(*make_jobs(1)), {**GPUS, "unit": "workloads"}).read
    assert not [one for one in workloads if one[0] in (Part.NODES, Part.PODS)]


def test_hold_names_what_it_read_too() -> None:
    """A HOLD ends when what it lacked comes."""
    got = ask(make_snapshot(cluster_queues=[]), GPUS)
    assert got.status is Status.HOLD
    assert {(Part.QUEUE, "gpu-cq"), (Part.QUOTA, "")} <= got.read
