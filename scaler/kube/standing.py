"""Keep what is known of one source, and tell it: to the sink as it changes, to the log once."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Protocol

import structlog

from scaler.core.model import Instant, Kind, SourceState
from scaler.kube.decode import label_of
from scaler.kube.forms import Key, Record
from scaler.kube.resources import Resource

_TELL_ALIVE_EVERY = 1.0
"""Seconds between two states that differ in nothing but last_alive."""
_FORBIDDEN = (401, 403)

_log = structlog.get_logger()


class Sink(Protocol):
    """Who is told what a reflector sees; called from the reflector's thread, must not block."""

    def listed(self, kind: Kind, records: Sequence[Record], skipped: int) -> None:
        """Take a complete list: what is not in it is gone."""
        ...

    def changed(self, kind: Kind, record: Record) -> None:
        """Take an added or modified object."""
        ...

    def deleted(self, kind: Kind, key: Key) -> None:
        """Take that an object is gone, or is no longer kept; it may be unknown already."""
        ...

    def state(self, kind: Kind, state: SourceState) -> None:
        """Take how far the kind can be believed from now on."""
        ...


class Standing:
    """How one source stands; used by its reflector's thread alone."""

    def __init__(self, resource: Resource, sink: Sink, clock: Callable[[], Instant]) -> None:
        self._resource = resource
        self._sink = sink
        self._clock = clock
        self._state = SourceState(synced=False)
        self._told: SourceState | None = None
        self._outage: str | None = None
        """What sort of trouble was logged last; None after it was over."""
        self._malformed: set[Key] = set()
        self._nameless = 0

    @property
    def state(self) -> SourceState:
        """Give the newest state."""
        return self._state

    def alive(self) -> None:
        """Note a sign of life: an event or a bookmark."""
        if self._outage is None and self._is_told(self._clock()):
            return  # the way of nearly every event: no new state to make
        self._over()
        self._set(replace(self._state, last_alive=self._clock(), problem=None))

    def synced(self) -> None:
        """Note that a complete list was published."""
        self._over()
        self._set(
            SourceState(
                synced=True,
                last_alive=self._clock(),
                skipped=self._state.skipped,
                failures=self._state.failures,
            )
        )

    def absent(self) -> None:
        """Note that the API server does not serve the kind."""
        problem = f"{self._resource.full_name} is not served: not installed"
        if self._outage != problem:
            self._outage = problem
            _log.info("kind is not installed", resource=self._resource.full_name)
        self._set(replace(self._state, synced=False, installed=False, problem=problem))

    def failed(self, verb: str, message: str, *, status: int = 0) -> None:
        """Note that a call went wrong; `status` is the API server's, 0 where none came."""
        where = "in all namespaces" if self._resource.namespaced else "of the cluster"
        code = f"{status} on " if status else ""
        problem = f"{code}{verb} {self._resource.full_name} {where}: {message}"
        self._log_once(verb, status, message)
        failures = self._state.failures + 1
        self._set(replace(self._state, problem=problem, failures=failures))

    def _log_once(self, verb: str, status: int, message: str) -> None:
        outage = f"{verb} {status}"
        if self._outage == outage:
            return
        self._outage = outage
        event = "not allowed to read" if status in _FORBIDDEN else "read fails"
        _log.warning(
            event,
            verb=verb,
            resource=self._resource.full_name,
            namespace="all" if self._resource.namespaced else None,
            status=status or None,
            error=message,
        )

    def _over(self) -> None:
        if self._outage is not None:
            self._outage = None
            _log.info("read works again", resource=self._resource.full_name)

    # --- malformed objects ---------------------------------------------------------------------

    def skipped_in_list(self, malformed: Iterable[Key | None], problems: Sequence[str]) -> None:
        """Note the malformed objects of a complete list; those of before are forgotten."""
        keys = list(malformed)
        known = self._malformed
        self._malformed = {key for key in keys if key is not None}
        self._nameless = keys.count(None)
        for key, problem in zip(keys, problems, strict=True):
            if key is None or key not in known:
                _log.warning("object skipped", problem=problem)
        self._count()

    def skipped(self, key: Key, problem: str) -> None:
        """Note that an object has become malformed."""
        if key not in self._malformed:
            self._malformed.add(key)
            named = label_of(self._resource.kind, key)
            _log.warning("object skipped", problem=f"{named}: {problem}")
            self._count()

    def well_formed(self, key: Key) -> None:
        """Note that an object is in order, or gone."""
        if key in self._malformed:
            self._malformed.discard(key)
            self._count()

    def _count(self) -> None:
        skipped = len(self._malformed) + self._nameless
        self._state = replace(self._state, skipped=skipped)

    # --- telling -------------------------------------------------------------------------------

    def _is_told(self, now: Instant) -> bool:
        """Say whether the sink knows all but up to a second of last_alive."""
        told = self._told
        if told is None or told.last_alive is None or told.problem is not None:
            return False
        recent = 0.0 <= now - told.last_alive < _TELL_ALIVE_EVERY
        return recent and told.skipped == self._state.skipped

    def _set(self, state: SourceState) -> None:
        self._state = state
        if state != self._told:
            self._told = state
            self._sink.state(self._resource.kind, state)
