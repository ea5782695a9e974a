"""Selectors, ranges and subqueries as Prometheus cuts them; functions; refusals."""

import math
import struct

import pytest

from scaler.sim.promql import Engine, PromQLError, evaluate
from scaler.sim.samples import SampleStore
from tests.sim.promql.expressions import NOW, scalar, store_of, vector

CLOSED = Engine(closed_ranges=True)


# --- selectors ---------------------------------------------------------------------------------


def test_a_selector_gives_the_newest_sample_within_five_minutes() -> None:
    """A selector gives the newest sample within five minutes."""
    store = store_of({"up": [1.0, 2.0]})
    assert vector(store, "up") == {"__name__=up": 2.0}
    assert vector(store, "up", at=NOW - 1) == {"__name__=up": 1.0}
    assert vector(store, "up", at=NOW + 299.999) == {"__name__=up": 2.0}


@pytest.mark.parametrize(("engine", "seen"), [(Engine(), False), (CLOSED, True)])
def test_the_lookbacks_far_end_belongs_to_it_only_in_version_2(
    engine: Engine,
    seen: bool,  # noqa: FBT001 - pytest passes it by name
) -> None:
    """The lookbacks far end belongs to it only in version 2."""
    store = store_of({"up": [1.0]})
    assert bool(vector(store, "up", at=NOW + 300, engine=engine)) is seen


def test_a_staleness_marker_ends_a_series_at_once() -> None:
    """A staleness marker ends a series at once."""
    store = store_of({"up": [1.0]})
    store.append("up", {}, at=NOW + 10, value=None)
    assert vector(store, "up", at=NOW + 9) == {"__name__=up": 1.0}
    assert vector(store, "up", at=NOW + 10) == {}
    assert vector(store, "count_over_time(up[5m])", at=NOW + 10) == {"": 1.0}


@pytest.mark.parametrize(
    ("matchers", "found"),
    [
        ('a="1"', {"1"}),
        ('a!="1"', {"2", "12", ""}),
        ('a=~"1|2"', {"1", "2"}),
        ('a=~"1"', {"1"}),
        ('a!~"1.*"', {"2", ""}),
        ('a=""', {""}),
        ('a=~"1.*", a!="1"', {"12"}),
        ('a=~".+"', {"1", "2", "12"}),
    ],
)
def test_matchers_match_whole_values_and_a_missing_label_is_empty(
    matchers: str, found: set[str]
) -> None:
    """Matchers match whole values and a missing label is empty."""
    store = store_of({"m a=1": [0.0], "m a=2": [0.0], "m a=12": [0.0], "m": [0.0]})
    answer = evaluate(store, f"m{{{matchers}}}", NOW)
    assert isinstance(answer, list)
    assert {dict(labels).get("a", "") for labels, _ in answer} == found


def test_a_name_may_be_matched_like_a_label() -> None:
    """A name may be matched like a label."""
    store = store_of({"a_x": [1.0], "b_x": [2.0]})
    assert vector(store, 'sum({__name__=~"[ab]_x"})') == {"": 3.0}


# --- ranges and subqueries ---------------------------------------------------------------------


@pytest.mark.parametrize(("engine", "count"), [(Engine(), 5.0), (CLOSED, 6.0)])
def test_a_range_is_left_open_in_version_3_and_closed_in_2(engine: Engine, count: float) -> None:
    """A range is left open in version 3 and closed in 2."""
    store = store_of({"up": [1.0] * 10})
    assert vector(store, "count_over_time(up[5m])", engine=engine) == {"": count}


@pytest.mark.parametrize(
    ("at", "engine", "count"),
    [
        (NOW + 40, Engine(), 5.0),
        (NOW + 41, Engine(), 5.0),
        (NOW + 40, CLOSED, 6.0),
        (NOW + 41, CLOSED, 5.0),
    ],
)
def test_a_subquerys_steps_are_absolute_multiples(at: float, engine: Engine, count: float) -> None:
    """A subquerys steps are absolute multiples."""
    store = store_of({"up": [1.0] * 10})
    assert (NOW + 40) % 60 == 0
    assert vector(store, "count_over_time(up[5m:1m])", at=at, engine=engine) == {"": count}


