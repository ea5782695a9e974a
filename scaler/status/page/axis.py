"""The time axis of a chart: across in percent of its width, so that charts fit any screen."""

from collections.abc import Iterator
from dataclasses import dataclass

from scaler.core.model import Instant
from scaler.status.page.clockwork import clock_time
from scaler.status.page.markup import Markup, el

_TICKS = (300, 600, 900, 1800, 3600, 7200, 10800, 21600)
_MOST_TICKS = 6
STEPS = 1440
"""The right end moves in steps of so small a part: until the next one a page stays the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """From `start` to `end`."""

    start: Instant
    end: Instant

    @property
    def seconds(self) -> float:
        """Give its length."""
        return self.end - self.start

    def x(self, moment: Instant) -> str:
        """Give the place of an instant, kept within the chart."""
        share = (moment - self.start) / self.seconds
        return f"{100 * min(1.0, max(0.0, share)):.3f}%"

    def width(self, start: Instant, end: Instant) -> str:
        """Give the width between two instants, as far as they are within the chart."""
        begin, until = max(start, self.start), min(end, self.end)
        return f"{100 * max(0.0, until - begin) / self.seconds:.3f}%"

    def ticks(self) -> Iterator[Instant]:
        """Give round instants within, a few."""
        step = next((one for one in _TICKS if self.seconds / one <= _MOST_TICKS), _TICKS[-1])
        first = -(-self.start // step) * step
        while first <= self.end:
            yield first
            first += step

    def drawn(self, *, top: int, bottom: int) -> Iterator[Markup]:
        """Draw a line and the time at each tick."""
        for tick in self.ticks():
            x = self.x(tick)
            yield el("line", x1=x, x2=x, y1=top, y2=bottom, class_="grid")
            share = (tick - self.start) / self.seconds
            anchor = "start" if share < 0.05 else "end" if share > 0.95 else "middle"  # noqa: PLR2004 - near an edge
            yield el(
                "text", clock_time(tick), x=x, y=bottom + 13, text_anchor=anchor, class_="tick"
            )


def axis(*, seconds: float, now: Instant) -> Axis:
    """Give the axis that ends now, or in a moment: nothing of what is known is cut off."""
    step = seconds / STEPS
    end = -(-now // step) * step
    return Axis(start=end - seconds, end=end)
