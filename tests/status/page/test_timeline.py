"""What was decided over a time: spans without holes, and nothing invented."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.status.page.timeline import (
    Since,
    Span,
    Timeline,
    Told,
    over,
    seen_from,
    since,
    spans,
    told_of,
    without,
)
from tests.status.page.stage import idle_decision, queue_decision

BUSY = Told(status="OK", reason="Busy", value=1, active=True)
IDLE = Told(status="OK", reason="Idle", value=1, active=False)
HOLD = Told(status="HOLD", reason="NoSamples")
TOLD = st.sampled_from([BUSY, IDLE, HOLD, None])


def short(timeline: Timeline) -> list[tuple[float, float, str]]:
    """Write a timeline in short."""
    return [(s.start, s.end, s.told.reason if s.told else "unseen") for s in timeline]


@st.composite
def timelines(draw: st.DrawFn) -> Timeline:
    """Draw a timeline from 0 to 100."""
    times = draw(st.lists(st.integers(-20, 120), unique=True, max_size=8).map(sorted))
    points = [(float(at), draw(TOLD)) for at in times]
    return spans(points, start=0.0, end=100.0)


def test_each_telling_lasts_until_the_next_and_nothing_was_seen_before_the_first() -> None:
    """Each telling lasts until the next and nothing was seen before the first."""
    found = spans([(10.0, BUSY), (30.0, HOLD)], start=0.0, end=50.0)
    assert short(found) == [(0.0, 10.0, "unseen"), (10.0, 30.0, "Busy"), (30.0, 50.0, "NoSamples")]


def test_without_points_nothing_was_seen() -> None:
    """Without points nothing was seen."""
    assert short(spans([], start=0.0, end=50.0)) == [(0.0, 50.0, "unseen")]


def test_what_began_before_is_cut_and_what_came_after_is_left_out() -> None:
    """What began before is cut and what came after is left out."""
    found = spans([(-10.0, BUSY), (20.0, IDLE), (60.0, HOLD)], start=0.0, end=50.0)
    assert short(found) == [(0.0, 20.0, "Busy"), (20.0, 50.0, "Idle")]


@given(one=timelines(), other=timelines())
def test_spans_have_no_holes_whatever_is_laid_over_what(one: Timeline, other: Timeline) -> None:
    """Spans have no holes whatever is laid over what."""
    joined = over(below=one, above=other)
    assert joined[0].start == 0.0
    assert joined[-1].end == 100.0
    assert all(a.end == b.start for a, b in pairwise(joined))


@given(one=timelines(), other=timelines(), at=st.floats(0.0, 99.5))
def test_what_was_seen_itself_wins_and_the_other_fills_only_gaps(
    one: Timeline, other: Timeline, at: float
) -> None:
    """What was seen itself wins and the other fills only gaps."""
    upper, lower = told_at(other, at), told_at(one, at)
    expected = lower if upper is None else upper
    assert told_at(over(below=one, above=other), at) == expected


def told_at(timeline: Timeline, at: float) -> Told | None:
    """Find what was told at an instant."""
    return next(span.told for span in timeline if span.start <= at < span.end)


def test_a_time_in_which_nobody_looked_is_unseen() -> None:
    """A time in which nobody looked is unseen."""
    whole = spans([(0.0, BUSY)], start=0.0, end=100.0)
    assert short(without(whole, [(30.0, 60.0)])) == [
        (0.0, 30.0, "Busy"),
        (30.0, 60.0, "unseen"),
        (60.0, 100.0, "Busy"),
    ]


def test_a_reason_is_in_force_since_it_came_whatever_the_value_did() -> None:
    """A reason is in force since it came whatever the value did."""
    more = Told(status="OK", reason="Busy", value=2, active=True)
    found = spans([(0.0, IDLE), (10.0, BUSY), (20.0, more)], start=0.0, end=50.0)
    assert since(found) == Since(at=10.0, at_least=False)


def test_a_reason_that_was_there_from_the_first_may_be_older() -> None:
    """A reason that was there from the first may be older."""
    assert since(spans([(10.0, BUSY)], start=0.0, end=50.0)) == Since(at=10.0, at_least=True)


def test_where_the_end_was_not_seen_nothing_is_said() -> None:
    """Where the end was not seen nothing is said."""
    assert since(spans([(10.0, BUSY), (20.0, None)], start=0.0, end=50.0)) is None
    assert seen_from(spans([], start=0.0, end=50.0)) is None


@pytest.mark.parametrize(
    ("told", "known"), [(BUSY, True), (HOLD, False), (Told(status="OK", reason="Busy"), False)]
)
def test_a_hold_has_no_value_and_is_not_known(told: Told, known: bool) -> None:  # noqa: FBT001 # a parameter of the table
    """A hold has no value and is not known."""
    assert told.known is known


def test_what_a_chart_shows_is_the_decision() -> None:
    """What a chart shows is the decision."""
    assert told_of(queue_decision(value=3)).value == 3
    held = told_of(idle_decision(held=True))
    assert (held.status, held.value) == ("HOLD", None)


def test_a_span_knows_its_length() -> None:
    """A span knows its length."""
    assert Span(start=3.0, end=5.0, told=None).seconds == 2.0
