"""Area 2, first half: which Workloads count at all, in whatever state Kueue left them."""

import pytest

from scaler.core.reasons import Reason
from tests.cases.cluster import (
    cluster_queue,
    flavor,
    local_queue,
    nodes,
)
from tests.cases.frame import GPUS, NODES, WORKLOADS, Case, Run
from tests.cases.objects import (
    GPU,
    Object,
    admission,
    admitted,
    assignment,
    condition,
    container,
    every,
    granted,
    owner,
    pod,
    pod_set,
    pods,
    workload,
)

EVICTED_AT = -30


def test_q01_objects_not_the_status_field(explain: Run) -> None:
    """Two objects wait, whatever status.pendingWorkloads says."""
    queues = [cluster_queue(status={"pendingWorkloads": 1}), local_queue(), flavor()]
    waiting = [workload("a"), workload("b")]
    found = explain(Case(trigger=GPUS, queues=queues, objects=waiting))
    assert found.says(active=True, value=2, reason=Reason.DEMAND).queue.demand() == 2
    explain(Case(trigger=WORKLOADS, queues=queues, objects=waiting)).says(active=True, value=2)


def test_q02_terminating_cluster_queue(explain: Run) -> None:
    """A ClusterQueue that is being deleted counts what runs, and attracts nothing new."""
    queues = [
        cluster_queue(deleted=-60, status={"pendingWorkloads": 5}),
        local_queue(),
        flavor(),
    ]
    running = every(nodes(1), admitted("a"), pods("a", 1))
    calm = explain(Case(trigger=GPUS, queues=queues, objects=running))
    assert calm.says(active=True, value=1).queue.demand() == 0
    fresh = [*running, *(workload(f"new-{n}", gpus=8) for n in range(3))]
    explain(Case(trigger=GPUS, queues=queues, objects=fresh)).says(active=True, value=1)
    found = explain(Case(trigger=NODES, queues=queues, objects=fresh))
    assert found.says(active=True, value=1, reason=Reason.NO_DEMAND).pool.new == 0


@pytest.mark.parametrize("stopped", [False, True])
def test_q03_not_routable(explain: Run, *, stopped: bool) -> None:
    """A LocalQueue that is missing or on hold lets nothing through, and that is seen."""
    links = [local_queue(stop_policy="Hold")] if stopped else []
    queues = [cluster_queue(), flavor(), *links]
    waiting = [workload("a"), workload("b")]
    found = explain(Case(trigger=GPUS, queues=queues, objects=waiting))
    told = found.says(active=False, value=0, reason=Reason.NO_DEMAND)
    assert told.queue.not_routable == 2
    assert "Not routable" in told.evidence.detail


def test_q04_owners_long_gone(explain: Run) -> None:
    """Of 52 admitted Workloads of single pods only the 2 whose pods exist count."""
    jobs = [admitted(f"w{n}", owners=[owner("Pod", f"p{n}", api="v1")]) for n in range(52)]
    live = [pod("p0"), pod("p1")]
    objects = [*nodes(1), *jobs, *live]
    explain(Case(trigger=GPUS, objects=objects)).says(active=True, value=2)
    explain(Case(trigger=NODES, objects=objects)).says(active=True, value=1)


def test_q04_owner_not_found_is_finished(explain: Run) -> None:
    """Finished with reason OwnerNotFound never counts, whatever it still holds."""
    over = condition("Finished", "True", "OwnerNotFound")
    objects = [*nodes(1), *(admitted(f"w{n}", at=0, conditions=[over]) for n in range(52))]
    explain(Case(trigger=GPUS, objects=objects, t=60)).says(active=False, value=0)
    explain(Case(trigger=NODES, objects=objects, t=60)).says(active=True, value=1)


