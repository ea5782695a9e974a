"""Answer a range by itself: raw samples, or a subquery's points, as an instant query does."""

from collections.abc import Sequence

from scaler.sim.promql.evaluate import LEFT_OPEN, Engine, subquery_rows
from scaler.sim.promql.labels import Labels
from scaler.sim.promql.parser import parse
from scaler.sim.promql.series import Points, Samples, Series
from scaler.sim.promql.syntax import RangeSelector, Subquery


def raw_rows(
    samples: Samples, expression: str, at: float, *, engine: Engine = LEFT_OPEN
) -> list[tuple[Labels, Sequence[tuple[int, float]]]] | None:
    """Give each series' (milliseconds, value) pairs; None where it is no range.

    Raises:
        PromQLError: the expression is wrong.
    """
    node = parse(expression)
    if isinstance(node, Subquery):
        return [
            (points.labels, tuple(zip(points.times, points.values, strict=True)))
            for points in subquery_rows(samples, node, at, engine=engine)
            if points.times
        ]
    if not isinstance(node, RangeSelector):
        return None
    end = round(at * 1000)
    rows: list[tuple[Labels, Sequence[tuple[int, float]]]] = []
    for series in samples.select(node.selector.matchers):
        window = _points(series).window(
            start=end - node.window, end=end, closed=engine.closed_ranges
        )
        if window is not None:
            pairs = tuple(zip(window.times, window.values, strict=True))
            rows.append((series.labels, pairs))
    return rows


def _points(series: Series) -> Points:
    """Leave staleness markers out."""
    pairs = [
        (time, value)
        for time, value in zip(series.times, series.values, strict=False)
        if value is not None
    ]
    return Points(series.labels, [time for time, _ in pairs], [value for _, value in pairs])
