"""Sort the reasons by what they mean for people: each sort has one colour, light and dark."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from scaler.core.decision import Status
from scaler.core.reasons import Reason


class Tone(StrEnum):
    """Name the colours; page.css gives each a light and a dark one."""

    NEED = "need"
    """More is needed, and asked for."""
    LIMITED = "limited"
    """More is needed, and something keeps it from coming."""
    QUOTA = "quota"
    CALM = "calm"
    """What is there is enough."""
    BUSY = "busy"
    STARTING = "starting"
    KEPT = "kept"
    """Not judged by its GPUs: it stays."""
    IDLE = "idle"
    ZERO = "zero"
    DRY = "dry"
    """It would have gone."""
    UNKNOWN = "unknown"
    """No value: drawn as a hatched gap, never as a 0."""
    INVALID = "invalid"
    UNSEEN = "unseen"
    """Nobody recorded what was decided."""


_TONES: Mapping[Reason, Tone] = MappingProxyType(
    {
        Reason.DEMAND: Tone.NEED,
        Reason.NO_DEMAND: Tone.CALM,
        Reason.QUOTA_EXHAUSTED: Tone.QUOTA,
        Reason.CAPPED: Tone.LIMITED,
        Reason.FITS_NO_NODE: Tone.LIMITED,
        Reason.TOPOLOGY_DISAGREES: Tone.LIMITED,
        Reason.SWALLOWED: Tone.LIMITED,
        Reason.BUSY: Tone.BUSY,
        Reason.IDLE: Tone.IDLE,
        Reason.STARTING: Tone.STARTING,
        Reason.OPTED_OUT: Tone.KEPT,
        Reason.SCHEDULED: Tone.KEPT,
        Reason.NOTHING_TO_MEASURE: Tone.KEPT,
        Reason.WAKE: Tone.STARTING,
        Reason.AT_ZERO: Tone.ZERO,
        Reason.DRY_RUN: Tone.DRY,
    }
)


def tone_of(status: str, reason: str) -> Tone:
    """Give the colour of a decision; a reason of another version is no less a decision."""
    if status == Status.HOLD:
        return Tone.UNKNOWN
    if status == Status.INVALID:
        return Tone.INVALID
    return _TONES.get(Reason(reason), Tone.CALM) if reason in _REASONS else Tone.CALM


_REASONS = frozenset(str(reason) for reason in Reason)