def test_q05_terminating_workloads(explain: Run) -> None:
    """A finalizer holds a thousand deleted Workloads: without live pods they count nothing."""
    gone = [admitted(f"gone-{n}", deleted=-3600) for n in range(1000)]
    live = every(*([admitted(f"w{n}"), *pods(f"w{n}", 1)] for n in range(3)))
    objects = [*nodes(1), *gone, *live]
    explain(Case(trigger=GPUS, objects=objects)).says(active=True, value=3)
    explain(Case(trigger=NODES, objects=objects)).says(active=True, value=1)


def test_q05_a_live_pod_of_a_terminating_workload_counts(explain: Run) -> None:
    """What still runs is still used."""
    objects = every(nodes(1), admitted("a", deleted=-3600), pods("a", 2))
    explain(Case(trigger=GPUS, objects=objects)).says(active=True, value=2)


def test_q06_replaced_slices(explain: Run) -> None:
    """Finished wins over QuotaReserved and an admission that are still there."""
    over = condition("Finished", "True", "WorkloadSliceReplaced")
    old = [admitted(f"old-{n}", gpus=4, at=-60, conditions=[over]) for n in range(5)]
    objects = every(nodes(1), old, admitted("new", gpus=4), pods("new", 1, gpus=4))
    found = explain(Case(trigger=GPUS, objects=objects)).says(active=True, value=4)
    assert found.queue.demand() == 0


def test_q07_waiting_for_replacement_pods(explain: Run) -> None:
    """Kueue does not take it for admissible, so it is no demand, requeued or not."""
    conditions = [
        condition("QuotaReserved", "False", "Pending"),
        condition("Requeued", "True", "BackoffFinished"),
        condition("WaitingForReplacementPods", "True"),
    ]
    status = {"requeueState": {"count": 3, "requeueAt": "2026-03-01T09:00:00Z"}}
    group = workload("group", pods=4, conditions=conditions, status=status)
    found = explain(Case(trigger=GPUS, objects=[group]))
    assert found.says(active=False, value=0).queue.workloads("G") == 1


def _evicted(*, requeued: bool, active: bool = True) -> Object:
    """Build a Workload that the PodsReady time-out put out at t = -30, to come back at t = 60."""
    reason = "BackoffFinished" if requeued else "PodsReadyTimeout"
    conditions = [
        condition("QuotaReserved", "False", "Pending", message="Exceeded the PodsReady timeout"),
        condition("Evicted", "True", "PodsReadyTimeout", at=EVICTED_AT),
        condition("Requeued", str(requeued), reason, at=EVICTED_AT),
    ]
    status = {"requeueState": {"count": 1, "requeueAt": "2026-03-01T10:01:00Z"}}
    return workload("a", pods=8, conditions=conditions, status=status, active=active)


@pytest.mark.parametrize(
    ("t", "requeued", "active", "want"),
    [
        (0, False, True, 0),
        (59, False, True, 0),
        (61, False, True, 0),
        (600, False, True, 0),
        (61, True, True, 8),
        (600, True, True, 8),
        (61, True, False, 0),
        (7200, True, False, 0),
    ],
)
def test_q08_back_off(explain: Run, t: float, want: int, *, requeued: bool, active: bool) -> None:
    """No demand until Kueue requeues it, all of it then, and none once it is deactivated."""
    evicted = _evicted(requeued=requeued, active=active)
    explain(Case(trigger=GPUS, objects=[evicted], t=t)).says(active=want > 0, value=want)


def test_q08_an_eviction_under_way_counts_once(explain: Run) -> None:
    """Evicted but with its quota still: its live pods count, and it is no demand besides."""
    out = condition("Evicted", "True", "PodsReadyTimeout", at=EVICTED_AT)
    objects = every(nodes(1), admitted("a", pods=8, at=-300, conditions=[out]), pods("a", 3))
    explain(Case(trigger=GPUS, objects=objects)).says(active=True, value=3)
    gone = [*nodes(1), admitted("a", pods=8, at=-300, conditions=[out])]
    explain(Case(trigger=GPUS, objects=gone)).says(active=False, value=0)


