"""Area 7 over real sockets: what Prometheus may answer, and what KEDA gets then."""

import json
from collections.abc import Callable
from http import HTTPStatus

import pytest

from scaler.core.model import Kind
from scaler.sim.prometheus import Asked, Fault, PrometheusServer
from scaler.sim.samples import SampleStore
from tests.cases import written
from tests.cases.client import HOLD, Client, value
from tests.cases.service import Serve
from tests.cases.world import Reply, World

JSON = "application/json"


def error(kind: str, told: str) -> Callable[[Asked], Reply]:
    """Answer every query with HTTP 422."""
    body = json.dumps({"status": "error", "errorType": kind, "error": told}).encode()
    return lambda _: (HTTPStatus.UNPROCESSABLE_ENTITY, JSON, body)


def devices(service: Client, name: str) -> dict[str, float]:
    """Give the peak of each device that a decision shows."""
    shown = service.decision(name)["evidence"]["idle"]["devices"]
    return {one["device"]: one["peakPercent"] for one in shown}


def test_p01_a_pair_of_prometheus_gives_every_series_twice_and_it_is_one_gpu(
    world: World, serve: Serve
) -> None:
    """P01a: the larger of the two values counts, and the device counts once."""
    idle = world.add_running("a")
    for number in range(241):
        at = written.START + written.LONG_AGO + number * 30
        world.sample("a-0", 40.0, at=at, prometheus_replica="one")
        world.sample("a-0", 42.0, at=at, prometheus_replica="two")
    service = serve()
    service.until("a", idle, value(1))
    assert devices(service, "a") == {"GPU-a-0-0": 42.0}


def test_p01_duplicate_series_are_an_error_that_holds_and_is_logged(
    world: World, serve: Serve, capfd: pytest.CaptureFixture[str]
) -> None:
    """P01b: a failed join is no zero; log and /readyz name the error's type."""
    idle = world.add_running("a", percent=60.0)
    service = serve()
    service.until("a", idle, value(1))
    world.prometheus.script = error("execution", "found duplicate series for the match group")
    world.at(30)
    service.until("a", idle, HOLD)
    ready, details = service.ready()
    assert ready
    assert "execution" in details
    assert "found duplicate series" in details
    assert "execution" in capfd.readouterr().err


def test_p02_a_login_page_holds_and_the_process_lives(world: World, serve: Serve) -> None:
    """P02: HTML with status 200 is no answer; afterwards all is as before."""
    idle = world.add_running("a", percent=60.0)
    service = serve()
    service.until("a", idle, value(1))
    world.prometheus.fault = Fault.HTML
    world.at(30)
    service.until("a", idle, HOLD)
    assert "login page" in service.ready()[1]
    world.prometheus.fault = Fault.NONE
    service.until("a", idle, value(1))


def test_p02_a_redirect_is_not_followed_and_the_token_stays_here(
    world: World, serve: Serve
) -> None:
    """P02: the other host hears nothing, least of all the Authorization header."""
    token = world.folder / "token"
    token.write_text("secret")
    world.write_policy(prometheus=f'tokenFile: "{token}"')
    idle = world.add_running("a", percent=60.0)
    service = serve()
    service.until("a", idle, value(1))
    with PrometheusServer(SampleStore(), clock=world.clock.now) as elsewhere:
        world.prometheus.redirect_to = elsewhere.url
        world.prometheus.fault = Fault.REDIRECT
        world.at(30)
        service.until("a", idle, HOLD)
        assert elsewhere.asked == []
    assert world.prometheus.asked[-1].headers["authorization"] == "Bearer secret"


def test_p03_a_rotated_token_is_used_at_once(world: World, serve: Serve) -> None:
    """P03: no poll meets HOLD while the old token goes and the new one comes."""
    token = world.folder / "token"
    token.write_text("old")
    world.write_policy(prometheus=f'tokenFile: "{token}"')
    world.prometheus.token = "old"
    idle = world.add_running("a", percent=60.0)
    service = serve()
    service.until("a", idle, value(1))
    held = service.metric("hold_answers_total", reason="PrometheusFailed")
    world.at(50)
    world.prometheus.token = None
    token.write_text("new")
    world.at(60)
    world.prometheus.token = "new"
    for t in (90, 120, 150):
        world.at(t)
        assert service.poll("a", idle) == value(1)
    assert world.prometheus.asked[-1].headers["authorization"] == "Bearer new"
    assert service.metric("hold_answers_total", reason="PrometheusFailed") == held


def test_p04_no_idle_clock_runs_while_prometheus_replays_its_log(
    world: World, serve: Serve
) -> None:
    """P04: 503 for 15 minutes is HOLD all along, and the gap counts for nobody's idleness."""
    idle = world.add_running("a", percent=60.0)
    service = serve()
    service.until("a", idle, value(1))
    world.use("a-0", 0.0)
    world.at(300)
    world.prometheus.fault = Fault.UNAVAILABLE
    world.scraping = False
    service.until("a", idle, HOLD)
    for t in range(360, 1201, 120):
        world.at(t)
        assert service.poll("a", idle) == HOLD
    world.prometheus.fault = Fault.NONE
    world.scraping = True
    for t in range(1230, 2760, 120):
        world.at(t)
        assert service.poll("a", idle).active
    assert service.decision("a")["reason"] == "LowCoverage"
    world.at(3030)
    service.until("a", idle, value(1, active=False))


def test_p05_a_query_of_too_many_samples_holds(world: World, serve: Serve) -> None:
    """P05: the server's refusal is no zero."""
    idle = world.add_running("a", percent=60.0)
    service = serve()
    service.until("a", idle, value(1))
    world.prometheus.fault = Fault.TOO_MANY_SAMPLES
    world.at(30)
    service.until("a", idle, HOLD)
    service.explained("a", "PrometheusFailed", "too many samples")


