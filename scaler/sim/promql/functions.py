"""Functions of an instant vector, value by value or label by label."""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType

from scaler.sim.promql.labels import anchored, value_of, with_label, without_name
from scaler.sim.promql.series import Row, Values, unique
from scaler.sim.promql.syntax import PromQLError


def _whole(rounded: Callable[[float], int]) -> Callable[[float], float]:
    return lambda value: float(rounded(value)) if math.isfinite(value) else value


ELEMENTWISE: Mapping[str, Callable[[float], float]] = MappingProxyType(
    {"abs": abs, "ceil": _whole(math.ceil), "floor": _whole(math.floor)}
)


def each(rows: Iterable[Row], function: Callable[[float], float]) -> list[Row]:
    """Apply a function to every value."""
    return unique(
        Row(
            without_name(row.labels),
            [None if value is None else function(value) for value in row.values],
        )
        for row in rows
    )


def clamped(rows: Iterable[Row], *, low: Sequence[float], high: Sequence[float]) -> list[Row]:
    """Hold values within bounds; bounds that cross leave nothing."""
    return unique(
        Row(without_name(row.labels), _clamped(row.values, low=low, high=high)) for row in rows
    )


def _clamped(values: Values, *, low: Sequence[float], high: Sequence[float]) -> Values:
    held: Values = []
    for value, least, most in zip(values, low, high, strict=True):
        if value is None or least > most:
            held.append(None)
        else:
            held.append(value if math.isnan(value) else max(least, min(most, value)))
    return held


def label_replaced(
    rows: Iterable[Row], *, target: str, replacement: str, source: str, pattern: str
) -> list[Row]:
    """Set a label from another where the whole of that one matches.

    Raises:
        PromQLError: the label's name or the regular expression is none.
    """
    if re.fullmatch(r"[a-zA-Z_]\w*", target, re.ASCII) is None:
        raise PromQLError(f"invalid destination label name in label_replace(): {target}")
    regex = anchored(pattern)
    replaced: list[Row] = []
    for row in rows:
        found = regex.fullmatch(value_of(row.labels, source))
        if found is None:
            replaced.append(row)
        else:
            value = _expanded(replacement, found)
            replaced.append(Row(with_label(row.labels, target, value), row.values))
    return unique(replaced)


def _expanded(replacement: str, found: re.Match[str]) -> str:
    """Fill in $1, ${1}, $name and ${name}; a group that is not there is empty."""
    groups = {str(i): found[i] or "" for i in range(found.re.groups + 1)}
    groups |= {name: text or "" for name, text in found.groupdict().items()}

    def filled(reference: re.Match[str]) -> str:
        if reference[0] == "$$":
            return "$"
        return groups.get(reference[1] or reference[2], "")

    return re.sub(r"\$\$|\$\{(\w+)\}|\$(\w+)", filled, replacement)
