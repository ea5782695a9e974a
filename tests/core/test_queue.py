"""Queue signals: reports from the field, each with its right answer."""

from dataclasses import replace

import pytest

from scaler.core.decision import ActiveWithoutValue, PoolEvidence, Status, Unavailable, answer
from scaler.core.metadata import parse
from scaler.core.model import Instant, Pod, StopPolicy, Workload
from scaler.core.reasons import Reason, WorkloadClass
from scaler.core.snapshot import Snapshot
from scaler.core.trigger import InvalidTrigger
from tests.builders import (
    LONG_AGO,
    NOW,
    make_cluster_queue,
    make_flavor,
    make_node,
    make_pod,
    make_pod_set,
    make_shape,
    make_snapshot,
    make_workload,
)
from tests.core.queue_fixture import (
    GPUS,
    NODES,
    POOL,
    ask,
    make_nodes,
    make_policy,
    make_running,
    make_sized,
    make_sizer,
)

SO = make_sizer()
PENDING_NODES = {**NODES, "scope": "pending"}
PENDING_GPUS = {**GPUS, "scope": "pending"}


def _waiting(count: int, gpus: int = 1, *, prefix: str = "w", pods: int = 1) -> list[Workload]:
    return [
        make_workload(name=f"{prefix}{number}", pods=pods, gpus=gpus) for number in range(count)
    ]


def _cluster(
    *,
    size: int,
    workloads: list[Workload],
    nodes: int | None = None,
    pods: list[Pod] | None = None,
    resized: Instant = NOW - 7200,
    tolerance: float | None = 0.0,
) -> Snapshot:
    return make_snapshot(
        workloads=workloads,
        nodes=make_nodes(size if nodes is None else nodes),
        pods=pods or [],
        scaled_objects=[SO],
        hpas=[make_sized(size, resized=resized, tolerance=tolerance)],
    )


def _pool(snapshot: Snapshot) -> PoolEvidence:
    decision = ask(snapshot)
    assert decision.queue is not None
    assert decision.queue.pool is not None
    return decision.queue.pool


# --- KEDA's contract ---------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 3])
def test_an_unknown_cluster_queue_is_hold(size: int) -> None:
    """K05: a ClusterQueue that doesn't exist is HOLD, whatever the size."""
    metadata = {**NODES, "clusterQueue": "does-not-exist"}
    got = ask(_cluster(size=size, workloads=[]), metadata)
    assert (got.status, got.reason) == (Status.HOLD, Reason.CLUSTER_QUEUE_MISSING)
    assert "does-not-exist" in got.detail
    expected = ActiveWithoutValue if size else Unavailable
    assert isinstance(answer(got), expected)


@pytest.mark.parametrize(
    ("metadata", "keys"),
    [
        pytest.param({"signal": "queue"}, ("clusterQueue", "pool"), id="only a signal"),
        pytest.param({}, ("signal",), id="nothing"),
    ],
)
def test_missing_keys_are_named(metadata: dict[str, str], keys: tuple[str, ...]) -> None:
    """K05: what is missing is named like what is malformed."""
    got = parse(metadata)
    assert isinstance(got, InvalidTrigger)
    assert all(any(key in one.path for one in got.problems) for key in keys)


@pytest.mark.parametrize(("pending", "want"), [(0, 0), (3, 1), (8, 1), (17, 3)])
def test_whole_nodes_from_packing(pending: int, want: int) -> None:
    """K06: an empty pool of 8-GPU nodes for one-GPU pods; whole numbers, never a quotient."""
    got = ask(_cluster(size=0, workloads=_waiting(pending)))
    assert (got.value, got.active) == (want, want > 0)


def test_gpus_are_whole_too() -> None:
    """K06: three pods of one GPU are 3 with unit gpus."""
    assert ask(_cluster(size=0, workloads=_waiting(3)), GPUS).value == 3


def test_borrowed_quota_makes_no_negative_number() -> None:
    """K07: 10 used of a nominal quota of 8: nothing pending, a total of 10, never below 0."""
    running = make_workload(name="a", pods=10, admitted=True)
    snapshot = make_snapshot(
        workloads=[running],
        cluster_queues=[make_cluster_queue(quota=8, cohort="all")],
        nodes=make_nodes(2),
        pods=make_running(running, *["node-0"] * 8, *["node-1"] * 2),
    )
    pending, total = ask(snapshot, PENDING_GPUS), ask(snapshot, GPUS)
    assert (pending.value, pending.active) == (0, False)
    assert (total.value, total.active) == (10, True)


