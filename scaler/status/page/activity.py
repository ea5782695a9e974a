"""Draw the GPU activity that was seen, with the idle window and the threshold that judge it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import sqrt

from scaler.core.model import Instant
from scaler.status.page.axis import Axis
from scaler.status.page.clockwork import clock_time, span_words
from scaler.status.page.markup import Markup, el, join
from scaler.status.page.paint import fill, swatch
from scaler.status.page.tone import Tone

Points = Sequence[tuple[Instant, float]]
"""(end of the step, value), ascending."""

_TOP, _BASE = 14, 118
_LEAST = 3.0
"""Height of a bar: one of nothing at all is a 0 that was seen."""
_SHADES = 8
STRIP_HEIGHT = 14


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """By what activity is judged."""

    idle_after: float
    """Seconds."""
    busy_from: float
    """Percent."""
    devices: int
    """GPUs that the pods ask for; 0 = none now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of a chart."""

    start: Instant
    end: Instant
    percent: float
    devices: int | None
    """How many reported; None = not counted."""


def steps(peaks: Points, counts: Points, *, step: float) -> tuple[Step, ...]:
    """Join what was asked in two queries."""
    reported = dict(counts)
    return tuple(
        Step(
            start=at - step,
            end=at,
            percent=percent,
            devices=None if at not in reported else round(reported[at]),
        )
        for at, percent in peaks
    )


def chart(found: Sequence[Step], axis: Axis, judged: Judged, *, now: Instant) -> Markup:
    """Draw each step's peak; a time without samples is hatched, since it is not a 0."""
    within = [one for one in found if one.end > axis.start and one.start < axis.end]
    return el(
        "svg",
        axis.drawn(top=_TOP, bottom=_BASE),
        _window(axis, judged, now=now),
        (_gap(start, end, axis) for start, end in gaps(within, axis)),
        (_bar(one, axis, judged) for one in within),
        _threshold(judged),
        class_="chart",
        height=_BASE + 18,
        role="img",
        aria_label=_summary(within, judged),
    )


def legend(judged: Judged) -> Markup:
    """Say in words what the colours mean."""
    parts = (
        (swatch(Tone.BUSY), f"busy, from {judged.busy_from:g} % (dashed line)"),
        (swatch(Tone.IDLE), "quiet"),
        (swatch(Tone.UNSEEN), "no samples, which is not 0"),
        (None, f"shaded: the idle window of {span_words(judged.idle_after)}"),
    )
    return el("ul", (el("li", mark, words) for mark, words in parts), class_="legend")


def strip(points: Points, axis: Axis, *, step: float, busy_from: float, name: str) -> Markup:
    """Draw one GPU's activity as a strip: the stronger, the busier; hatched where not seen."""
    found = steps(points, (), step=step)
    within = [one for one in found if one.end > axis.start and one.start < axis.end]
    peak = max((one.percent for one in within), default=None)
    seen = "no samples" if peak is None else f"peak {peak:.1f} %"
    return el(
        "svg",
        (_gap(start, end, axis, height=STRIP_HEIGHT, top=0) for start, end in gaps(within, axis)),
        (_shade(one, axis, busy_from) for one in within),
        class_="strip",
        height=STRIP_HEIGHT,
        role="img",
        aria_label=f"{name}: {seen}",
    )


def gaps(found: Sequence[Step], axis: Axis) -> Iterator[tuple[Instant, Instant]]:
    """Give the times between steps, from the axis' start to the newest step that could be."""
    at = axis.start
    for one in found:
        if one.start - at > 1.0:
            yield at, one.start
        at = max(at, one.end)
    length = found[-1].end - found[-1].start if found else 0.0
    if axis.end - at > max(1.0, 2 * length):
        yield at, axis.end


def _window(axis: Axis, judged: Judged, *, now: Instant) -> Markup:
    start = max(axis.start, now - judged.idle_after)
    x, width = axis.x(start), axis.width(start, axis.end)
    return join(
        el("rect", x=x, width=width, y=_TOP, height=_BASE - _TOP, class_="window"),
        el("line", x1=x, x2=x, y1=_TOP - 4, y2=_BASE, class_="window-edge"),
        el(
            "text",
            f"idle window {span_words(judged.idle_after)}",
            x="100%",
            y=_TOP - 4,
            text_anchor="end",
            class_="tick mark",
        ),
    )


def _threshold(judged: Judged) -> Markup:
    y = f"{_y(judged.busy_from):.1f}"
    return join(
        el("text", "100 %", x=0, y=_TOP - 4, class_="tick"),
        el("line", x1="0%", x2="100%", y1=_BASE, y2=_BASE, class_="base"),
        el("line", x1="0%", x2="100%", y1=y, y2=y, class_="threshold"),
    )


def _bar(one: Step, axis: Axis, judged: Judged) -> Markup:
    busy = one.percent >= judged.busy_from
    y = _y(one.percent)
    few = one.devices is not None and one.devices < judged.devices
    reported = f", {one.devices} of {judged.devices} GPUs reported" if few else ""
    title = f"{one.percent:.1f} %, {'busy' if busy else 'quiet'}{reported}"
    return el(
        "rect",
        el("title", f"{title}\n{clock_time(one.end)} UTC"),
        x=axis.x(one.start),
        width=axis.width(one.start, one.end),
        y=f"{min(y, _BASE - _LEAST):.1f}",
        height=f"{max(_BASE - y, _LEAST):.1f}",
        class_="t-busy" if busy else "t-idle",
    )


def _gap(
    start: Instant, end: Instant, axis: Axis, *, top: int = _TOP, height: int = _BASE - _TOP
) -> Markup:
    return el(
        "rect",
        el("title", f"no samples\n{clock_time(start)} to {clock_time(end)} UTC"),
        x=axis.x(start),
        width=axis.width(start, end),
        y=top,
        height=height,
        **fill(Tone.UNSEEN),
    )


def _shade(one: Step, axis: Axis, busy_from: float) -> Markup:
    """Colour by the judgement, shade by the strength."""
    busy = one.percent >= busy_from
    shade = max(1, round(_SHADES * sqrt(min(100.0, one.percent) / 100)))
    return el(
        "rect",
        el("title", f"{one.percent:.1f} %\n{clock_time(one.end)} UTC"),
        x=axis.x(one.start),
        width=axis.width(one.start, one.end),
        height=STRIP_HEIGHT,
        class_="t-busy" if busy else "t-idle",
        fill_opacity=f"{shade / _SHADES if busy else 0.35:.2f}",
    )


def _y(percent: float) -> float:
    """Place a percentage by its root: the threshold is low, and has to be seen."""
    return _BASE - (_BASE - _TOP) * sqrt(min(100.0, max(0.0, percent)) / 100)


def _summary(found: Sequence[Step], judged: Judged) -> str:
    if not found:
        return "GPU activity: no samples"
    busy = [one for one in found if one.percent >= judged.busy_from]
    last = f"last busy at {clock_time(busy[-1].end)} UTC" if busy else "never busy"
    return (
        f"GPU activity: peak {max(one.percent for one in found):.1f} %, {last}; busy from "
        f"{judged.busy_from:g} %, idle window {span_words(judged.idle_after)}"
    )