@pytest.mark.parametrize("policy", ["Hold", "HoldAndDrain"])
def test_q09_stopped_queue(explain: Run, policy: str) -> None:
    """What runs and what is admitted counts on; what has no quota yet does not."""
    stopped = cluster_queue(spec={"stopPolicy": policy}, active=False)
    queues = [stopped, local_queue(), flavor()]
    coming = pods("coming", 1, phase="Pending", unschedulable=True)
    waiting = workload("waiting", conditions=[condition("QuotaReserved", "False", "Inadmissible")])
    objects = every(
        nodes(1), admitted("running"), pods("running", 1), admitted("coming"), coming, waiting
    )
    found = explain(Case(trigger=GPUS, queues=queues, objects=objects))
    assert found.says(active=True, value=2).queue.demand() == 0
    explain(Case(trigger=NODES, queues=queues, objects=objects)).says(active=True, value=1)


def test_q09_drained_queue(explain: Run) -> None:
    """Once the evictions show and the pods are gone nothing is used, and the node stays."""
    stopped = cluster_queue(spec={"stopPolicy": "HoldAndDrain"}, active=False)
    queues = [stopped, local_queue(), flavor()]
    out = [
        condition("QuotaReserved", "False", "Inadmissible"),
        condition("Evicted", "True", "ClusterQueueStopped", at=EVICTED_AT),
    ]
    objects = [*nodes(1), *(workload(name, conditions=out) for name in ("a", "b", "c"))]
    explain(Case(trigger=GPUS, queues=queues, objects=objects)).says(active=False, value=0)
    explain(Case(trigger=NODES, queues=queues, objects=objects)).says(active=True, value=1)


@pytest.mark.parametrize(
    ("requests", "limits", "want"),
    [
        ({}, {GPU: "2"}, 8),
        ({"cpu": "4"}, {GPU: "2"}, 8),
        ({GPU: "1"}, {GPU: "2"}, 4),
    ],
)
def test_q10_limits_without_requests(
    explain: Run, requests: dict[str, object], limits: dict[str, object], want: int
) -> None:
    """A limit stands for a request that is not there; where both are, the request wins."""
    spec = {"containers": [container(requests, limits=limits)]}
    job = workload("a", pod_sets=[pod_set(count=4, spec=spec)])
    found = explain(Case(trigger=GPUS, objects=[job]))
    assert found.says(active=True, value=want).queue.demand() == want


@pytest.mark.parametrize(("live", "want"), [(3, 3), (1, 1)])
@pytest.mark.parametrize("since", [-7200, -60])
def test_q11_reclaimed_pods_that_run_again(
    explain: Run, live: int, want: int, since: float
) -> None:
    """The larger of Kueue's count less the reclaimed pods and of the live pods is used."""
    status = {"reclaimablePods": [{"name": "main", "count": 2}]}
    objects = every(
        nodes(1), admitted("a", pods=3, at=since, status=status), pods("a", live, ready=since)
    )
    explain(Case(trigger=GPUS, objects=objects)).says(active=True, value=want)
    explain(Case(trigger=NODES, objects=objects)).says(active=True, value=1)


@pytest.mark.parametrize(
    ("reclaimed", "live", "over", "want"), [(0, 4, 0, 4), (3, 4, 0, 4), (8, 2, 2, 2)]
)
@pytest.mark.parametrize("since", [-7200, -60])
def test_q12_partial_admission(
    explain: Run, reclaimed: int, live: int, over: int, want: int, since: float
) -> None:
    """Used is what was granted, not what was asked; pods are reclaimed off the whole count."""
    partial = workload(
        "a",
        pod_sets=[pod_set(count=10, minCount=4)],
        conditions=granted(since),
        status=admission(assignment(count=4, gpus=4))
        | ({"reclaimablePods": [{"name": "main", "count": reclaimed}]} if reclaimed else {}),
    )
    finished = [pod(f"over-{n}", workload="a", phase="Succeeded") for n in range(over)]
    objects = every(nodes(1), partial, pods("a", live, ready=since), finished)
    found = explain(Case(trigger=GPUS, objects=objects)).says(active=True, value=want)
    assert found.queue.demand() == 0