@pytest.mark.parametrize("text", ["0", "-1", "", "eight"])
def test_a_shape_without_gpus_is_refused(text: str) -> None:
    """K08: gpusPerNode below 1, or no number, is refused by its name."""
    got = parse({"signal": "queue", "clusterQueue": "gpu-cq", "gpusPerNode": text})
    assert isinstance(got, InvalidTrigger)
    assert [one.path for one in got.problems if "gpusPerNode" in one.path]


def test_other_units_need_no_shape() -> None:
    """K08: without pool and gpusPerNode nodes can't be counted, GPUs and Workloads can."""
    bare = {"signal": "queue", "clusterQueue": "gpu-cq"}
    assert isinstance(parse(bare), InvalidTrigger)
    snapshot = _cluster(size=0, workloads=_waiting(3))
    assert ask(snapshot, {**bare, "unit": "workloads"}).value == 3


def test_the_value_is_a_total() -> None:
    """K10: three full nodes and a fourth one's worth of work: 4, at S = 3 and at S = 4."""
    workloads = [make_workload(name=f"r{one}", gpus=8, admitted=True) for one in range(3)]
    pods = [
        pod
        for number, one in enumerate(workloads)
        for pod in make_running(one, f"node-{number}", gpus=8)
    ]
    every = [*workloads, *_waiting(1, 8)]
    assert ask(_cluster(size=3, workloads=every, pods=pods)).value == 4
    grown = _cluster(size=4, nodes=3, workloads=every, pods=pods, resized=NOW - 30)
    assert ask(grown).value == 4
    assert _pool(grown).coming == 1


def test_running_work_is_in_the_total() -> None:
    """K11: 3 GPUs that run are 3, so a busy pool with an empty queue is not zero."""
    running = [make_workload(name=f"a{one}", admitted=True) for one in range(3)]
    pods = [pod for one in running for pod in make_running(one, "node-0")]
    got = ask(_cluster(size=1, workloads=running, pods=pods), GPUS)
    assert (got.value, got.active, got.reason) == (3, True, Reason.NO_DEMAND)


def test_admission_makes_no_dip() -> None:
    """K11: pending, admitted without pods, running: 3, 3, 3."""
    admitted = [make_workload(name=f"a{one}", admitted=True, admitted_at=NOW) for one in range(3)]
    pods = [pod for one in admitted for pod in make_running(one, "node-0")]
    steps = (
        _cluster(size=1, workloads=_waiting(3)),
        _cluster(size=1, workloads=admitted),
        _cluster(size=1, workloads=admitted, pods=pods),
    )
    assert [ask(one, GPUS).value for one in steps] == [3, 3, 3]


# --- Kueue -------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", [StopPolicy.HOLD, StopPolicy.HOLD_AND_DRAIN])
def test_a_stopped_cluster_queue_admits_no_more(policy: StopPolicy) -> None:
    """Q09: what is admitted still counts, what waits does not; nodes stay."""
    running = make_workload(name="r", admitted=True)
    unplaced = make_workload(name="u", admitted=True)
    pods = [
        *make_running(running, "node-0"),
        make_pod(name="u-0", workload="u", pod_set="main", phase="Pending", unschedulable=True),
    ]
    snapshot = make_snapshot(
        workloads=[running, unplaced, *_waiting(1)],
        cluster_queues=[make_cluster_queue(stop_policy=policy)],
        nodes=make_nodes(1),
        pods=pods,
        scaled_objects=[SO],
        hpas=[make_sized(1)],
    )
    assert ask(snapshot, GPUS).value == 2
    assert ask(snapshot).value == 1


def test_a_drained_cluster_queue_keeps_its_nodes() -> None:
    """Q09: once HoldAndDrain has evicted all, no GPU counts and no node goes."""
    evicted = make_workload(name="r", evicted=True)
    snapshot = make_snapshot(
        workloads=[evicted],
        cluster_queues=[make_cluster_queue(stop_policy=StopPolicy.HOLD_AND_DRAIN)],
        nodes=make_nodes(1),
        scaled_objects=[SO],
        hpas=[make_sized(1)],
    )
    assert (ask(snapshot, GPUS).value, ask(snapshot).value) == (0, 1)


