"""Refresh all readings and answers at once; every failure becomes a problem that is told."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

import structlog

from scaler.core.model import Instant
from scaler.core.policy import PrometheusSettings, Safety
from scaler.core.profile import metric_profile
from scaler.core.usage import QueryAnswer, QueryKey, Usage, UsageKey
from scaler.prometheus.queries import FleetQuery, bind, fleet_queries
from scaler.prometheus.session import Connection, TimedOutError, UnreachableError
from scaler.prometheus.usage import usage as join_usage
from scaler.prometheus.vector import Answer, QueryFailedError, Vector

log = structlog.get_logger(__name__)

_PROBE = "vector(1)"
_PROBE_TIMEOUT = 2.0
_UNSPECIFIED = Safety()


@dataclass(frozen=True, slots=True, kw_only=True)
class Refresh:
    """What came back from one refresh; each key that was asked is there, with a problem if not."""

    usage: Mapping[UsageKey, Usage] = field(default_factory=dict)
    answers: Mapping[QueryKey, QueryAnswer] = field(default_factory=dict)


class Askable(Protocol):
    """What answers expressions: a connection, or samples at hand."""

    def query(self, expression: str, *, at: Instant, timeout: float | None = None) -> Answer:
        """Evaluate an expression at an instant, or raise QueryFailedError."""
        ...


class PrometheusSource:
    """Ask one Prometheus; used by one thread at a time."""

    def __init__(self, *, clock: Callable[[], Instant]) -> None:
        self._clock = clock
        self._connection: Connection | None = None

    def refresh(
        self,
        *,
        settings: PrometheusSettings,
        usage: Iterable[UsageKey],
        queries: Mapping[QueryKey, str],
        safety: Safety = _UNSPECIFIED,
        at: Instant | None = None,
    ) -> Refresh:
        """Ask one set of fleet queries for each distinct key, and each bound query once.

        Never raises. All of it is evaluated at one instant; None = now, by this side's clock.
        """
        at = round(self._clock(), 3) if at is None else at
        keys = tuple(usage)
        try:
            server = _Timed(self._connected(settings), self._clock, limit=safety.max_sample_age)
            return ask_all(
                server, settings=settings, usage=keys, queries=queries, safety=safety, at=at
            )
        except Exception as error:
            log.exception("the refresh failed")
            return _failed(keys=keys, queries=queries, at=at, problem=f"internal: {error!r}")

    def close(self) -> None:
        """Close the kept connections."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _connected(self, settings: PrometheusSettings) -> Connection:
        if self._connection is None or self._connection.settings != settings:
            self.close()
            self._connection = Connection(settings)
        return self._connection


class _Timed:
    """Ask a connection whose clock is held against ours.

    What is evaluated at our instant leaves out all that a server ahead of us has seen since, and
    looks fresh: nothing in the samples would tell.
    """

    def __init__(
        self, connection: Connection, clock: Callable[[], Instant], *, limit: float
    ) -> None:
        self._connection = connection
        self._clock = clock
        self._limit = limit

    def query(self, expression: str, *, at: Instant, timeout: float | None = None) -> Answer:
        answer = self._connection.query(expression, at=at, timeout=timeout)
        date = self._connection.date
        ahead = 0.0 if date is None else date - self._clock()
        if abs(ahead) <= self._limit + 1:  # a date is in whole seconds
            return answer
        side = "ahead of" if ahead > 0 else "behind"
        problem = f"the server's clock is {abs(ahead):.0f} s {side} ours"
        return replace(answer, warnings=(*answer.warnings, problem))


def ask_all(
    server: Askable,
    *,
    settings: PrometheusSettings,
    usage: Iterable[UsageKey],
    queries: Mapping[QueryKey, str],
    safety: Safety = _UNSPECIFIED,
    at: Instant,
) -> Refresh:
    """Ask whatever can answer for everything at one instant."""
    asking = _Asking(server, settings=settings, at=at)
    return Refresh(
        usage={key: _usage(asking, key=key, safety=safety) for key in dict.fromkeys(usage)},
        answers={key: _answer(asking, key=key, template=queries[key]) for key in queries},
    )


class _Asking:
    """One refresh: each expression is asked once, and a server that is gone only once too."""

    def __init__(self, server: Askable, *, settings: PrometheusSettings, at: Instant) -> None:
        self.settings = settings
        self.at = at
        self._server = server
        self._gone: UnreachableError | None = None
        self._answers: dict[str, Answer | QueryFailedError] = {}

    def ask(self, expression: str) -> Answer:
        """Evaluate an expression.

        Raises:
            QueryFailedError: it failed, or the server is known to be out of reach.
        """
        if expression not in self._answers:
            self._answers[expression] = self._asked(expression)
        answer = self._answers[expression]
        if isinstance(answer, QueryFailedError):
            raise answer
        return answer

    def _asked(self, expression: str) -> Answer | QueryFailedError:
        if self._gone is not None:
            return self._gone
        try:
            return self._server.query(expression, at=self.at)
        except TimedOutError as error:
            self._gone = self._probe(error)
            return error
        except UnreachableError as error:
            self._gone = error
            return error
        except QueryFailedError as error:
            return error

    def _probe(self, late: TimedOutError) -> UnreachableError | None:
        """Tell a heavy query from a hung server, whose time-outs would add up."""
        try:
            limit = min(_PROBE_TIMEOUT, self.settings.timeout)
            self._server.query(_PROBE, at=self.at, timeout=limit)
        except QueryFailedError:
            return UnreachableError(str(late))
        return None


def _usage(asking: _Asking, *, key: UsageKey, safety: Safety) -> Usage:
    expressions = fleet_queries(
        settings=asking.settings,
        key=key,
        look_back=safety.mass_idle.hold_for,
        max_age=safety.max_sample_age,
        at=asking.at,
    )
    vectors: dict[FleetQuery, Vector] = {}
    for name, expression in expressions.items():
        try:
            answer = asking.ask(expression)
        except QueryFailedError as error:
            return Usage(key=key, at=asking.at, problem=f"activity query {name}: {error}")
        if answer.problem is not None:
            return Usage(key=key, at=asking.at, problem=f"activity query {name}: {answer.problem}")
        vectors[name] = answer.vector
    profile = metric_profile(asking.settings)
    return join_usage(key=key, profile=profile, at=asking.at, vectors=vectors)


def _answer(asking: _Asking, *, key: QueryKey, template: str) -> QueryAnswer:
    """Judge a keepAlive or wake query: what is on stays on whatever else is missing."""
    expression = bind(template=template, key=key)
    on: bool | None = None
    problem: str | None
    try:
        on, problem = _judged(asking.ask(expression))
    except QueryFailedError as error:
        problem = str(error)
    return QueryAnswer(at=asking.at, on=on, problem=problem, expression=expression)


def _judged(answer: Answer) -> tuple[bool | None, str | None]:
    if any(sample.finite and sample.value > 0 for sample in answer.vector):
        return True, None
    if answer.problem is not None:
        return None, answer.problem
    if not all(sample.finite for sample in answer.vector):
        return None, "a value is NaN or infinite"
    return False, None


def _failed(
    *,
    keys: Iterable[UsageKey],
    queries: Mapping[QueryKey, str],
    at: Instant,
    problem: str,
) -> Refresh:
    answers = {
        key: QueryAnswer(at=at, on=None, problem=problem, expression=template)
        for key, template in queries.items()
    }
    return Refresh(
        usage={key: Usage(key=key, at=at, problem=problem) for key in keys}, answers=answers
    )
