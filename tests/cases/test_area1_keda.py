"""Area 1 over real sockets: polls, pushes and specs, while sources come and go."""

import grpc
import pytest

from scaler.core.model import Kind
from scaler.sim.prometheus import Fault
from tests.cases import written
from tests.cases.client import HOLD, HOLD_AT_ZERO, until, value
from tests.cases.service import Serve
from tests.cases.world import World
from tests.cases.written import ADMITTED

GPUS = {"signal": "queue", "clusterQueue": "gpu-cq", "unit": "gpus"}


def test_k01_an_empty_vector_holds_every_workload(world: World, serve: Serve) -> None:
    """K01: Prometheus lost its targets; nothing says false or 0, polled or pushed."""
    idle = [(name, world.add_running(name, percent=60.0)) for name in ("a", "b")]
    service = serve()
    streams = [service.push(name, metadata) for name, metadata in idle]
    for name, metadata in idle:
        service.until(name, metadata, value(1))
    world.prometheus.fault = Fault.EMPTY
    world.at(30)
    for name, metadata in idle:
        service.until(name, metadata, HOLD)
        assert service.metric("hold", scaled_object=name) == 1.0
    assert [stream.results for stream in streams] == [[True], [True]]


def test_k02_prometheus_down_holds_three_polls(world: World, serve: Serve) -> None:
    """K02: a busy and an idle workload alike; the first good poll answers as before."""
    busy = world.add_running("a", percent=60.0)
    idle = world.add_running("b", percent=0.0)
    service = serve()
    stream = service.push("a", busy)
    service.until("a", busy, value(1))
    service.until("b", idle, value(1, active=False))
    world.prometheus.fault = Fault.REFUSE
    service.until("a", busy, HOLD)
    for t in (30, 60, 90):
        world.at(t)
        assert service.poll("a", busy) == HOLD
        assert service.poll("b", idle) == HOLD
    world.prometheus.fault = Fault.NONE
    service.until("a", busy, value(1))
    service.until("b", idle, value(1, active=False))
    assert stream.results == [True]


def test_k02_a_prometheus_that_hangs_holds_and_delays_no_answer(world: World, serve: Serve) -> None:
    """K02, hanging instead of refusing: samples age by themselves, busy and idle alike."""
    busy = world.add_running("a", percent=60.0)
    idle = world.add_running("b", percent=0.0)
    service = serve()
    service.until("a", busy, value(1))
    service.until("b", idle, value(1, active=False))
    world.prometheus.fault = Fault.SLOW
    world.clock.advance(150)
    service.until("a", busy, HOLD)
    service.until("b", idle, HOLD)
    world.clock.advance(3600)
    until(lambda: service.metric("source_age_seconds", source="workloads") == 0.0)
    assert service.poll("a", busy) == HOLD
    assert service.poll("b", idle) == HOLD


def test_k02_api_server_down_answers_on_and_holds_after_five_minutes(
    world: World, serve: Serve
) -> None:
    """K02: the last state answers for maxWatchAge, then HOLD; no false comes out of it."""
    world.add_queue()
    pool = world.add_pool(nodes=1)
    world.add(Kind.WORKLOADS, written.workload("w", pods=17))
    idle = world.add_running("a", percent=60.0)
    service = serve()
    stream = service.push("pool", pool)
    service.until("pool", pool, value(3))
    service.until("a", idle, value(1))
    world.api.faults.down = True
    until(lambda: service.metric("source_up", source="workloads") == 0.0)
    world.at(60)
    assert service.poll("pool", pool) == value(3)
    assert service.poll("a", idle) == value(1)
    for t in (330, 360, 390):
        world.at(t)
        assert service.poll("pool", pool) == HOLD
        assert service.poll("a", idle) == HOLD
    assert service.decision("pool")["reason"] == "SourceStale"
    assert service.ready()[0]
    world.api.faults.down = False
    service.until("pool", pool, value(3))
    service.until("a", idle, value(1))
    assert False not in stream.results


