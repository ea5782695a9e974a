"""Evaluate an expression, all instants of a subquery at once."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, assert_never

from scaler.sim.promql.aggregate import aggregated
from scaler.sim.promql.binary import matched, scalars, sets, with_scalar
from scaler.sim.promql.functions import ELEMENTWISE, clamped, each, label_replaced
from scaler.sim.promql.labels import Labels, without_name
from scaler.sim.promql.over_time import FUNCTIONS, KEEP_NAME
from scaler.sim.promql.parser import parse
from scaler.sim.promql.series import Points, Row, Samples, Series, Values, newest, unique
from scaler.sim.promql.syntax import (
    SET_OPERATORS,
    Aggregation,
    Binary,
    Call,
    Negation,
    Node,
    Number,
    PromQLError,
    RangeSelector,
    Selector,
    Subquery,
    Text,
)

LOOKBACK: Final = 300_000
"""Milliseconds that an instant selector reaches back."""
EVALUATION_INTERVAL: Final = 60_000
"""Milliseconds: the step of a subquery that names none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """How a version of Prometheus cuts its ranges."""

    closed_ranges: bool = False
    """True as in 2.x: a sample exactly at a range's start belongs to it."""


LEFT_OPEN: Final = Engine()


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number at each instant."""

    values: list[float]


def evaluate(
    samples: Samples, expression: str, at: float, *, engine: Engine = LEFT_OPEN
) -> list[tuple[Labels, float]] | float:
    """Evaluate at an instant (seconds since the epoch): a vector, or a scalar's number.

    Raises:
        PromQLError: the expression is wrong, not known here, or matches ambiguously.
    """
    evaluation = _Evaluation(samples, engine=engine, instants=(round(at * 1000),))
    try:
        result = evaluation.value(parse(expression))
    except RecursionError as error:
        raise PromQLError("the expression is nested too deeply") from error
    if isinstance(result, Scalar):
        return result.values[0]
    return [(row.labels, value) for row in result if (value := row.values[0]) is not None]


def subquery_rows(
    samples: Samples, node: Subquery, at: float, *, engine: Engine = LEFT_OPEN
) -> list[Points]:
    """Evaluate a subquery by itself: each series' points, whole.

    Raises:
        PromQLError: the expression is wrong, not known here, or matches ambiguously.
    """
    evaluation = _Evaluation(samples, engine=engine, instants=(round(at * 1000),))
    points, _ = evaluation.ranged(node, of="a subquery")
    return points


class _Evaluation:
    """One expression's evaluation at a row of instants, milliseconds, ascending."""

    def __init__(self, samples: Samples, *, engine: Engine, instants: Sequence[int]) -> None:
        self._samples = samples
        self._engine = engine
        self._instants = instants

    def value(self, node: Node) -> Scalar | list[Row]:
        """Evaluate anything that is no range vector."""
        match node:
            case Number(value=value):
                return Scalar([value] * len(self._instants))
            case Selector():
                return self._selected(node)
            case Negation(inner=inner):
                return self._negated(inner)
            case Aggregation(operator=operator, grouping=grouping, inner=inner):
                rows = self._vector(inner, of=operator)
                return aggregated(rows, operator=operator, grouping=grouping)
            case Binary():
                return self._binary(node)
            case Call():
                return self._called(node)
            case RangeSelector() | Subquery():
                raise PromQLError("a range vector belongs into a function such as max_over_time")
            case Text():
                raise PromQLError("a string is not a value here")
            case _:
                assert_never(node)

    # --- selectors -----------------------------------------------------------------------------

    def _newest(self, node: Selector) -> list[tuple[Series, list[int | None]]]:
        closed = self._engine.closed_ranges
        found = (
            (series, newest(series, self._instants, lookback=LOOKBACK, closed=closed))
            for series in self._samples.select(node.matchers)
        )
        return [(series, at) for series, at in found if any(index is not None for index in at)]

    def _selected(self, node: Selector) -> list[Row]:
        return [
            Row(series.labels, [None if i is None else series.values[i] for i in at])
            for series, at in self._newest(node)
        ]

    def ranged(self, node: Node, *, of: str) -> tuple[list[Points], int]:
        """Give a range vector's series, whole, and its range."""
        match node:
            case RangeSelector(selector=selector, window=window):
                selected = self._samples.select(selector.matchers)
                return [_points(s.labels, s.times, s.values) for s in selected], window
            case Subquery(inner=inner, window=window):
                instants = self._subquery_instants(node)
                inside = _Evaluation(self._samples, engine=self._engine, instants=instants)
                rows = inside._vector(inner, of="a subquery")
                return [_points(row.labels, instants, row.values) for row in rows], window
            case _:
                raise PromQLError(f"{of} expects a range vector")

    def _subquery_instants(self, node: Subquery) -> Sequence[int]:
        step = node.step or EVALUATION_INTERVAL
        start = self._instants[0] - node.window
        first = -(-start // step) if self._engine.closed_ranges else start // step + 1
        return range(first * step, self._instants[-1] + 1, step)

    # --- operations ----------------------------------------------------------------------------

    def _vector(self, node: Node, *, of: str) -> list[Row]:
        result = self.value(node)
        if isinstance(result, Scalar):
            raise PromQLError(f"{of} expects an instant vector, not a scalar")
        return result

    def _scalar(self, node: Node, *, of: str) -> list[float]:
        result = self.value(node)
        if not isinstance(result, Scalar):
            raise PromQLError(f"{of} expects a scalar, not a vector")
        return result.values

    def _negated(self, inner: Node) -> Scalar | list[Row]:
        result = self.value(inner)
        if isinstance(result, Scalar):
            return Scalar([-value for value in result.values])
        return each(result, lambda value: -value)

    def _binary(self, node: Binary) -> Scalar | list[Row]:
        left, right = self.value(node.left), self.value(node.right)
        if isinstance(left, list) and isinstance(right, list):
            operate = sets if node.operator in SET_OPERATORS else matched
            return unique(operate(node, left=left, right=right))
        if node.explicit:
            raise PromQLError("vector matching is only allowed between vectors")
        if isinstance(left, Scalar) and isinstance(right, Scalar):
            return Scalar(scalars(node, left=left.values, right=right.values))
        if isinstance(left, Scalar) and isinstance(right, list):
            return unique(with_scalar(node, rows=right, scalar=left.values, swapped=True))
        if isinstance(left, list) and isinstance(right, Scalar):
            return unique(with_scalar(node, rows=left, scalar=right.values, swapped=False))
        raise AssertionError("both sides are vectors or scalars")

    # --- functions -----------------------------------------------------------------------------

    def _called(self, node: Call) -> Scalar | list[Row]:
        name, arguments = node.function, node.arguments
        if name in FUNCTIONS:
            return self._over_time(name, _exactly(name, arguments, 1)[0])
        match name:
            case "time":
                _exactly(name, arguments, 0)
                return Scalar([instant / 1000 for instant in self._instants])
            case "vector":
                scalar = self._scalar(_exactly(name, arguments, 1)[0], of=name)
                return [Row((), list(scalar))]
            case "timestamp":
                return self._timestamp(_exactly(name, arguments, 1)[0])
            case "label_replace":
                return self._label_replace(_exactly(name, arguments, 5))
            case _:
                return self._elementwise(name, arguments)

    def _elementwise(self, name: str, arguments: Sequence[Node]) -> list[Row]:
        if name in {"clamp", "clamp_min", "clamp_max"}:
            return self._clamp(name, arguments)
        if name not in ELEMENTWISE:
            raise PromQLError(f"the function {name} is not in this subset")
        (argument,) = _exactly(name, arguments, 1)
        return each(self._vector(argument, of=name), ELEMENTWISE[name])

    def _over_time(self, name: str, argument: Node) -> list[Row]:
        function = FUNCTIONS[name]
        points, width = self.ranged(argument, of=name)
        closed = self._engine.closed_ranges
        rows: list[Row] = []
        for series in points:
            windows = (
                series.window(start=instant - width, end=instant, closed=closed)
                for instant in self._instants
            )
            values = [None if window is None else function(window) for window in windows]
            labels = series.labels if name in KEEP_NAME else without_name(series.labels)
            rows.append(Row(labels, values))
        return unique(rows)

    def _timestamp(self, argument: Node) -> list[Row]:
        """Give a selector's sample times, and of anything else the time of evaluation."""
        if isinstance(argument, Selector):
            rows = [
                Row(series.labels, [None if i is None else series.times[i] / 1000 for i in at])
                for series, at in self._newest(argument)
            ]
        else:
            rows = [
                Row(row.labels, self._where_there(row.values))
                for row in self._vector(argument, of="timestamp")
            ]
        return unique([Row(without_name(row.labels), row.values) for row in rows])

    def _where_there(self, values: Values) -> Values:
        pairs = zip(values, self._instants, strict=True)
        return [None if value is None else instant / 1000 for value, instant in pairs]

    def _label_replace(self, arguments: Sequence[Node]) -> list[Row]:
        rows = self._vector(arguments[0], of="label_replace")
        target, replacement, source, pattern = (_text(node) for node in arguments[1:])
        return label_replaced(
            rows, target=target, replacement=replacement, source=source, pattern=pattern
        )

    def _clamp(self, name: str, arguments: Sequence[Node]) -> list[Row]:
        low: Sequence[float] = [-math.inf] * len(self._instants)
        high: Sequence[float] = [math.inf] * len(self._instants)
        if name == "clamp":
            _exactly(name, arguments, 3)
            low, high = (self._scalar(bound, of=name) for bound in arguments[1:])
        elif name == "clamp_min":
            low = self._scalar(_exactly(name, arguments, 2)[1], of=name)
        else:
            high = self._scalar(_exactly(name, arguments, 2)[1], of=name)
        return clamped(self._vector(arguments[0], of=name), low=low, high=high)


def _points(labels: Labels, times: Sequence[int], values: Sequence[float | None]) -> Points:
    there = [(time, value) for time, value in zip(times, values, strict=False) if value is not None]
    return Points(labels, [time for time, _ in there], [value for _, value in there])


def _exactly(name: str, arguments: Sequence[Node], count: int) -> Sequence[Node]:
    if len(arguments) != count:
        raise PromQLError(f"{name} takes {count} arguments, got {len(arguments)}")
    return arguments


def _text(node: Node) -> str:
    if not isinstance(node, Text):
        raise PromQLError("label_replace expects strings after its vector")
    return node.value
