"""Area 5: node pools that grew too much, too little, or lost nodes with work on them."""

from dataclasses import replace

import pytest

from scaler.core.reasons import Reason
from tests.cases.cluster import hpa, nodes, owned, scaled_object
from tests.cases.frame import GPUS, NODES, Case, Run, idle, policy, pool
from tests.cases.objects import (
    Object,
    admission,
    admitted,
    assignment,
    condition,
    every,
    granted,
    owner,
    pod,
    pod_set,
    pods,
    workload,
)
from tests.cases.series import util


def test_n01_free_gpus_in_pieces(explain: Run) -> None:
    """Two free GPUs on each of four nodes are no place for a pod of eight."""
    running = [
        [admitted(f"w{n}", gpus=6), *pods(f"w{n}", 1, gpus=6, node=f"n{n}")] for n in range(1, 5)
    ]
    objects = every(nodes(4), *running, workload("a", gpus=8))
    found = explain(Case(trigger=NODES, objects=objects))
    assert found.says(active=True, value=5, reason=Reason.DEMAND).pool.new == 1


ONE_GPU = policy(pools=pool(gpus=1, max_nodes=100))


def _forty(*, born: int, placed: int = 0) -> list[Object]:
    """Build 40 one-GPU jobs; so many nodes are there, so many jobs run on them."""
    jobs = [(admitted if n <= placed else workload)(f"w{n}") for n in range(1, 41)]
    running = [pods(f"w{n}", 1, node=f"n{n}") for n in range(1, placed + 1)]
    return every(nodes(born, gpus=1, created=0), jobs, *running)


@pytest.mark.parametrize("t", range(0, 601, 30))
def test_n02_slow_nodes_are_asked_for_once(explain: Run, t: int) -> None:
    """S goes 0, 1, 40 while no node is born: 40 at each poll, never 41 and never 80."""
    size = 0 if t < 30 else 1 if t < 60 else 40
    stepped = {0: -7200, 1: 10, 40: 40}[size]
    world = [*_forty(born=0), hpa(size, scaled=stepped)]
    sizer = scaled_object(NODES, maximum=100)
    case = Case(scaled_object=sizer, objects=world, policy=ONE_GPU, t=t)
    explain(case).says(active=True, value=40)


@pytest.mark.parametrize("born", [1, 17, 40])
def test_n02_while_nodes_are_born(explain: Run, born: int) -> None:
    """Nodes that are there and those that come add up to the same 40."""
    sizer = scaled_object(NODES, maximum=100)
    world = [*_forty(born=born), hpa(40, scaled=40)]
    explain(Case(scaled_object=sizer, objects=world, policy=ONE_GPU, t=600)).says(
        active=True, value=40
    )
    taken = [*_forty(born=born, placed=born), hpa(40, scaled=40)]
    explain(Case(scaled_object=sizer, objects=taken, policy=ONE_GPU, t=630)).says(
        active=True, value=40
    )


def test_n02_ten_finish(explain: Run) -> None:
    """When ten jobs have finished the value is still 40: nothing ever shrinks."""
    objects = [*nodes(40, gpus=1), hpa(40)]
    objects += every(*([admitted(f"w{n}"), *pods(f"w{n}", 1, node=f"n{n}")] for n in range(1, 31)))
    case = Case(scaled_object=scaled_object(NODES), objects=objects, policy=ONE_GPU, t=3600)
    explain(case).says(active=True, value=40, reason=Reason.NO_DEMAND)


def test_n02_without_a_target(explain: Run) -> None:
    """A bundle without target and nodes says 40 too."""
    case = Case(trigger=NODES, objects=_forty(born=0), policy=ONE_GPU)
    found = explain(case).says(active=True, value=40, reason=Reason.DEMAND)
    assert found.evidence.size == 0


def test_n02_size_unknown(explain: Run) -> None:
    """Without a size there is no base to add to: HOLD."""
    sizer = scaled_object(NODES, maximum=100)
    case = Case(scaled_object=sizer, objects=_forty(born=0), policy=ONE_GPU)
    explain(case).holds(Reason.SIZE_UNKNOWN, running=False)
    explain(replace(case, objects=_forty(born=3))).holds(Reason.SIZE_UNKNOWN)


