"""Operations on two expressions: arithmetic, comparison filters, set operations, matching."""

import math
import operator as op
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType

from scaler.sim.promql.labels import (
    Labels,
    group_key,
    keep,
    value_of,
    with_label,
    without,
    without_name,
)
from scaler.sim.promql.series import Row, Values
from scaler.sim.promql.syntax import COMPARISONS, Binary, Grouping, Matching, PromQLError


def _divided(left: float, right: float) -> float:
    if right:
        return left / right
    if not left or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1.0, right)


def _modulo(left: float, right: float) -> float:
    return math.fmod(left, right) if right and math.isfinite(left) else math.nan


def _power(left: float, right: float) -> float:
    try:
        return math.pow(left, right)
    except OverflowError:
        return math.inf if left > 0 or right % 2 == 0 else -math.inf
    except ValueError:
        return math.inf if left == 0 else math.nan


_ARITHMETIC: Mapping[str, Callable[[float, float], float]] = MappingProxyType(
    {"+": op.add, "-": op.sub, "*": op.mul, "/": _divided, "%": _modulo, "^": _power}
)
_COMPARE: Mapping[str, Callable[[float, float], bool]] = MappingProxyType(
    {"==": op.eq, "!=": op.ne, ">": op.gt, "<": op.lt, ">=": op.ge, "<=": op.le}
)


def scalars(node: Binary, *, left: Sequence[float], right: Sequence[float]) -> list[float]:
    """Operate on two scalars."""
    if node.operator in COMPARISONS:
        if not node.as_bool:
            raise PromQLError("comparisons between scalars must use bool")
        compare = _COMPARE[node.operator]
        return [float(compare(a, b)) for a, b in zip(left, right, strict=True)]
    if node.operator not in _ARITHMETIC:
        raise PromQLError(f"set operator {node.operator} not allowed between scalars")
    operate = _ARITHMETIC[node.operator]
    return [operate(a, b) for a, b in zip(left, right, strict=True)]


def with_scalar(
    node: Binary, *, rows: Iterable[Row], scalar: Sequence[float], swapped: bool
) -> list[Row]:
    """Operate on a vector and a scalar; `swapped` where the scalar is on the left."""
    if node.operator not in _ARITHMETIC and node.operator not in _COMPARE:
        raise PromQLError(f"set operator {node.operator} not allowed with a scalar")
    operate = _operation(node)
    drops_name = node.as_bool or node.operator in _ARITHMETIC
    result: list[Row] = []
    for row in rows:
        values = _with_scalar(row.values, scalar=scalar, operate=operate, swapped=swapped)
        result.append(Row(without_name(row.labels) if drops_name else row.labels, values))
    return result


def _with_scalar(
    values: Values,
    *,
    scalar: Sequence[float],
    operate: Callable[[float, float, float], float | None],
    swapped: bool,
) -> Values:
    pairs = zip(values, scalar, strict=True)
    if swapped:
        return [None if a is None else operate(b, a, a) for a, b in pairs]
    return [None if a is None else operate(a, b, a) for a, b in pairs]


def _operation(node: Binary) -> Callable[[float, float, float], float | None]:
    """Give f(left, right, kept): a comparison that holds keeps the vector's own value."""
    if node.operator in _ARITHMETIC:
        calculate = _ARITHMETIC[node.operator]
        return lambda a, b, _: calculate(a, b)
    compare = _COMPARE[node.operator]
    if node.as_bool:
        return lambda a, b, _: float(compare(a, b))
    return lambda a, b, kept: kept if compare(a, b) else None


def sets(node: Binary, *, left: Sequence[Row], right: Sequence[Row]) -> list[Row]:
    """Operate on two vectors as sets."""
    on = node.matching.on
    match node.operator:
        case "and":
            return [_where(row, there=_presence(right, on), on=on, wanted=True) for row in left]
        case "unless":
            return [_where(row, there=_presence(right, on), on=on, wanted=False) for row in left]
        case "or":
            there = _presence(left, on)
            return [*left, *(_where(row, there=there, on=on, wanted=False) for row in right)]
        case other:
            raise PromQLError(f"unknown set operator {other}")


def _presence(rows: Iterable[Row], on: Grouping) -> Mapping[Labels, Sequence[bool]]:
    """Say for each match group at which instants anything is there."""
    there: dict[Labels, list[bool]] = {}
    for row in rows:
        key = group_key(row.labels, on)
        present = [value is not None for value in row.values]
        old = there.get(key)
        there[key] = present if old is None else [a or b for a, b in zip(old, present, strict=True)]
    return there


def _where(row: Row, *, there: Mapping[Labels, Sequence[bool]], on: Grouping, wanted: bool) -> Row:
    present = there.get(group_key(row.labels, on))
    if present is None:
        return row if not wanted else Row(row.labels, [None] * len(row.values))
    kept = [a if b is wanted else None for a, b in zip(row.values, present, strict=True)]
    return Row(row.labels, kept)


def matched(node: Binary, *, left: Sequence[Row], right: Sequence[Row]) -> list[Row]:
    """Operate on two vectors, each row of the many side with its one partner.

    Raises:
        PromQLError: a partner is not unique at some instant.
    """
    swapped = node.matching.many == "right"
    many, one = (right, left) if swapped else (left, right)
    partners: defaultdict[Labels, list[Row]] = defaultdict(list)
    for row in one:
        partners[group_key(row.labels, node.matching.on)].append(row)
    result: list[Row] = []
    pairs: defaultdict[Labels, list[Row]] = defaultdict(list)
    for row in many:
        key = group_key(row.labels, node.matching.on)
        for partner in partners.get(key, ()):
            labels = _labels(node, many=row.labels, one=partner.labels)
            values, met = _pairwise(node, many=row.values, one=partner.values, swapped=swapped)
            result.append(Row(labels, values))
            # Two on the many side need group_left, unless the labels tell their results apart.
            pairs[labels if node.matching.many else key].append(Row(row.labels, met))
        _refuse_overlap(partners.get(key, ()), "found duplicate series for the match group")
    for met_rows in pairs.values():
        _refuse_overlap(met_rows, "multiple matches for labels")
    return result


def _pairwise(node: Binary, *, many: Values, one: Values, swapped: bool) -> tuple[Values, Values]:
    operate = _operation(node)
    values: Values = []
    met: Values = []
    for a, b in zip(many, one, strict=True):
        if a is None or b is None:
            values.append(None)
            met.append(None)
            continue
        left, right = (b, a) if swapped else (a, b)
        values.append(operate(left, right, left))
        met.append(left)
    return values, met


def _refuse_overlap(rows: Sequence[Row], problem: str) -> None:
    if len(rows) > 1 and any(
        sum(value is not None for value in values) > 1
        for values in zip(*(row.values for row in rows), strict=True)
    ):
        raise PromQLError(f"{problem}: {', '.join(str(dict(row.labels)) for row in rows)}")


def _labels(node: Binary, *, many: Labels, one: Labels) -> Labels:
    matching: Matching = node.matching
    labels = many
    if node.operator in _ARITHMETIC or node.as_bool:
        labels = without_name(labels)
    if matching.many is None:
        names = matching.on.labels
        labels = without(labels, names) if matching.on.without else keep(labels, names)
    for name in matching.include:
        labels = with_label(labels, name, value_of(one, name))
    return labels
