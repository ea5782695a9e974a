"""Area 1 where a bundle can tell it: missing samples, numbers, and values that never dip."""

from collections.abc import Mapping

import pytest

from scaler.core.reasons import Reason
from tests.cases.cluster import (
    cluster_queue,
    flavor,
    hpa,
    local_queue,
    nodes,
    quota,
    scaled_object,
)
from tests.cases.frame import GPUS, NODES, Case, Run, idle
from tests.cases.objects import (
    Object,
    admission,
    admitted,
    assignment,
    every,
    granted,
    owner,
    pod,
    pods,
    workload,
)
from tests.cases.series import Levels, between, util


@pytest.mark.parametrize("name", ["a", "b"])
def test_k01_empty_vector(explain: Run, name: str) -> None:
    """An empty answer is HOLD for every workload: never false, never 0."""
    both = every(nodes(1), admitted("a"), pods("a", 1), admitted("b"), pods("b", 1))
    explain(Case(trigger=idle(name), objects=both)).holds(Reason.NO_SAMPLES)


def test_k02_prometheus_down(explain: Run) -> None:
    """A Prometheus that does not answer is HOLD too; the first good poll is normal again."""
    running = every(nodes(1), admitted("a"), pods("a", 1))
    trigger = idle("a")
    for t in (30, 60, 90):
        down = Case(trigger=trigger, objects=running, series=None, t=t)
        explain(down).holds(Reason.PROMETHEUS_FAILED)
    good = Case(trigger=trigger, objects=running, series=[util("a-0", 0, 60)], t=120)
    explain(good).says(active=True, value=1, reason=Reason.BUSY)


def test_k05_unknown_queue_has_its_spec(explain: Run) -> None:
    """A ClusterQueue that does not exist is HOLD with a metric spec, never an empty list."""
    trigger = {"signal": "queue", "clusterQueue": "does-not-exist", "pool": "gpu"}
    found = explain(Case(trigger=trigger, objects=nodes(1))).holds(Reason.CLUSTER_QUEUE_MISSING)
    assert found.answer.get_metric_spec == "OK"
    assert found.queue.missing_cluster_queues == ("does-not-exist",)
    at_zero = Case(trigger=trigger)
    explain(at_zero).holds(Reason.CLUSTER_QUEUE_MISSING, running=False)


@pytest.mark.parametrize(
    ("trigger", "words"),
    [
        ({"signal": "queue"}, ("clusterQueue", "pool", "gpusPerNode")),
        ({}, ("signal",)),
    ],
)
def test_k05_lacking_keys_are_named(
    explain: Run, trigger: Mapping[str, str], words: tuple[str, ...]
) -> None:
    """Metadata that lacks keys is INVALID_ARGUMENT naming all of them."""
    explain(Case(trigger=trigger)).refuses(*words)


@pytest.mark.parametrize(("pending", "want"), [(0, 0), (3, 1), (8, 1), (17, 3)])
def test_k06_nodes_are_whole(explain: Run, pending: int, want: int) -> None:
    """A small demand is a whole node from packing, never a quotient that is rounded away."""
    jobs = [workload(f"w{number}") for number in range(pending)]
    explain(Case(trigger=NODES, objects=jobs)).says(active=want > 0, value=want)


def test_k06_gpus_are_exact(explain: Run) -> None:
    """Three GPUs are 3."""
    jobs = [workload(f"w{number}") for number in range(3)]
    explain(Case(trigger=GPUS, objects=jobs)).says(active=True, value=3)


def test_k07_borrowed_quota(explain: Run) -> None:
    """Free quota below zero adds nothing negative: 10 used of 8, 2 of them borrowed, is 10."""
    queues = [
        cluster_queue(flavors=[quota(nominal=8)], spec={"cohortName": "all"}),
        cluster_queue("lender", flavors=[quota(nominal=8)], spec={"cohortName": "all"}),
        local_queue(),
        flavor(),
    ]
    running = every(nodes(2), admitted("a", pods=10), pods("a", 5), pods("a", 10, node="n2")[5:])
    found = explain(Case(trigger=GPUS, queues=queues, objects=running))
    assert found.says(active=True, value=10).queue.demand() == 0


@pytest.mark.parametrize("written", ["0", "-1", "", "eight"])
def test_k08_gpus_per_node_malformed(explain: Run, written: str) -> None:
    """No shape of a node can make a target of zero: the key is refused by name."""
    trigger = {"signal": "queue", "clusterQueue": "gpu-cq", "gpusPerNode": written}
    explain(Case(trigger=trigger)).refuses("gpusPerNode", written)


def test_k08_gpus_per_node_absent(explain: Run) -> None:
    """`unit: nodes` needs it or a pool; other units do without."""
    trigger = {"signal": "queue", "clusterQueue": "gpu-cq"}
    explain(Case(trigger=trigger)).refuses("pool", "gpusPerNode")
    explain(Case(trigger=GPUS)).says(active=False, value=0)


def _four(placed: int) -> list[Object]:
    """Build four nodes' worth of work: so many run, each on a node, the others wait."""
    jobs = [
        admitted(f"w{n}", gpus=8) if n <= placed else workload(f"w{n}", gpus=8) for n in range(1, 5)
    ]
    running = [pod(f"w{n}-0", workload=f"w{n}", gpus=8, node=f"n{n}") for n in range(1, placed + 1)]
    return [*jobs, *running]


