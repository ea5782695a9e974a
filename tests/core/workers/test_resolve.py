from dataclasses import replace

import pytest

from scaler.core.model import Kind, LocalQueue, TargetRef, Workload
from scaler.core.policy import Policy, Thresholds
from scaler.core.trigger import IdleTrigger
from scaler.core.workers.component import Unfound
from scaler.core.workers.query import BoundQuery
from scaler.core.workers.resolve import Resolved, kinds_needed, queue_kinds_needed, resolve
from tests.builders import (
    make_local_queue,
    make_scaled_object,
    make_snapshot,
    make_target,
    make_workload,
)
from tests.core.idle_fixture import kueue_job

POLICY = Policy(
    kinds={"Job": Thresholds(idle_after=3600.0)},
    cluster_queues={"research": Thresholds(idle_after=7200.0)},
    queries={"requests": 'r{w="$workload"}'},
)
BY_WORKLOADS = {Kind.SCALED_OBJECTS, Kind.PODS, Kind.WORKLOADS}
BY_SELECTOR = {Kind.SCALED_OBJECTS, Kind.PODS, Kind.DEPLOYMENTS}


def resolved(
    *workloads: Workload, trigger: IdleTrigger, queue_name: str | None = None, leads_to: str = "q"
) -> Resolved:
    """Resolve a trigger of namespace `ml`, whose LocalQueue `lq` leads to a ClusterQueue."""
    links: list[LocalQueue] = [make_local_queue(cluster_queue=leads_to)]
    snapshot = make_snapshot(
        workloads=workloads, local_queues=links, targets=[make_target(queue_name=queue_name)]
    )
    found = resolve(
        snapshot=snapshot, namespace="ml", trigger=trigger, scaled_object=None, policy=POLICY
    )
    assert not isinstance(found, Unfound)
    return found


JOB = IdleTrigger(workload="Job/train")
DEPLOYMENT = IdleTrigger(workload="Deployment/workers", keep_alive="requests")


def test_the_kind_of_the_owner_and_the_cluster_queue_choose_the_thresholds() -> None:
    """The kind of the owner and the cluster queue choose the thresholds."""
    by_kind = resolved(kueue_job(), trigger=JOB)
    assert (by_kind.cluster_queue, by_kind.key.window_seconds) == ("gpu-cq", 3600)
    pending = replace(kueue_job(), admitted=False, reserved=False, admission=None)
    by_queue = resolved(pending, trigger=JOB, leads_to="research")
    assert (by_queue.cluster_queue, by_queue.key.window_seconds) == ("research", 7200)


def test_an_admission_says_more_of_the_cluster_queue_than_the_local_queue() -> None:
    """An admission says more of the cluster queue than the local queue."""
    assert resolved(kueue_job(), trigger=JOB, leads_to="research").cluster_queue == "gpu-cq"


@pytest.mark.parametrize(("queue_name", "want"), [("lq", "q"), ("gone", None), (None, None)])
def test_a_deployments_cluster_queue_is_that_of_its_label(
    queue_name: str | None, want: str | None
) -> None:
    """A deployments cluster queue is that of its label."""
    assert resolved(trigger=DEPLOYMENT, queue_name=queue_name).cluster_queue == want


def test_queries_are_bound_to_the_subjects_name() -> None:
    """Queries are bound to the subjects name."""
    query = resolved(trigger=DEPLOYMENT).keep_alive
    assert isinstance(query, BoundQuery)
    assert query.expression == 'r{w="workers"}'


@pytest.mark.parametrize(
    ("workload", "target", "queue_name", "want"),
    [
        ("Job/train", None, None, BY_WORKLOADS),
        ("job-train", None, None, BY_WORKLOADS),
        (None, TargetRef(name="h", kind="WorkerScale"), None, BY_WORKLOADS),
        ("Deployment/workers", None, None, BY_SELECTOR),
        (None, TargetRef(name="workers"), None, BY_SELECTOR),
        ("Deployment/workers", None, "lq", BY_SELECTOR | {Kind.WORKLOADS}),
        (
            "StatefulSet/s",
            None,
            None,
            {Kind.SCALED_OBJECTS, Kind.PODS, Kind.STATEFUL_SETS},
        ),
    ],
)
def test_no_more_kinds_are_needed_than_a_verdict_rests_on(
    workload: str | None, target: TargetRef | None, queue_name: str | None, want: set[Kind]
) -> None:
    """No more kinds are needed than a verdict rests on."""
    snapshot = make_snapshot(targets=[make_target(queue_name=queue_name)])
    asked = {
        bundle: kinds_needed(
            snapshot=replace(snapshot, bundle=bundle),
            namespace="ml",
            trigger=IdleTrigger(workload=workload),
            scaled_object=None if target is None else make_scaled_object(target=target),
        )
        for bundle in (False, True)
    }
    assert asked[False] == want
    assert asked[True] == want - {Kind.SCALED_OBJECTS}


def test_local_queues_are_needed_only_where_a_rule_could_be_missed() -> None:
    """Local queues are needed only where a rule could be missed."""
    waiting = replace(make_workload(), owners=kueue_job().owners)
    cases = [
        (resolved(waiting, trigger=JOB), POLICY, {Kind.LOCAL_QUEUES}),
        (resolved(waiting, trigger=JOB), replace(POLICY, cluster_queues={}), set()),
        (resolved(kueue_job(), trigger=JOB), POLICY, set()),
        (resolved(trigger=DEPLOYMENT), POLICY, set()),
        (resolved(trigger=DEPLOYMENT, queue_name="lq"), POLICY, {Kind.LOCAL_QUEUES}),
    ]
    for one, policy, want in cases:
        assert queue_kinds_needed(resolved=one, policy=policy) == want
