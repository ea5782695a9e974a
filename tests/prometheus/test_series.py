"""Raw samples come back piece by piece, whole, over the same bounded connection."""

import json
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.core.model import Instant
from scaler.core.policy import CustomProfile, CustomSignal, Profile, PrometheusSettings
from scaler.core.usage import UsageKey
from scaler.prometheus.queries import fleet_queries, reach, selectors
from scaler.prometheus.series import SPAN, Matrix, RawSeries, decode_matrix, read_raw
from scaler.prometheus.session import Connection, UnreachableError
from scaler.prometheus.vector import ForeignAnswerError, QueryFailedError
from scaler.sim.prometheus import Fault, PrometheusServer
from scaler.sim.promql.selectors import reads
from tests.prometheus.fleet import NOW

KEY = UsageKey(window_seconds=1800.0, busy_from_percent=1.0)


@pytest.fixture
def connection(prometheus: PrometheusServer) -> Iterator[Connection]:
    """A connection to the double."""
    one = Connection(PrometheusSettings(url=prometheus.url, timeout=5.0))
    yield one
    one.close()


def fill(prometheus: PrometheusServer, *, seconds: int, step: int) -> dict[int, float]:
    """Give a series samples up to now; return them as they should come back."""
    times = range(round(NOW) - seconds, round(NOW) + 1, step)
    for time in times:
        prometheus.samples.append("m", {"a": "x"}, at=float(time), value=float(time % 7))
    return {time * 1000: float(time % 7) for time in times}


def read(server: Connection, *, seconds: float, selector: str = "m") -> dict[int, float]:
    """Read one series, all pieces joined."""
    joined: dict[int, float] = {}
    for series in read_raw(server, selector, at=NOW, reach=seconds):
        assert series.labels == {"__name__": "m", "a": "x"}
        joined.update(series.points)
    return joined


def test_all_samples_of_the_reach_come_back(
    prometheus: PrometheusServer, connection: Connection
) -> None:
    """Several requests, and none at the border of two is lost."""
    filled = fill(prometheus, seconds=3600, step=30)
    assert read(connection, seconds=3600.0) == filled
    assert len(prometheus.asked) == 3600 / SPAN
    since = round(NOW - 1000) * 1000
    expected = {time: value for time, value in filled.items() if time >= since}
    assert read(connection, seconds=1000.0) == expected


def test_staleness_markers_are_no_samples(
    prometheus: PrometheusServer, connection: Connection
) -> None:
    """Neither does Prometheus give them."""
    prometheus.samples.append("m", {"a": "x"}, at=NOW - 60, value=1.0)
    prometheus.samples.append("m", {"a": "x"}, at=NOW - 30, value=None)
    assert read(connection, seconds=300.0) == {round((NOW - 60) * 1000): 1.0}


def test_a_vector_can_be_asked_for_in_between(
    prometheus: PrometheusServer, connection: Connection
) -> None:
    """Each answer is read in its own way."""
    fill(prometheus, seconds=60, step=30)
    read(connection, seconds=60.0)
    assert len(connection.query("m", at=NOW).vector) == 1
    assert connection.raw("m[61s]", at=NOW).series != ()


@pytest.mark.parametrize("fault", [Fault.REFUSE, Fault.UNAVAILABLE, Fault.HTML, Fault.REDIRECT])
def test_a_server_that_does_not_answer_is_an_error(
    fault: Fault, prometheus: PrometheusServer, connection: Connection
) -> None:
    """No redirect is followed, no login page is taken for samples."""
    prometheus.fault = fault
    with pytest.raises(UnreachableError):
        read(connection, seconds=60.0)


@pytest.mark.parametrize("fault", [Fault.WARNINGS, Fault.TOO_MANY_SAMPLES, Fault.EMPTY])
def test_an_answer_that_may_lack_samples_is_an_error(
    fault: Fault, prometheus: PrometheusServer, connection: Connection
) -> None:
    """Half of the samples would decide otherwise than all of them."""
    fill(prometheus, seconds=60, step=30)
    prometheus.fault = fault
    with pytest.raises(QueryFailedError):
        read(connection, seconds=60.0)


