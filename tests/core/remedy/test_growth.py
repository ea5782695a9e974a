"""What is told of a queue trigger's value, beside quota and nodes."""

import pytest

from scaler.core.reasons import Reason
from scaler.core.remedy.remedy import Lever
from scaler.core.remedy.what_if import without_workloads
from tests.builders import NOW, make_workload
from tests.core.queue_fixture import GPUS, NODES, make_cluster, make_jobs, make_sizer
from tests.core.remedy.asking import asked, pulled

DELAYED = {**NODES, "scaleUpDelay": "5m"}


@pytest.mark.parametrize("since", [NOW - 60, NOW - 299.5, NOW - 0.25])
def test_law_a_workload_has_waited_long_enough_when_it_is_told_to_have(since: float) -> None:
    """At that time it counts, and a second before it does not."""
    snapshot = make_cluster(make_workload(gpus=8, waiting_since=since, created=since))
    decision, found = asked(snapshot, DELAYED)
    remedy = pulled(found, Lever.TIME)
    assert (decision.value, remedy.text.count("scaleUpDelay")) == (0, 1)
    assert remedy.at is not None
    assert remedy.then is not None
    later, _ = asked(snapshot, DELAYED, now=remedy.at)
    before, _ = asked(snapshot, DELAYED, now=remedy.at - 1)
    assert (later.value, before.value, remedy.then.value) == (1, 0, 1)


def test_without_those_that_wait_the_value_is_what_is_told() -> None:
    """Law: taken out of the ClusterQueue, they leave that value."""
    snapshot = make_cluster(*make_jobs(3), size=1, nodes=[])
    decision, found = asked(snapshot)
    remedy = pulled(found, Lever.DEMAND)
    assert remedy.more == (("workloads", -3),)
    assert remedy.then is not None
    uids = frozenset(one.uid for one in snapshot.workload_index.values())
    alone, _ = asked(without_workloads(snapshot, uids))
    assert (remedy.then.value, remedy.then.reason) == (alone.value, alone.reason)
    assert decision.value != alone.value


def test_where_nothing_waits_that_is_what_would_have_to_change() -> None:
    """The ClusterQueue is named."""
    decision, found = asked(make_cluster())
    assert decision.reason is Reason.NO_DEMAND
    assert "a Workload in ClusterQueue gpu-cq" in pulled(found, Lever.DEMAND).text


def test_a_swallowed_change_is_told_with_what_the_tolerance_hides() -> None:
    """The HPA would take it with a tolerance of 0."""
    sized = make_cluster(
        *make_jobs(31), size=30, nodes=[], tolerance=None, sizers=(make_sizer(GPUS),)
    )
    metadata = {**GPUS, "unit": "workloads"}
    decision, found = asked(sized, metadata)
    assert decision.reason is Reason.SWALLOWED
    remedy = pulled(found, Lever.TOLERANCE)
    assert remedy.then is not None
    assert remedy.then.reason is Reason.DEMAND
    strict, _ = asked(
        make_cluster(*make_jobs(31), size=30, nodes=[], tolerance=0.0, sizers=(make_sizer(GPUS),)),
        metadata,
    )
    assert strict.reason is Reason.DEMAND
