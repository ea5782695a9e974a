"""Queue signals: reports from the field, each with its right answer."""

from dataclasses import replace

import pytest

from scaler.core.decision import ActiveWithoutValue, Status, Unavailable, answer
from scaler.core.metadata import parse
from scaler.core.model import Instant, StopPolicy, Workload
from scaler.core.reasons import Reason
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
    make_cluster,
    make_jobs,
    make_nodes,
    make_policy,
    make_running,
    make_sized,
    make_sizer,
    pool_evidence,
)

SO = make_sizer()
PENDING_GPUS = {**GPUS, "scope": "pending"}


# --- KEDA's contract ---------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 3])
def test_an_unknown_cluster_queue_is_hold(size: int) -> None:
    """K05: a ClusterQueue that doesn't exist is HOLD, whatever the size."""
    metadata = {**NODES, "clusterQueue": "does-not-exist"}
    got = ask(make_cluster(size=size), metadata)
    assert (got.status, got.reason) == (Status.HOLD, Reason.CLUSTER_QUEUE_MISSING)
    assert "does-not-exist" in got.detail
    assert got.queue is not None
    assert got.queue.missing_cluster_queues == ("does-not-exist",)
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
    got = ask(make_cluster(*make_jobs(pending, gpus=1), size=0))
    assert (got.value, got.active) == (want, want > 0)


@pytest.mark.parametrize("size", [0, 2])
def test_a_plain_answer_knows_whether_its_target_runs(size: int) -> None:
    """K01: once it is outdated it becomes HOLD, which has one face at zero and another above."""
    got = ask(make_cluster(size=size))
    assert got.status is Status.OK
    assert got.running == (size > 0)


def test_gpus_are_whole_too() -> None:
    """K06: three pods of one GPU are 3 with unit gpus."""
    assert ask(make_cluster(*make_jobs(3, gpus=1), size=0), GPUS).value == 3


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
    snapshot = make_cluster(*make_jobs(3, gpus=1), size=0)
    assert ask(snapshot, {**bare, "unit": "workloads"}).value == 3


def test_the_value_is_a_total() -> None:
    """K10: three full nodes and a fourth one's worth of work: 4, at S = 3 and at S = 4."""
    workloads = [make_workload(name=f"r{one}", gpus=8, admitted=True) for one in range(3)]
    pods = [
        pod
        for number, one in enumerate(workloads)
        for pod in make_running(one, f"node-{number}", gpus=8)
    ]
    every = [*workloads, *make_jobs(1)]
    assert ask(make_cluster(*every, size=3, pods=pods)).value == 4
    grown = make_cluster(*every, size=4, nodes=make_nodes(3), pods=pods, resized=NOW - 30)
    assert ask(grown).value == 4
    assert pool_evidence(ask(grown)).coming == 1


def test_running_work_is_in_the_total() -> None:
    """K11: 3 GPUs that run are 3, so a busy pool with an empty queue is not zero."""
    running = [make_workload(name=f"a{one}", admitted=True) for one in range(3)]
    pods = [pod for one in running for pod in make_running(one, "node-0")]
    got = ask(make_cluster(*running, size=1, pods=pods), GPUS)
    assert (got.value, got.active, got.reason) == (3, True, Reason.NO_DEMAND)


def test_admission_makes_no_dip() -> None:
    """K11: pending, admitted without pods, running: 3, 3, 3."""
    admitted = [make_workload(name=f"a{one}", admitted=True, admitted_at=NOW) for one in range(3)]
    pods = [pod for one in admitted for pod in make_running(one, "node-0")]
    steps = (
        make_cluster(*make_jobs(3, gpus=1), size=1),
        make_cluster(*admitted, size=1),
        make_cluster(*admitted, size=1, pods=pods),
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
        workloads=[running, unplaced, *make_jobs(1, gpus=1)],
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
    got = ask(make_cluster(checked, size=10))
    assert (got.value, got.reason) == (10, Reason.NO_DEMAND)
