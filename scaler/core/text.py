"""Read the single values of trigger metadata, each of them a text.

Every reader raises ValueError with what is allowed, as a phrase that follows the value.
"""

import re
from collections.abc import Callable
from enum import StrEnum
from typing import TypeVar

from scaler.core.quantity import duration

E = TypeVar("E", bound=StrEnum)

_NAME = re.compile(r"(?=.{1,253}\Z)[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?")
_OWNER = re.compile(r"(?:[A-Z][A-Za-z0-9]{0,62}/)?(?P<name>.*)")
_RESOURCE = re.compile(
    r"(?=.{1,317}\Z)[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?/[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?"
)
_NUMBER = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?")
_WHOLE = re.compile(r"[0-9]{1,9}")
_LONGEST_QUERY = 2000
_WHOLE_PERCENT = 100


def name(text: str) -> str:
    """Read the name of an object."""
    if _NAME.fullmatch(text) is None:
        raise ValueError("allowed is a name of lower-case letters, digits, - and . (at most 253)")
    return text


def names(text: str) -> tuple[str, ...]:
    """Read names with commas between."""
    names = tuple(part.strip() for part in text.split(","))
    if any(_NAME.fullmatch(name) is None for name in names) or len(set(names)) < len(names):
        raise ValueError(
            "allowed is a ClusterQueue's name, or several different ones with commas between"
        )
    return names


def workload(text: str) -> str:
    """Read a Workload's name, or `Kind/name` of its owner."""
    found = _OWNER.fullmatch(text)
    if found is None or _NAME.fullmatch(found["name"]) is None:
        raise ValueError("allowed is a Kueue Workload's name, or Kind/name of its owner")
    return text


def resource(text: str) -> str:
    """Read the name of an extended resource."""
    if _RESOURCE.fullmatch(text) is None:
        raise ValueError("allowed is an extended resource like nvidia.com/gpu")
    return text


def query(text: str) -> str:
    """Read the name of a query, or the query itself (whether it may be one is the policy's)."""
    if not text.strip() or len(text) > _LONGEST_QUERY:
        raise ValueError(
            f"allowed is the name of a query of the policy, 1 to {_LONGEST_QUERY} long"
        )
    return text


def choice(kind: type[E]) -> Callable[[str], E]:
    """Give the reader of a closed set of words."""

    def read(text: str) -> E:
        try:
            return kind(text)
        except ValueError:
            raise ValueError(f"allowed are {', '.join(kind)}") from None

    return read


def whole(top: int) -> Callable[[str], int]:
    """Give the reader of whole numbers from 1."""

    def read(text: str) -> int:
        if _WHOLE.fullmatch(text) is None or not 1 <= int(text) <= top:
            raise ValueError(f"allowed is a whole number from 1 to {top}")
        return int(text)

    return read


def boolean(text: str) -> bool:
    """Read true or false, in any letter case."""
    if text.lower() not in ("true", "false"):
        raise ValueError("allowed are true and false")
    return text.lower() == "true"


def percent(text: str) -> float:
    """Read a percentage; below 1 it would be a ratio by mistake."""
    if _NUMBER.fullmatch(text) is None or not 1 <= float(text) <= _WHOLE_PERCENT:
        raise ValueError("allowed is a percentage from 1 to 100, no sign (0.05 would be a ratio)")
    return float(text)


def span(text: str) -> float:
    """Read a duration; give seconds."""
    try:
        return duration(text)
    except ValueError:
        raise ValueError("allowed is a duration of 0s or more, like 90s, 30m, 1h30m") from None


def positive_span(text: str) -> float:
    """Read a duration above zero; give seconds."""
    seconds = span(text)
    if seconds <= 0:
        raise ValueError("allowed is a duration above 0s, like 90s, 30m, 1h30m")
    return seconds