def test_a_subquery_without_a_step_takes_a_minute() -> None:
    """A subquery without a step takes a minute."""
    store = store_of({"up": [1.0] * 40})
    assert vector(store, "count_over_time(up[10m:])") == {"": 10.0}


def test_subqueries_nest() -> None:
    """Subqueries nest."""
    store = store_of({"up": [0.0, 0.0, 5.0, 0.0, 0.0, 0.0, 0.0]})
    inner = "max_over_time(up[2m])[6m:1m]"
    assert vector(store, f"sum_over_time({inner})", at=NOW + 40) == {"": 10.0}


# --- functions ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "value"),
    [
        ("max_over_time", 4.0),
        ("min_over_time", 1.0),
        ("sum_over_time", 10.0),
        ("avg_over_time", 2.5),
        ("count_over_time", 4.0),
        ("present_over_time", 1.0),
        ("changes", 3.0),
        ("resets", 1.0),
        ("increase", 7.0),
        ("rate", 7.0 / 240),
    ],
)
def test_range_functions(function: str, value: float) -> None:
    """Range functions."""
    store = store_of({"up": [1.0, 3.0, 2.0, 4.0]})
    assert vector(store, f"{function}(up[4m])") == {"": pytest.approx(value, rel=1e-15)}


def test_last_over_time_is_still_the_metric() -> None:
    """Last over time is still the metric."""
    store = store_of({"up": [1.0, 3.0]})
    assert vector(store, "last_over_time(up[5m])") == {"__name__=up": 3.0}


def test_sums_lose_no_digit_to_rounding() -> None:
    """Sums lose no digit to rounding."""
    store = store_of({"m": [1.0, 1e100, 1.0, -1e100]})
    assert vector(store, "sum_over_time(m[10m])") == {"": 2.0}
    assert vector(store, "avg_over_time(m[10m])") == {"": 0.5}


def test_an_average_survives_an_overflow_of_its_sum() -> None:
    """An average survives an overflow of its sum."""
    store = store_of({"m": [1.5e308, 1.5e308, 1.5e308]})
    assert vector(store, "avg_over_time(m[10m])") == {"": pytest.approx(1.5e308)}


def test_nan_wins_no_maximum_unless_it_is_alone() -> None:
    """NaN wins no maximum unless it is alone."""
    nan = math.nan
    store = store_of({"m a=1": [nan, 2.0, nan], "m a=2": [nan, nan, nan]})
    answer = vector(store, "max_over_time(m[10m])")
    assert answer["a=1"] == 2.0
    assert math.isnan(answer["a=2"])
    assert vector(store, "min_over_time(m[10m]) >= 0") == {"a=1": 2.0}
    assert vector(store, "changes(m[10m])") == {"a=1": 2.0, "a=2": 0.0}


def test_a_rate_needs_two_samples_and_sees_resets() -> None:
    """A rate needs two samples and sees resets."""
    store = store_of({"m": [10.0, 20.0, 5.0, 15.0]})
    assert vector(store, "increase(m[30s])") == {}
    assert vector(store, "resets(m[10m])") == {"": 1.0}
    assert vector(store, "delta(m[4m])") == {"": pytest.approx(5.0 * 240 / 180)}


def test_the_timestamp_of_a_selector_is_the_samples_and_of_anything_else_the_evaluations() -> None:
    """The timestamp of a selector is the samples and of anything else the evaluations."""
    store = store_of({"up": [1.0]})
    assert vector(store, "timestamp(up)", at=NOW + 70) == {"": NOW}
    assert vector(store, "timestamp((up))", at=NOW + 70) == {"": NOW}
    assert vector(store, "timestamp(up > 0)", at=NOW + 70) == {"": NOW + 70}
    assert scalar("time()") == NOW