@pytest.mark.parametrize(("rows", "refused"), [(200_000, False), (400_000, True)])
def test_p05_a_huge_answer_is_parsed_or_refused_cleanly(
    world: World, serve: Serve, rows: int, *, refused: bool
) -> None:
    """P05: 200,000 rows in 30 MB or so are read; beyond 64 MiB the answer is dropped: HOLD."""
    idle = world.add_running("a", percent=60.0)
    service = serve()
    service.until("a", idle, value(1))
    peak = world.prometheus.asked[0].parameters["query"]
    row = (
        b'{"metric":{"UUID":"GPU-%d","gpu":"0","namespace":"else","pod":"p-%d","modelName":"A",'
        b'"GPU_I_ID":"","exported_namespace":"","exported_pod":"","signal":"gpu_util",'
        b'"more":"' + b"x" * 20 + b'"},"value":[1800000030,"0"]}'
    )
    body = (
        b'{"status":"success","data":{"resultType":"vector","result":['
        + b",".join(row % (number, number) for number in range(rows))
        + b"]}}"
    )
    assert (len(body) > 64 * 1024 * 1024) is refused

    def big(query: Asked) -> Reply | None:
        if query.parameters["query"] != peak:
            return None
        return HTTPStatus.OK, JSON, body

    world.prometheus.script = big
    service.until("a", idle, HOLD)
    assert ("larger than" in service.ready()[1]) is refused
    world.prometheus.script = None
    world.at(30)
    service.until("a", idle, value(1))


def test_p05_the_fleet_is_asked_once_however_many_triggers_there_are(
    world: World, serve: Serve
) -> None:
    """P05: one set of aggregated queries for a window and refresh, shared by twenty triggers."""
    names = [f"w{number}" for number in range(20)]
    idle = {name: world.add_running(name, percent=60.0) for name in names}
    service = serve()
    for name in names:
        service.until(name, idle[name], value(1))
    world.at(30)
    asked = [
        one.parameters["query"]
        for one in world.prometheus.asked
        if one.parameters["time"] == f"{world.now:.3f}"
    ]
    kinds = len(set(asked))
    assert 0 < kinds <= 7
    assert all("by (UUID" in query for query in asked)
    assert all(
        len(set(asked[start : start + kinds])) == kinds
        for start in range(0, len(asked) - kinds + 1, kinds)
    )


@pytest.mark.parametrize("place", [0, 1, 2])
def test_p06_the_busiest_sample_counts_wherever_it_stands(
    world: World, serve: Serve, place: int
) -> None:
    """P06: three devices of two podsets are one component, and all rows are looked at."""
    idle = world.add_running("w", pods=1)
    by_gpu = [("w-0", 0, 0.0), ("w-0", 1, 0.0)]
    by_gpu.insert(place, ("w-1", 0, 88.0))
    for pod, gpu, percent in by_gpu:
        world.use(pod, percent, gpu=gpu)
    second = written.pod("w-1", owner="w")
    second["metadata"]["labels"]["kueue.x-k8s.io/podset"] = "second"
    world.add(Kind.PODS, second)
    world.objects.modify(Kind.PODS, ("ml", "w-0"), lambda it: _ask(it["spec"], 2))
    world.objects.modify(Kind.WORKLOADS, ("ml", "w"), _add_second)
    world.resize("w", 2)
    service = serve()
    service.until("w", idle, value(2))
    assert service.decision("w")["reason"] == "Busy"
    assert sorted(devices(service, "w").values()) == [0.0, 0.0, 88.0]


def _ask(spec: written.Document, gpus: int) -> None:
    spec["containers"][0]["resources"]["requests"] = {written.GPU: str(gpus)}


def _add_second(workload: written.Document) -> None:
    first, second = workload["spec"]["podSets"][0], written.workload("w")["spec"]["podSets"][0]
    _ask(first["template"]["spec"], 2)
    workload["spec"]["podSets"].append(second | {"name": "second"})
    assigned = workload["status"]["admission"]["podSetAssignments"]
    assigned.append(assigned[0] | {"name": "second"})


def test_p08_the_time_in_a_vector_is_not_the_time_of_the_sample(world: World, serve: Serve) -> None:
    """P08: a node went at t=0; at t=240 the vector still has 95 %, and it vouches for nobody."""
    world.at(0)
    busy = world.add_running("p", percent=95.0)
    idle = world.add_running("a", percent=0.0)
    world.use("a-1", 95.0)
    service = serve()
    service.until("p", busy, value(1))
    service.until("a", idle, value(1, active=False))
    world.forget("p-0")
    world.forget("a-1")
    world.at(60)
    service.until("p", busy, value(1))
    world.at(240)
    service.until("p", busy, HOLD)
    assert service.decision("p")["reason"] == "StaleSamples"
    assert service.poll("a", idle) == value(1, active=False)
    assert devices(service, "a") == {"GPU-a-0-0": 0.0}


def test_p09_without_prometheus_the_idle_metric_holds_and_the_demand_metric_answers(
    world: World, serve: Serve
) -> None:
    """P09: only what Prometheus is needed for is unknown while it is down."""
    world.add_queue()
    pool = world.add_pool(nodes=1)
    idle = [(name, world.add_running(name, percent=60.0)) for name in ("a", "b", "c")]
    service = serve()
    for name, metadata in idle:
        service.until(name, metadata, value(1))
    service.until("pool", pool, value(1))
    world.prometheus.fault = Fault.REFUSE
    world.at(60)
    for name, metadata in idle:
        service.until(name, metadata, HOLD)
    assert service.poll("pool", pool) == value(1)
