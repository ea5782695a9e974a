"""Times with fewer streams than there should be."""

import pytest

from tests.e2e.keda import counted
from tests.e2e.streams import Gaps


def test_a_gap_lasts_until_all_are_back() -> None:
    """Not until the first is."""
    gaps = Gaps(wanted=2.0)
    for at, count in enumerate((2.0, 0.0, 1.0, 1.0, 2.0, 3.0, 1.0, 2.0)):
        gaps.note(count, float(at))
    assert gaps.longest == 3.0
    assert gaps.since is None


def test_a_gap_that_goes_on_is_seen() -> None:
    """It is not over, so it is no longest one yet."""
    gaps = Gaps(wanted=2.0)
    gaps.note(1.0, 7.0)
    assert (gaps.longest, gaps.since) == (0.0, 7.0)


METRICS = """\
# TYPE keda_scaler_active gauge
keda_scaler_active{namespace="a"} 1
keda_scaler_active{namespace="b"} 1
# TYPE keda_scaler_detail_errors_total counter
keda_scaler_detail_errors_total{namespace="a",scaler="x"} 2
keda_scaler_detail_errors_total{namespace="c",scaler="x"} 4
# TYPE keda_scaled_object_errors_total counter
keda_scaled_object_errors_total{namespace="a"} 1
"""


def test_errors_of_some_namespaces_are_added_up() -> None:
    """Others' are theirs."""
    assert counted(METRICS, frozenset({"a", "b"})) == 3.0


def test_nothing_told_is_not_no_error() -> None:
    """Where KEDA names no such namespace the labels may be others than thought."""
    with pytest.raises(AssertionError, match="'d'"):
        counted(METRICS, frozenset({"a", "d"}))
