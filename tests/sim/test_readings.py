"""Readings without a server are those that a server gives."""

import pytest

from scaler.core.policy import Policy, PrometheusSettings
from scaler.core.usage import QueryKey
from scaler.prometheus.source import PrometheusSource
from scaler.prometheus.vector import QueryFailedError
from scaler.sim.prometheus import PrometheusServer
from scaler.sim.readings import SampleServer, read_usage
from scaler.sim.samples import SampleStore
from tests.prometheus.fleet import GPU_UTIL, GR_ENGINE, KEY, NOW, pod_labels, scrape

QUERY = QueryKey(name="requests", namespace="ml", workload="w")


def test_a_bundles_samples_read_as_over_http() -> None:
    """A bundles samples read as over http."""
    store = SampleStore()
    scrape(store, GPU_UTIL, 40.0, labels=pod_labels("p"), phase=3.25)
    scrape(store, GR_ENGINE, 0.07, labels=pod_labels("q", gpu=1), until=-95)
    queries = {QUERY: f'sum({GPU_UTIL}{{namespace="$namespace"}})'}
    source = PrometheusSource(clock=lambda: NOW)
    with PrometheusServer(store, clock=lambda: NOW) as server:
        policy = Policy(prometheus=PrometheusSettings(url=server.url))
        served = source.refresh(settings=policy.prometheus, usage=[KEY], queries=queries)
        source.close()
    at_hand = read_usage(store, policy=policy, usage=[KEY], queries=queries, at=NOW)
    assert at_hand == served
    assert at_hand.answers[QUERY].on is True


def test_without_samples_prometheus_is_down() -> None:
    """Without samples prometheus is down."""
    read = read_usage(None, policy=Policy(), usage=[KEY], queries={QUERY: "up"}, at=NOW)
    assert (
        read.usage[KEY].problem == "activity query peak: Prometheus is down: there are no samples"
    )
    assert read.answers[QUERY].on is None


def test_no_sample_of_anything_is_an_answer() -> None:
    """No sample of anything is an answer."""
    read = read_usage(SampleStore(), policy=Policy(), usage=[KEY], queries={QUERY: "up"}, at=NOW)
    assert read.usage[KEY].problem is None
    assert read.answers[QUERY].on is False


def test_a_query_beyond_the_embedded_promql_is_a_problem_not_a_guess() -> None:
    """A query beyond the embedded promql is a problem not a guess."""
    read = read_usage(
        SampleStore(), policy=Policy(), usage=[], queries={QUERY: "topk(1, up)"}, at=NOW
    )
    assert read.answers[QUERY].on is None
    assert "not in this subset" in (read.answers[QUERY].problem or "")


def test_a_range_is_answered_with_its_points_and_nothing_else_is_one() -> None:
    """As a connection does from a server."""
    store = SampleStore()
    store.append("up", {"job": "a"}, at=NOW - 5, value=1.0)
    server = SampleServer(store)
    (row,) = server.raw("up[10s]", at=NOW).series
    assert (row.labels["job"], row.points) == ("a", ((round((NOW - 5) * 1000), 1.0),))
    with pytest.raises(QueryFailedError, match="no matrix"):
        server.raw("up", at=NOW)
    with pytest.raises(QueryFailedError):
        server.raw("up[", at=NOW)
