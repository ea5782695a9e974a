"""Name what happens to a WorkerScale, as Events and metrics tell it."""

from enum import StrEnum

from scaler.core.hold.steps import Plan
from scaler.core.hold.words import Cause, State
from scaler.core.model import WorkerScaleStatus

BREACHES = frozenset(
    {
        Cause.WORKLOAD_REPLACED,
        Cause.USAGE_LOST,
        Cause.EVICTED_WHILE_HELD,
        Cause.PODS_READY_LOST,
        Cause.NOT_TAKEN,
        Cause.DEACTIVATED_BY_OTHERS,
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
    WOKEN = "Woken"
    RELEASED = "Released"
    REQUEUED = "Requeued"
    REFUSED = "Refused"
    ROLLED_BACK = "RolledBack"
    CONFLICT = "Conflict"
    NOT_IDLE = "NotIdle"


WARNINGS = frozenset({Happening.REFUSED, Happening.ROLLED_BACK, Happening.CONFLICT})

PASSING = frozenset({Happening.REFUSED, Happening.NOT_IDLE})
"""What may be over in a moment, as after a start: told once it has lasted."""


def happening(plan: Plan, *, before: str) -> Happening | None:
    """Name what a plan makes news of, None where it is none; `before` is the state until now."""
    if plan.cause in BREACHES:
        return Happening.ROLLED_BACK
    match plan.state:
        case State.HELD:
            return Happening.HELD
        case State.RELEASED:
            return Happening.RELEASED
        case State.QUEUED:
            return Happening.REQUEUED
        case State.REFUSED:
            return Happening.REFUSED
        case State.CONFLICT:
            return Happening.CONFLICT
        case State.NOT_IDLE:
            return Happening.NOT_IDLE
        case State.RUNNING if before in TAKEN:
            return Happening.WOKEN
        case _:
            return None


def differs(status: WorkerScaleStatus, plan: Plan) -> bool:
    """Say whether state or cause are other ones than the WorkerScale's status says."""
    return (status.state, status.reason) != (plan.state, plan.cause)