def test_k02_at_zero_an_outage_is_an_error_and_wakes_nothing(world: World, serve: Serve) -> None:
    """K02: S = 0, so HOLD is UNAVAILABLE: true would wake, 0 would be a claim."""
    world.add_queue()
    pool = world.add_pool(nodes=0)
    service = serve()
    service.until("pool", pool, value(0))
    world.api.faults.down = True
    until(lambda: service.metric("source_up", source="workloads") == 0.0)
    world.at(330)
    assert service.poll("pool", pool) == HOLD_AT_ZERO


def test_k03_going_idle_is_polled_and_never_pushed(world: World, serve: Serve) -> None:
    """K03: busy, idle, busy gives two true and no false on the stream."""
    idle = world.add_running("a", percent=60.0)
    service = serve()
    stream = service.push("a", idle)
    service.until("a", idle, value(1))
    world.use("a-0", 0.0)
    world.at(1770)
    assert service.poll("a", idle) == value(1)
    world.at(1800)
    assert service.poll("a", idle) == value(1, active=False)
    world.use("a-0", 60.0)
    world.at(1830)
    assert service.poll("a", idle) == value(1)
    until(lambda: len(stream.results) > 1)
    assert stream.results == [True, True]


def test_k04_the_spec_is_the_same_whatever_is_down_and_after_a_restart(
    world: World, serve: Serve
) -> None:
    """K04: six identical answers, and no call to a backend for any of them."""
    world.api.faults.down = True
    world.prometheus.fault = Fault.REFUSE
    metadata = {"signal": "idle", "workload": "a", "idleAfter": "20m"}
    first = serve()
    specs = [first.spec("a", metadata) for _ in range(5)]
    first.stop()
    specs.append(serve().spec("a", metadata))
    assert len(set(specs)) == 1
    ((name, target, exact),) = specs[0]
    assert (name != "", target, exact) == (True, 1, 1.0)
    assert world.prometheus.asked == []


def test_k05_an_unknown_queue_has_its_spec_and_bad_metadata_names_its_keys(
    world: World, serve: Serve
) -> None:
    """K05: the list of specs is never empty; it is one spec, or INVALID_ARGUMENT."""
    world.add_queue()
    world.add_pool(nodes=1)
    unknown = {"signal": "queue", "clusterQueue": "does-not-exist", "pool": "gpu"}
    world.objects.modify(
        Kind.SCALED_OBJECTS,
        ("ml", "pool"),
        lambda it: it["spec"]["triggers"][0].update(metadata=unknown),
    )
    service = serve()
    assert len(service.spec("pool", unknown)) == 1
    service.explained("pool", "ClusterQueueMissing", "does-not-exist")
    assert service.poll("pool", unknown) == HOLD
    code, told = service.refusal("pool", {"signal": "queue"})
    assert code is grpc.StatusCode.INVALID_ARGUMENT
    assert all(key in told for key in ("clusterQueue", "pool", "gpusPerNode"))
    code, told = service.refusal("pool", {})
    assert code is grpc.StatusCode.INVALID_ARGUMENT
    assert "signal" in told


@pytest.mark.parametrize(("pending", "nodes"), [(0, 0), (3, 1), (8, 1), (17, 3)])
def test_k06_nodes_are_whole_in_both_fields(
    world: World, serve: Serve, pending: int, nodes: int
) -> None:
    """K06: a small demand is a demand; an empty pool of 8-GPU nodes, one-GPU pods."""
    world.add_queue()
    pool = world.add_pool(nodes=0)
    world.add_scaled("gpus", metadata=GPUS, replicas=1)
    made = (written.workload(f"w{number}") for number in range(pending))
    world.add(Kind.WORKLOADS, *made)
    service = serve()
    service.until("pool", pool, value(nodes))
    service.until("gpus", GPUS, value(pending))


def test_k09_two_replicas_answer_alike_whenever_they_started(world: World, serve: Serve) -> None:
    """K09: one up since t=0, one since t=1700; idle since t=0 by Prometheus' own times."""
    idle = world.add_running("a", percent=60.0)
    first = serve()
    first.until("a", idle, value(1))
    world.use("a-0", 0.0)
    world.at(1700)
    second = serve()
    second.until("a", idle, value(1))
    for t, active in ((1790, True), (1800, False), (1830, False)):
        world.at(t)
        answers = [each.poll("a", idle) for each in (first, second, first, second)]
        assert answers == [value(1, active=active)] * 4
    assert first.spec("a", idle) == second.spec("a", idle)


