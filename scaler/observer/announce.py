"""Tell people, by Events on the ScaledObject, when HOLD begins and ends.

That a policy was refused is told on our own pod: it is about no ScaledObject in particular.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import structlog

from scaler.core.decision import Decision, Status
from scaler.core.model import Instant, ScaledObject
from scaler.core.reasons import Reason
from scaler.core.trigger import Problem, TriggerRef
from scaler.store import Store

SETTLED_SECONDS = 10.0
"""A HOLD shorter than this is no news: a start, a reconnect, one failed query."""

TOLD = frozenset({Reason.SWALLOWED, Reason.TOPOLOGY_DISAGREES})
"""Reasons of plain decisions that a person should hear of."""

RETRY_SECONDS = 60.0
"""An Event that could not be written is tried again after so long."""

FAILURES_A_LOOK = 3
"""Then the look ends: while the API server is silent each failure takes a time-out."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """The object that an Event is about."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str

    @classmethod
    def scaled_object(cls, found: ScaledObject) -> "About":
        """Name a ScaledObject."""
        return cls(
            api_version="keda.sh/v1alpha1",
            kind="ScaledObject",
            namespace=found.namespace,
            name=found.name,
            uid=found.uid,
        )

    @classmethod
    def pod(cls, *, namespace: str, name: str, uid: str) -> "About":
        """Name a pod."""
        return cls(api_version="v1", kind="Pod", namespace=namespace, name=name, uid=uid)


@dataclass(frozen=True, slots=True, kw_only=True)
class Announcement:
    """One Event to be written."""

    about: About
    warning: bool
    reason: str
    message: str
    subject: str
    """What two replicas agree on: the same subject makes the same Event."""
    at: Instant


class EventWriter(Protocol):
    """Where Events go; never raises."""

    def write(self, announcement: Announcement) -> bool:
        """Write one Event; say whether it was."""
        ...


@dataclass(slots=True)
class _Seen:
    """What was last seen of one trigger."""

    word: str
    since: Instant
    told: bool = False
    not_before: Instant = 0.0
    """When to try again to tell; a failure sets it."""


def word_of(decision: Decision) -> str:
    """Give the word whose change is news: HOLD, a reason to be told of, or nothing."""
    if decision.status is not Status.OK:
        return "Hold"
    return decision.reason if decision.reason in TOLD else ""


class Announcer:
    """Watch the store in a thread of its own, so that a slow API server delays no decision.

    All that it keeps belongs to that thread.
    """

    def __init__(
        self,
        *,
        store: Store,
        writer: EventWriter,
        clock: Callable[[], Instant],
        pod: About | None = None,
        pace: float = 2.0,
    ) -> None:
        self._pod = pod
        self._refused: tuple[Problem, ...] = ()
        self._policy_not_before: Instant = 0.0
        self._store = store
        self._writer = writer
        self._clock = clock
        self._pace = pace
        self._seen: dict[TriggerRef, _Seen] = {}
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="events", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Ask the thread to end; an Event under way is not waited for."""
        self._stopping.set()

    def _run(self) -> None:
        while not self._stopping.wait(self._pace):
            try:
                self.look(now=self._clock())
            except Exception:
                # One odd object must not end the only thread that tells.
                log.exception("announcing failed")

    def look(self, *, now: Instant) -> None:
        """Compare the newest decisions with what was told, and tell what settled since."""
        state = self._store.latest()
        self._seen = {ref: seen for ref, seen in self._seen.items() if ref in state.decisions}
        failures = 0 if self._policy(state.policy.problems, now) else 1
        for ref, decision in state.decisions.items():
            scaled_object = state.snapshot.scaled_objects.get(ref.key)
            if scaled_object is None:
                continue
            failures += not self._one(ref, decision, scaled_object, now)
            if failures >= FAILURES_A_LOOK:
                return

    def _policy(self, problems: tuple[Problem, ...], now: Instant) -> bool:
        """Tell once that a policy was refused, and once that its successor is in force."""
        if self._pod is None or problems == self._refused or now < self._policy_not_before:
            return True
        told = self._writer.write(
            Announcement(
                about=self._pod,
                warning=bool(problems),
                reason="PolicyRefused" if problems else "PolicyLoaded",
                message="; ".join(str(problem) for problem in problems)
                or "the policy file is in force again",
                subject="policy/refused" if problems else "policy/loaded",
                at=now,
            )
        )
        if told:
            self._refused = problems
        self._policy_not_before = 0.0 if told else now + RETRY_SECONDS
        return told

    def _one(
        self, ref: TriggerRef, decision: Decision, scaled_object: ScaledObject, now: Instant
    ) -> bool:
        """Tell what there is to tell of one trigger; False where that failed."""
        word = word_of(decision)
        seen = self._seen.get(ref)
        if seen is None or (seen.word != word and not seen.told):
            self._seen[ref] = _Seen(word=word, since=now)
        elif now < seen.not_before:
            return True
        elif seen.word != word:
            over = seen.word == "Hold"
            if over and not self._tell(decision, scaled_object, now, reason="HoldEnded"):
                seen.not_before = now + RETRY_SECONDS
                return False
            self._seen[ref] = _Seen(word=word, since=now)
        elif word and not seen.told and now - seen.since >= SETTLED_SECONDS:
            seen.told = self._tell(decision, scaled_object, now, reason=word)
            seen.not_before = 0.0 if seen.told else now + RETRY_SECONDS
            return seen.told
        return True

    def _tell(
        self,
        decision: Decision,
        scaled_object: ScaledObject,
        now: Instant,
        *,
        reason: str,
    ) -> bool:
        message = {
            "Hold": f"KEDA is told to change nothing: {decision.reason}: {decision.detail}",
            "HoldEnded": f"decisions are made again: {decision.reason}: {decision.detail}",
        }.get(reason, decision.detail)
        return self._writer.write(
            Announcement(
                about=About.scaled_object(scaled_object),
                warning=reason != "HoldEnded",
                reason=reason,
                message=message,
                subject=f"{decision.metric}/{reason}",
                at=now,
            )
        )
