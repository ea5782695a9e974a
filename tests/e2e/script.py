"""What a stub is told to answer."""

from dataclasses import dataclass
from enum import StrEnum

Pairs = tuple[tuple[int, float], ...]
"""(int field, float field) of each metric value, or of each spec's target."""


class Fault(StrEnum):
    """An answer that is none."""

    ERROR = "ERROR"
    """UNAVAILABLE, at once."""
    HANG = "HANG"
    """Nothing until the script changes; then what it says by then."""


class Ending(StrEnum):
    """How a stream ends."""

    OK = "OK"
    UNAVAILABLE = "UNAVAILABLE"
    UNIMPLEMENTED = "UNIMPLEMENTED"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """The script of one ScaledObject, or of one trigger of it."""

    is_active: bool | Fault = False
    metrics: Pairs | Fault = ((0, 0.0),)
    """() = an answer without a value."""
    spec: Pairs | Fault = ((1, 1.0),)
    """() = an answer without a spec."""
    streamed: Pairs | Ending = Ending.UNIMPLEMENTED
    """What a spec stream says on opening and when it changes; an Ending = it ends at once."""
    stream: Ending | None = None
    """How an activity stream ends at once; None = it stays open and says what is pushed."""
    delay: float = 0.0
    """Seconds before each unary answer."""


def wants(value: float, *, active: bool = True) -> Answers:
    """Give the script of a scaler that wants a size, whole or not, and by default is active."""
    return Answers(is_active=active, metrics=((int(value), float(value)),))
