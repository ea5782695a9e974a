"""A ClusterQueue's account: quota as Kueue counts it, each that waits once and in its order."""

from dataclasses import replace

from hypothesis import given, settings

from scaler.core.account.cluster_queue import (
    WAITING_SHOWN,
    QueueAccount,
    account_of_queue,
    quota_rows,
)
from scaler.core.model import Kind, Quota, SourceState, StopPolicy
from scaler.core.policy import Policy
from scaler.core.reasons import Reason, WorkloadClass
from scaler.core.snapshot import Snapshot
from tests.builders import GPU, NOW, make_cluster_queue, make_workload
from tests.core.queue_fixture import GPUS, POLICY, make_cluster, make_jobs, make_sizer
from tests.core.remedy.test_quota import QUEUES, cluster, clusters, running, waiting


def account(snapshot: Snapshot, name: str, policy: Policy = POLICY) -> QueueAccount:
    """Give account of a ClusterQueue."""
    return account_of_queue(snapshot=snapshot, name=name, policy=policy, now=NOW)


def test_quota_is_told_as_nominal_used_and_what_may_be_borrowed() -> None:
    """Ten of eight are used, two of the cohort's; six are left there."""
    snapshot = cluster(
        running("a-1", gpus=10, queue="a"),
        queues=(
            make_cluster_queue(name="a", quota=8, cohort="all"),
            make_cluster_queue(name="b", quota=8, cohort="all"),
        ),
    )
    (row,) = quota_rows(snapshot, "a", NOW)
    assert (row.flavor, row.resource) == ("gpu", GPU)
    assert (row.nominal, row.used, row.borrowed) == (8, 10, 2)
    assert (row.free, row.borrowable) == (6, 6)
    (other,) = quota_rows(snapshot, "b", NOW)
    assert (other.used, other.free, other.borrowable) == (0, 6, 0)


def test_limits_are_told() -> None:
    """What may not be borrowed is not called borrowable."""
    limits = Quota(nominal=4, borrowing_limit=1, lending_limit=2)
    snapshot = cluster(
        queues=(
            make_cluster_queue(name="a", quota=limits, cohort="all"),
            make_cluster_queue(name="b", quota=100, cohort="all"),
        ),
    )
    (row,) = quota_rows(snapshot, "a", NOW)
    assert (row.borrowing_limit, row.lending_limit, row.borrowable, row.free) == (1, 2, 1, 5)


@settings(max_examples=40)
@given(clusters())
def test_law_each_that_waits_is_told_once_in_kueue_s_order(snapshot: Snapshot) -> None:
    """And what is told to be free of quota is what the simulated admission grants."""
    for name in QUEUES:
        found = account(snapshot, name)
        order = [(-row.workload.priority, row.workload.queued_at) for row in found.waiting]
        uids = [row.workload.uid for row in found.waiting]
        assert order == sorted(order)
        assert len(set(uids)) == len(uids) == min(found.waiting_in_all, WAITING_SHOWN)
        assert not [row for row in found.waiting if row.granted and row.remedies]
        for row in found.quotas:
            assert row.borrowed == max(0, row.used - row.nominal)
            assert row.borrowable >= 0


def test_of_many_the_first_are_told_and_all_are_counted() -> None:
    """A queue may hold thousands."""
    many = [waiting(f"w{number:02}", gpus=1) for number in range(30)]
    found = account(cluster(*many, queues=(make_cluster_queue(name="a", quota=0),)), "a")
    assert (len(found.waiting), found.waiting_in_all) == (WAITING_SHOWN, 30)
    assert sum(bool(row.remedies) for row in found.waiting) == 3


def test_the_triggers_that_read_it_are_told_with_their_decision() -> None:
    """A list of ClusterQueues counts, another's trigger does not."""
    both = make_sizer({**GPUS, "clusterQueue": "other,gpu-cq"}, name="both")
    apart = make_sizer({**GPUS, "clusterQueue": "other"}, name="apart")
    snapshot = make_cluster(*make_jobs(2), sizers=(make_sizer(), both, apart))
    found = account(snapshot, "gpu-cq")
    assert [(one.ref.name, one.decision.value) for one in found.readers] == [
        ("both", 16),
        ("so", 2),
    ]
    assert found.readers[1].decision.reason is Reason.DEMAND


def test_why_nothing_is_admitted_is_told() -> None:
    """Stopped, deleting or inactive."""
    for changes, said in (
        ({"stop_policy": StopPolicy.HOLD}, "its stopPolicy is Hold"),
        ({"deleting": True}, "it is being deleted"),
        ({"inactive": "FlavorNotFound"}, "it is not Active: FlavorNotFound"),
        ({}, ""),
    ):
        queue = make_cluster_queue(name="a", **changes)
        assert account(cluster(waiting("w", gpus=1), queues=(queue,)), "a").closed == said


def test_classes_are_those_of_the_demand() -> None:
    """One waits for quota that is free, one has no flavor."""
    odd = make_workload(name="odd", queue_name="a", standing=WorkloadClass.NO_FLAVOR)
    snapshot = cluster(odd, waiting("w", gpus=1), queues=(make_cluster_queue(name="a"),))
    found = account(snapshot, "a")
    assert [(one.workload_class, one.workloads) for one in found.classes] == [("D", 1), ("F", 1)]
    assert [(row.workload.name, row.granted) for row in found.waiting] == [
        ("odd", False),
        ("w", True),
    ]


def test_a_source_that_failed_makes_it_a_guess() -> None:
    """Which is said."""
    snapshot = make_cluster()
    broken = {Kind.WORKLOADS: SourceState(synced=False, problem="403")}
    snapshot = replace(snapshot, sources={**snapshot.sources, **broken})
    assert "workloads can't be read: 403" in account(snapshot, "gpu-cq").unknown