def test_k10_the_value_is_the_pools_total_before_and_after_the_step(
    world: World, serve: Serve
) -> None:
    """K10: three nodes at work and one Workload more: 4 at S = 3, and 4 at S = 4."""
    world.add_queue()
    pool = world.add_pool(nodes=3)
    for number in (1, 2, 3):
        name = f"run{number}"
        world.add(Kind.WORKLOADS, written.workload(name, gpus=8, conditions=ADMITTED))
        placed = written.pod(f"{name}-0", owner=name, node=f"n{number}", gpus=8)
        world.add(Kind.PODS, placed)
    service = serve()
    service.until("pool", pool, value(3))
    world.add(Kind.WORKLOADS, written.workload("more", gpus=8))
    service.until("pool", pool, value(4))
    world.objects.modify(Kind.HPAS, ("ml", "keda-hpa-pool"), _stepped)
    service.settle()
    assert service.poll("pool", pool) == value(4)
    until(lambda: service.decision("pool")["evidence"].get("size") == 4)
    assert service.poll("pool", pool) == value(4)
    world.at(120)
    assert service.poll("pool", pool) == value(4)


def _stepped(hpa: written.Document) -> None:
    hpa["status"].update(currentReplicas=4, lastScaleTime=written.moment(0))


def test_k11_the_value_does_not_dip_from_the_queue_to_the_gpu(world: World, serve: Serve) -> None:
    """K11: pending, admitted without pods, running: every poll in between says 3."""
    world.add_queue()
    world.add(Kind.NODES, written.node("n1"))
    world.add_scaled("gpus", metadata=GPUS, replicas=1)
    names = ("a", "b", "c")
    world.add(Kind.WORKLOADS, *(written.workload(name) for name in names))
    service = serve()
    stream = service.push("gpus", GPUS)
    service.until("gpus", GPUS, value(3))
    seen = set()
    admitted = written.status(ADMITTED, pods=1, gpus=1, at=0)
    for name in names:
        world.objects.modify(Kind.WORKLOADS, ("ml", name), lambda it: it.update(status=admitted))
        seen |= {service.poll("gpus", GPUS) for _ in range(20)}
    until(lambda: service.metric("workloads", **{"class": "A"}) == 3.0)
    seen |= {service.poll("gpus", GPUS) for _ in range(20)}
    for name in names:
        world.add(Kind.PODS, written.pod(f"{name}-0", owner=name))
        seen |= {service.poll("gpus", GPUS) for _ in range(20)}
    until(lambda: service.metric("workloads", **{"class": "Admitted"}) == 3.0)
    seen.add(service.poll("gpus", GPUS))
    assert seen == {value(3)}
    assert stream.results == [True]


def test_k14_two_hundred_streams_leave_room_for_polls(world: World, serve: Serve) -> None:
    """K14: polls answer while all streams are open, and none is left after they hang up."""
    idle = world.add_running("a", percent=60.0)
    service = serve()
    service.until("a", idle, value(1))
    streams = [service.push("a", idle) for _ in range(200)]
    until(lambda: service.metric("open_streams") == 200.0)
    assert service.poll("a", idle) == value(1)
    until(lambda: all(stream.results == [True] for stream in streams))
    assert {stream.code for stream in streams} == {None}
    for stream in streams:
        stream.cancel()
    until(lambda: service.metric("open_streams") == 0.0)


def test_a_restart_ends_an_open_stream_with_ok_and_the_next_one_says_true_again(
    world: World, serve: Serve
) -> None:
    """KEDA is back two seconds after OK; any other end would keep it away for up to a minute."""
    idle = world.add_running("a", percent=60.0)
    service = serve()
    stream = service.push("a", idle)
    until(lambda: stream.results == [True])
    service.stop()
    until(lambda: stream.code is not None)
    assert stream.code is grpc.StatusCode.OK
    again = serve()
    following = again.push("a", idle)
    until(lambda: following.results == [True])
