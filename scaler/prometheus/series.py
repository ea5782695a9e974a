"""Read raw samples: what an instant query of a range selector answers, a matrix."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import msgspec

from scaler.core.model import Instant
from scaler.prometheus.vector import QueryFailedError, read_success

SPAN = 900.0
"""Seconds of samples that one request asks for: the answer has to stay below the size limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RawSeries:
    """One series' samples, ascending."""

    labels: Mapping[str, str]
    """The metric's name is `__name__`."""
    points: tuple[tuple[int, float], ...]
    """(milliseconds since the epoch, value); staleness markers are never among them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """Series, and what the server warned of."""

    series: tuple[RawSeries, ...] = field(default=())
    warnings: tuple[str, ...] = ()


class Rangeable(Protocol):
    """What answers range selectors."""

    def raw(self, expression: str, *, at: Instant) -> Matrix:
        """Give the raw samples of a range selector, or raise QueryFailedError."""
        ...


class _Row(msgspec.Struct, frozen=True):
    metric: dict[str, str] = msgspec.field(default_factory=dict)
    values: tuple[tuple[float, str], ...] = ()
    """A native histogram has none."""


_ROWS = msgspec.json.Decoder(tuple[_Row, ...])


def decode_matrix(body: bytes | bytearray) -> Matrix:
    """Decode a 200's body.

    Raises:
        ForeignAnswerError: not the JSON of the Prometheus API.
        QueryFailedError: not a success, or not a matrix.
    """
    success = read_success(body)
    if success.result_type != "matrix":
        raise QueryFailedError(f"the answer is a {success.result_type}, not a matrix")
    try:
        rows = _ROWS.decode(success.result)
        series = tuple(
            RawSeries(
                labels=row.metric,
                points=tuple((round(time * 1000), float(text)) for time, text in row.values),
            )
            for row in rows
        )
    except (msgspec.DecodeError, ValueError, OverflowError) as error:
        raise QueryFailedError(f"the answer's rows can't be read: {error}") from error
    return Matrix(series=series, warnings=success.warnings)


def read_raw(server: Rangeable, selector: str, *, at: Instant, reach: float) -> Iterator[RawSeries]:
    """Give all samples of an instant selector in the `reach` seconds before `at`, piece by piece.

    The latest come first; a series comes once for each piece that has samples of it, and a sample
    between two pieces may come twice.

    Raises:
        QueryFailedError: one piece failed, or may lack rows.
    """
    done = 0.0
    while done < reach:
        span = min(SPAN, reach - done)
        # A millisecond more, since ranges are open on the left from Prometheus 3 on.
        answer = server.raw(f"{selector}[{round(span * 1000) + 1}ms]", at=at - done)
        if answer.warnings:
            raise QueryFailedError(f"warnings: {'; '.join(answer.warnings)}")
        yield from answer.series
        done += span
