"""The way to a server that can be cut, and on which answers can be late."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from tests.e2e.apart import by_passage
from tests.e2e.front import LOOPBACK
from tests.e2e.passage import Passage

PATIENCE = 10.0
LATE = 0.3


@contextmanager
def echoed() -> Iterator[tuple[Passage, socket.socket]]:
    """Lead a client to a server that sends back what it gets."""
    with socket.create_server((LOOPBACK, 0)) as server:
        threading.Thread(target=_echo, args=(server,), daemon=True).start()
        passage = Passage(server.getsockname()[1])
        with socket.create_connection((LOOPBACK, passage.port), PATIENCE) as client:
            yield passage, client


def _echo(server: socket.socket) -> None:
    with suppress(OSError):
        client, _ = server.accept()
        with client:
            while text := client.recv(100):
                client.sendall(text)


def _read(client: socket.socket, length: int) -> bytes:
    found = b""
    while len(found) < length and (more := client.recv(100)):
        found += more
    return found


def test_answers_come_late_and_in_order() -> None:
    """What was late stays before what came after it, at whatever pace."""
    with echoed() as (passage, client):
        client.sendall(b"a")
        assert _read(client, 1) == b"a"
        passage.late = LATE
        began = time.monotonic()
        client.sendall(b"b")
        assert _read(client, 1) == b"b"
        assert time.monotonic() - began >= LATE
        client.sendall(b"c")
        passage.late = 0.0
        client.sendall(b"d")
        assert _read(client, 2) == b"cd"


def test_a_cut_ends_what_is_open() -> None:
    """The client sees that its connection broke."""
    with echoed() as (passage, client):
        client.sendall(b"a")
        assert _read(client, 1) == b"a"
        passage.cut()
        with suppress(ConnectionResetError):
            assert client.recv(1) == b""


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_client_is_led_to_it_by_the_protocol_that_it_spoke(scheme: str) -> None:
    """Plain HTTP is what hides Kueue's newer version; https would lead past that."""
    cluster = {"server": f"{scheme}://127.0.0.1:6443", "certificate-authority": "ca.crt"}
    led = json.loads(by_passage(json.dumps({"clusters": [{"cluster": cluster}]}), 7))
    assert led["clusters"][0]["cluster"] == cluster | {"server": f"{scheme}://127.0.0.1:7"}
