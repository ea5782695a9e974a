"""Label sets as sorted tuples: hashable, so that matching is a dictionary's work."""

import re
from collections.abc import Collection, Mapping
from typing import TypeAlias

from scaler.sim.promql.syntax import Grouping, Matcher, PromQLError

Labels: TypeAlias = tuple[tuple[str, str], ...]
"""(name, value) pairs, sorted; an empty value is no label."""

METRIC = "__name__"


def labels_of(labels: Mapping[str, str]) -> Labels:
    """Make a label set."""
    return tuple(sorted((name, value) for name, value in labels.items() if value))


def value_of(labels: Labels, name: str) -> str:
    """Give a label's value, empty where it is not there."""
    return next((value for key, value in labels if key == name), "")


def without_name(labels: Labels) -> Labels:
    """Drop the metric's name."""
    return without(labels, (METRIC,))


def keep(labels: Labels, names: Collection[str]) -> Labels:
    """Keep only the named labels."""
    return tuple(pair for pair in labels if pair[0] in names)


def without(labels: Labels, names: Collection[str]) -> Labels:
    """Drop the named labels."""
    return tuple(pair for pair in labels if pair[0] not in names)


def group_key(labels: Labels, grouping: Grouping) -> Labels:
    """Give what the series of one group have in common."""
    if grouping.without:
        return without(labels, (METRIC, *grouping.labels))
    return keep(labels, grouping.labels)


def with_label(labels: Labels, name: str, value: str) -> Labels:
    """Set a label, or drop it where the value is empty."""
    return labels_of({**dict(labels), name: value})


def matches(labels: Labels, matcher: Matcher) -> bool:
    """Say whether a series fits a selector's matcher."""
    value = value_of(labels, matcher.label)
    match matcher.operator:
        case "=":
            return value == matcher.value
        case "!=":
            return value != matcher.value
        case "=~":
            return anchored(matcher.value).fullmatch(value) is not None
        case "!~":
            return anchored(matcher.value).fullmatch(value) is None
        case other:
            raise PromQLError(f"unknown matcher {other}")


def anchored(pattern: str) -> re.Pattern[str]:
    """Compile a regular expression; Prometheus matches whole values, newlines included.

    Raises:
        PromQLError: the expression is none.
    """
    try:
        return re.compile(pattern, re.DOTALL)
    except re.error as error:
        raise PromQLError(f"bad regular expression {pattern!r}: {error}") from error
