"""What the status port makes of clients that are broken, rude, or many."""

import socket
import struct
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from scaler.core.policy import Policy
from scaler.policyfile import PolicyState
from scaler.settings import Address
from scaler.status.connections import MAX_CONNECTIONS
from scaler.status.metrics import register
from scaler.status.server import StatusServer
from scaler.store import Store
from scaler.telemetry import Telemetry
from tests.builders import NOW

PATIENCE = 20.0
HANG_UP_AT_ONCE = struct.pack("ii", 1, 0)


class Broken(Collector):
    """Fail at each scrape, as a defect of ours would."""

    def collect(self) -> Iterable[Metric]:
        """Raise."""
        raise RuntimeError("no metrics today")

    def describe(self) -> Iterable[Metric]:
        """Name nothing."""
        return ()


@contextmanager
def serving(*, broken: bool = False) -> Iterator[int]:
    """Serve an empty store; give the port."""
    store = Store(policy=PolicyState(policy=Policy()), at=NOW)
    registry = register(telemetry=Telemetry(), store=store, clock=lambda: NOW)
    if broken:
        registry = CollectorRegistry()
        registry.register(Broken())
    address = Address(host="127.0.0.1", port=0)
    server = StatusServer(store=store, registry=registry, clock=lambda: NOW, address=address)
    server.start()
    try:
        yield server.port
    finally:
        server.stop()


def connect(port: int) -> socket.socket:
    """Open a connection."""
    return socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)


def say(port: int, request: bytes) -> bytes:
    """Send bytes as they are; give all that comes back until the server hangs up."""
    with connect(port) as client:
        client.sendall(request)
        return b"".join(iter(lambda: client.recv(65536), b""))


def hung_up_on(client: socket.socket) -> bool:
    """Say whether the server ended a connection on which nothing was said."""
    try:
        return client.recv(1) == b""
    except ConnectionResetError:
        return True


def get(path: str, *headers: str) -> bytes:
    """Write a GET after which the connection ends."""
    return "\r\n".join((f"GET {path} HTTP/1.1", "Connection: close", *headers, "", "")).encode()


@pytest.mark.parametrize(
    "accept",
    [
        "application/openmetrics-text; version=abc",
        "application/openmetrics-text; version=1.0.0; escaping=\u00ff",
        "text/plain; version=;;;q=q, */*",
    ],
)
def test_metrics_come_whatever_is_accepted(accept: str) -> None:
    """A scraper that asks for an odd version gets metrics, not a closed connection."""
    with serving() as port:
        assert say(port, get("/metrics", f"Accept: {accept}")).startswith(b"HTTP/1.1 200 ")


def test_clients_that_hang_up_leave_no_traceback(capfd: pytest.CaptureFixture[str]) -> None:
    """A reset in the middle of an answer is the client's affair."""
    with serving() as port:
        for _ in range(5):
            with connect(port) as client:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, HANG_UP_AT_ONCE)
                client.sendall(b"GET /metrics HTTP/1.1\r\n\r\n" * 20)
        assert say(port, get("/healthz")).endswith(b"ok\n")
    assert "Traceback" not in capfd.readouterr().err


def test_a_page_that_fails_is_an_answer() -> None:
    """A defect in one page says so with 500, and the other pages go on."""
    with serving(broken=True) as port:
        assert say(port, get("/metrics")).startswith(b"HTTP/1.1 500 ")
        assert say(port, get("/healthz")).endswith(b"ok\n")


def test_silent_clients_keep_no_probe_out() -> None:
    """More connections than there is room for end the oldest ones, and the newest is answered."""
    with serving() as port, ExitStack() as open_ones:
        crowd = [open_ones.enter_context(connect(port)) for _ in range(MAX_CONNECTIONS + 5)]
        assert say(port, get("/healthz")).endswith(b"ok\n")
        assert hung_up_on(crowd[0]), "the oldest was to make room"


def test_a_stop_hangs_up_on_those_who_are_still_connected() -> None:
    """A page that asks every few seconds keeps its connection: it has to see the end."""
    with ExitStack() as until_the_end:
        with serving() as port:
            client = until_the_end.enter_context(connect(port))
            client.sendall(b"GET /healthz HTTP/1.1\r\n\r\n")
            assert client.recv(65536).startswith(b"HTTP/1.1 200 ")
        rest = b"".join(iter(lambda: client.recv(65536), b""))
        assert rest in (b"", b"ok\n")
