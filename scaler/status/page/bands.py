"""Draw what was decided over time: the value as a line, the reasons as coloured bands."""

from collections import defaultdict
from collections.abc import Iterator

from scaler.status.page.axis import Axis
from scaler.status.page.clockwork import clock_time, span_words
from scaler.status.page.markup import Markup, el, join
from scaler.status.page.paint import fill, swatch
from scaler.status.page.timeline import Span, Timeline, Told
from scaler.status.page.tone import Tone, tone_of

SPARK_HEIGHT = 18
_TOP, _BASE, _STRIP, _BOTTOM = 14, 122, 128, 142


def tone(told: Told | None) -> Tone:
    """Give a span's colour."""
    return Tone.UNSEEN if told is None else tone_of(told.status, told.reason)


def words(told: Told | None) -> str:
    """Say what a span shows, as its colour does."""
    if told is None:
        return "not recorded"
    if told.known:
        return f"{told.reason}, value {told.value}"
    return f"{'UNKNOWN' if tone(told) is Tone.UNKNOWN else 'INVALID'}: {told.reason}, no value"


def spark(timeline: Timeline, axis: Axis, *, label: str) -> Markup:
    """Draw a row's bands, small; the reason in words is beside it."""
    return el(
        "svg",
        (_band(span, axis, y=0, height=SPARK_HEIGHT) for span in timeline),
        class_="spark",
        height=SPARK_HEIGHT,
        role="img",
        aria_label=label,
    )


def chart(timeline: Timeline, axis: Axis, *, name: str) -> Markup:
    """Draw value and bands, with the times; the legend says the same in words."""
    top = max((span.told.value or 0 for span in timeline if span.told), default=0) or 1
    return el(
        "svg",
        axis.drawn(top=_TOP, bottom=_BOTTOM),
        _scale(top),
        (_column(span, axis, top) for span in timeline),
        _line(timeline, axis, top),
        (_band(span, axis, y=_STRIP, height=_BOTTOM - _STRIP) for span in timeline),
        class_="chart",
        height=_BOTTOM + 18,
        role="img",
        aria_label=f"{name}: {'; '.join(_summary(timeline))}",
    )


def legend(timeline: Timeline) -> Markup:
    """Name each reason beside its colour, with the time that it took."""
    return el(
        "ul",
        (
            el("li", swatch(kind), el("b", label), f" {span_words(seconds)}")
            for (label, kind), seconds in _shares(timeline).items()
        ),
        class_="legend",
    )


def rows(timeline: Timeline) -> Iterator[tuple[str, str, str, str]]:
    """Give the spans as texts, the newest first: from, to, value, reason."""
    for span in reversed(timeline):
        told = span.told
        value = str(told.value) if told is not None and told.known else "no value"
        reason = words(None) if told is None else told.reason
        yield (clock_time(span.start), clock_time(span.end), value, reason)


def _title(span: Span) -> Markup:
    length = span_words(span.seconds)
    return el(
        "title",
        f"{words(span.told)}\n{clock_time(span.start)} to {clock_time(span.end)} UTC, {length}",
    )


def _band(span: Span, axis: Axis, *, y: int, height: int) -> Markup:
    return el(
        "rect",
        _title(span),
        x=axis.x(span.start),
        width=axis.width(span.start, span.end),
        y=y,
        height=height,
        **fill(tone(span.told)),
    )


def _column(span: Span, axis: Axis, top: int) -> Markup:
    """Fill up to the value; where there is none, the whole height is hatched: it is not a 0."""
    told = span.told
    known = told is not None and told.known
    y = _y(told.value or 0, top) if told is not None and known else _TOP
    drawn = {"class_": f"t-{tone(told)} faint"} if known else fill(tone(told))
    return el(
        "rect",
        _title(span),
        x=axis.x(span.start),
        width=axis.width(span.start, span.end),
        y=f"{y:.1f}",
        height=f"{_BASE - y:.1f}",
        **drawn,
    )


def _line(timeline: Timeline, axis: Axis, top: int) -> Iterator[Markup]:
    before: Span | None = None
    for span in timeline:
        if span.told is None or not span.told.known:
            before = None
            continue
        x, y = axis.x(span.start), f"{_y(span.told.value or 0, top):.1f}"
        if before is not None and before.told is not None:
            was = f"{_y(before.told.value or 0, top):.1f}"
            yield el("line", x1=x, x2=x, y1=was, y2=y, class_="value")
        yield el("line", x1=x, x2=axis.x(span.end), y1=y, y2=y, class_="value")
        before = span


def _scale(top: int) -> Markup:
    return join(
        el("line", x1="0%", x2="100%", y1=_BASE, y2=_BASE, class_="base"),
        el("text", str(top), x=0, y=_TOP - 4, class_="tick"),
    )


def _y(value: int, top: int) -> float:
    return _BASE - (_BASE - _TOP) * value / top


def _shares(timeline: Timeline) -> dict[tuple[str, Tone], float]:
    """Give the seconds of each reason, the longest first."""
    seconds: defaultdict[tuple[str, Tone], float] = defaultdict(float)
    for span in timeline:
        kind = tone(span.told)
        reason = words(None) if span.told is None else span.told.reason
        label = f"UNKNOWN: {reason}" if kind is Tone.UNKNOWN else reason
        seconds[label, kind] += span.seconds
    return dict(sorted(seconds.items(), key=lambda one: -one[1]))


def _summary(timeline: Timeline) -> Iterator[str]:
    if timeline:
        yield f"now {words(timeline[-1].told)}"
    for (label, _), seconds in _shares(timeline).items():
        yield f"{label} for {span_words(seconds)}"
