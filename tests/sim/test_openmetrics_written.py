"""Written samples come back to the bit and the millisecond."""

import math

from hypothesis import given
from hypothesis import strategies as st

from scaler.sim.openmetrics import read_samples, written_samples
from scaler.sim.promql import labels_of
from scaler.sim.promql.labels import Labels
from scaler.sim.promql.syntax import Matcher

TEXTS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
LABELS = st.dictionaries(st.from_regex(r"[a-z_][a-z0-9_]*", fullmatch=True), TEXTS, max_size=3)
SERIES = st.builds(
    lambda metric, labels: labels_of({**labels, "__name__": metric}),
    st.from_regex(r"[a-z_:][a-z0-9_:]*", fullmatch=True),
    LABELS,
)
POINTS = st.dictionaries(
    st.integers(1_700_000_000_000, 1_900_000_000_000), st.floats(), min_size=1, max_size=5
)
EVERYTHING = (Matcher(label="__name__", operator="!=", value=""),)


def test_series_are_sorted_by_metric_and_times_ascend() -> None:
    """So that promtool takes them, and a person finds them."""
    samples = {
        labels_of({"__name__": "b_total"}): {1_790_000_000_000: 1.0},
        labels_of({"__name__": "a", "x": "2"}): {1_790_000_030_000: 2.0, 1_790_000_000_500: 1.5},
        labels_of({"__name__": "a", "x": '"\n'}): {1_790_000_000_000: math.inf},
    }
    assert "".join(written_samples(samples)).splitlines() == [
        'a{x="\\"\\n"} +Inf 1790000000.000',
        'a{x="2"} 1.5 1790000000.500',
        'a{x="2"} 2.0 1790000030.000',
        "b_total 1.0 1790000000.000",
        "# EOF",
    ]


def test_a_label_that_the_text_format_can_not_write_is_renamed() -> None:
    """Newer servers have label names of any letters."""
    samples = {labels_of({"__name__": "m", "k8s.pod": "x"}): {1_790_000_000_000: 1.0}}
    assert next(written_samples(samples)) == 'm{k8s_pod="x"} 1.0 1790000000.000\n'


@given(samples=st.dictionaries(SERIES, POINTS, max_size=4))
def test_what_is_written_is_read_back(samples: dict[Labels, dict[int, float]]) -> None:
    """Law: labels, times and values are the same, NaN and signed zero among them."""
    store = read_samples("".join(written_samples(samples)))
    found = {
        series.labels: dict(zip(series.times, map(repr, series.values), strict=True))
        for series in store.select(EVERYTHING)
    }
    assert found == {
        labels: {time: repr(value) for time, value in points.items()}
        for labels, points in samples.items()
    }