def _full(*, delay: str = "0s") -> tuple[Object, list[Object]]:
    """Build two full nodes, and the ScaledObject of their pool."""
    running = ([admitted(f"w{n}", gpus=8), *pods(f"w{n}", 1, gpus=8, node=f"n{n}")] for n in (1, 2))
    return scaled_object(NODES | {"scaleUpDelay": delay}), every(nodes(2), *running)


def test_n03_a_gpu_gets_free_first(explain: Run) -> None:
    """N + 1 is asked for; once the job found a place it is N, or N + 1 where that is S by now."""
    sizer, full = _full()
    waiting = workload("a", gpus=8, created=0)
    asked = Case(scaled_object=sizer, objects=[*full, hpa(2), waiting])
    explain(asked).says(active=True, value=3, reason=Reason.DEMAND)
    placed = [one for one in full if "w2" not in str(one["metadata"])]
    placed += every(admitted("a", gpus=8, at=60), pods("a", 1, gpus=8, node="n2", ready=60))
    after = Case(scaled_object=sizer, objects=[*placed, hpa(2)], t=60)
    explain(after).says(active=True, value=2, reason=Reason.NO_DEMAND)
    grown = Case(scaled_object=sizer, objects=[*placed, hpa(3, scaled=15)], t=60)
    explain(grown).says(active=True, value=3, reason=Reason.NO_DEMAND)


@pytest.mark.parametrize(("t", "want"), [(0, 2), (30, 2), (60, 2), (119, 2), (120, 3)])
def test_n03_scale_up_delay(explain: Run, t: float, want: int) -> None:
    """A Workload has waited since its creation: before 120 s it asks for nothing."""
    sizer, full = _full(delay="120s")
    waiting = workload("a", gpus=8, created=0)
    case = Case(scaled_object=sizer, objects=[*full, hpa(2), waiting], t=t)
    explain(case).says(active=True, value=want)


@pytest.mark.parametrize("reason", ["WaitingForPreemptedWorkloads", "Pending"])
def test_n04_preemption_under_way(explain: Run, reason: str) -> None:
    """While it waits for its victims to go no node is asked for: one will be free."""
    message = "Pending the preemption of 1 workload(s)"
    waiting = workload(
        "a", gpus=8, conditions=[condition("QuotaReserved", "False", reason, message=message)]
    )
    victim = admitted("v", gpus=8, conditions=[condition("Evicted", "True", "Preempted", at=-30)])
    leaving = pod("v-0", workload="v", gpus=8, deleted=-10)
    found = explain(Case(trigger=NODES, objects=every(nodes(1), victim, leaving, waiting)))
    told = found.says(active=True, value=1, reason=Reason.NO_DEMAND)
    assert (told.queue.workloads("H"), told.pool.new) == (1, 0)


def test_n04_no_room_after_the_victims(explain: Run) -> None:
    """Once the victims are gone and Kueue finds no room, one node is asked for."""
    message = 'topology "default" allows to fit only 0 out of 1 pod(s)'
    refused = condition("QuotaReserved", "False", "TopologyPlacementFailed", message=message)
    other = every(admitted("other"), pods("other", 1))
    objects = every(nodes(1), other, workload("a", gpus=8, conditions=[refused]))
    explain(Case(trigger=NODES, objects=objects)).says(active=True, value=2, reason=Reason.DEMAND)


def test_n04_admitted_and_unschedulable(explain: Run) -> None:
    """Once it is admitted and its pod has no place, one node is asked for."""
    taken = every(admitted("other", gpus=8), pods("other", 1, gpus=8))
    homeless = pods("a", 1, gpus=8, phase="Pending", unschedulable=True)
    objects = every(nodes(1), taken, admitted("a", gpus=8), homeless)
    explain(Case(trigger=NODES, objects=objects)).says(active=True, value=2, reason=Reason.DEMAND)


def test_n05_running_but_quiet(explain: Run) -> None:
    """A node that looks unused stays, and so does the empty one: the value is S."""
    objects = every(nodes(2), admitted("a"), pods("a", 1))
    case = Case(trigger=NODES, objects=objects, series=[util("a-0", 0, 0)])
    explain(case).says(active=True, value=2, reason=Reason.NO_DEMAND)


