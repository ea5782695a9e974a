"""Name what happens to a WorkerScale, as Events and metrics tell it."""

from enum import StrEnum

from scaler.actuator.apply import Applied, Outcome
from scaler.core.hold.steps import DropMark, Plan
from scaler.core.hold.words import Cause, State
from scaler.core.model import WorkerScaleStatus

BREACHES = frozenset(
    {
        Cause.WORKLOAD_REPLACED,
        Cause.USAGE_LOST,
        Cause.EVICTED_WHILE_HELD,
        Cause.PODS_READY_LOST,
        Cause.NOT_TAKEN,
        Cause.WORKER_SCALE_LOST,
    }
)
"""What ends a hold by force."""

AWAY = frozenset({State.HELD, State.WAKE_PENDING, State.RELEASED, State.QUEUED})
"""No worker is there: its GPUs are free for others."""

TAKEN = AWAY | {State.HOLDING, State.RELEASING, State.WAKING}
"""Not yet, or not again, as it was before."""


class Happening(StrEnum):
    """Reason of an Event."""

    HELD = "Held"
    """No worker is left, and the quota is kept."""
    WOKEN = "Woken"
    """The workers are back."""
    RELEASED = "Released"
    """No pod is left, and the quota went back to the queue."""
    REQUEUED = "Requeued"
    """Wanted back, it waits in its queue."""
    REFUSED = "Refused"
    """Zero is asked for and can't be had without breaking a promise."""
    ROLLED_BACK = "RolledBack"
    """A hold was ended by force, and the workers are given back."""
    CONFLICT = "Conflict"
    """Another writer undid what was done."""
    NOT_IDLE = "NotIdle"
    """Zero is asked for, but the workers are not known to be idle."""
    WRITE_REFUSED = "WriteRefused"
    """The API server refuses what is to be done: a person has to mend it."""


WARNINGS = frozenset(
    {Happening.REFUSED, Happening.ROLLED_BACK, Happening.CONFLICT, Happening.WRITE_REFUSED}
)

_OF_STATE = {
    State.HELD: Happening.HELD,
    State.RELEASED: Happening.RELEASED,
    State.QUEUED: Happening.REQUEUED,
    State.REFUSED: Happening.REFUSED,
    State.CONFLICT: Happening.CONFLICT,
    State.NOT_IDLE: Happening.NOT_IDLE,
}

PASSING = frozenset({Happening.REFUSED, Happening.NOT_IDLE})
"""What may be over in a moment, as after a start: told once it has lasted."""


def happening(plan: Plan, *, before: tuple[str, str]) -> Happening | None:
    """Name what a plan makes news of, None where it is none; `before` is state and cause so far."""
    state, cause = before
    if plan.cause in BREACHES and plan.cause != cause:
        return Happening.ROLLED_BACK
    if plan.state is State.RUNNING and state in TAKEN:
        return Happening.WOKEN
    return _OF_STATE.get(plan.state)


def orphan_news(applied: Applied) -> Happening | None:
    """Name what became of workers whose WorkerScale is no more, None where it is no news.

    A mark that is taken off what somebody else put back is none.
    """
    if applied.plan.state is State.CONFLICT:
        return Happening.CONFLICT
    if applied.outcome in (Outcome.FORBIDDEN, Outcome.REFUSED):
        return Happening.WRITE_REFUSED
    given = any(not isinstance(step, DropMark) for step in applied.done)
    return Happening.ROLLED_BACK if given and applied.outcome is Outcome.DONE else None


def differs(status: WorkerScaleStatus, plan: Plan) -> bool:
    """Say whether state or cause are other ones than the WorkerScale's status says."""
    return (status.state, status.reason) != (plan.state, plan.cause)
