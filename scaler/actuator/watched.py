"""What the actuator keeps of one WorkerScale between two looks."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from scaler.actuator.apply import Applied, Outcome
from scaler.actuator.inputs import Inputs, Surroundings
from scaler.core.hold.steps import Plan, SetFinalizer, SetReplicas, Step, WriteStatus
from scaler.core.model import Instant, ScaleCondition, WorkerScale, WorkerScaleStatus

QUIET_SECONDS = 5.0
"""After our own writes a WorkerScale is planned again when they are seen, or after so long."""
WORDS_SECONDS = 60.0
"""A status in which words alone changed is not written more often."""
FORBIDDEN_SECONDS = 60.0
"""A write that was forbidden or refused is tried again after so long: a person has to mend it."""
STALE_SECONDS = 0.5
"""After a write to what was there no more; doubled with each further one in a row."""
FAILED_SECONDS = 1.0
"""After one that failed; doubled likewise."""
LONGEST_PAUSE_SECONDS = 30.0

_OWN = (SetReplicas, SetFinalizer, WriteStatus)


@dataclass(slots=True)
class Watched:
    """One WorkerScale's last plan, what it was made from, and what has to come before the next."""

    inputs: Inputs | None = None
    """None = to be planned in any case."""
    plan: Plan | None = None
    due: Instant | None = None
    """When the plan asked for another look."""
    quiet_until: float = 0.0
    """By the monotonic clock: no plan before, unless what we wrote is seen."""
    version: str | None = None
    """The WorkerScale's resourceVersion that our last write gave it."""
    unseen: tuple[tuple[Step, object], ...] = ()
    """Our other writes, each with the record that it changes."""
    stale: int = 0
    """Writes in a row that were stale."""
    failures: int = 0
    """Writes in a row that failed: whoever has more of them waits for the others."""
    words_at: float = float("-inf")
    """When a status was last written for its words alone."""
    told: set[tuple[type[Step], Outcome]] = field(default_factory=set)
    """Failures that were logged."""

    def wants(
        self,
        inputs: Inputs,
        *,
        scale: WorkerScale,
        around: Surroundings,
        now: Instant,
        elapsed: float,
    ) -> bool:
        """Say whether it has to be planned now."""
        if elapsed < self.quiet_until and not self._seen(scale, around):
            return False
        due = self.due is not None and now >= self.due
        return due or self.inputs is None or self.inputs != inputs

    def _seen(self, scale: WorkerScale, around: Surroundings) -> bool:
        """Say whether the State shows all that we wrote."""
        if self.version is None and not self.unseen:
            return False
        if self.version is not None and not _reached(scale.resource_version, self.version):
            return False
        return all(around.written(step) != before for step, before in self.unseen)

    def planned(self, plan: Plan, *, inputs: Inputs, now: Instant) -> None:
        """Note a plan."""
        self.plan, self.inputs = plan, inputs
        again = plan.look_again_in
        self.due = None if again is None else now + again
        self.quiet_until, self.version, self.unseen = 0.0, None, ()

    def failed(self, *, elapsed: float, seconds: float) -> None:
        """Note that it could not be planned."""
        self.inputs = None
        self.quiet_until, self.version, self.unseen = elapsed + seconds, None, ()

    def applied(self, applied: Applied, *, around: Surroundings, elapsed: float) -> None:
        """Note what came of its steps, and so when it is planned again."""
        self.inputs = None
        self.version = None if applied.scale is None else applied.scale.resource_version
        self.unseen = tuple((step, around.written(step)) for step in _others(applied.done))
        self.stale = self.stale + 1 if applied.outcome is Outcome.STALE else 0
        failed = applied.outcome in (Outcome.FAILED, Outcome.UNREACHABLE)
        self.failures = self.failures + 1 if failed else 0
        if applied.outcome is Outcome.DONE:
            self.told.clear()
        self.quiet_until = elapsed + self._pause(applied)
        if applied.outcome not in (Outcome.DONE, Outcome.NOT_LEADING):
            # What was written before it failed does not cut the wait short.
            self.version, self.unseen = None, ()

    def _pause(self, applied: Applied) -> float:
        match applied.outcome:
            case Outcome.FORBIDDEN | Outcome.REFUSED:
                return FORBIDDEN_SECONDS
            case Outcome.STALE:
                return _grown(STALE_SECONDS, self.stale)
            case Outcome.FAILED | Outcome.UNREACHABLE:
                return _grown(FAILED_SECONDS, self.failures)
            case Outcome.DONE | Outcome.NOT_LEADING:
                return QUIET_SECONDS

    def worth(self, plan: Plan, *, elapsed: float) -> Plan:
        """Leave out a status whose words alone changed, where such a one was written lately."""
        if not _words_alone(plan):
            return plan
        if elapsed - self.words_at < WORDS_SECONDS:
            return replace(plan, steps=())
        self.words_at = elapsed
        return plan


def _grown(first: float, times: int) -> float:
    return min(first * 2.0 ** min(times - 1, 10), LONGEST_PAUSE_SECONDS)


def _others(steps: Iterable[Step]) -> Iterable[Step]:
    """Give the steps that write something else than the WorkerScale."""
    return (step for step in steps if not isinstance(step, _OWN))


def _reached(seen: str, written: str) -> bool:
    """Say whether a resourceVersion is that one or a later one (Kubernetes counts them up)."""
    if seen.isdecimal() and written.isdecimal():
        return int(seen) >= int(written)
    return seen == written


def _words_alone(plan: Plan) -> bool:
    if len(plan.steps) != 1 or not isinstance(plan.steps[0], WriteStatus):
        return False
    return _without_words(plan.scale.status) == _without_words(plan.steps[0].status)


def _without_words(status: WorkerScaleStatus) -> WorkerScaleStatus:
    return replace(
        status, message="", conditions=tuple(_silent(each) for each in status.conditions)
    )


def _silent(condition: ScaleCondition) -> ScaleCondition:
    return replace(condition, message="")
