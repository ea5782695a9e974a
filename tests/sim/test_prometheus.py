"""The double over HTTP: the API's shapes, values in Prometheus' own spelling, and its faults."""

import json
import math
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.sim.prometheus import Fault, PrometheusServer, format_value
from scaler.sim.samples import SampleStore

NOW = 1_790_000_000.25


@pytest.fixture
def server() -> Iterator[PrometheusServer]:
    """A running double with one sample."""
    store = SampleStore()
    store.append("up", {"job": "a"}, at=NOW, value=0.25)
    with PrometheusServer(store, clock=lambda: NOW) as running:
        yield running


def get(server: PrometheusServer, query: str, **parameters: str) -> tuple[int, object]:
    """Ask by GET; give the status and the decoded body."""
    form = urllib.parse.urlencode({"query": query, **parameters})
    return send(f"{server.url}/api/v1/query?{form}")


def send(url: str, form: bytes | None = None) -> tuple[int, object]:
    """Send a request; give the status and the body, decoded where it is JSON."""
    try:
        with urllib.request.urlopen(url, form, timeout=10) as answer:  # noqa: S310 - our own server
            status, body = answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            status, body = error.code, error.read()
    return status, json.loads(body) if body.startswith(b"{") else body.decode()


def success(kind: str, result: object) -> dict[str, object]:
    """Give the envelope of a success."""
    return {"status": "success", "data": {"resultType": kind, "result": result}}


ROW = {"metric": {"__name__": "up", "job": "a"}, "value": [NOW, "0.25"]}


def test_a_vector_is_answered_to_get_and_post(server: PrometheusServer) -> None:
    """A vector is answered to get and post."""
    assert get(server, "up", time=str(NOW)) == (200, success("vector", [ROW]))
    form = urllib.parse.urlencode({"query": "up", "time": str(NOW)}).encode()
    assert send(f"{server.url}/api/v1/query", form) == (200, success("vector", [ROW]))


def test_without_a_time_the_clock_says_when(server: PrometheusServer) -> None:
    """Without a time the clock says when."""
    assert get(server, "time()") == (200, success("scalar", [NOW, "1790000000.25"]))


def test_samples_may_be_appended_while_it_runs(server: PrometheusServer) -> None:
    """Samples may be appended while it runs."""
    server.samples.append("down", {}, at=NOW, value=1.0)
    row = {"metric": {"__name__": "down"}, "value": [NOW, "1"]}
    assert get(server, "down") == (200, success("vector", [row]))


def test_a_bad_expression_is_bad_data(server: PrometheusServer) -> None:
    """A bad expression is bad data."""
    status, body = get(server, "sum(")
    assert status == 400
    assert isinstance(body, dict)
    assert (body["status"], body["errorType"]) == ("error", "bad_data")


def test_it_is_ready_and_knows_no_other_path(server: PrometheusServer) -> None:
    """It is ready and knows no other path."""
    assert send(f"{server.url}/-/ready") == (200, "Prometheus Server is Ready.\n")
    assert send(f"{server.url}/api/v1/rules")[0] == 404


def test_only_the_right_token_is_let_in(server: PrometheusServer) -> None:
    """Only the right token is let in."""
    server.token = "right"
    assert get(server, "up")[0] == 401


@pytest.mark.parametrize(
    ("fault", "status", "part"),
    [
        (Fault.UNAVAILABLE, 503, "Service Unavailable"),
        (Fault.HTML, 200, "<html>"),
        (Fault.TOO_MANY_SAMPLES, 422, "'errorType': 'execution'"),
        (Fault.WARNINGS, 200, "'warnings': ['a store is not available']"),
        (Fault.EMPTY, 200, "'result': []"),
    ],
)
def test_faults_look_as_in_the_field(
    server: PrometheusServer, fault: Fault, status: int, part: str
) -> None:
    """Faults look as in the field."""
    server.fault = fault
    found, body = get(server, "up")
    assert found == status
    assert part in str(body)


def test_refusing_hangs_up_and_ends_when_it_is_taken_away(server: PrometheusServer) -> None:
    """Refusing hangs up and ends when it is taken away."""
    server.fault = Fault.REFUSE
    with pytest.raises(OSError, match="closed connection without response"):
        get(server, "up")
    server.fault = Fault.NONE
    assert get(server, "up")[0] == 200


def test_an_override_is_given_as_it_is(server: PrometheusServer) -> None:
    """An override is given as it is."""
    server.overrides["up"] = b"{}"
    assert get(server, "up") == (200, {})


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-0.0, "-0"),
        (100.0, "100"),
        (0.1 + 0.2, "0.30000000000000004"),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (1.5e-7, "1.5e-07"),
        (0.000001, "0.000001"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
        (-5e-324, "-5e-324"),
        (9223372036854775794.0, "9223372036854776000"),
        (math.nan, "NaN"),
        (math.inf, "+Inf"),
        (-math.inf, "-Inf"),
    ],
)
def test_values_are_spelled_as_prometheus_spells_them(value: float, text: str) -> None:
    """Values are spelled as prometheus spells them."""
    assert format_value(value) == text


@given(st.floats(allow_nan=False))
def test_every_value_is_read_back_to_the_last_digit(value: float) -> None:
    """Every value is read back to the last digit."""
    assert float(format_value(value)) == value