def test_the_size_limit_holds_for_raw_samples(prometheus: PrometheusServer) -> None:
    """An answer that is too large is not read."""
    fill(prometheus, seconds=900, step=1)
    connection = Connection(PrometheusSettings(url=prometheus.url, timeout=5.0), body_limit=1000)
    with pytest.raises(QueryFailedError, match="larger than 1000 bytes"):
        read(connection, seconds=900.0)
    connection.close()


def test_the_token_is_sent(prometheus: PrometheusServer) -> None:
    """A Prometheus that lets nobody in without one lets nobody in."""
    prometheus.token = "t"
    connection = Connection(PrometheusSettings(url=prometheus.url, timeout=5.0))
    with pytest.raises(UnreachableError, match="401"):
        read(connection, seconds=60.0)
    connection.close()


def body(result: object, *, kind: str = "matrix", **more: object) -> bytes:
    """Write a successful answer."""
    data = {"resultType": kind, "result": result}
    return json.dumps({"status": "success", "data": data, **more}).encode()


def test_a_matrix_is_decoded_to_the_millisecond() -> None:
    """Infinities and NaN are values; a native histogram has none."""
    rows = [
        {"metric": {"__name__": "m"}, "values": [[1790000000.123, "0.5"], [1790000030, "+Inf"]]},
        {"metric": {"__name__": "h"}, "histograms": [[1790000000, {"count": "1"}]]},
    ]
    assert decode_matrix(body(rows, warnings=["slow"])) == Matrix(
        series=(
            RawSeries(
                labels={"__name__": "m"},
                points=((1790000000123, 0.5), (1790000030000, float("inf"))),
            ),
            RawSeries(labels={"__name__": "h"}, points=()),
        ),
        warnings=("slow",),
    )


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (body([], kind="vector"), "is a vector, not a matrix"),
        (body([{"metric": {}, "values": [[1, "many"]]}]), "rows can't be read"),
        (body([{"metric": {}, "values": [["x", "1"]]}]), "rows can't be read"),
        (body([{"metric": {}, "values": [[1e400, "1"]]}]), "can't be read|not the JSON"),
        (b'{"status":"error","errorType":"execution","error":"no"}', "execution: no"),
    ],
)
def test_what_is_no_matrix_is_an_error(raw: bytes, said: str) -> None:
    """One sentence says what it is."""
    with pytest.raises(QueryFailedError, match=said):
        decode_matrix(raw)


@given(raw=st.binary(max_size=80))
def test_decoding_raises_nothing_else_whatever_the_bytes(raw: bytes) -> None:
    """Law: proxies send anything."""
    with pytest.raises(ForeignAnswerError):
        decode_matrix(raw)


class _Silent:
    """Give nothing, and keep what was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Instant]] = []

    def raw(self, expression: str, *, at: Instant) -> Matrix:
        """Note the request."""
        self.asked.append((expression, at))
        return Matrix()


def test_pieces_follow_each_other_back_in_time() -> None:
    """The last one is as long as what is left."""
    server = _Silent()
    assert list(read_raw(server, "m", at=10_000.0, reach=SPAN + 100)) == []
    assert server.asked == [("m[900001ms]", 10_000.0), ("m[100001ms]", 10_000.0 - SPAN)]


CUSTOM = CustomProfile(
    signals=(CustomSignal(name="a", metric="busy_ratio", maximum=1.0),),
    device_label="uuid",
    resources=("example.com/a",),
    power_metric="watts",
)


@pytest.mark.parametrize("profile", list(Profile))
def test_selectors_and_reach_cover_all_that_the_fleet_queries_read(profile: Profile) -> None:
    """Law: no sample that a fleet query reads is left out of a capture."""
    settings = PrometheusSettings(
        profile=profile, selector='job="dcgm"', custom=CUSTOM if profile is Profile.CUSTOM else None
    )
    built = fleet_queries(
        settings=settings, key=KEY, look_back=3600.0, max_age=90.0, at=NOW
    ).values()
    read_by_queries = {found for expression in built for found in reads(expression)}
    covered = {selector for each in selectors(settings) for selector, _ in reads(each)}
    assert {selector for selector, _ in read_by_queries} == covered
    longest = max(seconds for _, seconds in read_by_queries)
    assert longest <= reach(settings=settings, key=KEY, look_back=3600.0)
