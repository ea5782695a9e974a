"""The HTTP status port."""

import ssl
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import TypeAlias

import msgspec
import structlog
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from scaler.certificates import Certificates
from scaler.core.model import Instant, Kind
from scaler.core.quantity import format_instant
from scaler.settings import Address
from scaler.status.connections import Listener
from scaler.status.health import SYNCED_ONCE, Readiness, Ready, ready, settled
from scaler.status.page import PAGE
from scaler.store import State, Store
from scaler.view import Shown, shown

JSON = "application/json; charset=utf-8"
TEXT = "text/plain; charset=utf-8"

STOP_POLL_SECONDS = 0.05
"""How long a stop may wait for the accepting thread to notice."""

IDLE_SECONDS = 30.0
"""Without a byte a connection is closed after so long."""

OPEN_PATHS = frozenset({"/healthz", "/readyz"})
"""For everyone, also where clients need a certificate: no kubelet has one to show."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One answer."""

    body: bytes
    content_type: str
    status: HTTPStatus = HTTPStatus.OK


Route: TypeAlias = Callable[[str], Page]
"""From the request's Accept header to the answer."""


class Decisions(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """The body of /decisions."""

    at: str
    sequence: int
    policy_ok: bool
    policy_problems: tuple[str, ...]
    details: tuple[str, ...]
    """What is wrong with sources and policy, as /readyz says it."""
    decisions: tuple[Shown, ...]


class StatusServer:
    """Answer HTTP in threads of its own.

    `_seen` (kinds that synced once) is written by the publisher's thread and replaced whole.
    """

    def __init__(
        self,
        *,
        store: Store,
        registry: CollectorRegistry,
        clock: Callable[[], Instant],
        address: Address,
        needed: tuple[Kind, ...] = SYNCED_ONCE,
        certificates: Certificates | None = None,
        details: Callable[[], Iterable[str]] = tuple,
        alive: Callable[[], bool] = lambda: True,
    ) -> None:
        """Bind the port; without certificates it is plain HTTP.

        `details` says what else is wrong, for /readyz; `alive` is what /healthz is about.

        Raises:
            OSError: the port can't be had; one sentence.
        """
        self._details, self._alive = details, alive
        self._store = store
        self._needed = needed
        self._registry = registry
        self._clock = clock
        self._seen: frozenset[Kind] = frozenset()
        self._stopping = False
        routes: dict[str, Route] = {
            "/": lambda _: Page(body=PAGE, content_type="text/html; charset=utf-8"),
            "/metrics": self._metrics,
            "/healthz": lambda _: self._healthz(),
            "/readyz": self._readyz,
            "/decisions": self._decisions,
        }
        self._cancel = store.listen(self._published)
        self._http = _listen(address, routes, certificates)
        self._thread = threading.Thread(target=self._serve, name="status", daemon=True)

    @property
    def port(self) -> int:
        """Give the port that is listened on."""
        return self._http.server_port

    def start(self) -> None:
        """Start answering."""
        self._thread.start()

    def drain(self) -> None:
        """Turn unready while still answering, so that endpoints can follow."""
        self._stopping = True

    def stop(self) -> None:
        """Stop answering and close the port."""
        self._cancel()
        if self._thread.is_alive():
            self._http.shutdown()
        self._http.server_close()

    def _serve(self) -> None:
        self._http.serve_forever(poll_interval=STOP_POLL_SECONDS)

    def _published(self, state: State, _changed: object) -> None:
        self._seen |= settled(state.snapshot)

    def _healthz(self) -> Page:
        if self._alive():
            return Page(body=b"ok\n", content_type=TEXT)
        told = b"the event loop that answers KEDA does not turn\n"
        return Page(body=told, content_type=TEXT, status=HTTPStatus.SERVICE_UNAVAILABLE)

    def _metrics(self, accept: str) -> Page:
        try:
            encode, content_type = choose_encoder(accept)
        except (TypeError, ValueError):
            # The library stumbles over parameters that are no version: any text is right then.
            encode, content_type = choose_encoder("")
        return Page(body=encode(self._registry), content_type=content_type)

    def _readyz(self, _accept: str) -> Page:
        state = self._store.latest()
        body = self._judged(state)
        ok = body.status is Readiness.READY
        return Page(
            body=msgspec.json.format(msgspec.json.encode(body)) + b"\n",
            content_type=JSON,
            status=HTTPStatus.OK if ok else HTTPStatus.SERVICE_UNAVAILABLE,
        )

    def _judged(self, state: State) -> Ready:
        return ready(
            state,
            seen=self._seen,
            stopping=self._stopping,
            now=self._clock(),
            needed=self._needed,
            also=self._details(),
        )

    def _decisions(self, _accept: str) -> Page:
        state = self._store.latest()
        details = self._judged(state).details
        body = Decisions(
            at=format_instant(state.snapshot.at),
            sequence=state.sequence,
            policy_ok=not state.policy.problems,
            policy_problems=tuple(str(problem) for problem in state.policy.problems),
            details=details,
            decisions=tuple(
                shown(decision)
                for decision in sorted(
                    state.decisions.values(), key=lambda d: (d.namespace, d.name, d.metric)
                )
            ),
        )
        return Page(body=msgspec.json.encode(body), content_type=JSON)


def _listen(
    address: Address, routes: Mapping[str, Route], certificates: Certificates | None
) -> Listener:
    """Bind the port.

    Raises:
        OSError: the port can't be had; one sentence.
    """
    try:
        return _Server(address, routes, certificates)
    except OSError as error:
        message = f"can't listen on {address}: {error.strerror or error}; is the port in use?"
        raise OSError(message) from error


class _Server(Listener):
    """Know the routes, and whether clients need a certificate."""

    def __init__(
        self, address: Address, routes: Mapping[str, Route], certificates: Certificates | None
    ) -> None:
        super().__init__(address, _Requests, certificates)
        self.routes = routes


class _Requests(BaseHTTPRequestHandler):
    """Answer GET and HEAD from the routes."""

    server: _Server
    timeout = IDLE_SECONDS
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer with the body."""
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        """Answer without the body."""
        self._answer(with_body=False)

    def _answer(self, *, with_body: bool) -> None:
        page = self._page()
        self.send_response(page.status)
        self.send_header("Content-Type", page.content_type)
        self.send_header("Content-Length", str(len(page.body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header(
            "Content-Security-Policy",
            "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
            "connect-src 'self'; img-src data:",
        )
        self.end_headers()
        if with_body:
            self.wfile.write(page.body)

    def _page(self) -> Page:
        path = self.path.partition("?")[0]
        if path not in OPEN_PATHS and not self._let_in():
            told = b"a client certificate is needed here; /healthz and /readyz go without\n"
            return Page(body=told, content_type=TEXT, status=HTTPStatus.FORBIDDEN)
        route = self.server.routes.get(path)
        if route is None:
            told = b"not found; try /, /decisions, /metrics, /healthz or /readyz\n"
            return Page(body=told, content_type=TEXT, status=HTTPStatus.NOT_FOUND)
        try:
            return route(self.headers.get("Accept", ""))
        except Exception:
            log.exception("page failed", path=path)
            told = b"this page failed; the log has the traceback\n"
            return Page(body=told, content_type=TEXT, status=HTTPStatus.INTERNAL_SERVER_ERROR)

    def _let_in(self) -> bool:
        """Say whether the client needs no certificate, or showed one; a wrong one got not here."""
        certificates = self.server.certificates
        if certificates is None or not certificates.needs_clients:
            return True
        connection: object = self.connection
        return isinstance(connection, ssl.SSLSocket) and bool(connection.getpeercert())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - http.server's name
        """Log nothing: probes and scrapes come every few seconds."""
