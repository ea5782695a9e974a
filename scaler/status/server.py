"""The HTTP status port."""

import ssl
import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler

import msgspec
import structlog
from prometheus_client import CollectorRegistry

from scaler.certificates import Certificates
from scaler.core.model import Instant, Kind
from scaler.settings import Address
from scaler.status.answers import (
    GUARD,
    JSON,
    TEXT,
    Asked,
    Page,
    Route,
    conditional,
    decisions,
    metrics,
    unchanging,
)
from scaler.status.connections import Listener
from scaler.status.health import EVERY_KIND, SYNCED_ONCE, Readiness, Ready, ready, settled
from scaler.status.page import Pages
from scaler.status.page.assets import ASSETS
from scaler.status.page.past import Past
from scaler.store import State, Store

STOP_POLL_SECONDS = 0.05
"""How long a stop may wait for the accepting thread to notice."""

IDLE_SECONDS = 30.0
"""Without a byte a connection is closed after so long."""

OPEN_PATHS = frozenset({"/healthz", "/readyz"})
"""For everyone, also where clients need a certificate: no kubelet has one to show."""

log = structlog.get_logger(__name__)


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
        reads: Collection[Kind] = EVERY_KIND,
        past: Past | None = None,
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
        self._reads = reads
        self._clock = clock
        self._seen: frozenset[Kind] = frozenset()
        self._stopping = False
        self._pages = Pages(
            store=store,
            clock=clock,
            details=lambda: self._judged(store.latest()).details,
            past=past,
        )
        routes: dict[str, Route] = {
            **dict.fromkeys(self._pages.paths, self._shown),
            **{f"/{asset.path}": unchanging(asset) for asset in ASSETS},
            "/metrics": lambda asked: metrics(registry, asked),
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
        self._pages.start()
        self._thread.start()

    def drain(self) -> None:
        """Turn unready while still answering, so that endpoints can follow."""
        self._stopping = True

    def stop(self) -> None:
        """Stop answering and close the port."""
        self._cancel()
        self._pages.stop()
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

    def _shown(self, asked: Asked) -> Page:
        return conditional(self._pages.render(asked.path, asked.query), asked)

    def _readyz(self, _asked: Asked) -> Page:
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
            reads=self._reads,
            also=self._details(),
        )

    def _decisions(self, _asked: Asked) -> Page:
        state = self._store.latest()
        return decisions(state, details=self._judged(state).details)


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
        packs = "gzip" in self.headers.get("Accept-Encoding", "")
        packed = page.packed if packs else None
        body = page.body if packed is None else packed
        self.send_response(page.status)
        if page.status is not HTTPStatus.NOT_MODIFIED:
            self.send_header("Content-Type", page.content_type)
            self.send_header("Content-Length", str(len(body)))
        if packed is not None:
            self.send_header("Content-Encoding", "gzip")
        for name, value in {"Cache-Control": "no-store", **GUARD, **page.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if with_body:
            self.wfile.write(body)

    def _page(self) -> Page:
        path, _, query = self.path.partition("?")
        if path not in OPEN_PATHS and not self._let_in():
            told = b"a client certificate is needed here; /healthz and /readyz go without\n"
            return Page(body=told, content_type=TEXT, status=HTTPStatus.FORBIDDEN)
        route = self.server.routes.get(path)
        if route is None:
            told = b"not found; try /, /decisions, /metrics, /healthz or /readyz\n"
            return Page(body=told, content_type=TEXT, status=HTTPStatus.NOT_FOUND)
        try:
            return route(self._asked(path, query))
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

    def _asked(self, path: str, query: str) -> Asked:
        return Asked(
            path=path,
            query=query,
            accept=self.headers.get("Accept", ""),
            etag=self.headers.get("If-None-Match", ""),
        )

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - http.server's name
        """Log nothing: probes and scrapes come every few seconds."""
