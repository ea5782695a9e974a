"""Decode what `/api/v1/query` answers: one envelope, one vector, nothing untyped behind it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import msgspec


class QueryFailedError(Exception):
    """A query has no answer that could be believed; the text is one sentence for people."""


class ForeignAnswerError(QueryFailedError):
    """The body is not from the Prometheus API at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One row of an instant vector; its time is the evaluation's and so is left out."""

    labels: Mapping[str, str]
    value: float
    """May be NaN or infinite."""

    @property
    def finite(self) -> bool:
        """Say whether the value is a number at all."""
        return math.isfinite(self.value)


Vector: TypeAlias = Sequence[Sample]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A vector and what the server warned of; `infos` are benign and not kept."""

    vector: Vector
    warnings: tuple[str, ...] = ()

    @property
    def problem(self) -> str | None:
        """Say why rows may be missing; None where nothing was warned of."""
        return f"warnings: {'; '.join(self.warnings)}" if self.warnings else None


class _Row(msgspec.Struct, frozen=True):
    metric: dict[str, str] = msgspec.field(default_factory=dict)
    value: tuple[float, str] = (0.0, "NaN")
    """A native histogram has no value: it reads as NaN."""


class _Result(msgspec.Struct, frozen=True, rename="camel"):
    result_type: str
    result: msgspec.Raw


class _Envelope(msgspec.Struct, frozen=True, rename="camel"):
    status: str
    data: _Result | None = None
    error_type: str = ""
    error: str = ""
    warnings: tuple[str, ...] | None = None


_ENVELOPE = msgspec.json.Decoder(_Envelope)
_ROWS = msgspec.json.Decoder(tuple[msgspec.Raw, ...])
_ROW = msgspec.json.Decoder(_Row)
_SCALAR = msgspec.json.Decoder(tuple[float, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class Success:
    """The inside of a successful answer, its rows not decoded yet."""

    result_type: str
    result: msgspec.Raw
    warnings: tuple[str, ...]


def read_success(body: bytes | bytearray) -> Success:
    """Open the envelope of a 200's body.

    Raises:
        ForeignAnswerError: not the JSON of the Prometheus API.
        QueryFailedError: not a success.
    """
    envelope = _envelope(body)
    if envelope is None:
        raise ForeignAnswerError("the answer is not the JSON of the Prometheus API")
    if envelope.status != "success" or envelope.data is None:
        raise QueryFailedError(_error(envelope))
    return Success(
        result_type=envelope.data.result_type,
        result=envelope.data.result,
        warnings=tuple(envelope.warnings or ()),
    )


def decode_answer(body: bytes | bytearray) -> Answer:
    """Decode a 200's body.

    Raises:
        ForeignAnswerError: not the JSON of the Prometheus API.
        QueryFailedError: not a success, or not a vector or scalar.
    """
    success = read_success(body)
    try:
        vector = _vector(success)
    except (msgspec.DecodeError, ValueError) as error:
        raise QueryFailedError(f"the answer's rows can't be read: {error}") from error
    return Answer(vector=vector, warnings=success.warnings)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiError:
    """What an answer other than 200 says."""

    error_type: str
    """Prometheus' own word (`execution`, `timeout`); empty where the answer is not from it."""
    sentence: str


def describe_error(*, status: int, body: bytes | bytearray) -> ApiError:
    """Read the body of an answer other than 200; proxies send anything."""
    envelope = _envelope(body)
    if envelope is not None and envelope.error_type:
        return ApiError(
            error_type=envelope.error_type, sentence=f"HTTP {status}, {_error(envelope)}"
        )
    words = " ".join(body[:400].decode("utf-8", "replace").split())[:120]
    told = f"HTTP {status}, not from the Prometheus API: {words or 'empty body'}"
    return ApiError(error_type="", sentence=told)


def _envelope(body: bytes | bytearray) -> _Envelope | None:
    try:
        return _ENVELOPE.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _rows(result: msgspec.Raw) -> Vector:
    """Decode row by row and share equal texts, so that a large answer stays near its own size."""
    known: dict[str, str] = {}

    def sample(raw: msgspec.Raw) -> Sample:
        row = _ROW.decode(raw)
        labels = {name: known.setdefault(text, text) for name, text in row.metric.items()}
        return Sample(labels=labels, value=float(row.value[1]))

    return tuple(map(sample, _ROWS.decode(result)))


def _error(envelope: _Envelope) -> str:
    return f"{envelope.error_type or envelope.status}: {envelope.error or 'no message'}"


def _vector(data: Success) -> Vector:
    match data.result_type:
        case "vector":
            return _rows(data.result)
        case "scalar":
            return (Sample(labels={}, value=float(_SCALAR.decode(data.result)[1])),)
        case other:
            raise QueryFailedError(f"the answer is a {other}, not a vector or scalar")
