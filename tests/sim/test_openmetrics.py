"""OpenMetrics text as promtool takes it, and as it refuses it."""

import math

import pytest

from scaler.sim.openmetrics import OpenMetricsError, read_samples
from scaler.sim.promql import evaluate
from tests.sim.promql.expressions import vector

TEXT = r"""# HELP m A metric.
# TYPE m gauge
m{a="x,\"}\\\n",b="2"} 1.5 1790000000.5
m 0x10 1790000000 # {trace="x"} 1
m{} 7 1790000060
m{c="1",} NaN 1790000000
m{d="1"} +Inf 1790000000
# TYPE energy counter
energy_total 1e3 1790000000
# EOF
"""


def test_names_labels_values_and_times_are_read() -> None:
    """Names labels values and times are read."""
    text = TEXT.replace("0x10", "16")
    store = read_samples(text)
    assert vector(store, 'm{b="2"}', at=1790000000.5) == {'__name__=m a=x,"}\\\n b=2': 1.5}
    assert vector(store, 'm{a="",c="",d=""}', at=1790000060) == {"__name__=m": 7.0}
    assert vector(store, 'm{a="",c="",d=""}', at=1790000059) == {"__name__=m": 16.0}
    assert math.isnan(vector(store, 'm{c="1"}', at=1790000000)["__name__=m c=1"])
    assert vector(store, 'm{d="1"}', at=1790000000) == {"__name__=m d=1": math.inf}
    assert vector(store, "energy_total", at=1790000000) == {"__name__=energy_total": 1000.0}


def test_times_are_cut_to_milliseconds_as_prometheus_cuts_them() -> None:
    """Times are cut to milliseconds as prometheus cuts them."""
    store = read_samples("m 1 1790000000.0019\n# EOF\n")
    assert evaluate(store, "timestamp(m)", 1790000001) == [((), 1790000000.001)]


def test_a_late_sample_is_left_out_as_promtool_does() -> None:
    """Only within its series and two-hour block; the first of equal times stays."""
    store = read_samples("m 1 8000\nm 2 1\nm 3 9000\nm 4 8500\nm 5 9000\nn 6 1\n# EOF\n")
    assert vector(store, "sum_over_time(m[3h])", at=9000) == {"": 6.0}
    assert vector(store, "m", at=1) == {"__name__=m": 2.0}
    assert vector(store, "n", at=1) == {"__name__=n": 6.0}


def test_a_sample_that_stands_twice_is_one() -> None:
    """A sample that stands twice is one."""
    store = read_samples("m NaN 1790000000\nm NaN 1790000000\n# EOF\n")
    assert vector(store, "count_over_time(m[1m])", at=1790000000) == {"": 1.0}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("m 1 1790000000\n", "does not end with # EOF"),
        ("", "does not end with # EOF"),
        ("# EOF\nm 1 1790000000\n", "line 2: text after # EOF"),
        ("m 1\n# EOF\n", "line 1: a timestamp is missing"),
        ("m one 1790000000\n# EOF\n", "line 1: could not convert"),
        ("m 1 soon\n# EOF\n", "line 1: could not convert"),
        ("m 1 NaN\n# EOF\n", "line 1: cannot convert"),
        ("m 1 Inf\n# EOF\n", "line 1: cannot convert"),
        ("\n# EOF\n", "line 1: not a sample"),
        ('m{a="x} 1 1\n# EOF\n', "line 1: not a sample"),
        ("m{a=x} 1 1\n# EOF\n", "line 1: not labels"),
        ('m{a="1",a="2"} 1 1\n# EOF\n', "line 1: label a twice"),
        ("m 1_0 1\n# EOF\n", "line 1: could not convert"),
        ("m  1 1\n# EOF\n", "line 1: not a sample"),
    ],
)
def test_what_is_wrong_is_told_by_its_line(text: str, problem: str) -> None:
    """What is wrong is told by its line."""
    with pytest.raises(OpenMetricsError) as caught:
        read_samples(text)
    assert problem in str(caught.value)
