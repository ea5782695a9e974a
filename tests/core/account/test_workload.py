"""A Workload's account: its class, in which triggers it counts, who judges and who holds it."""

from dataclasses import replace

import pytest

from scaler.core.account.workload import WorkloadAccount, account_of_workload
from scaler.core.model import Workload
from scaler.core.policy import Policy
from scaler.core.reasons import Reason, WorkloadClass
from scaler.core.remedy.remedy import Lever
from scaler.core.snapshot import Snapshot
from tests.builders import (
    GPU,
    NOW,
    make_hold,
    make_local_queue,
    make_snapshot,
    make_worker_scale,
    make_workload,
)
from tests.core.idle_fixture import POLICY as IDLE_POLICY
from tests.core.idle_fixture import cluster as resting_cluster
from tests.core.idle_fixture import kueue_job, so, usage_of, util, worker
from tests.core.queue_fixture import NODES, POLICY, make_cluster, make_running, make_sizer

DELAYED = {**NODES, "scaleUpDelay": "5m"}


def account(snapshot: Snapshot, workload: Workload, policy: Policy = POLICY) -> WorkloadAccount:
    """Give account of a Workload."""
    return account_of_workload(snapshot=snapshot, workload=workload, policy=policy, now=NOW)


def test_one_that_waits_for_nodes_counts_and_says_with_what() -> None:
    """Quota is free for it."""
    one = make_workload(name="new", pods=2, gpus=8)
    found = account(make_cluster(one), one)
    (counting,) = found.counting
    assert (counting.counts, counting.why) == (True, "pods that need a place: 2 of main")
    assert (found.workload_class, found.gpus) == (WorkloadClass.NOT_EVALUATED, 16)


def test_one_that_runs_needs_no_nodes() -> None:
    """Its class says why."""
    one = make_workload(name="old", gpus=8, admitted=True)
    found = account(make_cluster(one, size=1, pods=[*make_running(one, "node-0", gpus=8)]), one)
    (counting,) = found.counting
    assert not counting.counts
    assert counting.why == "class Admitted (admitted, every pod has its place) needs no nodes"


def test_one_without_quota_says_so_and_what_would_let_it_in() -> None:
    """Nodes would not."""
    one = make_workload(name="new", gpus=8, standing=WorkloadClass.QUOTA)
    found = account(make_cluster(one, quota=6), one)
    (counting,) = found.counting
    assert counting.why == "no quota is free for it, which nodes would not change"
    (remedy,) = found.remedies
    assert (remedy.lever, remedy.more) == (Lever.QUOTA, ((GPU, 2),))


def test_one_that_waits_too_short_says_so() -> None:
    """The trigger's delay is not over."""
    one = make_workload(name="new", gpus=8, created=NOW - 60, waiting_since=NOW - 60)
    found = account(make_cluster(one, sizers=(make_sizer(DELAYED),)), one)
    (counting,) = found.counting
    assert (counting.counts, "scaleUpDelay" in counting.why) == (False, True)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"queue_name": "nowhere"}, "LocalQueue nowhere of namespace ml"),
        ({"active": False}, "spec.active has to be true"),
        ({"requeue_at": NOW + 60}, "Kueue lets it queue again at "),
    ],
)
def test_what_keeps_it_out_is_told(changes: dict[str, object], said: str) -> None:
    """Nothing of the pool would help."""
    one = make_workload(name="new", **changes)  # type: ignore[arg-type] # one at a time
    found = account(make_cluster(one), one)
    assert found.workload_class is WorkloadClass.NOT_DEMAND
    assert any(each.text.startswith(said) for each in found.remedies)


def test_a_trigger_that_speaks_of_it_judges_its_gpus() -> None:
    """With each device's peak."""
    job = kueue_job("train")
    pods = [worker("t-0", workload=job.name, pod_set="main", app="train")]
    snapshot = resting_cluster(
        pods=pods,
        usage=usage_of(util("t-0", 0, 0)),
        workloads=[job],
        scaled_object=so(workload=job.name),
    )
    (resting,) = account(snapshot, job, IDLE_POLICY).resting
    assert not resting.own
    assert resting.decision.reason is Reason.IDLE
    assert resting.decision.idle is not None
    assert [one.peak_percent for one in resting.decision.idle.devices] == [0.0]


def test_without_one_the_policy_alone_judges_it() -> None:
    """Its size is what is present, as nobody scales it."""
    job = kueue_job("train")
    pods = [worker("t-0", workload=job.name, pod_set="main", app="train")]
    snapshot = resting_cluster(
        pods=pods, usage=usage_of(util("t-0", 0, 0)), workloads=[job], scaled_objects=()
    )
    (resting,) = account(snapshot, job, IDLE_POLICY).resting
    assert resting.own
    assert (resting.decision.reason, resting.decision.size) == (Reason.IDLE, 1)
    assert resting.remedies


def test_one_that_waits_is_judged_by_nobody() -> None:
    """It has no GPUs to rest."""
    one = make_workload(name="new")
    assert account(make_cluster(one), one).resting == ()


def test_the_worker_scale_that_holds_it_is_told() -> None:
    """By the UID of its record: one of the same name that came after it is not held."""
    one = make_workload(name="held", admitted=True)
    scale = make_worker_scale(hold=make_hold(workload_uid=one.uid))
    snapshot = make_snapshot(
        workloads=[one], worker_scales=[scale], local_queues=[make_local_queue()]
    )
    assert account(snapshot, one).scales == (scale,)
    assert account(snapshot, replace(one, uid="later")).scales == ()


def test_a_worker_scale_of_another_namespace_holds_nothing_here() -> None:
    """Whatever its status says, be it restored from a copy."""
    one = make_workload(name="held", admitted=True)
    scale = make_worker_scale(namespace="elsewhere", hold=make_hold(workload_uid=one.uid))
    snapshot = make_snapshot(
        workloads=[one], worker_scales=[scale], local_queues=[make_local_queue()]
    )
    assert account(snapshot, one).scales == ()
