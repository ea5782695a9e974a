"""Times with fewer streams than there should be."""

from dataclasses import dataclass

import pytest
import requests

from tests.e2e.keda import counted
from tests.e2e.replica import PREFIX
from tests.e2e.streams import Gaps, StreamWatch, count
from tests.e2e.waiting import until


def test_a_gap_lasts_until_all_are_back() -> None:
    """Not until the first is."""
    gaps = Gaps(wanted=2.0)
    for at, streams in enumerate((2.0, 0.0, 1.0, 1.0, 2.0, 3.0, 1.0, 2.0)):
        gaps.note(streams, float(at))
    assert gaps.longest == 3.0
    assert gaps.since is None


def test_a_gap_that_goes_on_is_seen() -> None:
    """It is not over, so it is no longest one yet."""
    gaps = Gaps(wanted=2.0)
    gaps.note(1.0, 7.0)
    assert (gaps.longest, gaps.since) == (0.0, 7.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A replica that tells so many streams, or fails to."""

    streams: float = 0.0
    fails: type[Exception] | None = None
    answers: bool = True
    name: str = "a"

    def metrics(self, *, within: float) -> str:
        """Tell, or fail."""
        if self.fails is not None:
            raise self.fails(f"not within {within} s")
        return f"# TYPE {PREFIX}open_streams gauge\n{PREFIX}open_streams {self.streams}\n"


def test_streams_of_all_are_added_up() -> None:
    """One that is gone has none, whatever it would tell; one that is not up yet neither."""
    gone, coming = Shown(streams=9.0, answers=False), Shown(fails=requests.ConnectionError)
    assert count([Shown(streams=3.0), gone, coming, Shown(streams=2.0)]) == 5.0


def test_one_that_is_slow_leaves_the_count_unknown() -> None:
    """Unknown is not none."""
    assert count([Shown(streams=3.0), Shown(fails=requests.ReadTimeout)]) is None


def test_one_that_is_replaced_at_once_is_watched_too() -> None:
    """It has all the streams until it ends."""
    there = [Shown(streams=4.0)]
    watch = StreamWatch(lambda: there, wanted=4.0)
    watch.start()
    there[:] = [Shown(name="b")]
    until(lambda: watch.gaps.steps, "a look", within=10.0)
    assert watch.stop() == 0.0
    assert watch.gaps.steps[0][1] == 4.0


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
