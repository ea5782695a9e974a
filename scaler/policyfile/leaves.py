"""The single values of a policy: how each is read, what is allowed, what its schema is."""

import re
from enum import StrEnum
from typing import TypeGuard
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from scaler.core.policy import Profile, WorkerKind
from scaler.core.quantity import DURATION, QUANTITY, amount, duration
from scaler.policyfile.document import Scalar
from scaler.policyfile.shapes import Leaf

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MATCHER = r'[a-zA-Z_][a-zA-Z0-9_]*\s*(?:=|!=|=~|!~)\s*"(?:[^"\\\n]|\\.)*"'


_FULL = 100


def _is_number(value: Scalar) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def text(pattern: str, *, allowed: str, secret: bool = False) -> Leaf:
    """Give the leaf of texts that match a pattern from end to end."""
    compiled = re.compile(pattern)

    def read(value: Scalar) -> str:
        if not isinstance(value, str) or compiled.fullmatch(value) is None:
            raise ValueError(allowed)
        return value

    schema: dict[str, object] = {"type": "string", "pattern": _whole(pattern)}
    return Leaf(read=read, allowed=allowed, schema=schema, secret=secret)


def choice(kind: type[StrEnum]) -> Leaf:
    """Give the leaf of a closed set of words."""
    allowed = f"allowed are {', '.join(kind)}"

    def read(value: Scalar) -> StrEnum:
        return kind(str(value))

    return Leaf(read=read, allowed=allowed, schema={"enum": [str(word) for word in kind]})


def whole(least: int, most: int) -> Leaf:
    """Give the leaf of whole numbers within a range."""

    def read(value: Scalar) -> int:
        if not _is_number(value) or value != int(value) or not least <= value <= most:
            raise ValueError(value)
        return int(value)

    return Leaf(
        read=read,
        allowed=f"allowed is a whole number from {least} to {most}",
        schema={"type": "integer", "minimum": least, "maximum": most},
    )


def number(*, above: float, most: float, allowed: str) -> Leaf:
    """Give the leaf of numbers above one and up to another."""

    def read(value: Scalar) -> float:
        if not _is_number(value) or not above < value <= most:
            raise ValueError(value)
        return float(value)

    schema: dict[str, object] = {"type": "number", "exclusiveMinimum": above, "maximum": most}
    return Leaf(read=read, allowed=allowed, schema=schema)


def percent(*, zero: bool) -> Leaf:
    """Give the leaf of percentages; what lies between 0 and 1 is a ratio by mistake."""

    def read(value: Scalar) -> float:
        if not _is_number(value) or not (1 <= value <= _FULL or (zero and value == 0)):
            raise ValueError(value)
        return float(value)

    span: dict[str, object] = {"type": "number", "minimum": 1, "maximum": 100}
    return Leaf(
        read=read,
        allowed=f"allowed is a percentage{', 0 or' if zero else ''} from 1 to 100, not a ratio",
        schema={"anyOf": [{"const": 0}, span]} if zero else span,
    )


def span(*, zero: bool) -> Leaf:
    """Give the leaf of durations, as seconds."""

    def read(value: Scalar) -> float:
        if not isinstance(value, str):
            raise ValueError(value)  # noqa: TRY004 - what a leaf raises is one thing
        seconds = duration(value)
        if seconds == 0 and not zero:
            raise ValueError(value)
        return seconds

    parts = _ecma(DURATION.pattern)
    pattern = f"(?:0|(?=.){parts})" if zero else f"(?=.*[1-9]){parts}"
    return Leaf(
        read=read,
        allowed=f"allowed is a duration {'of 0s or more' if zero else 'above 0s'}, like 90s, 1h30m",
        schema={"type": "string", "pattern": _whole(pattern)},
    )


def _read_boolean(value: Scalar) -> bool:
    if not isinstance(value, bool):
        raise ValueError(value)  # noqa: TRY004 - what a leaf raises is one thing
    return value


def _read_clock(value: Scalar) -> int:
    found = re.fullmatch(r"([01][0-9]|2[0-3]):([0-5][0-9])|24:00", str(value))
    if found is None:
        raise ValueError(value)
    return int(found[1]) * 60 + int(found[2]) if found[1] else 24 * 60


def _read_day(value: Scalar) -> int:
    return DAYS.index(str(value))


def _read_zone(value: Scalar) -> str:
    zone = str(value)
    if re.fullmatch(r"[A-Za-z][A-Za-z0-9_+/-]{0,62}", zone) is None:
        raise ValueError(value)
    try:
        ZoneInfo(zone)
    except (KeyError, OSError) as error:  # OSError: a folder of zones, as Europe
        raise ValueError(value) from error
    return zone


def _read_quantity(value: Scalar) -> Scalar:
    if value is None or isinstance(value, bool) or not amount("cpu", value):
        raise ValueError(value)
    return value


