"""The Service in front of the replicas passes on to ready ones, and refuses without any."""

import asyncio
import socket
import threading
from collections.abc import Coroutine, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import TypeVar

from tests.e2e.front import LOOPBACK, Backend, Front
from tests.e2e.waiting import until

PATIENCE = 10.0
T = TypeVar("T")


class Replica:
    """Two ports in one loop: one tells a name and then echoes, one answers /readyz."""

    def __init__(self, name: str, *, ready: bool) -> None:
        self.ready = ready
        self._name = name.encode()
        self._open: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._servers = [
            self._run(asyncio.start_server(each, LOOPBACK, 0)) for each in (self._echo, self._tell)
        ]
        grpc, status = (server.sockets[0].getsockname()[1] for server in self._servers)
        self.backend = Backend(grpc=grpc, status=status)

    def die(self) -> None:
        """End as a killed process does: no port, no connection."""
        if self._thread.is_alive():
            self._run(self._end())
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    def _run(self, work: Coroutine[object, object, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE)

    async def _echo(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        writer.write(self._name)
        while chunk := await reader.read(100):
            writer.write(chunk)
        writer.close()

    async def _tell(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        assert (await reader.readline()).startswith(b"GET /readyz ")
        await reader.readuntil(b"\r\n\r\n")
        status = "200 OK" if self.ready else "503 Service Unavailable"
        writer.write(f"HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n".encode())
        writer.close()

    async def _end(self) -> None:
        for server in self._servers:
            server.close()
        for writer in self._open:
            writer.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        if others:
            await asyncio.wait(others, timeout=PATIENCE)
        # A transport closes its socket in a later turn of the loop, which is about to end.
        closed = (writer.wait_closed() for writer in self._open)
        await asyncio.wait_for(asyncio.gather(*closed, return_exceptions=True), PATIENCE)


@contextmanager
def fronted(*readiness: bool) -> Iterator[tuple[Front, list[Replica]]]:
    """Give a started Front before replicas named 0, 1, .., once it knows who is ready."""
    with ExitStack() as ends:
        replicas = [Replica(str(i), ready=ready) for i, ready in enumerate(readiness)]
        for each in replicas:
            ends.callback(each.die)
        front = Front([each.backend for each in replicas])
        ends.callback(front.stop)
        front.start()
        wait_for_ready(front, [each for each in replicas if each.ready])
        yield front, replicas


def wait_for_ready(front: Front, replicas: list[Replica]) -> None:
    """Wait until exactly these count as ready."""
    wanted = {each.backend for each in replicas}
    settled = bool(wanted)
    until(
        lambda: front.ready == wanted and front.listening == settled,
        f"{len(wanted)} ready",
        within=PATIENCE,
    )


def connect(front: Front) -> socket.socket:
    """Connect to the Service."""
    host, _, port = front.address.partition(":")
    return socket.create_connection((host, int(port)), timeout=PATIENCE)


def reached(front: Front) -> str:
    """Give the name of the replica that a new connection gets to."""
    with connect(front) as client:
        return client.recv(1).decode()


def echoes(client: socket.socket) -> bool:
    """Say whether a connection still carries both ways."""
    client.sendall(b"x")
    return client.recv(1) == b"x"


def ended(client: socket.socket) -> bool:
    """Wait until the other side ends a connection, in order or by a reset."""
    try:
        return client.recv(1) == b""
    except ConnectionResetError:
        return True


def refused(front: Front) -> bool:
    """Say whether a new connection is refused."""
    try:
        connect(front).close()
    except ConnectionRefusedError:
        return True
    return False


def test_in_turn() -> None:
    """New connections go to ready replicas in turn."""
    with fronted(True, True) as (front, _):
        assert sorted(reached(front) for _ in range(4)) == ["0", "0", "1", "1"]


def test_unready() -> None:
    """An unready replica gets no new connection and keeps its open ones."""
    with fronted(True, True) as (front, (first, second)):
        front.pin(first.backend)
        with connect(front) as client:
            assert client.recv(1) == b"0"
            front.pin(None)
            first.ready = False
            wait_for_ready(front, [second])
            assert {reached(front) for _ in range(3)} == {"1"}
            assert echoes(client)


def test_none_ready() -> None:
    """Without a ready replica connections are refused, until one is ready again."""
    with fronted(True) as (front, (only,)):
        only.ready = False
        wait_for_ready(front, [])
        assert refused(front)
        only.ready = True
        wait_for_ready(front, [only])
        assert reached(front) == "0"


def test_never_ready() -> None:
    """Connections are refused before any replica was ready."""
    with fronted(False) as (front, _):
        assert refused(front)


def test_death() -> None:
    """A replica that dies takes its connections along."""
    with fronted(True, True) as (front, (first, second)):
        front.pin(first.backend)
        with connect(front) as client:
            assert client.recv(1) == b"0"
            front.pin(None)
            first.die()
            assert ended(client)
        wait_for_ready(front, [second])
        assert {reached(front) for _ in range(3)} == {"1"}


def test_just_died() -> None:
    """Endpoints follow a death late, and the packet then meets a port without a listener."""
    with fronted(True) as (front, (only,)):
        only.die()
        # Refused where the death was noticed already, reset where it came amid the handshake.
        with suppress(ConnectionError), connect(front) as client:
            assert ended(client)


def test_pin() -> None:
    """Pinned to an unready replica connections are refused rather than given to another."""
    with fronted(True, False) as (front, (first, second)):
        front.pin(second.backend)
        assert refused(front)
        front.pin(first.backend)
        assert {reached(front) for _ in range(3)} == {"0"}


def test_replaced() -> None:
    """A removed replica keeps its open connections, and an added one gets the new ones."""
    with fronted(True) as (front, (old,)):
        new = Replica("n", ready=True)
        try:
            with connect(front) as client:
                assert client.recv(1) == b"0"
                front.add(new.backend)
                wait_for_ready(front, [old, new])
                front.remove(old.backend)
                assert {reached(front) for _ in range(3)} == {"n"}
                assert echoes(client)
        finally:
            new.die()


def test_cut() -> None:
    """A cut ends the open connections of one replica only."""
    with fronted(True, True) as (front, (first, second)):
        front.pin(first.backend)
        with connect(front) as one:
            assert one.recv(1) == b"0"
            front.pin(second.backend)
            with connect(front) as other:
                assert other.recv(1) == b"1"
                front.cut(first.backend)
                assert ended(one)
                assert echoes(other)


def test_stop() -> None:
    """A stopped Front ends what was open and gives its port back."""
    with fronted(True) as (front, _):
        client = connect(front)
        assert client.recv(1) == b"0"
        port = int(front.address.rpartition(":")[2])
    with client:
        assert ended(client)
    again = Front((), port=port)
    assert again.address == f"{LOOPBACK}:{port}"
    again.stop()
