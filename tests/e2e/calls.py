"""What a stub was asked, call by call."""

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum


class Method(StrEnum):
    """The five RPCs of an external scaler."""

    IS_ACTIVE = "IsActive"
    STREAM_IS_ACTIVE = "StreamIsActive"
    METRIC_SPEC = "GetMetricSpec"
    METRICS = "GetMetrics"
    STREAM_METRIC_SPEC = "StreamMetricSpec"


class Outcome(StrEnum):
    """How a call ended, by the name of its gRPC status where it did."""

    PENDING = "PENDING"
    OK = "OK"
    UNAVAILABLE = "UNAVAILABLE"
    UNIMPLEMENTED = "UNIMPLEMENTED"
    CANCELLED = "CANCELLED"
    """The client left, its deadline passed, or the server went down."""


@dataclass(slots=True, kw_only=True)
class Call:
    """One RPC; outcome and end change once, when it ends."""

    at: float
    """Its begin on the monotonic clock."""
    method: Method
    namespace: str
    name: str
    """Of the script that it was answered by: the ScaledObject's, or the trigger's own."""
    deadline: float | None
    """Seconds that the client gave it; None = for ever."""
    peer: str
    """The client's end of the connection."""
    headers: Mapping[str, str]
    """What the client sent beside the message."""
    outcome: Outcome = Outcome.PENDING
    ended: float | None = None


@dataclass(slots=True)
class CallLog:
    """All calls of a run by script; threads may share it."""

    _calls: dict[tuple[str, str], list[Call]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def open(self, call: Call) -> Iterator[Call]:
        """Keep a call while it is answered; without another word it ended with OK."""
        with self._lock:
            self._calls.setdefault((call.namespace, call.name), []).append(call)
        failed = True
        try:
            yield call
            failed = False
        finally:
            call.ended = time.monotonic()
            if call.outcome is Outcome.PENDING:
                call.outcome = Outcome.CANCELLED if failed else Outcome.OK

    def of(
        self, namespace: str, name: str, method: Method | None = None, since: float = 0.0
    ) -> tuple[Call, ...]:
        """Give the calls of one script in order of their begin."""
        with self._lock:
            found = tuple(self._calls.get((namespace, name), ()))
        return tuple(
            call for call in found if call.at >= since and (method is None or call.method is method)
        )
