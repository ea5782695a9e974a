"""The quota that is told lets the Workload in, and one less of it does not."""

from hypothesis import given, settings
from hypothesis import strategies as st

from scaler.core.demand.cohorts import Slot
from scaler.core.demand.quota import simulated
from scaler.core.model import ClusterQueue, Cohort, Quota, Workload
from scaler.core.reasons import WorkloadClass
from scaler.core.remedy.quota import Lack, Stuck, lack_of, stuck
from scaler.core.remedy.remedy import Lever
from scaler.core.remedy.what_if import set_apart, with_borrowing, with_cohort_quota, with_quota
from scaler.core.snapshot import Snapshot
from tests.builders import (
    GPU,
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
from tests.core.queue_fixture import make_cluster
from tests.core.remedy.asking import asked, pulled

SLOT = ("gpu", GPU)


def waiting(name: str, *, gpus: int, queue: str = "a", priority: int = 0) -> Workload:
    """Build a Workload that waits for quota in the ClusterQueue of its LocalQueue's name."""
    return make_workload(
        name=name,
        gpus=gpus,
        queue_name=queue,
        standing=WorkloadClass.QUOTA,
        priority=priority,
    )


def running(name: str, *, gpus: int, queue: str) -> Workload:
    """Build one that is admitted."""
    return make_workload(name=name, gpus=gpus, queue_name=queue, admitted=True, cluster_queue=queue)


def cluster(
    *workloads: Workload, queues: tuple[ClusterQueue, ...], cohorts: tuple[Cohort, ...] = ()
) -> Snapshot:
    """Build a cluster with a LocalQueue of each ClusterQueue's name."""
    return set_apart(
        make_snapshot(
            workloads=workloads,
            cluster_queues=queues,
            cohorts=cohorts,
            local_queues=[
                make_local_queue(name=one.name, cluster_queue=one.name) for one in queues
            ],
        )
    )


def first_stuck(snapshot: Snapshot, queue: str = "a") -> Stuck:
    """Give the first Workload of a ClusterQueue that quota stops."""
    return next(stuck(snapshot, queue, NOW))


def let_in(snapshot: Snapshot, one: Stuck) -> bool:
    """Say whether the simulated admission has it."""
    queue = simulated(snapshot=snapshot, cluster_queue=one.cluster_queue, now=NOW)
    assert queue is not None
    return any(
        member.uid == one.workload.uid
        for batch, grants in zip(queue.lineup.waiting, queue.grants, strict=True)
        for member in batch.members[: len(grants)]
    )


def less(more: dict[Slot, int], slot: Slot) -> dict[Slot, int]:
    """Take one of a slot away."""
    return {**more, slot: more[slot] - 1}


def holds(snapshot: Snapshot, one: Stuck, lack: Lack) -> None:
    """Demand the law of a Lack."""
    more = dict(lack.more)
    queue = one.cluster_queue
    assert not let_in(snapshot, one)
    assert let_in(with_quota(snapshot, queue, more), one)
    for slot in more:
        assert not let_in(with_quota(snapshot, queue, less(more, slot)), one), slot
    if lack.in_cohort:
        cohort = snapshot.cluster_queues[queue].cohort
        assert cohort is not None
        assert let_in(with_cohort_quota(snapshot, cohort, more), one)
    borrowing = dict(lack.borrowing)
    if borrowing:
        assert let_in(with_borrowing(snapshot, queue, borrowing), one)
        for slot in borrowing:
            assert not let_in(with_borrowing(snapshot, queue, less(borrowing, slot)), one), slot


def test_two_more_gpus_in_the_cohort() -> None:
    """Six are free of the cohort's, eight are asked for."""
    snapshot = cluster(
        running("old", gpus=10, queue="b"),
        waiting("new", gpus=8),
        queues=(
            make_cluster_queue(name="a", quota=8, cohort="research"),
            make_cluster_queue(name="b", quota=8, cohort="research"),
        ),
    )
    one = first_stuck(snapshot)
    lack = lack_of(snapshot, one, NOW)
    assert lack is not None
    assert (dict(lack.more), lack.in_cohort) == ({SLOT: 2}, True)
    holds(snapshot, one, lack)


def test_a_borrowing_limit_that_binds_is_told_beside_the_quota() -> None:
    """Quota elsewhere in the cohort does not help; the limit does."""
    own = Quota(nominal=4, borrowing_limit=1)
    snapshot = cluster(
        waiting("new", gpus=8),
        queues=(
            make_cluster_queue(name="a", quota=own, cohort="research"),
            make_cluster_queue(name="b", quota=100, cohort="research"),
        ),
    )
    one = first_stuck(snapshot)
    lack = lack_of(snapshot, one, NOW)
    assert lack is not None
    assert (dict(lack.more), lack.in_cohort) == ({SLOT: 3}, False)
    assert lack.borrowing == {SLOT: 3}
    holds(snapshot, one, lack)


def test_what_an_earlier_one_would_take_first_is_counted_in() -> None:
    """The quota has to serve the one before it too, which fits as soon as there is more."""
    snapshot = cluster(
        waiting("before", gpus=3, queue="b", priority=5),
        waiting("new", gpus=4),
        queues=(
            make_cluster_queue(name="a", quota=2, cohort="research"),
            make_cluster_queue(name="b", quota=0, cohort="research"),
        ),
    )
    one = first_stuck(snapshot)
    lack = lack_of(snapshot, one, NOW)
    assert lack is not None
    assert dict(lack.more) == {SLOT: 5}
    holds(snapshot, one, lack)


def test_every_resource_that_lacks_is_told() -> None:
    """GPUs would not help without CPUs."""
    group = make_group(resources={"gpu": {GPU: 8, "cpu": 4000}})
    shape = make_shape(gpus=9, requests={"cpu": 6000})
    pod_sets = (make_pod_set(count=1, shape=shape),)
    snapshot = cluster(
        make_workload(name="new", pod_sets=pod_sets, queue_name="a", standing=WorkloadClass.QUOTA),
        queues=(make_cluster_queue(name="a", groups=(group,)),),
    )
    one = first_stuck(snapshot)
    lack = lack_of(snapshot, one, NOW)
    assert lack is not None
    assert dict(lack.more) == {SLOT: 1, ("gpu", "cpu"): 2000}
    holds(snapshot, one, lack)


def test_the_flavor_that_lacks_least_is_told() -> None:
    """Nobody is told to buy eight where two do."""
    snapshot = cluster(
        waiting("new", gpus=8), queues=(make_cluster_queue(name="a", flavors={"x": 0, "gpu": 6}),)
    )
    lack = lack_of(snapshot, first_stuck(snapshot), NOW)
    assert lack is not None
    assert (lack.flavor, dict(lack.more)) == ("gpu", {SLOT: 2})


def test_behind_one_that_never_fits_no_quota_helps() -> None:
    """A StrictFIFO queue stops at a head that no flavor matches."""
    head = make_workload(name="head", queue_name="a", standing=WorkloadClass.NO_FLAVOR, priority=9)
    snapshot = cluster(
        head,
        waiting("new", gpus=8),
        queues=(make_cluster_queue(name="a", quota=4, strict_fifo=True),),
    )
    one = first_stuck(snapshot)
    assert lack_of(snapshot, one, NOW) is None


def test_the_trigger_tells_the_value_that_comes_of_it() -> None:
    """Two more GPUs are one node more, and one more is none."""
    snapshot = make_cluster(
        waiting("first", gpus=8, queue="lq"), waiting("then", gpus=8, queue="lq"), quota=14
    )
    decision, found = asked(snapshot)
    quota = pulled(found, Lever.QUOTA)
    assert decision.value == 1
    assert quota.more == ((GPU, 2),)
    assert quota.then is not None
    assert quota.then.value == 2
    assert quota.text.startswith("2 GPUs more of quota (flavor gpu) as nominalQuota of Cluster")
    assert quota.text.endswith("let Workload ml/then in: the value is 2 instead of 1")
    for more, value in ((2, 2), (1, 1)):
        raised = with_quota(snapshot, "gpu-cq", {SLOT: more})
        again, _ = asked(raised)
        assert again.value == value


QUEUES = ("a", "b", "c")


@st.composite
def clusters(draw: st.DrawFn) -> Snapshot:
    """Build cohorts with limits, and Workloads in every state."""
    small = st.integers(0, 12)
    limit = st.none() | small
    quota = st.builds(Quota, nominal=small, borrowing_limit=limit, lending_limit=limit)
    cohort = draw(st.sampled_from([None, "all"]))
    queues = tuple(
        make_cluster_queue(
            name=name, quota=draw(quota), cohort=cohort, strict_fifo=draw(st.booleans())
        )
        for name in QUEUES
    )
    kinds = st.sampled_from(["waiting", "waiting", "running"])
    workloads = [
        waiting(f"w{number}", gpus=gpus, queue=queue, priority=priority)
        if kind == "waiting"
        else running(f"w{number}", gpus=gpus, queue=queue)
        for number, (kind, queue, gpus, priority) in enumerate(
            draw(
                st.lists(
                    st.tuples(kinds, st.sampled_from(QUEUES), st.integers(1, 9), st.integers(0, 2)),
                    max_size=8,
                )
            )
        )
    ]
    cohorts = (make_cohort(flavors={"gpu": draw(small)}),) if cohort else ()
    return cluster(*workloads, queues=queues, cohorts=cohorts)


@settings(max_examples=60)
@given(clusters())
def test_law_the_quota_that_is_told_and_not_one_less(snapshot: Snapshot) -> None:
    """For the first that quota stops in each ClusterQueue, whatever else waits and runs."""
    for name in QUEUES:
        one = next(stuck(snapshot, name, NOW), None)
        lack = None if one is None else lack_of(snapshot, one, NOW)
        if one is not None and lack is not None:
            holds(snapshot, one, lack)
