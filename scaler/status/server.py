"""The HTTP status port."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TypeAlias

import msgspec
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from scaler.core.model import Instant, Kind
from scaler.core.quantity import format_instant
from scaler.settings import Address
from scaler.status.health import Readiness, ready, settled
from scaler.status.page import PAGE
from scaler.store import State, Store
from scaler.view import Shown, shown

JSON = "application/json; charset=utf-8"

STOP_POLL_SECONDS = 0.05
"""How long a stop may wait for the accepting thread to notice."""


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
    ) -> None:
        self._store = store
        self._registry = registry
        self._clock = clock
        self._seen: frozenset[Kind] = frozenset()
        self._stopping = False
        routes: dict[str, Route] = {
            "/": lambda _: Page(body=PAGE, content_type="text/html; charset=utf-8"),
            "/metrics": self._metrics,
            "/healthz": lambda _: Page(body=b"ok\n", content_type="text/plain; charset=utf-8"),
            "/readyz": self._readyz,
            "/decisions": self._decisions,
        }
        self._cancel = store.listen(self._published)
        self._http = _listen(address, routes)
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

    def _metrics(self, accept: str) -> Page:
        encode, content_type = choose_encoder(accept)
        return Page(body=encode(self._registry), content_type=content_type)

    def _readyz(self, _accept: str) -> Page:
        state = self._store.latest()
        body = ready(state, seen=self._seen, stopping=self._stopping, now=self._clock())
        ok = body.status is Readiness.READY
        return Page(
            body=msgspec.json.format(msgspec.json.encode(body)) + b"\n",
            content_type=JSON,
            status=HTTPStatus.OK if ok else HTTPStatus.SERVICE_UNAVAILABLE,
        )

    def _decisions(self, _accept: str) -> Page:
        state = self._store.latest()
        details = ready(state, seen=self._seen, stopping=self._stopping, now=self._clock()).details
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


def _listen(address: Address, routes: Mapping[str, Route]) -> ThreadingHTTPServer:
    """Bind the port.

    Raises:
        OSError: the port can't be had; one sentence.
    """

    class Requests(BaseHTTPRequestHandler):
        """Answer GET and HEAD from the routes."""

        timeout = 30.0
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            """Answer with the body."""
            self._answer(with_body=True)

        def do_HEAD(self) -> None:
            """Answer without the body."""
            self._answer(with_body=False)

        def _answer(self, *, with_body: bool) -> None:
            route = routes.get(self.path.partition("?")[0])
            page = (
                Page(
                    body=b"not found; try /, /decisions, /metrics, /healthz or /readyz\n",
                    content_type="text/plain; charset=utf-8",
                    status=HTTPStatus.NOT_FOUND,
                )
                if route is None
                else route(self.headers.get("Accept", ""))
            )
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

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - http.server's name
            """Log nothing: probes and scrapes come every few seconds."""

    class Server(ThreadingHTTPServer):
        """Let no open request delay the process's end."""

        daemon_threads = True
        # A restarted process must get its port back while old connections linger.
        allow_reuse_address = True

    try:
        return Server((address.host, address.port), Requests)
    except OSError as error:
        message = f"can't listen on {address}: {error.strerror or error}; is the port in use?"
        raise OSError(message) from error
