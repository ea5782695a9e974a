"""A Prometheus of our own over loopback HTTP, with what can be wrong with one as a switch."""

import ssl
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Final, Self, TypeAlias, assert_never
from urllib.parse import parse_qsl, urlsplit

import msgspec

from scaler.core.model import Instant
from scaler.sim.promql import Engine, Labels, PromQLError, evaluate
from scaler.sim.promql.evaluate import LEFT_OPEN
from scaler.sim.promql.ranges import raw_rows
from scaler.sim.samples import SampleStore


class Fault(StrEnum):
    """Name what can be wrong with the server."""

    NONE = "none"
    REFUSE = "refuse"
    """It hangs up without a word."""
    UNAVAILABLE = "unavailable"
    """503 in plain text on every path, as while the write-ahead log is replayed."""
    HTML = "html"
    """200 with a login page."""
    REDIRECT = "redirect"
    """302 to another host."""
    TOO_MANY_SAMPLES = "too many samples"
    """422, errorType execution."""
    WARNINGS = "warnings"
    """A right answer with a warning."""
    SLOW = "slow"
    """No answer until the fault is taken away or the server closes."""
    EMPTY = "empty"
    """200 and an empty vector, whatever is asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request that the server saw."""

    method: str
    path: str
    parameters: Mapping[str, str]
    headers: Mapping[str, str]
    """Names in lower case."""


_Reply: TypeAlias = tuple[HTTPStatus, str, bytes]
"""Status, content type, body."""
_JSON: Final = "application/json"
_LOGIN: Final = b"<!doctype html><html><body>Log in</body></html>"


class PrometheusServer:
    """Serve `/api/v1/query` and `/-/ready` on 127.0.0.1; samples may be appended meanwhile."""

    def __init__(
        self,
        samples: SampleStore,
        *,
        clock: Callable[[], Instant],
        engine: Engine = LEFT_OPEN,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.samples = samples
        self.clock = clock
        self.engine = engine
        self.asked: list[Asked] = []
        """Every request so far, oldest first."""
        self.token: str | None = None
        """The one bearer token that is let in; None = everyone is."""
        self.overrides: dict[str, bytes] = {}
        """Bodies by expression, given as they are with 200."""
        self.redirect_to = "http://login.invalid"
        self.set_cookie = ""
        self.on_request: Callable[[], object] = lambda: None
        """Called for each request before it is judged."""
        self._fault = Fault.NONE
        self._changed = threading.Condition()
        self._server = _Server(("127.0.0.1", 0), _Handler, prometheus=self)
        self._scheme = "http" if tls is None else "https"
        if tls is not None:
            # The handshake belongs to the request's thread: one bad client must not stop others.
            self._server.socket = tls.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.01,), name="prometheus double", daemon=True
        )

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"{self._scheme}://127.0.0.1:{self._server.server_port}"

    @property
    def fault(self) -> Fault:
        """What is wrong now; may be set at any time."""
        return self._fault

    @fault.setter
    def fault(self, fault: Fault) -> None:
        with self._changed:
            self._fault = fault
            self._changed.notify_all()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def start(self) -> None:
        """Start to serve."""
        self._thread.start()

    def close(self) -> None:
        """Stop and free the port; whoever waits is hung up on."""
        self.fault = Fault.REFUSE
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def reply(self, asked: Asked) -> _Reply | None:
        """Answer a request; None hangs up."""
        self.asked.append(asked)
        self.on_request()
        if self.token is not None and asked.headers.get("authorization") != f"Bearer {self.token}":
            return HTTPStatus.UNAUTHORIZED, "text/plain", b"Unauthorized\n"
        with self._changed:
            self._changed.wait_for(lambda: self._fault is not Fault.SLOW)
        match self._fault:
            case Fault.REFUSE | Fault.SLOW:
                return None
            case Fault.UNAVAILABLE:
                return HTTPStatus.SERVICE_UNAVAILABLE, "text/plain", b"Service Unavailable\n"
            case Fault.HTML:
                return HTTPStatus.OK, "text/html; charset=utf-8", _LOGIN
            case Fault.REDIRECT:
                return HTTPStatus.FOUND, "text/html", b""
            case Fault.NONE | Fault.TOO_MANY_SAMPLES | Fault.WARNINGS | Fault.EMPTY:
                return self._routed(asked)
            case other:
                assert_never(other)

    def _routed(self, asked: Asked) -> _Reply:
        if asked.path == "/-/ready":
            return HTTPStatus.OK, "text/plain", b"Prometheus Server is Ready.\n"
        if asked.path != "/api/v1/query":
            return HTTPStatus.NOT_FOUND, "text/plain", b"404 page not found\n"
        return self._queried(asked.parameters)

    def _queried(self, parameters: Mapping[str, str]) -> _Reply:
        expression = parameters.get("query", "")
        if self._fault is Fault.TOO_MANY_SAMPLES:
            told = "query processing would load too many samples into memory in query execution"
            return _error(HTTPStatus.UNPROCESSABLE_ENTITY, kind="execution", told=told)
        if self._fault is Fault.EMPTY:
            return _success("vector", [], warnings=())
        if expression in self.overrides:
            return HTTPStatus.OK, _JSON, self.overrides[expression]
        warnings = ("a store is not available",) if self._fault is Fault.WARNINGS else ()
        try:
            at = float(parameters.get("time") or self.clock())
            kind, result = self._evaluated(expression, at)
        except (PromQLError, ValueError) as error:
            return _error(HTTPStatus.BAD_REQUEST, kind="bad_data", told=str(error))
        return _success(kind, result, warnings=warnings)

    def _evaluated(self, expression: str, at: Instant) -> tuple[str, object]:
        """Give the result's type, and the result as Prometheus writes it."""
        raw = raw_rows(self.samples, expression, at, engine=self.engine)
        if raw is not None:
            return "matrix", [_matrix_row(labels, points) for labels, points in raw]
        found = evaluate(self.samples, expression, at, engine=self.engine)
        if isinstance(found, float):
            return "scalar", [at, format_value(found)]
        return "vector", [
            {"metric": dict(labels), "value": [at, format_value(value)]} for labels, value in found
        ]


