"""Do a plan's steps, one write each, until one does not come through."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

import structlog

from scaler.actuator.lease import Leadership
from scaler.core.hold.steps import Plan, Step
from scaler.core.model import WorkerScale
from scaler.kube.api import ApiError, NoAnswerError

log = structlog.get_logger(__name__)

_STALE = frozenset({404, 409, 422})
"""The object is no longer what the plan saw: 422 is what a failed JSON patch test gives."""
_FORBIDDEN = frozenset({401, 403})
_BUSY = frozenset({408, 429, 503})
_SERVER_ERRORS_FROM = 500


class Writer(Protocol):
    """Who carries one step to the API server."""

    def advance(self, scale: WorkerScale, step: Step) -> WorkerScale:
        """Write; give the WorkerScale as it is then, to write the next step of the plan.

        Raises:
            ApiError: it was refused.
            NoAnswerError: nobody knows whether it came through.
        """
        ...


class Outcome(StrEnum):
    """How a write ended."""

    DONE = "done"
    STALE = "stale"
    """The object changed meanwhile: planned again at the next look."""
    FORBIDDEN = "forbidden"
    """The ServiceAccount may not."""
    REFUSED = "refused"
    """An admission webhook or the schema said no."""
    FAILED = "failed"
    """The API server could not, as when an admission webhook does not answer it."""
    UNREACHABLE = "unreachable"
    """No answer came, or one that it is too busy: no other write would fare better."""
    NOT_LEADING = "not leading"


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """What came of a plan."""

    plan: Plan
    outcome: Outcome
    """Of the last step that was tried."""
    done: tuple[Step, ...]
    failed: Step | None = None
    message: str = ""
    retry_after: float = 0.0
    scale: WorkerScale | None = None
    """The WorkerScale after our last write to it; None where none was."""


def apply(
    plan: Plan,
    *,
    writer: Writer,
    leadership: Leadership,
    wrote: Callable[[Step, Outcome], None] = lambda _step, _outcome: None,
) -> Applied:
    """Do the steps in order; the first that fails ends it.

    Leadership is asked for before each write. `wrote` is told of each.
    """
    scale, done = plan.scale, list[Step]()
    changed: WorkerScale | None = None
    for step in plan.steps:
        if not leadership.leading:
            return Applied(
                plan=plan,
                outcome=Outcome.NOT_LEADING,
                done=tuple(done),
                failed=step,
                scale=changed,
            )
        try:
            written = writer.advance(scale, step)
        except (ApiError, NoAnswerError) as error:
            outcome = outcome_of(error)
            wrote(step, outcome)
            return Applied(
                plan=plan,
                outcome=outcome,
                done=tuple(done),
                failed=step,
                message=str(error),
                retry_after=error.retry_after if isinstance(error, ApiError) else 0.0,
                scale=changed,
            )
        wrote(step, Outcome.DONE)
        done.append(step)
        if written is not scale:
            changed = scale = written
    return Applied(plan=plan, outcome=Outcome.DONE, done=tuple(done), scale=changed)


def outcome_of(error: ApiError | NoAnswerError) -> Outcome:
    """Say what an error of the API server means for what is done next."""
    if isinstance(error, NoAnswerError) or error.status in _BUSY:
        return Outcome.UNREACHABLE
    if error.status in _STALE:
        return Outcome.STALE
    if error.status in _FORBIDDEN:
        return Outcome.FORBIDDEN
    return Outcome.FAILED if error.status >= _SERVER_ERRORS_FROM else Outcome.REFUSED
