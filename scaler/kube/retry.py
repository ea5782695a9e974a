"""Decide what a reflector does after each outcome: a table, without clock or socket."""

from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never


class Phase(StrEnum):
    """Name what a reflector does next, or did."""

    DISCOVER = "discover"
    LIST = "list"
    WATCH = "watch"


class Outcome(StrEnum):
    """Name how a phase ended."""

    DONE = "done"
    """Discovered, or a complete list was published."""
    ENDED = "ended"
    """A watch that was open for a while was closed, as the API server does now and then."""
    BRIEF = "brief"
    """A watch brought something, and was closed soon."""
    EMPTY = "empty"
    """A watch was closed at once with nothing in it."""
    SILENT = "silent"
    """Nothing came within the read time-out: what was missed is unknown."""
    BAD_LINE = "bad line"
    """A watch brought a line that is no event; what it said is to be had again."""
    EXPIRED = "expired"
    """410: the resourceVersion or continue token is too old."""
    NOT_INSTALLED = "not installed"
    """The API server serves no version of the kind."""
    NOT_FOUND = "not found"
    """404 on a path that was served."""
    FORBIDDEN = "forbidden"
    """401 or 403: only someone else can mend it."""
    FAILED = "failed"
    """Unreachable, broken off, 5xx, 429, or an answer that makes no sense."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How hard the API server may be asked, in seconds."""

    first: float = 1.0
    """After the first failure; doubled after each further one."""
    longest: float = 20.0
    """Delays stop growing here (before jitter)."""
    forbidden: float = 5.0
    """After the first 401 or 403."""
    absent: float = 20.0
    """Between two looks for a kind that is not installed."""
    empty_watches: int = 3
    """Watches that may bring nothing in a row before the kind is listed anew."""
    failed_watches: int = 3
    """Watches that may fail in a row before the kind is listed anew."""
    steady: float = 5.0
    """A watch that lasted so long and was then closed is a normal one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What to do next, and when."""

    phase: Phase
    delay: float


def next_step(outcome: Outcome, *, phase: Phase, attempt: int, jitter: float, pace: Pace) -> Step:
    """Say what follows an outcome.

    `attempt` counts outcomes without progress in a row, from 1; `jitter` is in [0, 1) and
    stretches a delay by up to a half, so that replicas don't ask in step. No two requests that
    brought nothing are closer than `pace.first`.
    """
    return Step(
        phase=_phase_after(outcome, phase, attempt, pace),
        delay=_delay_after(outcome, attempt, pace) * (1.0 + jitter / 2),
    )


def _phase_after(  # noqa: PLR0911  # one return a row of the table
    outcome: Outcome, phase: Phase, attempt: int, pace: Pace
) -> Phase:
    match outcome:
        case Outcome.DONE:
            return Phase.LIST if phase is Phase.DISCOVER else Phase.WATCH
        case Outcome.ENDED | Outcome.BRIEF:
            return Phase.WATCH
        case Outcome.SILENT | Outcome.EXPIRED:
            return Phase.LIST
        case Outcome.EMPTY:
            return Phase.WATCH if attempt % pace.empty_watches else Phase.LIST
        case Outcome.BAD_LINE:
            return Phase.WATCH if attempt == 1 else Phase.LIST
        case Outcome.NOT_INSTALLED | Outcome.NOT_FOUND:
            return Phase.DISCOVER
        case Outcome.FORBIDDEN | Outcome.FAILED:
            # A watch that opens after so long is silent until its first bookmark; a list is not.
            lost = phase is Phase.WATCH and attempt >= pace.failed_watches
            return Phase.LIST if lost else phase
        case _:
            assert_never(outcome)


def _delay_after(outcome: Outcome, attempt: int, pace: Pace) -> float:
    """Give seconds without jitter."""
    match outcome:
        case Outcome.DONE | Outcome.ENDED | Outcome.SILENT:
            return 0.0
        case Outcome.BRIEF:
            return pace.first
        case Outcome.NOT_INSTALLED:
            return pace.absent
        case Outcome.FORBIDDEN:
            return _grown(pace.forbidden, attempt, pace)
        case (
            Outcome.EMPTY | Outcome.BAD_LINE | Outcome.EXPIRED | Outcome.NOT_FOUND | Outcome.FAILED
        ):
            return _grown(pace.first, attempt, pace)
        case _:
            assert_never(outcome)


def _grown(first: float, attempt: int, pace: Pace) -> float:
    return min(first * 2.0 ** min(attempt - 1, 16), pace.longest)