def format_value(value: float) -> str:
    """Write a float as Prometheus does: shortest digits, exponents only at the far ends."""
    if value != value:  # noqa: PLR0124 - the test for NaN
        return "NaN"
    if value in {float("inf"), float("-inf")}:
        return "+Inf" if value > 0 else "-Inf"
    exact = Decimal(repr(value))
    if value and not 1e-6 <= abs(value) < 1e21:  # noqa: PLR2004 - where JavaScript changes over
        digits = "".join(map(str, exact.as_tuple().digits)).rstrip("0") or "0"
        point = f".{digits[1:]}" if len(digits) > 1 else ""
        sign = "-" if value < 0 else ""
        return f"{sign}{digits[0]}{point}e{exact.adjusted():+03d}"
    text = format(exact, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _matrix_row(labels: Labels, points: Sequence[tuple[int, float]]) -> Mapping[str, object]:
    values = [(time / 1000, format_value(value)) for time, value in points]
    return {"metric": dict(labels), "values": values}


def _success(kind: str, result: object, *, warnings: tuple[str, ...]) -> _Reply:
    body = {"status": "success", "data": {"resultType": kind, "result": result}}
    told = {"warnings": warnings} if warnings else {}
    return HTTPStatus.OK, _JSON, msgspec.json.encode({**body, **told})


def _error(status: HTTPStatus, *, kind: str, told: str) -> _Reply:
    body = {"status": "error", "errorType": kind, "error": told}
    return status, _JSON, msgspec.json.encode(body)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(
        self,
        address: tuple[str, int],
        handler: type[BaseHTTPRequestHandler],
        *,
        prometheus: PrometheusServer,
    ) -> None:
        super().__init__(address, handler)
        self.prometheus = prometheus

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: a client that hangs up is what tests do."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # head and body are two writes: the second would wait 40 ms

    def do_GET(self) -> None:
        """Answer parameters in the URL."""
        self._answer("")

    def do_POST(self) -> None:
        """Answer parameters in a form."""
        length = int(self.headers.get("content-length") or 0)
        self._answer(self.rfile.read(length).decode())

    def _answer(self, form: str) -> None:
        url = urlsplit(self.path)
        asked = Asked(
            method=self.command,
            path=url.path,
            parameters=dict(parse_qsl(url.query) + parse_qsl(form)),
            headers={name.lower(): value for name, value in self.headers.items()},
        )
        reply = self.server.prometheus.reply(asked)
        if reply is None:
            self.close_connection = True
            return
        status, content_type, body = reply
        self.send_response(status)
        self.send_header("content-type", content_type)
        if status is HTTPStatus.FOUND:
            self.send_header("location", f"{self.server.prometheus.redirect_to}{self.path}")
        if self.server.prometheus.set_cookie:
            self.send_header("set-cookie", self.server.prometheus.set_cookie)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def date_time_string(self, timestamp: float | None = None) -> str:
        """Give the Date header by the server's own clock, which need not be the wall's."""
        return super().date_time_string(timestamp or self.server.prometheus.clock())

    def log_message(self, *_: object) -> None:
        """Keep standard error to ourselves."""
