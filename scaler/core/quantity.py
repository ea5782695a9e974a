"""Read and write the numbers of Kubernetes: quantities, durations, instants.

Quantities are exact and round up, as `Quantity.Value()` and `Quantity.MilliValue()` do.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from fractions import Fraction
from functools import lru_cache

from scaler.core.model import Amounts, Instant

LARGEST = 2**63 - 1
"""Kubernetes caps quantities here."""

_BINARY = {f"{letter}i": 1024**power for power, letter in enumerate("KMGTPE", start=1)}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
QUANTITY = re.compile(
    r"(?P<sign>[+-]?)(?P<digits>[0-9]{0,60})(?:\.(?P<fraction>[0-9]{0,60}))?"
    r"(?:(?P<suffix>[KMGTPE]i|[numkMGTPE])|[eE](?P<exponent>[+-]?[0-9]{1,18}))?"
)
_FAR = 100
"""Exponents beyond this are certainly above LARGEST, or below one unit."""


def amount(resource: str, text: str | float) -> int:
    """Read a quantity: millicores of cpu, whole units of all else, rounded up.

    Raises:
        ValueError: not a Kubernetes quantity, or a negative one.
    """
    return _amount("cpu" if resource == "cpu" else "", text)


def format_amount(resource: str, value: int) -> str:
    """Write an amount as a manifest has it, exactly: cores of cpu, binary units of bytes."""
    if resource == "cpu":
        return f"{value // 1000}.{value % 1000:03}".rstrip("0").rstrip(".")
    if "/" in resource or resource == "pods" or not value:
        return str(value)
    units = reversed(_BINARY.items())
    unit, size = next((one for one in units if value % one[1] == 0), ("", 1))
    return f"{value // size}{unit}"


def amounts(quantities: Mapping[str, str | int | float]) -> Amounts:
    """Read a map of quantities by resource, as requests and allocatable hold it.

    Raises:
        ValueError: a quantity is malformed; the sentence names its resource.
    """
    found: list[tuple[str, int]] = []
    for resource, text in sorted(quantities.items()):
        try:
            value = amount(resource, text)
        except ValueError as error:
            raise ValueError(f"{resource}: {error}") from error
        if value:
            found.append((resource, value))
    return tuple(found)


@lru_cache(maxsize=16384, typed=True)
def _amount(resource: str, text: str | float) -> int:
    written = text if isinstance(text, str) else repr(text)
    found = QUANTITY.fullmatch(written)
    if found is None or not (found["digits"] or found["fraction"]):
        raise ValueError(
            f"{written[:80]!r} is not a quantity; allowed is a number with an optional suffix "
            "n, u, m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi, Ei, or exponent (e3)"
        )
    value = _scaled(found, thousandfold=resource == "cpu")
    if value and found["sign"] == "-":
        raise ValueError(f"{written[:80]!r} is negative; a quantity must be 0 or more")
    return value


def _scaled(found: re.Match[str], *, thousandfold: bool) -> int:
    """Multiply the number by its suffix, round up, cap."""
    fraction = found["fraction"] or ""
    mantissa = int(found["digits"] + fraction)
    power = -len(fraction) + (3 if thousandfold else 0)
    suffix = found["suffix"] or ""
    if suffix in _BINARY:
        mantissa *= _BINARY[suffix]
    else:
        power += int(found["exponent"]) if found["exponent"] else _DECIMAL[suffix]
    if mantissa == 0:
        return 0
    if abs(power) > _FAR + len(fraction):
        return LARGEST if power > 0 else 1
    if power >= 0:
        return min(mantissa * int(10**power), LARGEST)
    return min(-(-mantissa // int(10**-power)), LARGEST)


# --- amounts -----------------------------------------------------------------------------------


def plus(left: Amounts, right: Amounts) -> Amounts:
    """Add by resource."""
    if not left or not right:
        return left or right
    total = dict(left)
    for resource, value in right:
        total[resource] = total.get(resource, 0) + value
    return _ordered(total)


def minus(left: Amounts, right: Amounts) -> Amounts:
    """Subtract by resource, never below 0."""
    total = dict(left)
    for resource, value in right:
        if resource in total:
            total[resource] = max(0, total[resource] - value)
    return _ordered(total)


def times(each: Amounts, count: int) -> Amounts:
    """Multiply by a number of pods."""
    return tuple((resource, value * count) for resource, value in each) if count > 0 else ()


def largest(left: Amounts, right: Amounts) -> Amounts:
    """Take the larger of each resource."""
    total = dict(left)
    for resource, value in right:
        total[resource] = max(total.get(resource, 0), value)
    return _ordered(total)


def _ordered(total: Mapping[str, int]) -> Amounts:
    return tuple(sorted(item for item in total.items() if item[1]))


# --- durations ---------------------------------------------------------------------------------

_UNITS = {
    "y": 365 * 86_400_000,
    "w": 7 * 86_400_000,
    "d": 86_400_000,
    "h": 3_600_000,
    "m": 60_000,
    "s": 1000,
    "ms": 1,
}
"""Milliseconds."""
_PART = r"(?:(?P<{unit}>[0-9]{{1,9}}(?:\.[0-9]{{1,9}})?){unit})?"
DURATION = re.compile("".join(_PART.format(unit=unit) for unit in _UNITS))


def duration(text: str) -> float:
    """Read a duration as Kubernetes and Prometheus write it (`90s`, `1h30m`); give seconds.

    Raises:
        ValueError: not such a duration; a number without a unit is none, except 0.
    """
    if text == "0":
        return 0.0
    found = DURATION.fullmatch(text) if text else None
    if found is None:
        raise ValueError(
            f"{text[:80]!r} is not a duration; allowed are numbers with units from "
            "y, w, d, h, m, s, ms, the largest first, like 90s, 30m, 1h30m"
        )
    total: int | Fraction = 0
    for unit, part in found.groupdict().items():
        if part:
            exact = Fraction(part) if "." in part else int(part)
            total += exact * _UNITS[unit]
    return float(total / 1000)


def format_duration(seconds: float) -> str:
    """Write seconds as a duration, to the millisecond (`1h30m`, `0s`)."""
    rest = round(seconds * 1000)
    sign, rest = ("-", -rest) if rest < 0 else ("", rest)
    parts: list[str] = []
    for unit in ("h", "m", "s", "ms"):
        count, rest = divmod(rest, _UNITS[unit])
        if count:
            parts.append(f"{count}{unit}")
    return sign + ("".join(parts) or "0s")


def several(number: int, word: str) -> str:
    """Write a number of things: `1 pod`, `2 pods`."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


# --- instants ----------------------------------------------------------------------------------

_INSTANT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?"
    r"(?:[Zz]|[+-][0-9]{2}:[0-9]{2})"
)


def instant(text: str) -> Instant:
    """Read an RFC 3339 time with any offset; fractions count to the microsecond.

    Raises:
        ValueError: not such a time, or one that the calendar does not have, also not in UTC:
            whatever is read can be written.
    """
    if _INSTANT.fullmatch(text) is None:
        raise ValueError(f"{text[:80]!r} is not an RFC 3339 time like 2026-01-31T08:00:00Z")
    try:
        moment = datetime.fromisoformat(text.upper()).timestamp()
        datetime.fromtimestamp(moment, tz=UTC)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{text[:80]!r} is not a time of the calendar: {error}") from error
    return moment


def format_instant(moment: Instant) -> str:
    """Write an Instant as RFC 3339 in UTC, with a fraction only where there is one.

    Raises:
        OverflowError: the year is not within 1 to 9999.
    """
    written = datetime.fromtimestamp(moment, tz=UTC).isoformat()
    return written.replace("+00:00", "Z")