def test_label_replace_fills_in_groups_and_drops_empty_labels() -> None:
    """Label replace fills in groups and drops empty labels."""
    store = store_of({"m a=x-1": [1.0]})
    replaced = vector(store, 'label_replace(m, "b", "$2/${1}$3$$", "a", "(.*)-(.*)")')
    assert replaced == {"__name__=m a=x-1 b=1/x$": 1.0}
    assert vector(store, 'label_replace(m, "b", "no", "a", "x")') == {"__name__=m a=x-1": 1.0}
    assert vector(store, 'label_replace(m, "a", "", "a", ".*")') == {"__name__=m": 1.0}


def test_values_one_by_one() -> None:
    """Values one by one."""
    store = store_of({"m": [-1.5]})
    assert vector(store, "abs(m)") == {"": 1.5}
    assert vector(store, "ceil(m)") == {"": -1.0}
    assert vector(store, "floor(m)") == {"": -2.0}
    assert vector(store, "-m") == {"": 1.5}
    assert vector(store, "clamp(m, -1, 1)") == {"": -1.0}
    assert vector(store, "clamp(m, 1, -1)") == {}
    assert vector(store, "clamp_min(m, 0)") == {"": 0.0}
    assert vector(store, "clamp_max(m, -2)") == {"": -2.0}
    assert vector(store, "vector(3)") == {"": 3.0}


@pytest.mark.parametrize(
    ("expression", "values"),
    [
        ("sum by (a) (m)", {"a=1": 3.0, "a=2": 4.0}),
        ("sum without (b) (m)", {"a=1": 3.0, "a=2": 4.0}),
        ("max(m)", {"": 4.0}),
        ("min by (b) (m)", {"b=x": 1.0, "b=y": 2.0}),
        ("avg(m)", {"": 7.0 / 3}),
        ("count by (nothing) (m)", {"": 3.0}),
        ("group by (a) (m)", {"a=1": 1.0, "a=2": 1.0}),
        ("sum(nothing)", {}),
    ],
)
def test_aggregations(expression: str, values: dict[str, float]) -> None:
    """Aggregations."""
    store = store_of({"m a=1 b=x": [1.0], "m a=1 b=y": [2.0], "m a=2 b=x": [4.0]})
    assert vector(store, expression) == values


# --- refusals ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("no_such_function(m)", "no_such_function is not in this subset"),
        ("absent(m)", "absent is not in this subset"),
        ("max_over_time(m)", "max_over_time expects a range vector"),
        ("m[5m]", "a range vector belongs into a function"),
        ('"text"', "a string is not a value"),
        ("sum(1)", "sum expects an instant vector"),
        ("vector(m)", "vector expects a scalar"),
        ("time(1)", "time takes 0 arguments"),
        ("abs()", "abs takes 1 arguments"),
        ("clamp(m, 1)", "clamp takes 3 arguments"),
        ("count_over_time(time()[5m:1m])", "a subquery expects an instant vector"),
        ('label_replace(m, 1, "", "", "")', "expects strings"),
        ('label_replace(m, "0", "", "", "")', "invalid destination label"),
        ('label_replace(m, "a", "", "", "(")', "bad regular expression"),
        ('max_over_time({__name__=~"m|n"}[5m])', "same labelset"),
        ('label_replace({__name__=~"m|n"}, "__name__", "x", "", "")', "same labelset"),
    ],
)
def test_what_can_not_be_evaluated_is_told(expression: str, problem: str) -> None:
    """What can not be evaluated is told."""
    store = store_of({"m": [1.0], "n": [1.0]})
    with pytest.raises(PromQLError) as caught:
        evaluate(store, expression, NOW)
    assert problem in str(caught.value)


def test_nesting_without_end_is_refused() -> None:
    """Nesting without end is refused."""
    with pytest.raises(PromQLError, match="nested too deeply"):
        evaluate(SampleStore(), "(" * 5000 + "1" + ")" * 5000, NOW)


def test_the_marker_of_staleness_is_no_plain_nan() -> None:
    """A NaN of any payload that an exporter writes is a sample."""
    (nan,) = struct.unpack("<d", struct.pack("<Q", 0x7FF0000000000002))
    store = store_of({"m": [nan]})
    assert list(vector(store, "m")) == ["__name__=m"]
