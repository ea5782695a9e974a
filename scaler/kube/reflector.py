"""Follow one kind: list it completely, watch what changes, and never lose count of either.

One thread a kind. A list is published when its last page is there, never before. A watch starts
where the list or the last good event ended, so that what happens between two watches is replayed;
where that is not certain (410, silence, repeated failures) the kind is listed anew.
"""

import random
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import assert_never

import structlog

from scaler.core.model import Instant
from scaler.kube.api import Api, ApiError, NoAnswerError, Stream
from scaler.kube.discovery import Served, discover
from scaler.kube.listing import accept, read_list
from scaler.kube.resources import Resource
from scaler.kube.retry import Outcome, Pace, Phase, next_step
from scaler.kube.standing import Sink, Standing
from scaler.kube.watching import (
    Bookmark,
    LineError,
    Refusal,
    Removed,
    Seen,
    goes_back,
    read_event,
)

_LONGEST_RETRY_AFTER = 60.0

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchTimes:
    """How long a watch lasts, in seconds."""

    server: float = 240.0
    """Asked of the server, plus up to a quarter of it: then it closes the watch."""
    silence: float = 90.0
    """Read time-out; bookmarks come about every 60 s, so that longer silence is an outage."""


class Reflector:
    """Lists and watches one kind and tells a sink; `run` in a thread of its own."""

    def __init__(
        self,
        *,
        api: Api,
        resource: Resource,
        sink: Sink,
        clock: Callable[[], Instant] = time.time,
        pace: Pace | None = None,
        times: WatchTimes | None = None,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        """Take what it works with; nothing is asked before `start` or `run`."""
        self._api = api
        self._resource = resource
        self._sink = sink
        self._pace = pace or Pace()
        self._times = times or WatchTimes()
        self._jitter = jitter
        self._standing = Standing(resource, sink, clock)
        self._phase = Phase.DISCOVER
        self._served: Served | None = None
        self._version = ""
        self._attempt = 0
        self._retry_after = 0.0
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._stream: Stream | None = None
        """Guarded by _lock: written by the thread, closed by stop."""
        self._thread = threading.Thread(
            target=self.run, name=f"reflect-{resource.plural}", daemon=True
        )

    def start(self) -> None:
        """Run in a thread."""
        self._thread.start()

    def stop(self) -> None:
        """Ask the thread to end, and wake it; does not wait."""
        self._stopping.set()
        with self._lock:
            if self._stream is not None:
                self._stream.close()

    @property
    def served_version(self) -> str | None:
        """Give the version in which the kind is served, None before that is known."""
        return None if self._served is None else self._served.version

    def join(self, timeout: float | None = None) -> bool:
        """Wait for the thread; say whether it ended."""
        with suppress(RuntimeError):  # never started
            self._thread.join(timeout)
        return not self._thread.is_alive()

    def run(self) -> None:
        """Take turns until stopped."""
        while not self._stopping.is_set():
            self._stopping.wait(self.turn())

    def turn(self) -> float:
        """Discover, list or watch once; give the seconds to wait before the next turn."""
        phase = self._phase
        try:
            outcome = self._do(phase)
        except ApiError as error:
            outcome = self._refused(phase, error.status, error.message)
            self._retry_after = min(error.retry_after, _LONGEST_RETRY_AFTER)
        except NoAnswerError as error:
            outcome = self._unanswered(phase, error)
        except Exception as error:  # noqa: BLE001  # the thread must outlive any one answer
            _log.exception("reflector failed", resource=self._resource.full_name)
            self._standing.failed(phase.value, repr(error))
            self._phase, outcome = Phase.LIST, Outcome.FAILED
        return self._after(outcome)

    def _do(self, phase: Phase) -> Outcome:
        match phase:
            case Phase.DISCOVER:
                return self._discover()
            case Phase.LIST:
                return self._list()
            case Phase.WATCH:
                return self._watch()
            case _:
                assert_never(phase)

    def _after(self, outcome: Outcome) -> float:
        """Move on to what the table says."""
        if outcome in (Outcome.ENDED, Outcome.BRIEF, Outcome.SILENT):
            self._attempt = 0
        elif outcome is not Outcome.DONE:
            self._attempt += 1
        step = next_step(
            outcome,
            phase=self._phase,
            attempt=max(1, self._attempt),
            jitter=self._jitter(),
            pace=self._pace,
        )
        self._phase = step.phase
        delay, self._retry_after = max(step.delay, self._retry_after), 0.0
        return delay

    # --- phases --------------------------------------------------------------------------------

    def _discover(self) -> Outcome:
        self._served = discover(self._api, self._resource)
        if self._served is None:
            self._standing.absent()
            return Outcome.NOT_INSTALLED
        return Outcome.DONE

    def _list(self) -> Outcome:
        if self._served is None:
            return Outcome.NOT_FOUND
        listing = read_list(self._api, self._resource, self._served, stopping=self._stopping.is_set)
        if listing is None:
            return Outcome.ENDED
        self._version = listing.version
        self._sink.listed(self._resource.kind, listing.records, len(listing.malformed))
        self._standing.skipped_in_list(listing.malformed, listing.problems)
        self._standing.synced()
        return Outcome.DONE

    def _watch(self) -> Outcome:
        if self._served is None:
            return Outcome.NOT_FOUND
        began = time.monotonic()
        stream = self._open(self._served)
        came = False
        try:
            for line in stream:
                event = read_event(self._resource.kind, line)
                if isinstance(event, Refusal):
                    return self._refused(Phase.WATCH, event.code, event.message)
                if goes_back(event.version, known=self._version):
                    self._standing.failed(Phase.WATCH.value, "versions go back: list anew")
                    return Outcome.EXPIRED
                self._take(event)
                came = True
        except LineError as error:
            self._standing.failed(Phase.WATCH.value, f"a line is no event: {error}")
            return Outcome.BAD_LINE
        finally:
            self._close(stream)
        if time.monotonic() - began >= self._pace.steady or self._stopping.is_set():
            return Outcome.ENDED
        return Outcome.BRIEF if came else Outcome.EMPTY

    def _open(self, served: Served) -> Stream:
        lasting = self._times.server * (1 + self._jitter() / 4)
        stream = self._api.stream(
            served.path,
            params={
                "watch": "true",
                "allowWatchBookmarks": "true",
                "resourceVersion": self._version,
                "timeoutSeconds": str(max(1, round(lasting))),
            },
            accept=accept(self._resource, one=True),
            read_timeout=self._times.silence,
        )
        with self._lock:
            self._stream = stream
            if self._stopping.is_set():
                stream.close()
        return stream

    def _close(self, stream: Stream) -> None:
        with self._lock:
            self._stream = None
        stream.close()

    def _take(self, event: Seen | Removed | Bookmark) -> None:
        """Pass an event on; its version counts once it has been told."""
        match event:
            case Seen():
                self._take_seen(event)
            case Removed(key=key):
                self._standing.well_formed(key)
                self._sink.deleted(self._resource.kind, key)
            case Bookmark():
                pass
            case _:
                assert_never(event)
        self._version = event.version or self._version
        self._attempt = 0
        self._standing.alive()

    def _take_seen(self, event: Seen) -> None:
        """Pass an object on; a malformed one, or one that is not kept, is as good as gone."""
        if event.problem is None:
            self._standing.well_formed(event.key)
        else:
            self._standing.skipped(event.key, event.problem)
        if event.record is None:
            self._sink.deleted(self._resource.kind, event.key)
        else:
            self._sink.changed(self._resource.kind, event.record)

    # --- failures ------------------------------------------------------------------------------

    def _refused(self, phase: Phase, status: int, message: str) -> Outcome:
        match status:
            case 404:
                outcome = Outcome.NOT_FOUND
            case 410:
                outcome = Outcome.EXPIRED
            case 401 | 403:
                outcome = Outcome.FORBIDDEN
            case _:
                outcome = Outcome.FAILED
        if outcome is Outcome.EXPIRED and phase is Phase.WATCH and self._attempt == 0:
            return outcome  # a quiet kind's version ages: nothing is wrong unless it lasts
        self._standing.failed(phase.value, message, status=status)
        return outcome

    def _unanswered(self, phase: Phase, error: NoAnswerError) -> Outcome:
        if self._stopping.is_set():
            return Outcome.ENDED
        if error.silent and phase is Phase.WATCH:
            return Outcome.SILENT  # a quiet kind may have no bookmarks: the list will tell
        self._standing.failed(phase.value, str(error))
        return Outcome.FAILED
