"""Readings out of samples at hand, by the same queries and the same joining as from a server."""

from collections.abc import Iterable, Mapping

from scaler.core.model import Instant
from scaler.core.policy import Policy
from scaler.core.usage import QueryKey, UsageKey
from scaler.prometheus.series import Matrix, RawSeries
from scaler.prometheus.source import Refresh, ask_all
from scaler.prometheus.vector import Answer, QueryFailedError, Sample
from scaler.sim.promql import Engine, PromQLError, Samples, evaluate
from scaler.sim.promql.evaluate import LEFT_OPEN
from scaler.sim.promql.ranges import raw_rows


class SampleServer:
    """Answer expressions from samples at hand, as a connection does from a server."""

    def __init__(self, samples: Samples, *, engine: Engine = LEFT_OPEN) -> None:
        self._samples = samples
        self._engine = engine

    def query(self, expression: str, *, at: Instant, timeout: float | None = None) -> Answer:
        """Evaluate; there is nothing to time out on.

        Raises:
            QueryFailedError: the embedded PromQL refuses the expression.
        """
        del timeout
        try:
            found = evaluate(self._samples, expression, at, engine=self._engine)
        except PromQLError as error:
            raise QueryFailedError(str(error)) from error
        rows = [((), found)] if isinstance(found, float) else found
        return Answer(vector=[Sample(labels=dict(labels), value=value) for labels, value in rows])

    def raw(self, expression: str, *, at: Instant) -> Matrix:
        """Give the points of a range.

        Raises:
            QueryFailedError: the embedded PromQL refuses the expression, or it is no range.
        """
        try:
            found = raw_rows(self._samples, expression, at, engine=self._engine)
        except PromQLError as error:
            raise QueryFailedError(str(error)) from error
        if found is None:
            raise QueryFailedError("the answer is no matrix")
        return Matrix(
            series=tuple(RawSeries(labels=dict(row), points=tuple(points)) for row, points in found)
        )


class NoServer:
    """Answer nothing: the Prometheus of a bundle without samples is down."""

    def query(self, expression: str, *, at: Instant, timeout: float | None = None) -> Answer:
        """Fail.

        Raises:
            QueryFailedError: always.
        """
        del expression, at, timeout
        raise QueryFailedError("Prometheus is down: there are no samples")


def read_usage(
    samples: Samples | None,
    *,
    policy: Policy,
    usage: Iterable[UsageKey],
    queries: Mapping[QueryKey, str],
    at: Instant,
) -> Refresh:
    """Give what a refresh would have, from samples at hand; None = Prometheus is down."""
    return ask_all(
        NoServer() if samples is None else SampleServer(samples),
        settings=policy.prometheus,
        usage=usage,
        queries=queries,
        safety=policy.safety,
        at=at,
    )
