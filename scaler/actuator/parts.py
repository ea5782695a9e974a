"""Whom the actuator works with, and what it tells them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, assert_never

import structlog

from scaler.actuator.apply import Applied, Outcome, Writer
from scaler.actuator.inputs import RefsOf
from scaler.actuator.lease import Leadership
from scaler.core.decision import Decision
from scaler.core.hold.steps import (
    DropMark,
    Plan,
    SetActive,
    SetFinalizer,
    SetGroup,
    SetNotebook,
    SetParallelism,
    SetReplicas,
    Step,
    WriteStatus,
)
from scaler.core.model import Instant, WorkerScale
from scaler.core.policy import Policy
from scaler.core.snapshot import Snapshot
from scaler.store import State, Store

_ON_TARGET = (SetGroup, SetParallelism, SetActive, SetNotebook, DropMark)

log = structlog.get_logger(__name__)


class Planner(Protocol):
    """Who says what becomes of a WorkerScale; pure."""

    def __call__(
        self,
        *,
        snapshot: Snapshot,
        scale: WorkerScale,
        decisions: Sequence[Decision],
        policy: Policy,
        now: Instant,
    ) -> Plan:
        """Plan one WorkerScale."""
        ...


class Witness(Protocol):
    """Who is told what happens: Events, metrics; must not block nor raise."""

    def planned(self, plan: Plan, state: State, now: Instant) -> None:
        """Take a plan."""
        ...

    def wrote(self, step: Step, outcome: Outcome) -> None:
        """Take a write."""
        ...

    def applied(self, applied: Applied, state: State) -> None:
        """Take what came of a plan's steps."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Whom the actuator works with."""

    store: Store
    plan: Planner
    refs_of: RefsOf
    writer: Writer
    leadership: Leadership
    witnesses: tuple[Witness, ...] = ()


def takes(plan: Plan) -> bool:
    """Say whether a plan takes workers."""
    return any(_takes(step) for step in plan.steps)


def gives(plan: Plan) -> bool:
    """Say whether a plan writes something to its target that takes nothing."""
    return any(isinstance(step, _ON_TARGET) and not _takes(step) for step in plan.steps)


def _takes(step: Step) -> bool:
    match step:
        case SetGroup():
            return step.suspend
        case SetParallelism():
            return step.taking
        case SetActive():
            return not step.active
        case SetNotebook():
            return step.stop
        case DropMark() | SetReplicas() | SetFinalizer() | WriteStatus():
            return False
        case _:
            assert_never(step)


def say(applied: Applied, *, told: set[tuple[type[Step], Outcome]]) -> None:
    """Log what was done, and each failure that is not one of every day once."""
    plan = applied.plan
    about = log.bind(
        namespace=plan.scale.namespace,
        worker_scale=plan.scale.name,
        state=plan.state,
        cause=plan.cause,
    )
    if applied.done:
        about.info("applied", steps=[type(step).__name__ for step in applied.done])
    if applied.failed is None or applied.outcome is Outcome.NOT_LEADING:
        return
    failure = (type(applied.failed), applied.outcome)
    tell = about.debug if failure in told or applied.outcome is Outcome.STALE else about.warning
    told.add(failure)
    tell(
        "not applied",
        step=type(applied.failed).__name__,
        outcome=applied.outcome,
        error=applied.message,
    )
