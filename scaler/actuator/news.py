"""Tell people, by Events on all that it concerns, what became of their workers and why."""

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import structlog

from scaler.actuator.abouts import abouts, target_abouts
from scaler.actuator.apply import Applied, Outcome
from scaler.actuator.inputs import RefsOf
from scaler.actuator.words import PASSING, WARNINGS, Happening, happening, orphan_news
from scaler.core.hold.steps import Plan, Step
from scaler.core.hold.words import Cause
from scaler.core.model import Instant, Name
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
"""Events that wait for an API server; further ones are given up."""
MOST_TRIES = 3

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class _Seen:
    """The newest word about a WorkerScale."""

    word: tuple[str, str]
    """State and cause."""
    since: Instant
    passing: tuple[Announcement, ...] = ()
    """Told once they have lasted."""
    refused: tuple[type[Step], Outcome] | None = None
    """The write that the API server refuses, where that was told."""


@dataclass(slots=True)
class _Waiting:
    """An Event that is still to be written."""

    announcement: Announcement
    not_before: Instant
    tries: int = 0


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
        self._waiting: list[_Waiting] = []
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
            self._drop_gone(state)
            seen = self._seen.get(key)
            if seen is None:
                # What the status says was told by whoever wrote it.
                status = plan.scale.status
                seen = self._seen[key] = _Seen(word=(status.state, status.reason), since=now)
            if seen.word == word:
                return
            news = happening(plan, before=seen.word)
            told = () if news is None else self._told(plan, state, news, plan.message, now)
            passing = news in PASSING
            self._seen[key] = _Seen(word=word, since=now, passing=told if passing else ())
            if not passing:
                self._queue(told, now)

    def wrote(self, step: Step, outcome: Outcome) -> None:
        """Tell nothing of single writes."""

    def applied(self, applied: Applied, state: State) -> None:
        """Tell once that the API server refuses what is to be done."""
        if applied.plan.cause is Cause.WORKER_SCALE_LOST:
            self._tell_orphan(applied, state)
            return
        step, outcome = applied.failed, applied.outcome
        if step is None or outcome not in (Outcome.FORBIDDEN, Outcome.REFUSED):
            return
        with self._lock:
            seen = self._seen.get(applied.plan.scale.key)
            if seen is None or seen.refused == (type(step), outcome):
                return
            seen.refused = (type(step), outcome)
            now = self._clock()
            news = Happening.WRITE_REFUSED
            self._queue(self._told(applied.plan, state, news, _refusal(applied), now), now)

    def _tell_orphan(self, applied: Applied, state: State) -> None:
        """Tell on the target alone: its WorkerScale is no more, nor what scaled that."""
        news, plan, now = orphan_news(applied), applied.plan, self._clock()
        if news is None:
            return
        refused = news is Happening.WRITE_REFUSED
        message = _refusal(applied) if refused else plan.message
        found = tuple(target_abouts(state.snapshot, plan.scale))
        with self._lock:
            self._queue(_announced(found, plan, news, message, now), now)

    def look(self, *, now: Instant) -> None:
        """Write what waits, and what has lasted since it was noted."""
        failures = 0
        for waiting in self._due(now):
            if failures < FAILURES_A_LOOK:
                if self._writer.write(waiting.announcement):
                    continue
                failures += 1
                waiting.tries += 1
                waiting.not_before = now + RETRY_SECONDS
            if waiting.tries < MOST_TRIES:
                with self._lock:
                    self._waiting.append(waiting)

    def _due(self, now: Instant) -> list[_Waiting]:
        with self._lock:
            for seen in self._seen.values():
                if seen.passing and now - seen.since >= SETTLED_SECONDS:
                    self._queue(seen.passing, now)
                    seen.passing = ()
            due = [waiting for waiting in self._waiting if now >= waiting.not_before]
            self._waiting = [waiting for waiting in self._waiting if now < waiting.not_before]
        return due

    def _queue(self, told: tuple[Announcement, ...], now: Instant) -> None:
        if len(self._waiting) < MOST_WAITING:
            self._waiting.extend(_Waiting(announcement=each, not_before=now) for each in told)

    def _told(
        self, plan: Plan, state: State, news: Happening, message: str, now: Instant
    ) -> tuple[Announcement, ...]:
        """Give one Event for each object that it concerns."""
        found: tuple[About, ...] = abouts(state.snapshot, plan.scale, refs_of=self._refs_of)
        return _announced(found, plan, news, message, now)

    def _drop_gone(self, state: State) -> None:
        """Forget WorkerScales that are no more, now and then."""
        known = state.snapshot.worker_scales
        if len(self._seen) > 2 * len(known) + 10:
            self._seen = {key: seen for key, seen in self._seen.items() if key in known}

    def _run(self) -> None:
        while not self._stopping.wait(self._pace):
            try:
                self.look(now=self._clock())
            except Exception:
                # One odd object must not end the only thread that tells.
                log.exception("telling failed")


def _refusal(applied: Applied) -> str:
    return f"{type(applied.failed).__name__} is {applied.outcome}: {applied.message}"


def _announced(
    found: Iterable[About], plan: Plan, news: Happening, message: str, now: Instant
) -> tuple[Announcement, ...]:
    return tuple(
        Announcement(
            about=about,
            warning=news in WARNINGS,
            reason=news,
            message=message,
            subject=f"workerscale/{plan.scale.name}/{news}",
            at=now,
        )
        for about in found
    )
