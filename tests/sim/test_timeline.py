"""Lines fit the terminal, and stay whole where there is none."""

import io

import pytest

from scaler.sim.clock import ManualClock
from scaler.sim.timeline import Timeline

LONG = "a sentence that is repeated " * 10


def _said(width: int | None, text: str, *, colored: bool = False) -> list[str]:
    out, clock = io.StringIO(), ManualClock()
    timeline = Timeline(out=out, clock=clock, start=clock.now(), colored=colored, width=width)
    clock.advance(61)
    timeline.say("actuator", text)
    return out.getvalue().splitlines()


def test_line_without_a_terminal_is_one_line() -> None:
    """What is piped on can be searched line by line."""
    assert _said(None, LONG) == [f"01:01  actuator     {LONG}"]


@pytest.mark.parametrize("width", [60, 100])
def test_line_is_broken_at_the_terminals_width(width: int) -> None:
    """All columns are kept to, further lines are indented, and no word is lost."""
    lines = _said(width, LONG)
    assert max(map(len, lines)) <= width
    assert all(line.startswith(" " * 20) for line in lines[1:])
    assert " ".join(" ".join(lines).split()) == f"01:01 actuator {LONG.strip()}"


def test_color_takes_no_column() -> None:
    """Colors don't count for the width."""
    plain, colored = _said(60, LONG), _said(60, LONG, colored=True)
    assert colored[1:] == plain[1:]
    assert colored[0].replace("\x1b[95m", "").replace("\x1b[0m", "") == plain[0]


def test_narrow_terminal_still_shows_words() -> None:
    """A terminal that is too narrow for the text's column breaks lines by itself."""
    assert all(line[20:].strip() for line in _said(10, LONG))
