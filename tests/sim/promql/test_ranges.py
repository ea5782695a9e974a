"""A range selector by itself gives raw samples."""

import pytest

from scaler.sim.promql import Engine, PromQLError
from scaler.sim.promql.ranges import raw_rows
from scaler.sim.samples import SampleStore

NAME = ("__name__", "m")


def store() -> SampleStore:
    """Three samples of one series, then a staleness marker; one of another."""
    samples = SampleStore()
    for at, value in ((0.0, 1.0), (10.0, 2.0), (20.0, 3.0), (30.0, None)):
        samples.append("m", {"a": "x"}, at=at, value=value)
    samples.append("m", {"a": "y"}, at=5.0, value=9.0)
    return samples


def test_the_start_of_a_range_is_open_or_closed_as_the_engine_has_it() -> None:
    """Prometheus 2 counts a sample at the very start, 3 does not."""
    series = (("a", "x"), NAME)
    expected = [(tuple(sorted(series)), ((20_000, 3.0),))]
    assert raw_rows(store(), 'm{a="x"}[20s]', 30.0) == expected
    closed = raw_rows(store(), 'm{a="x"}[20s]', 30.0, engine=Engine(closed_ranges=True))
    assert closed == [(tuple(sorted(series)), ((10_000, 2.0), (20_000, 3.0)))]


def test_series_without_a_sample_in_the_range_are_left_out() -> None:
    """A staleness marker is none."""
    assert raw_rows(store(), "m[5s]", 33.0) == []


@pytest.mark.parametrize("expression", ["m", "max_over_time(m[5s])", "1"])
def test_anything_else_is_not_for_here(expression: str) -> None:
    """It has a value of its own."""
    assert raw_rows(store(), expression, 30.0) is None


def test_a_wrong_expression_is_an_error() -> None:
    """As everywhere."""
    with pytest.raises(PromQLError):
        raw_rows(store(), "m[", 30.0)


def test_a_subquery_gives_the_value_at_each_step_that_has_one() -> None:
    """At absolute multiples of the step, whatever is inside."""
    found = raw_rows(store(), "max by (a) (m)[30s:10s]", 30.0)
    assert found is not None
    assert dict(found) == {
        (("a", "x"),): ((10_000, 2.0), (20_000, 3.0)),
        (("a", "y"),): ((10_000, 9.0), (20_000, 9.0), (30_000, 9.0)),
    }
