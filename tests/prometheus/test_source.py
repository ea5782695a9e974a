"""A refresh: what is asked how often, and every failure as a problem instead of an exception."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from scaler.core.policy import MassIdle, PrometheusSettings, Safety
from scaler.core.usage import QueryKey, UsageKey
from scaler.prometheus.queries import FleetQuery
from scaler.prometheus.session import TimedOutError, UnreachableError
from scaler.prometheus.source import PrometheusSource, Refresh, ask_all
from scaler.prometheus.vector import Answer, QueryFailedError, Sample
from scaler.sim.prometheus import Fault, PrometheusServer
from tests.prometheus.fleet import GPU_UTIL, KEY, NOW, pod_labels, scrape

OTHER_KEY = UsageKey(window_seconds=600.0, busy_from_percent=5.0)
QUERY = QueryKey(name="requests", namespace="ml", workload="w")
FLEET_QUERIES = len(FleetQuery)


class Scripted:
    """Answer each expression as told, else with an empty vector; note what is asked."""

    def __init__(self, answers: Mapping[str, Answer | QueryFailedError] | None = None) -> None:
        self.asked: list[str] = []
        self._answers = answers or {}

    def query(self, expression: str, *, at: float, timeout: float | None = None) -> Answer:
        """Look the answer up by the start of its key."""
        del at, timeout
        self.asked.append(expression)
        for part, answer in self._answers.items():
            if part in expression:
                if isinstance(answer, QueryFailedError):
                    raise answer
                return answer
        return Answer(vector=())


def refreshed(
    server: Scripted,
    *,
    keys: tuple[UsageKey, ...] = (),
    queries: Mapping[QueryKey, str] | None = None,
) -> Refresh:
    """Refresh from a scripted server."""
    settings = PrometheusSettings()
    return ask_all(server, settings=settings, usage=keys, queries=queries or {}, at=NOW)


# --- over the socket ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fault",
    [
        Fault.REFUSE,
        Fault.UNAVAILABLE,
        Fault.HTML,
        Fault.REDIRECT,
        Fault.TOO_MANY_SAMPLES,
        Fault.WARNINGS,
        Fault.SLOW,
    ],
)
def test_p01_p02_p04_p05_every_fault_is_a_problem_and_recovery_is_seen(
    prometheus: PrometheusServer, source: PrometheusSource, fault: Fault
) -> None:
    """P01, P02, P04, P05: no reading and no answer comes out of a failure; the next one is fine."""
    scrape(prometheus.samples, GPU_UTIL, 0.0, labels=pod_labels("p"))
    settings = PrometheusSettings(url=prometheus.url, timeout=0.5 if fault is Fault.SLOW else 10.0)
    prometheus.fault = fault
    read = source.refresh(settings=settings, usage=[KEY], queries={QUERY: "vector(0)"})
    assert read.usage[KEY].problem
    assert (read.usage[KEY].by_pod, read.usage[KEY].devices) == ({}, {})
    assert read.answers[QUERY].on is None
    assert read.answers[QUERY].problem
    prometheus.fault = Fault.NONE
    settings = PrometheusSettings(url=prometheus.url)
    read = source.refresh(settings=settings, usage=[KEY], queries={QUERY: "vector(0)"})
    assert read.usage[KEY].problem is None
    assert read.answers[QUERY].on is False


def test_an_empty_fleet_is_an_answer_without_readings(
    prometheus: PrometheusServer, source: PrometheusSource
) -> None:
    """An empty fleet is an answer without readings."""
    prometheus.fault = Fault.EMPTY
    read = source.refresh(
        settings=PrometheusSettings(url=prometheus.url), usage=[KEY], queries={}
    ).usage[KEY]
    assert (read.problem, read.at, dict(read.by_pod)) == (None, NOW, {})


def test_p05_triggers_that_share_a_key_share_its_queries(
    prometheus: PrometheusServer, source: PrometheusSource
) -> None:
    """P05: once per window and refresh, whatever the number of triggers."""
    settings = PrometheusSettings(url=prometheus.url)
    source.refresh(settings=settings, usage=[KEY] * 500, queries={})
    assert len(prometheus.asked) == FLEET_QUERIES
    assert {asked.parameters["time"] for asked in prometheus.asked} == {f"{NOW:.3f}"}


def test_p03_a_refresh_uses_the_token_of_its_time(
    prometheus: PrometheusServer, source: PrometheusSource, tmp_path: Path
) -> None:
    """P03: rotated between refreshes."""
    token = tmp_path / "token"
    settings = PrometheusSettings(url=prometheus.url, token_file=str(token))
    for text in ("first", "second"):
        token.write_text(text)
        prometheus.token = text
        assert source.refresh(settings=settings, usage=[KEY], queries={}).usage[KEY].problem is None


def test_changed_settings_are_in_force_at_the_next_refresh(
    prometheus: PrometheusServer, source: PrometheusSource
) -> None:
    """Changed settings are in force at the next refresh."""
    nowhere = PrometheusSettings(url="http://127.0.0.1:1")
    assert source.refresh(settings=nowhere, usage=[KEY], queries={}).usage[KEY].problem
    here = PrometheusSettings(url=prometheus.url)
    assert source.refresh(settings=here, usage=[KEY], queries={}).usage[KEY].problem is None


def test_the_brakes_time_reaches_the_query(
    prometheus: PrometheusServer, source: PrometheusSource
) -> None:
    """The brakes time reaches the query."""
    source.refresh(
        settings=PrometheusSettings(url=prometheus.url),
        safety=Safety(mass_idle=MassIdle(hold_for=120.0)),
        usage=[KEY],
        queries={},
    )
    text = " ".join(asked.parameters["query"] for asked in prometheus.asked)
    assert f"[{(1800 + 120 + 60) * 1000 - 1}ms:" in text


@pytest.mark.parametrize("url", ["http://[::1", "", "http://exa mple", "file:///etc/passwd"])
def test_nothing_raises_whatever_the_settings(source: PrometheusSource, url: str) -> None:
    """Nothing raises whatever the settings."""
    read = source.refresh(
        settings=PrometheusSettings(url=url), usage=[KEY], queries={QUERY: "vector(1)"}
    )
    assert read.usage[KEY].problem
    assert (read.answers[QUERY].on, bool(read.answers[QUERY].problem)) == (None, True)


# --- what is asked -----------------------------------------------------------------------------


def test_what_two_keys_have_in_common_is_asked_once() -> None:
    """What two keys have in common is asked once."""
    server = Scripted()
    refreshed(server, keys=(KEY, OTHER_KEY))
    assert len(server.asked) == 2 * FLEET_QUERIES - 1
    assert len(set(server.asked)) == len(server.asked)


def test_after_a_failure_the_rest_of_a_key_is_not_asked_but_other_keys_are() -> None:
    """After a failure the rest of a key is not asked but other keys are."""
    server = Scripted({"[1799999ms]": QueryFailedError("HTTP 422, execution: too many samples")})
    read = refreshed(server, keys=(KEY, OTHER_KEY))
    assert read.usage[KEY].problem == "activity query peak: HTTP 422, execution: too many samples"
    assert read.usage[OTHER_KEY].problem is None


def test_a_server_out_of_reach_is_asked_once_in_a_refresh() -> None:
    """A server out of reach is asked once in a refresh."""
    server = Scripted({"": UnreachableError("Connection refused")})
    read = refreshed(server, keys=(KEY, OTHER_KEY), queries={QUERY: "up"})
    assert len(server.asked) == 1
    assert read.usage[OTHER_KEY].problem == "activity query peak: Connection refused"
    assert read.answers[QUERY].problem == "Connection refused"


def test_a_heavy_query_that_times_out_leaves_other_keys_alone() -> None:
    """A heavy query that times out leaves other keys alone."""
    server = Scripted({"[1799999ms]": TimedOutError("no answer within 10 s")})
    read = refreshed(server, keys=(KEY, OTHER_KEY))
    assert read.usage[KEY].problem == "activity query peak: no answer within 10 s"
    assert read.usage[OTHER_KEY].problem is None


def test_a_hung_server_costs_one_time_out_and_one_probe() -> None:
    """A hung server costs one time out and one probe."""
    server = Scripted({"": TimedOutError("no answer within 10 s")})
    read = refreshed(server, keys=(KEY, OTHER_KEY), queries={QUERY: "up"})
    assert len(server.asked) == 2
    assert read.usage[OTHER_KEY].problem == "activity query peak: no answer within 10 s"
    assert read.answers[QUERY].on is None


def test_warnings_make_a_usage_unbelievable_whatever_its_rows_say() -> None:
    """Warnings make a usage unbelievable whatever its rows say."""
    row = Sample(labels={"UUID": "a", "signal": "gpu_util"}, value=0.0)
    server = Scripted({"tally": Answer(vector=[row], warnings=("a store is down",))})
    read = refreshed(server, keys=(KEY,)).usage[KEY]
    assert read.problem == "activity query samples: warnings: a store is down"
    assert read.by_device == {}


# --- keepAlive and wake ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "on"),
    [
        ([], False),
        ([0.0], False),
        ([-1.0], False),
        ([0.0, 0.0, 2.0], True),
        ([0.001], True),
        ([float("nan")], None),
        ([float("inf")], None),
        ([float("nan"), 0.0], None),
        ([float("nan"), 1.0], True),
    ],
)
def test_any_value_above_zero_is_on_and_no_number_is_unknown(
    values: list[float],
    on: bool | None,  # noqa: FBT001 - pytest passes it by name
) -> None:
    """Any value above zero is on and no number is unknown."""
    rows = [Sample(labels={"n": str(n)}, value=value) for n, value in enumerate(values)]
    read = refreshed(Scripted({"up": Answer(vector=rows)}), queries={QUERY: "up"})
    assert read.answers[QUERY].on is on
    assert (read.answers[QUERY].problem is None) is (on is not None)


def test_what_is_on_is_on_whatever_was_warned_of() -> None:
    """What is on is on whatever was warned of."""
    warned = ("a store is down",)
    row = Sample(labels={}, value=1.0)
    seen = Scripted({"up": Answer(vector=[row], warnings=warned)})
    assert refreshed(seen, queries={QUERY: "up"}).answers[QUERY].on is True
    unseen = Scripted({"up": Answer(vector=[], warnings=warned)})
    assert refreshed(unseen, queries={QUERY: "up"}).answers[QUERY].on is None


def test_a_template_is_bound_and_shown_as_it_was_asked() -> None:
    """A template is bound and shown as it was asked."""
    server = Scripted()
    read = refreshed(server, queries={QUERY: 'sum(q{namespace="$namespace"})'})
    assert server.asked == ['sum(q{namespace="ml"})']
    assert read.answers[QUERY].expression == 'sum(q{namespace="ml"})'


# --- clocks ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ahead", "problem"),
    [
        (0, None),
        (90, None),
        (-90, None),
        (120, "clock is 120 s ahead of ours"),
        (-120, "clock is 120 s behind ours"),
    ],
)
def test_a_server_whose_clock_is_minutes_off_is_not_believed(
    prometheus: PrometheusServer, source: PrometheusSource, ahead: float, problem: str | None
) -> None:
    """What a server ahead of us saw since would be left out, and the answer would look fresh."""
    prometheus.clock = lambda: NOW + ahead
    settings = PrometheusSettings(url=prometheus.url)
    read = source.refresh(settings=settings, usage=[KEY], queries={QUERY: "vector(0)"})
    told = (read.usage[KEY].problem, read.answers[QUERY].problem)
    if problem is None:
        assert told == (None, None)
    else:
        assert all(problem in (one or "") for one in told)
