"""Count and log what passes by: source errors, skipped objects, changed decisions."""

from collections.abc import Mapping
from contextlib import suppress

import structlog

from scaler.core.decision import Decision, Status
from scaler.core.metadata import open_metadata
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
        self._before: dict[TriggerRef, Decision] = {}
        self._policy: PolicyState | None = None

    def __call__(self, state: State, changed: frozenset[TriggerRef]) -> None:
        """Look at one publication."""
        if state.policy is not self._policy:
            self._policy = state.policy
            self._telemetry.policy_refused.inc(1 if state.policy.problems else 0)
        self._would &= state.decisions.keys()
        for ref in changed:
            self._one(ref, state.decisions[ref])
        if len(self._before) > len(state.decisions):  # with each publication it would cost
            self._forget(self._before.keys() - state.decisions.keys())

    def _forget(self, gone: set[TriggerRef]) -> None:
        """Forget triggers that are no more, and the series of ScaledObjects without any."""
        for ref in gone:
            del self._before[ref]
        for key in {ref.key for ref in gone} - {ref.key for ref in self._before}:
            with suppress(KeyError):  # most were in no dry run
                self._telemetry.would_have.remove(*key)

    def _one(self, ref: TriggerRef, decision: Decision) -> None:
        self._telemetry.changes.labels(decision.reason).inc()
        would = decision.reason is Reason.DRY_RUN
        if would and ref not in self._would:
            self._telemetry.would_have.labels(decision.namespace, decision.name).inc()
        (self._would.add if would else self._would.discard)(ref)
        before = self._before.get(ref)
        self._before[ref] = decision
        log.info(
            "decided",
            namespace=decision.namespace,
            scaled_object=decision.name,
            trigger=_trigger(ref, decision),
            metric=decision.metric,
            status=decision.status,
            active=decision.active,
            value_before=None if before is None else before.value,
            value=decision.value,
            reason_before=None if before is None else before.reason,
            reason=decision.reason,
            size=decision.size,
            detail=decision.detail,
            evidence=_evidence(decision),
        )


def _trigger(ref: TriggerRef, decision: Decision) -> str:
    """Name a trigger by its metadata; of a malformed one, which may hold anything, by its keys."""
    known = decision.status is not Status.INVALID
    keys = open_metadata(ref.metadata)
    return " ".join(key if value is None or not known else f"{key}={value}" for key, value in keys)


def _evidence(decision: Decision) -> Mapping[str, object]:
    """Give the numbers that a Decision rests on, in one line's length."""
    found: dict[str, object] = {}
    queue, idle = decision.queue, decision.idle
    if queue is not None:
        found["classes"] = {
            f"{one.cluster_queue}/{one.workload_class}": one.workloads for one in queue.classes
        }
        if queue.pool is not None:
            pool = queue.pool
            found |= {"pool": pool.pool, "new": pool.new, "usable": pool.usable}
            found |= {"coming": pool.coming, "broken": pool.broken, "max_nodes": pool.max_nodes}
    if idle is not None:
        found |= {"workload": idle.workload, "verdict": idle.verdict, "pods": len(idle.pods)}
        found |= {"gpus": idle.physical_gpus, "idle_seconds": idle.idle_seconds}
        found["peak_percent"] = max(
            (one.peak_percent for one in idle.devices if one.peak_percent is not None), default=None
        )
    return found
