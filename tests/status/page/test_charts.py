"""Charts: everything within its frame, no gap filled in, and words beside each colour."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.core.model import Instant
from scaler.status.page import activity, bands
from scaler.status.page.activity import Judged, Step, gaps, steps
from scaler.status.page.axis import STEPS, Axis, axis
from scaler.status.page.clockwork import age, amounts_words, span_words
from scaler.status.page.timeline import Timeline, Told, spans
from scaler.status.page.tone import Tone
from scaler.status.page.view import SPANS
from tests.builders import NOW
from tests.status.page.test_markup import Reader

ALONG = Axis(start=0.0, end=3600.0)
JUDGED = Judged(idle_after=1800.0, busy_from=5.0, devices=2)
BUSY = Told(status="OK", reason="Busy", value=2, active=True)
HOLD = Told(status="HOLD", reason="NoSamples")


def timeline(*points: tuple[Instant, Told | None]) -> Timeline:
    """Draw points out over the axis."""
    return spans(points, start=ALONG.start, end=ALONG.end)


@pytest.mark.parametrize("seconds", SPANS.values())
@given(now=st.floats(1.6e9, 2.0e9))
def test_an_axis_ends_now_or_in_a_moment(seconds: float, now: Instant) -> None:
    """What is newest is never cut off."""
    along = axis(seconds=seconds, now=now)
    assert now <= along.end < now + seconds / STEPS + 1e-3
    assert along.seconds == seconds
    assert 2 <= len(list(along.ticks())) <= 7


@given(at=st.floats(-1e6, 1e6))
def test_nothing_is_drawn_outside_of_the_frame(at: float) -> None:
    """Whatever the instant."""
    assert 0.0 <= float(ALONG.x(at).rstrip("%")) <= 100.0


def test_each_band_says_in_words_what_its_colour_does() -> None:
    """Colour is never the only sign."""
    drawn = str(bands.chart(timeline((0.0, BUSY), (1800.0, HOLD)), ALONG, name="value"))
    assert "Busy, value 2" in Reader(drawn).text
    assert "UNKNOWN: NoSamples, no value" in Reader(drawn).text
    assert 'aria-label="value: now UNKNOWN: NoSamples, no value; Busy for 30m;' in drawn


def test_the_line_ends_where_the_value_does() -> None:
    """A value that is not known is neither 0 nor the last one."""
    drawn = str(bands.chart(timeline((0.0, BUSY), (900.0, HOLD), (1800.0, BUSY)), ALONG, name="v"))
    lines = re.findall(r'x1="([^"]+)%" x2="([^"]+)%"[^>]*class="value"', drawn)
    assert [(float(a), float(b)) for a, b in lines] == [(0.0, 25.0), (50.0, 100.0)]


def test_a_step_of_the_value_is_one_line_up_and_one_along() -> None:
    """Between two values that are known."""
    more = Told(status="OK", reason="Busy", value=4, active=True)
    drawn = str(bands.chart(timeline((0.0, BUSY), (1800.0, more)), ALONG, name="value"))
    assert drawn.count('class="value"') == 3


def test_a_value_of_zero_is_drawn_as_zero() -> None:
    """A 0 that was decided is no gap."""
    zero = Told(status="OK", reason="NoDemand", value=0, active=False)
    drawn = str(bands.chart(timeline((0.0, zero)), ALONG, name="value"))
    assert 'class="value"' in drawn
    assert "hatch" not in drawn


def test_the_legend_has_the_time_of_each_reason_the_longest_first() -> None:
    """So that a chart can be read without its colours."""
    drawn = bands.legend(timeline((0.0, BUSY), (600.0, HOLD), (2700.0, BUSY)))
    assert Reader(str(drawn)).text == "UNKNOWN: NoSamples 35mBusy 25m"


def test_the_table_of_a_chart_has_no_number_where_there_was_no_value() -> None:
    """The newest first."""
    found = list(bands.rows(timeline((0.0, BUSY), (1800.0, HOLD))))
    assert found == [
        ("00:30", "01:00", "no value", "NoSamples"),
        ("00:00", "00:30", "2", "Busy"),
    ]


def test_bars_are_busy_from_the_threshold_on() -> None:
    """At the threshold is busy, as the decision has it."""
    found = steps([(600.0, 5.0), (660.0, 4.9)], (), step=60.0)
    drawn = str(activity.chart(found, ALONG, JUDGED, now=3600.0))
    assert drawn.count('class="t-busy"') == 1
    assert drawn.count('class="t-idle"') == 1


def test_devices_that_did_not_report_are_told() -> None:
    """Quiet is not proven where one of two is missing."""
    found = steps([(600.0, 0.0)], [(600.0, 1.0)], step=60.0)
    drawn = str(activity.chart(found, ALONG, JUDGED, now=3600.0))
    assert "0.0 %, quiet, 1 of 2 GPUs reported" in Reader(drawn).text


def test_without_any_sample_the_chart_is_one_gap() -> None:
    """Not a line at 0."""
    drawn = str(activity.chart((), ALONG, JUDGED, now=3600.0))
    assert "GPU activity: no samples" in drawn
    assert drawn.count(f'class="t-{Tone.UNSEEN}"') == 1
    assert "t-idle" not in drawn


def test_the_idle_window_is_drawn_to_the_end() -> None:
    """It reaches back from now."""
    drawn = str(activity.chart((), ALONG, JUDGED, now=3600.0))
    assert re.search(r'x="50.000%" width="50.000%"[^>]*class="window"', drawn)
    assert "idle window 30m" in Reader(drawn).text


@given(
    ends=st.lists(st.integers(0, 60), unique=True, max_size=20).map(sorted),
)
def test_steps_and_gaps_together_cover_the_axis(ends: list[int]) -> None:
    """Every second is either seen or hatched, but for a step that is not over."""
    found = [Step(start=60.0 * n, end=60.0 * (n + 1), percent=1.0, devices=None) for n in ends]
    within = [one for one in found if one.end > ALONG.start and one.start < ALONG.end]
    seen = sum(min(one.end, ALONG.end) - one.start for one in within)
    missing = sum(end - start for start, end in gaps(within, ALONG))
    assert 3600.0 - 120.0 <= seen + missing <= 3600.0


def test_a_strip_says_its_peak_or_that_there_is_none() -> None:
    """For those who don't see it."""
    one = activity.strip([(600.0, 40.0)], ALONG, step=60.0, busy_from=5.0, name="GPU-0")
    none = activity.strip([], ALONG, step=60.0, busy_from=5.0, name="GPU-0")
    assert 'aria-label="GPU-0: peak 40.0 %"' in str(one)
    assert 'aria-label="GPU-0: no samples"' in str(none)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0s"), (59.4, "59s"), (200, "3m 20s"), (7500, "2h 5m"), (360000, "4d 4h"), (-5, "0s")],
)
def test_lengths_have_two_units(seconds: float, words: str) -> None:
    """Enough to compare."""
    assert span_words(seconds) == words


def test_an_age_is_an_instant_that_the_browser_counts_from() -> None:
    """So that a page does not change for it."""
    assert str(age(NOW - 60.2, now=NOW)) == str(age(NOW - 60.2, now=NOW + 30))
    assert Reader(str(age(None, now=NOW))).text == "not seen"


def test_amounts_are_written_as_a_manifest_has_them() -> None:
    """Not in the units that we count in."""
    amounts = (("cpu", 188500), ("memory", 1900 * 2**30), ("nvidia.com/gpu", 8))
    assert amounts_words(amounts) == "cpu 188.5, memory 1900Gi, nvidia.com/gpu 8"
    assert amounts_words(()) == "none"
