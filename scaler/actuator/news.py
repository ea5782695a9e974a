"""Tell people, by Events on all that it concerns, what became of their workers and why."""

import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import structlog

from scaler.actuator.apply import Applied, Outcome
from scaler.actuator.inputs import RefsOf
from scaler.actuator.words import PASSING, WARNINGS, Happening, happening
from scaler.core.hold.steps import Plan, Step
from scaler.core.model import Instant, Name, WorkerScale
from scaler.core.snapshot import Snapshot
from scaler.observer.announce import (
    FAILURES_A_LOOK,
    RETRY_SECONDS,
    SETTLED_SECONDS,
    About,
    Announcement,
    EventWriter,
)
from scaler.store import State

MOST_WAITING = 2_000
"""Events that wait for an API server; the oldest are given up."""

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class _Seen:
    """The newest word about a WorkerScale."""

    word: tuple[str, str]
    """State and cause."""
    since: Instant
    passing: tuple[Announcement, ...] = ()
    """Told once they have lasted."""


class News:
    """Take plans from the actuator's thread, and write Events in one of its own.

    `_lock` guards `_seen` and `_waiting`.
    """

    def __init__(
        self,
        *,
        writer: EventWriter,
        refs_of: RefsOf,
        clock: Callable[[], Instant],
        pace: float = 1.0,
    ) -> None:
        """Take the way out; `pace` are the seconds between two looks."""
        self._writer = writer
        self._refs_of = refs_of
        self._clock = clock
        self._pace = pace
        self._lock = threading.Lock()
        self._seen: dict[Name, _Seen] = {}
        self._waiting: deque[Announcement] = deque(maxlen=MOST_WAITING)
        self._not_before: Instant = 0.0
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="news", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Ask the thread to end; an Event under way is not waited for."""
        self._stopping.set()

    def planned(self, plan: Plan, state: State, now: Instant) -> None:
        """Note a plan; the same state and cause as before are no news."""
        key, word = plan.scale.key, (str(plan.state), str(plan.cause))
        with self._lock:
            seen = self._seen.get(key)
            if seen is None:
                # What the status says was told by whoever wrote it.
                status = plan.scale.status
                seen = self._seen[key] = _Seen(word=(status.state, status.reason), since=now)
            if seen.word == word:
                return
            news = happening(plan, before=seen.word[0])
            told = () if news is None else tuple(self._told(plan, news, state.snapshot, now))
            passing = news in PASSING
            self._seen[key] = _Seen(word=word, since=now, passing=told if passing else ())
            if not passing:
                self._waiting.extend(told)

    def wrote(self, step: Step, outcome: Outcome) -> None:
        """Tell nothing of single writes."""

    def applied(self, applied: Applied, state: State) -> None:
        """Tell that we may not do what is to be done: a person has to mend it."""
        if applied.outcome in (Outcome.FORBIDDEN, Outcome.REFUSED):
            ...

    def look(self, *, now: Instant) -> None:
        """Write what waits, and what has lasted since it was noted."""
        with self._lock:
            for seen in self._seen.values():
                if seen.passing and now - seen.since >= SETTLED_SECONDS:
                    self._waiting.extend(seen.passing)
                    seen.passing = ()
        failures = 0
        while failures < FAILURES_A_LOOK and now >= self._not_before:
            with self._lock:
                told = self._waiting.popleft() if self._waiting else None
            if told is None:
                return
            ...

    def _run(self) -> None:
        while not self._stopping.wait(self._pace):
            try:
                self.look(now=self._clock())
            except Exception:
                # One odd object must not end the only thread that tells.
                log.exception("telling failed")
