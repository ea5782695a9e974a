"""Tell which samples an expression reads."""

from collections.abc import Iterator
from typing import assert_never

from scaler.sim.promql.evaluate import LOOKBACK
from scaler.sim.promql.parser import parse
from scaler.sim.promql.syntax import (
    Aggregation,
    Binary,
    Call,
    Negation,
    Node,
    Number,
    RangeSelector,
    Selector,
    Subquery,
    Text,
)


def reads(expression: str) -> tuple[tuple[str, float], ...]:
    """Give each instant selector in an expression, and for how many seconds back it is read.

    Raises:
        PromQLError: the expression is wrong, or not known here.
    """
    return tuple(
        (_written(selector), milliseconds / 1000)
        for selector, milliseconds in _found(parse(expression), 0)
    )


def _found(node: Node, before: int) -> Iterator[tuple[Selector, int]]:
    match node:
        case Number() | Text():
            return
        case Selector():
            yield node, before + LOOKBACK
        case RangeSelector(selector=selector, window=window):
            yield selector, before + window
        case Subquery(inner=inner, window=window):
            yield from _found(inner, before + window)
        case Negation(inner=inner) | Aggregation(inner=inner):
            yield from _found(inner, before)
        case Binary(left=left, right=right):
            yield from _found(left, before)
            yield from _found(right, before)
        case Call(arguments=arguments):
            for argument in arguments:
                yield from _found(argument, before)
        case _:
            assert_never(node)


def _written(selector: Selector) -> str:
    matchers = (f"{m.label}{m.operator}{_quoted(m.value)}" for m in selector.matchers)
    return f"{{{', '.join(matchers)}}}"


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