def _read_url(value: Scalar) -> str:
    url = str(value)
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
        raise ValueError
    if re.search(r"\s", url) or parts.query or parts.fragment or (parts.port or 1) < 1:
        raise ValueError
    return url


def _whole(pattern: str) -> str:
    return f"^(?:{pattern})$"


def _ecma(pattern: str) -> str:
    """Take the names off the groups: JSON Schema's expressions are JavaScript's."""
    return re.sub(r"\?P<[a-z]+>", "?:", pattern)


BOOLEAN = Leaf(read=_read_boolean, allowed="allowed are true and false", schema={"type": "boolean"})
PERCENT = percent(zero=False)
PERCENT_OR_ZERO = percent(zero=True)
SPAN = span(zero=False)
SPAN_OR_ZERO = span(zero=True)
POSITIVE = number(above=0, most=1e12, allowed="allowed is a number above 0")
PRICE = number(above=0, most=1e9, allowed="allowed is a price above 0, as a number")
CURRENCY = text(r"[A-Za-z]{1,10}", allowed="allowed is a currency's name of up to 10 letters: EUR")
PROFILE = choice(Profile)
WORKER_KIND = choice(WorkerKind)
CLOCK = Leaf(
    read=_read_clock,
    allowed='allowed is a time of day from "00:00" to "24:00"',
    schema={"type": "string", "pattern": r"^(?:(?:[01][0-9]|2[0-3]):[0-5][0-9]|24:00)$"},
)
DAY = Leaf(read=_read_day, allowed=f"allowed are {', '.join(DAYS)}", schema={"enum": list(DAYS)})
ZONE = Leaf(
    read=_read_zone,
    allowed="allowed is a time zone that this system knows, like Europe/Berlin or UTC",
    schema={"type": "string", "pattern": r"^[A-Za-z][A-Za-z0-9_+/-]{0,62}$"},
)
QUANTITY_ABOVE_ZERO = Leaf(
    read=_read_quantity,
    allowed="allowed is a Kubernetes quantity above 0, like 8, 500m, 1900Gi",
    schema={
        "anyOf": [
            {"type": "number", "exclusiveMinimum": 0},
            {
                "type": "string",
                "pattern": _whole(rf"(?!-)(?=[+.0-9]*[1-9]){_ecma(QUANTITY.pattern)}"),
            },
        ]
    },
)
URL = Leaf(
    read=_read_url,
    allowed="allowed is an http or https address without user, query or fragment",
    schema={"type": "string", "pattern": r"^https?://[^\s@?#]+$"},
)

_LABEL = r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_SUBDOMAIN = r"[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?"
NAME = text(
    _SUBDOMAIN, allowed="allowed is a name of lower-case letters, digits, - and . (at most 253)"
)
TITLE = text(_LABEL, allowed="allowed is a name of letters, digits, -, _ and . (at most 63)")
KIND = text(r"[A-Z][A-Za-z0-9]{0,62}", allowed="allowed is a kind like RayCluster")
LABEL_KEY = text(
    rf"(?:{_SUBDOMAIN}/)?{_LABEL}", allowed="allowed is a label's key, like example.com/pool"
)
LABEL_VALUE = text(
    rf"(?:{_LABEL})?", allowed='allowed is a label\'s value, as text ("true", "8" in quotes)'
)
RESOURCE = text(
    rf"(?:{_SUBDOMAIN}/)?{_LABEL}",
    allowed="allowed is a resource like nvidia.com/gpu, cpu, memory, pods",
)
RESOURCES = text(
    rf"{_SUBDOMAIN}/[A-Za-z0-9][-A-Za-z0-9_.]{{0,62}}\*?",
    allowed="allowed is an extended resource like amd.com/gpu, or example.com/mig-*",
)
METRIC = text(r"[a-zA-Z_:][a-zA-Z0-9_:]{0,254}", allowed="allowed is a metric's name")
LABEL_NAME = text(
    r"[a-zA-Z_][a-zA-Z0-9_]{0,254}", allowed="allowed is a label's name in Prometheus"
)
SELECTOR = text(
    rf"(?:\s*{_MATCHER}\s*(?:,\s*{_MATCHER}\s*)*,?\s*)?",
    allowed='allowed are label matchers, like job="nvidia-dcgm-exporter", cluster=~"a|b"',
)
QUERY = text(r"(?=[^\0]*\S)[^\0]{1,4000}", allowed="allowed is a PromQL expression")
FILE = text(r"(?:/[^\0\n]*)?", allowed='allowed is an absolute path, or ""')
MODEL = text(r"[^\0\n]{1,200}", allowed="allowed is a model's name as modelName has it")
HEADER_NAME = text(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}", allowed="allowed is an HTTP header's name")
HEADER_VALUE = text(
    r"[\t\x20-\x7e]{1,8192}", allowed="allowed is a text of printable ASCII", secret=True
)
