"""Count and log what passes by: source errors, skipped objects, changed decisions."""

from collections.abc import Mapping

import structlog

from scaler.core.decision import Decision
from scaler.core.model import Kind, SourceState
from scaler.core.reasons import Reason
from scaler.core.trigger import TriggerRef
from scaler.core.usage import QueryAnswer, QueryKey, Usage, UsageKey
from scaler.observer.changes import Inbox
from scaler.policyfile import PolicyState
from scaler.store import State
from scaler.telemetry import Telemetry

log = structlog.get_logger(__name__)


class CountingInbox(Inbox):
    """An inbox that counts errors on the way; called from the sources' threads."""

    def __init__(self, telemetry: Telemetry) -> None:
        super().__init__()
        self._telemetry = telemetry
        self._skipped: dict[Kind, int] = {}
        """How many malformed objects each source had; a kind's own thread alone writes its own."""

    def state(self, kind: Kind, state: SourceState) -> None:
        """Take a source's state; count its problem, and the objects that became malformed.

        Not those of each list: a malformed object is one, however often it is listed.
        """
        more = state.skipped - self._skipped.get(kind, 0)
        self._skipped[kind] = state.skipped
        if more > 0:
            self._telemetry.skipped.labels(kind).inc(more)
        if state.problem is not None:
            self._telemetry.errors.labels(kind).inc()
        super().state(kind, state)

    def usage(
        self, usage: Mapping[UsageKey, Usage], answers: Mapping[QueryKey, QueryAnswer]
    ) -> None:
        """Take what Prometheus said, and count it once if something failed."""
        problems = [read.problem for read in usage.values()]
        problems += [read.problem for read in answers.values()]
        if any(problems):
            self._telemetry.errors.labels("prometheus").inc()
        super().usage(usage, answers)


class ChangeLog:
    """Log and count changed Decisions and refused policies; listens to the store.

    Called in the observer's thread alone.
    """

    def __init__(self, telemetry: Telemetry) -> None:
        self._telemetry = telemetry
        self._would: set[TriggerRef] = set()
        self._policy: PolicyState | None = None

    def __call__(self, state: State, changed: frozenset[TriggerRef]) -> None:
        """Look at one publication."""
        if state.policy is not self._policy:
            self._policy = state.policy
            self._telemetry.policy_refused.inc(1 if state.policy.problems else 0)
        self._would &= state.decisions.keys()
        for ref in changed:
            self._one(ref, state.decisions[ref])

    def _one(self, ref: TriggerRef, decision: Decision) -> None:
        self._telemetry.changes.labels(decision.reason).inc()
        would = decision.reason is Reason.DRY_RUN
        if would and ref not in self._would:
            self._telemetry.would_have.labels(decision.namespace, decision.name).inc()
        (self._would.add if would else self._would.discard)(ref)
        log.info(
            "decided",
            namespace=decision.namespace,
            scaled_object=decision.name,
            metric=decision.metric,
            status=decision.status,
            active=decision.active,
            value=decision.value,
            size=decision.size,
            reason=decision.reason,
            detail=decision.detail,
        )
