"""Reasons of queue signals: which one wins, and whether the sentence says what it must."""

from dataclasses import replace

import pytest

from scaler.core.decision import ClassCount, PoolEvidence
from scaler.core.nodes.packing import Packed
from scaler.core.queue.reason import Waiting, count_reason, nodes_reason, not_helped
from scaler.core.reasons import Reason, WorkloadClass

POOL = PoolEvidence(
    pool="a100",
    present=4,
    usable=3,
    coming=0,
    broken=1,
    new=0,
    empty=0,
    spare=0,
    max_nodes=10,
    size=4,
)
NONE = Packed(new=0, empty=0, placed=0, on_coming=0, on_new=0, capped=0, fits_no_node=0)
CALM = Waiting(workloads=0, for_quota=0, delayed=0, swallowed=False)


@pytest.mark.parametrize(
    ("value", "pool", "packed", "waiting", "want"),
    [
        pytest.param(4, POOL, NONE, CALM, Reason.NO_DEMAND, id="nothing"),
        pytest.param(5, POOL, replace(NONE, new=1), CALM, Reason.DEMAND, id="growth"),
        pytest.param(
            5, POOL, NONE, replace(CALM, swallowed=True), Reason.SWALLOWED, id="swallowed growth"
        ),
        pytest.param(
            4, POOL, NONE, replace(CALM, swallowed=True), Reason.NO_DEMAND, id="no growth"
        ),
        pytest.param(
            5,
            replace(POOL, capped=True),
            NONE,
            replace(CALM, swallowed=True),
            Reason.SWALLOWED,
            id="what happens not at all comes before what happens in part",
        ),
        pytest.param(5, replace(POOL, capped=True), NONE, CALM, Reason.CAPPED, id="capped growth"),
        pytest.param(4, replace(POOL, capped=True), NONE, CALM, Reason.CAPPED, id="at maxNodes"),
        pytest.param(
            4, POOL, replace(NONE, fits_no_node=2), CALM, Reason.FITS_NO_NODE, id="all too large"
        ),
        pytest.param(
            4,
            POOL,
            replace(NONE, fits_no_node=2, placed=1),
            CALM,
            Reason.NO_DEMAND,
            id="some too large, the others fit",
        ),
        pytest.param(
            4,
            POOL,
            replace(NONE, placed=1),
            replace(CALM, topology_disagrees=True, for_quota=1),
            Reason.TOPOLOGY_DISAGREES,
            id="a contradiction comes before quota",
        ),
        pytest.param(
            4, POOL, NONE, replace(CALM, for_quota=1), Reason.QUOTA_EXHAUSTED, id="only quota lacks"
        ),
    ],
)
def test_one_reason_wins(
    value: int, pool: PoolEvidence, packed: Packed, waiting: Waiting, want: Reason
) -> None:
    """Every value carries the one reason that a person should look at first."""
    reason, _ = nodes_reason(value=value, floor=4, pool=pool, packed=packed, waiting=waiting)
    assert reason is want


def test_the_sentence_of_nodes() -> None:
    """It says who waits, where the pods went, what lacks, and how the value came about."""
    packed = Packed(new=2, empty=1, placed=7, on_coming=3, on_new=9, capped=4, fits_no_node=1)
    waiting = Waiting(workloads=5, for_quota=1, delayed=2, elsewhere=1, swallowed=False)
    pool = replace(POOL, capped=True, spare=3, empty=1)
    reason, detail = nodes_reason(value=10, floor=4, pool=pool, packed=packed, waiting=waiting)
    assert reason is Reason.CAPPED
    assert detail == (
        "5 Workloads (21 pods) in pool a100: 4 fit on present nodes, 3 wait for coming nodes,"
        " 9 need 2 new nodes, 4 need more than maxNodes (10), 1 fit no node of the pool."
        " Of 3 spare nodes 2 lack."
        " For 1 Workload no quota is free, which nodes would not change."
        " For 1 Workload other nodes are needed, by flavor or node selector."
        " 2 Workloads waited less than scaleUpDelay."
        " 1 node of the pool can't be used."
        " The value is 10 (the target's size is 4)."
    )


@pytest.mark.parametrize(
    ("pending", "waiting", "want"),
    [
        pytest.param(3, CALM, Reason.DEMAND, id="demand"),
        pytest.param(3, replace(CALM, swallowed=True), Reason.SWALLOWED, id="swallowed"),
        pytest.param(0, replace(CALM, swallowed=True), Reason.NO_DEMAND, id="nothing to swallow"),
        pytest.param(0, replace(CALM, for_quota=1), Reason.QUOTA_EXHAUSTED, id="quota"),
        pytest.param(0, CALM, Reason.NO_DEMAND, id="nothing"),
    ],
)
def test_the_reason_of_a_sum(pending: int, waiting: Waiting, want: Reason) -> None:
    """Sums know demand, its being swallowed, and quota."""
    reason, detail = count_reason(value=9, pending=pending, unit="nvidia.com/gpu", waiting=waiting)
    assert reason is want
    assert detail.startswith(f"{pending} nvidia.com/gpu wait for a place; the value is 9.")


def test_classes_are_summed_over_cluster_queues() -> None:
    """Of the classes that no node helps each is named once; the others are not."""
    counts = [
        ClassCount(cluster_queue=queue, workload_class=one, workloads=number, gpus=8)
        for queue, one, number in (
            ("a", WorkloadClass.PREEMPTING, 1),
            ("b", WorkloadClass.PREEMPTING, 2),
            ("a", WorkloadClass.CHECKS, 4),
            ("a", WorkloadClass.UNPLACED, 5),
            ("a", WorkloadClass.QUOTA, 6),
            ("b", WorkloadClass.RUNNING, 7),
        )
    ]
    assert not_helped(counts) == ((WorkloadClass.CHECKS, 4), (WorkloadClass.PREEMPTING, 3))