@pytest.mark.parametrize("made", [True, False])
def test_n06_quota_beyond_the_hardware(explain: Run, *, made: bool) -> None:
    """Admitted but not placed is demand too, counted once, with its pods made or to be made."""
    homeless = pods("a", 2, gpus=4, phase="Pending", unschedulable=True) if made else []
    objects = every(admitted("a", pods=2, gpus=4, at=-7200 if made else -60), homeless)
    explain(Case(trigger=NODES, objects=objects)).says(active=True, value=1, reason=Reason.DEMAND)
    explain(Case(trigger=GPUS | {"scope": "pending"}, objects=objects)).says(active=True, value=8)
    explain(Case(trigger=GPUS, objects=objects)).says(active=True, value=8)


@pytest.mark.parametrize("size", [0, 2, 4])
def test_n07_capped(explain: Run, size: int) -> None:
    """A need for 11 nodes with maxNodes 4 is 4 and says so; no more, no less, no error."""
    jobs = [workload(f"w{n}", gpus=8) for n in range(11 + size)]
    small = policy(pools=pool(max_nodes=4))
    case = Case(trigger=NODES, objects=[*nodes(size), *jobs], policy=small)
    assert explain(case).says(active=True, value=4, reason=Reason.CAPPED).pool.capped
    sized = replace(case, scaled_object=scaled_object(NODES), objects=[*case.objects, hpa(size)])
    assert explain(sized).says(active=True, value=4, reason=Reason.CAPPED).pool.capped


def _gang(minimum: int = 0) -> tuple[Object, list[Object]]:
    """Build a RayCluster of a head without GPUs and four workers of two, and its ScaledObject."""
    ray = owner("RayCluster", "rc", api="ray.io/v1")
    job = workload(
        "rc",
        pod_sets=[pod_set("head", gpus=0), pod_set("workers", count=4, gpus=2)],
        conditions=granted(),
        status=admission(assignment("head", gpus=0), assignment("workers", count=4, gpus=8)),
        owners=[ray],
    )
    workers = [pod(f"rc-worker-{n}", workload="rc", pod_set="workers", gpus=2) for n in range(4)]
    head = pod("rc-head", workload="rc", pod_set="head", gpus=0)
    trigger = idle("RayCluster/rc", replicas="4")
    sizer = scaled_object(trigger, kind="WorkerScale", target="rc", minimum=minimum)
    there = owned("RayCluster", "rc", api="ray.io/v1")
    return sizer, every(nodes(1), there, job, head, workers)


@pytest.mark.parametrize(
    ("values", "active"),
    [((0, 0, 0, 0), False), ((0, 0, 0, 7), True), ((1, 0, 0, 0), True)],
)
def test_n08_workers_all_or_none(explain: Run, values: tuple[float, ...], *, active: bool) -> None:
    """The four workers go together or not at all, and the head is not judged."""
    sizer, objects = _gang()
    series = [
        util(f"rc-worker-{n}", gpu, value) for n, value in enumerate(values) for gpu in (0, 1)
    ]
    case = Case(scaled_object=sizer, objects=[*objects, hpa(4)], series=series)
    told = explain(case).says(active=active, value=4)
    assert told.idle.component == "workers"
    assert told.idle.pods == tuple(f"rc-worker-{n}" for n in range(4))


def test_n08_one_worker_gone_is_no_reason_to_shrink(explain: Run) -> None:
    """With a worker missing the gang is starting: all four are wanted."""
    sizer, objects = _gang()
    fewer = [one for one in objects if "rc-worker-3" not in str(one["metadata"])]
    series = [util(f"rc-worker-{n}", gpu, 0) for n in range(3) for gpu in (0, 1)]
    case = Case(scaled_object=sizer, objects=[*fewer, hpa(4)], series=series)
    explain(case).says(active=True, value=4, reason=Reason.STARTING)


def test_n08_to_the_minimum_at_once(explain: Run) -> None:
    """Where the minimum keeps workers it is 0, so that the HPA goes there; never 1 to 3."""
    sizer, objects = _gang(minimum=4)
    series = [util(f"rc-worker-{n}", gpu, 0) for n in range(4) for gpu in (0, 1)]
    case = Case(scaled_object=sizer, objects=[*objects, hpa(4)], series=series)
    explain(case).says(active=False, value=0, reason=Reason.IDLE)