@pytest.mark.parametrize(
    ("strict", "b200", "b300"), [(True, 0, 2), (False, 3, 2)], ids=["StrictFIFO", "BestEffortFIFO"]
)
def test_the_head_of_a_strict_queue_blocks(strict: bool, b200: int, b300: int) -> None:  # noqa: FBT001 -- a table's column
    """Q16: a head that waits for full B300 quota blocks B200 jobs only under StrictFIFO."""
    full = make_workload(name="full", pods=2, gpus=8, admitted=True, flavor="b300")
    head = _on("b300", name="head", gpus=8, queued_at=LONG_AGO)
    rest = [
        _on("b200", name=f"b200-{number}", gpus=gpus, queued_at=LONG_AGO + number)
        for number, gpus in enumerate((8, 8, 2), start=1)
    ]
    pools = [replace(POOL, name=name, node_selector=(("pool", name),)) for name in ("b200", "b300")]
    metadata = {name: {**NODES, "pool": name} for name in ("b200", "b300")}
    nodes = [make_node(name=f"b300-{one}", labels={"pool": "b300"}) for one in range(2)]
    snapshot = make_snapshot(
        workloads=[full, head, *rest],
        cluster_queues=[make_cluster_queue(flavors={"b200": 40, "b300": 16}, strict_fifo=strict)],
        flavors=[make_flavor(name="b200"), make_flavor(name="b300")],
        nodes=nodes,
        pods=make_running(full, "b300-0", "b300-1", gpus=8),
        scaled_objects=[make_sizer(one, name=name) for name, one in metadata.items()],
        hpas=[make_sized(0, name="b200"), make_sized(2, name="b300")],
    )
    policy = make_policy(*pools)
    assert ask(snapshot, metadata["b200"], policy=policy, name="b200").value == b200
    got = ask(snapshot, metadata["b300"], policy=policy, name="b300")
    assert (got.value, got.reason) == (b300, Reason.QUOTA_EXHAUSTED)


def _on(flavor: str, *, name: str, gpus: int, queued_at: Instant) -> Workload:
    """Build a Workload whose nodeSelector leaves it one flavor."""
    shape = make_shape(gpus=gpus, node_selector={"pool": flavor})
    return make_workload(name=name, pod_sets=(make_pod_set(shape=shape),), queued_at=queued_at)


@pytest.mark.parametrize("state", ["Pending", "Retry", "Rejected"])
def test_an_admission_check_is_no_demand(state: str) -> None:
    """Q19: while a check is open, and after it failed, nothing is added; the size stays."""
    checked = make_workload(name="c", pods=8, reserved=True, checks=(("prov", state),))
    got = ask(_cluster(size=10, workloads=[checked]))
    assert (got.value, got.reason) == (10, Reason.NO_DEMAND)


# --- node pools --------------------------------------------------------------------------------


def test_scattered_free_gpus_hold_no_large_pod() -> None:
    """N01: 8 free GPUs, 2 on each of 4 nodes, and a pod of 8: one node more."""
    running = [make_workload(name=f"r{one}", gpus=6, admitted=True) for one in range(4)]
    pods = [
        pod
        for number, one in enumerate(running)
        for pod in make_running(one, f"node-{number}", gpus=6)
    ]
    got = ask(_cluster(size=4, workloads=[*running, *_waiting(1, 8)], pods=pods))
    assert (got.value, got.reason) == (5, Reason.DEMAND)


ONE_GPU = make_policy(
    replace(POOL, node=(("nvidia.com/gpu", 1),), max_nodes=100, provisioning_timeout=900.0)
)


@pytest.mark.parametrize(
    ("size", "age"), [(0, 0), (1, 5), (40, 15), (40, 45), (40, 300), (40, 600)]
)
def test_coming_nodes_are_not_asked_for_again(size: int, age: int) -> None:
    """N02: 40 jobs on one-GPU nodes: 40 at every poll while the nodes come."""
    snapshot = make_snapshot(
        workloads=_waiting(40), scaled_objects=[SO], hpas=[make_sized(size, resized=NOW - age)]
    )
    assert ask(snapshot, policy=ONE_GPU).value == 40


def test_a_bundle_without_target_sizes_by_present_nodes() -> None:
    """N02: out of a folder without target and nodes it is 40 as well."""
    assert ask(make_snapshot(workloads=_waiting(40), bundle=True), policy=ONE_GPU).value == 40


def test_an_unknown_size_is_hold() -> None:
    """N02: where S can't be read, no number of nodes is safe."""
    snapshot = make_snapshot(workloads=_waiting(40), scaled_objects=[SO])
    got = ask(snapshot, policy=ONE_GPU)
    assert (got.status, got.reason) == (Status.HOLD, Reason.SIZE_UNKNOWN)


def test_finished_jobs_take_no_node_away() -> None:
    """N02: when 10 of 40 jobs are done, the value stays 40."""
    running = [make_workload(name=f"r{one}", admitted=True) for one in range(30)]
    nodes = [make_node(name=f"node-{one}", gpus=1) for one in range(40)]
    snapshot = make_snapshot(
        workloads=running,
        nodes=nodes,
        pods=[
            pod for number, one in enumerate(running) for pod in make_running(one, f"node-{number}")
        ],
        scaled_objects=[SO],
        hpas=[make_sized(40)],
    )
    got = ask(snapshot, policy=ONE_GPU)
    assert (got.value, got.reason) == (40, Reason.NO_DEMAND)