def test_k10_total_not_per_replica(explain: Run) -> None:
    """Three nodes up and four nodes' worth of work is 4, and 4 again while the fourth comes."""
    sizer = scaled_object(NODES)
    before = Case(scaled_object=sizer, objects=[*nodes(3), hpa(3), *_four(3)])
    assert explain(before).says(active=True, value=4, reason=Reason.DEMAND).pool.new == 1
    coming = Case(scaled_object=sizer, objects=[*nodes(3), hpa(4, scaled=0), *_four(3)], t=60)
    assert explain(coming).says(active=True, value=4).pool.new == 0
    placed = Case(scaled_object=sizer, objects=[*nodes(4), hpa(4, scaled=0), *_four(4)], t=300)
    explain(placed).says(active=True, value=4, reason=Reason.NO_DEMAND)


@pytest.mark.parametrize("stage", ["pending", "reserved", "admitted", "made", "running"])
def test_k11_no_dip_from_the_queue_to_the_gpu(explain: Run, stage: str) -> None:
    """A busy worker empties its queue: what runs counts, and so does what is on its way."""
    names = [f"a{number}" for number in range(3)]
    given = admission(assignment())
    moments = {
        "pending": [workload(name) for name in names],
        "reserved": [workload(name, conditions=granted(0), status=given) for name in names],
        "admitted": [admitted(name, at=0) for name in names],
        "made": every(
            *(admitted(name, at=0) for name in names),
            *(pods(name, 1, phase="Pending", node=None) for name in names),
        ),
        "running": every(
            *(admitted(name, at=0) for name in names), *(pods(name, 1, ready=0) for name in names)
        ),
    }
    case = Case(trigger=GPUS, objects=[*nodes(1), *moments[stage]], t=30)
    explain(case).says(active=True, value=3)


def test_k11_running_work_is_active(explain: Run) -> None:
    """With nothing pending the running work alone keeps both signals active."""
    names = [f"a{number}" for number in range(3)]
    running = every(*map(admitted, names), *(pods(name, 1) for name in names), nodes(1))
    samples = [util(f"{name}-0", 0, 60) for name in names]
    explain(Case(trigger=GPUS, objects=running)).says(active=True, value=3)
    busy = Case(trigger=idle("a0"), objects=running, series=samples)
    explain(busy).says(active=True, value=1, reason=Reason.BUSY)


@pytest.mark.parametrize(
    ("t", "blip", "active"),
    [
        (900, False, True),
        (1739, False, True),
        (1740, False, False),
        (1740, True, True),
        (1899, True, True),
        (1900, True, False),
    ],
)
def test_k12_delay_counts_from_the_last_work(
    explain: Run, t: float, *, blip: bool, active: bool
) -> None:
    """Idle for 900 s begins with the last busy sample, not with the last scale event."""
    samples = between(util("a-0", 0, {0: 60, 841: 0}), {1000: 60} if blip else {})
    case = Case(
        trigger=idle("a", idleAfter="15m"),
        objects=every(nodes(1), admitted("a", at=0), pods("a", 1, ready=0)),
        series=[samples],
        t=t,
    )
    explain(case).says(active=active, value=1, reason=Reason.BUSY if active else Reason.IDLE)


def _group(minimum: int, idle_replicas: int | None = None) -> tuple[Object, list[Object]]:
    """Build an elastic worker group of three pods under a WorkerScale, and its ScaledObject."""
    sizer = scaled_object(
        idle("RayCluster/rc"),
        kind="WorkerScale",
        target="rc",
        minimum=minimum,
        idle_replicas=idle_replicas,
    )
    ray = owner("RayCluster", "rc", api="ray.io/v1")
    return sizer, every(nodes(1), hpa(3), admitted("a", pods=3, owners=[ray]), pods("a", 3))


@pytest.mark.parametrize("values", [(0, 90, 85), (0, 0, 85), (0, 90, 0), (1, 0, 0)])
def test_k13_one_busy_pod_keeps_all(explain: Run, values: tuple[float, ...]) -> None:
    """The HPA would choose the victims, so one busy pod of three keeps all three."""
    sizer, objects = _group(0)
    samples = [util(f"a-{number}", 0, value) for number, value in enumerate(values)]
    case = Case(scaled_object=sizer, objects=objects, series=samples)
    explain(case).says(active=True, value=3, reason=Reason.BUSY)


@pytest.mark.parametrize(
    ("minimum", "idle_replicas", "want"), [(0, None, 3), (1, None, 0), (1, 0, 3), (3, 0, 3)]
)
def test_k13_quiet_for_long_all_go(
    explain: Run, minimum: int, idle_replicas: int | None, want: int
) -> None:
    """All quiet for 1800 s: all go at once, or the HPA shrinks to the minimum; never 1 or 2."""
    sizer, objects = _group(minimum, idle_replicas)
    levels: tuple[Levels, ...] = (0, {-7200: 90, 1: 0}, {-7200: 85, -599: 0})
    samples = [util(f"a-{number}", 0, level) for number, level in enumerate(levels)]
    busy = Case(scaled_object=sizer, objects=objects, series=samples, t=1799)
    explain(busy).says(active=True, value=3, reason=Reason.BUSY)
    quiet = Case(scaled_object=sizer, objects=objects, series=samples, t=1800)
    explain(quiet).says(active=False, value=want, reason=Reason.IDLE)


def test_k13_an_idle_group_stays_whole_in_dry_run(explain: Run) -> None:
    """A dry run keeps the size: (true, 3)."""
    _, objects = _group(0)
    ours = idle("RayCluster/rc", dryRun="true")
    dry = scaled_object(ours, kind="WorkerScale", target="rc")
    samples = [util(f"a-{number}", 0, 0) for number in range(3)]
    case = Case(scaled_object=dry, objects=objects, series=samples)
    explain(case).says(active=True, value=3, reason=Reason.DRY_RUN)
