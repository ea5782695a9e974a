"""Ask Prometheus for history, in a thread of its own, seldom, and never while somebody waits.

A reader gets what is there and asks again later; nothing that decides knows of this.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import isfinite
from typing import Protocol

import structlog

from scaler.core.model import Instant
from scaler.core.policy import PrometheusSettings
from scaler.prometheus.series import Matrix
from scaler.prometheus.session import Connection, UnreachableError
from scaler.prometheus.vector import QueryFailedError
from scaler.store import Store

LONGEST_SECONDS = 5.0
"""For one answer, whatever the policy allows those that decide."""
FRESH_SECONDS, FAILED_SECONDS = 20.0, 60.0
"""An answer, and a failure, count for so long; then it is asked again, once somebody looks."""
MAX_WAITING, MAX_KEPT = 32, 128
"""Queries; the oldest go first."""
BODY_LIMIT = 8 * 1024 * 1024
REST_SECONDS = 0.25
"""Between two queries: a crowd of readers must not become a crowd of queries."""

_NOTHING = Matrix()

log = structlog.get_logger(__name__)


class Server(Protocol):
    """What answers subqueries: a connection."""

    def raw(self, expression: str, *, at: Instant) -> Matrix:
        """Give the matrix of a range, or raise QueryFailedError."""
        ...

    def close(self) -> None:
        """Close it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What Prometheus said, or why it said nothing."""

    at: Instant
    matrix: Matrix = _NOTHING
    problem: str | None = None


def connect(settings: PrometheusSettings) -> Server:
    """Connect with a time-out of our own."""
    timeout = min(settings.timeout, LONGEST_SECONDS)
    return Connection(replace(settings, timeout=timeout), body_limit=BODY_LIMIT)


class Past:
    """Answer from what is kept; `_changed` guards the queue and the answers."""

    def __init__(
        self,
        *,
        store: Store,
        clock: Callable[[], Instant],
        connect: Callable[[PrometheusSettings], Server] = connect,
        rest_seconds: float = REST_SECONDS,
    ) -> None:
        """Take where the policy is; nothing is asked before somebody looks."""
        self._store = store
        self._clock = clock
        self._connect = connect
        self._rest = rest_seconds
        self._changed = threading.Condition()
        self._waiting: OrderedDict[str, None] = OrderedDict()
        self._kept: OrderedDict[str, Found] = OrderedDict()
        self._server: tuple[PrometheusSettings, Server] | None = None
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="history", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Ask the thread to end; it is not waited for while a query hangs."""
        self._stopping.set()
        with self._changed:
            self._changed.notify_all()

    def ask(self, expression: str) -> Found | None:
        """Give the newest answer, None before there is one, and have it asked again if it is old.

        At once, whatever Prometheus does.
        """
        with self._changed:
            found = self._kept.get(expression)
            if found is not None:
                self._kept.move_to_end(expression)
            if found is None or self._old(found):
                self._waiting[expression] = None
                if len(self._waiting) > MAX_WAITING:
                    self._waiting.popitem(last=False)
                self._changed.notify_all()
            return found

    def _old(self, found: Found) -> bool:
        counts = FAILED_SECONDS if found.problem else FRESH_SECONDS
        return abs(self._clock() - found.at) > counts

    def _run(self) -> None:
        while not self._stopping.wait(self._rest):
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._stopping.is_set())
                if self._stopping.is_set():
                    break
                # The newest wish first: who asked before may have gone on.
                expression, _ = self._waiting.popitem()
            self._keep(expression, self._asked(expression))
        if self._server is not None:
            self._server[1].close()

    def _keep(self, expression: str, found: Found) -> None:
        with self._changed:
            self._kept[expression] = found
            self._kept.move_to_end(expression)
            while len(self._kept) > MAX_KEPT:
                self._kept.popitem(last=False)

    def _asked(self, expression: str) -> Found:
        at = self._clock()
        try:
            matrix = _finite(self._connected().raw(expression, at=at))
        except UnreachableError as error:
            return self._failed_all(Found(at=at, problem=str(error)))
        except QueryFailedError as error:
            return Found(at=at, problem=str(error))
        except Exception as error:
            log.exception("history failed")
            return Found(at=at, problem=f"internal: {type(error).__name__}")
        problem = f"warnings: {'; '.join(matrix.warnings)}" if matrix.warnings else None
        return Found(at=at, matrix=matrix, problem=problem)

    def _failed_all(self, found: Found) -> Found:
        """Tell all that wait for a server that is gone, rather than try each of them."""
        with self._changed:
            waiting = tuple(self._waiting)
            self._waiting.clear()
        for expression in waiting:
            self._keep(expression, found)
        return found

    def _connected(self) -> Server:
        settings = self._store.latest().policy.policy.prometheus
        if self._server is None or self._server[0] != settings:
            if self._server is not None:
                self._server[1].close()
            self._server = (settings, self._connect(settings))
        return self._server[1]


def _finite(matrix: Matrix) -> Matrix:
    """Leave out what has no place on a chart: there it is a time in which nothing was seen."""
    return replace(
        matrix,
        series=tuple(
            replace(row, points=tuple(point for point in row.points if isfinite(point[1])))
            for row in matrix.series
        ),
    )