def test_a_gpu_that_came_free_in_time_needs_no_node() -> None:
    """N03: full at t=0: N+1; a job ended and the pending one runs there: S, be it N or N+1."""
    old = make_workload(name="old", gpus=8, admitted=True)
    young = make_workload(name="young", gpus=8, created=NOW)
    full = _cluster(size=1, workloads=[old, young], pods=make_running(old, "node-0", gpus=8))
    assert ask(full).value == 2
    moved = make_workload(name="young", gpus=8, admitted=True, created=NOW)
    pods = make_running(moved, "node-0", gpus=8)
    for size in (1, 2):
        grown = _cluster(size=size, nodes=1, workloads=[moved], pods=pods)
        assert ask(grown, now=NOW + 60).value == size


@pytest.mark.parametrize(("waited", "want"), [(0.0, 1), (60.0, 1), (119.9, 1), (120.0, 2)])
def test_a_delay_gives_free_gpus_time(waited: float, want: int) -> None:
    """N03: with scaleUpDelay 120s a Workload asks for nothing in its first two minutes."""
    old = make_workload(name="old", gpus=8, admitted=True)
    young = make_workload(name="young", gpus=8, created=NOW)
    full = _cluster(size=1, workloads=[old, young], pods=make_running(old, "node-0", gpus=8))
    got = ask(full, {**NODES, "scaleUpDelay": "120s"}, now=NOW + waited)
    assert got.value == want


def test_a_victim_s_node_is_not_bought_again() -> None:
    """N04: what waits for its preemption victims needs no node; TopologyPlacementFailed does."""
    victim = make_workload(name="victim", gpus=8, admitted=True)
    pods = make_running(victim, "node-0", gpus=8)
    for standing, want in (
        (WorkloadClass.PREEMPTING, 1),
        (WorkloadClass.TOPOLOGY, 2),
    ):
        waiting = make_workload(name="p", gpus=8, standing=standing)
        assert ask(_cluster(size=1, workloads=[victim, waiting], pods=pods)).value == want


def test_an_admitted_pod_without_a_place_needs_one() -> None:
    """N04: once Kueue admits it and its pod is Unschedulable, it is one node."""
    victim = make_workload(name="victim", gpus=8, admitted=True)
    admitted = make_workload(name="p", gpus=8, admitted=True)
    pods = [
        *make_running(victim, "node-0", gpus=8),
        make_pod(
            name="p-0", workload="p", pod_set="main", gpus=8, phase="Pending", unschedulable=True
        ),
    ]
    assert ask(_cluster(size=1, workloads=[victim, admitted], pods=pods)).value == 2


def test_nodes_are_never_taken_away() -> None:
    """N05: a running pod at 0 % on one node, another node empty: 2."""
    running = make_workload(name="r", admitted=True)
    got = ask(_cluster(size=2, workloads=[running], pods=make_running(running, "node-0")))
    assert (got.value, got.active, got.reason) == (2, True, Reason.NO_DEMAND)


def test_admitted_but_unplaced_pods_count_once() -> None:
    """N06: quota without hardware: 2x4 GPUs admitted and Unschedulable are one node of 8."""
    admitted = make_workload(name="a", pods=2, gpus=4, admitted=True)
    pods = [
        make_pod(
            name=f"a-{one}",
            workload="a",
            pod_set="main",
            gpus=4,
            phase="Pending",
            unschedulable=True,
        )
        for one in range(2)
    ]
    got = ask(_cluster(size=0, workloads=[admitted], pods=pods))
    assert (got.value, got.reason) == (1, Reason.DEMAND)


def test_more_than_max_nodes_is_capped() -> None:
    """N07: 11 nodes wanted, 4 allowed: 4, and it says so."""
    policy = make_policy(replace(POOL, max_nodes=4))
    got = ask(_cluster(size=0, workloads=_waiting(11, 8)), policy=policy)
    assert (got.value, got.status, got.reason) == (4, Status.OK, Reason.CAPPED)
    assert got.queue is not None
    assert got.queue.pool is not None
    assert got.queue.pool.capped


def test_a_gang_of_head_and_workers_counts_all_workers() -> None:
    """N08: a head without GPUs and 4 workers of 2: all workers are needed, never 1 to 3 of them."""
    gang = make_workload(
        name="ray",
        pod_sets=(
            make_pod_set(name="head", shape=make_shape(gpus=0, requests={"cpu": 4000})),
            make_pod_set(name="workers", count=4, gpus=2),
        ),
    )
    snapshot = _cluster(size=0, workloads=[gang])
    assert ask(snapshot, GPUS).value == 8
    assert ask(snapshot).value == 1
