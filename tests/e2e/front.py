"""A Service with a cluster IP: one address in front of the replicas that are ready."""

import asyncio
import itertools
import socket
import ssl
import struct
import threading
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass

LOOPBACK = "127.0.0.1"
PROBE_INTERVAL = 0.5
"""Seconds between two questions for readiness; a kubelet's are 5 s apart."""
PROBE_TIMEOUT = 2.0
CLOSING_TURNS = 5
"""Turns of the loop that closing a transport takes, and some."""
MISSES = 3
"""Questions without any answer in a row that make a replica unready; a no is believed at once."""
CHUNK = 65536
READY = b" 200 "
QUESTION = b"GET /readyz HTTP/1.1\r\nHost: replica\r\nConnection: close\r\n\r\n"
UNVERIFIED = ssl._create_unverified_context()  # noqa: S323 - as a kubelet's probes
LINGER_NOT = struct.pack("ii", 1, 0)
"""SO_LINGER for a close that resets the connection."""


def held_port(host: str = LOOPBACK, port: int = 0) -> socket.socket:
    """Bind a port, any free one for 0, without listening: who connects is refused.

    Nobody gets the port by chance while the socket is open; a server that asks for it by number
    and with SO_REUSEADDR does.
    """
    holder = socket.socket()
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holder.bind((host, port))
    return holder


@dataclass(frozen=True, slots=True, kw_only=True)
class Backend:
    """The ports of one replica on the loopback address."""

    grpc: int
    status: int
    https: bool = False
    """The status port speaks TLS, which a kubelet does not verify."""


@dataclass(frozen=True, slots=True, eq=False)
class _Connection:
    backend: Backend
    client: asyncio.StreamWriter
    """To whoever connected to the Service."""


class Front:
    """Pass connections on to replicas that are ready, as kube-proxy does by endpoints.

    A replica that turns unready keeps its open connections and gets no new ones. Without a ready
    replica connections are refused. One thread with an event loop of its own; methods may be
    called from any other thread.
    """

    def __init__(self, backends: Sequence[Backend], host: str = LOOPBACK, port: int = 0) -> None:
        self._backends = list(backends)
        self._holder = held_port(host, port)
        self._ready: set[Backend] = set()
        self._pinned: Backend | None = None
        self._turns = itertools.count()
        self._open: set[_Connection] = set()
        self._probes: dict[Backend, asyncio.Task[None]] = {}
        self._server: asyncio.Server | None = None
        self._settling = asyncio.Lock()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="front", daemon=True)

    @property
    def address(self) -> str:
        """Give host and port; the same for the Front's whole life."""
        host, port = self._holder.getsockname()
        return f"{host}:{port}"

    @property
    def ready(self) -> frozenset[Backend]:
        """Give the replicas that were ready when last asked."""
        return frozenset(self._ready)

    @property
    def listening(self) -> bool:
        """Say whether connections are taken."""
        return self._server is not None

    def start(self) -> None:
        """Begin to ask for readiness; the port opens with the first replica that is ready."""
        self._thread.start()
        for backend in self._backends:
            self.add(backend)

    def stop(self) -> None:
        """End everything, open connections too, and give the port back."""
        if self._thread.is_alive():
            self._do(self._close())
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
        self._loop.close()
        self._holder.close()

    def add(self, backend: Backend) -> None:
        """Ask one more replica for readiness."""
        self._do(self._watch(backend))

    def remove(self, backend: Backend) -> None:
        """Give a replica no more connections; open ones stay."""
        self._do(self._forget(backend))

    def pin(self, backend: Backend | None) -> None:
        """Give new connections to this replica alone, while it is ready; None: to each in turn."""
        self._do(self._pin(backend))

    def cut(self, backend: Backend | None = None) -> None:
        """Reset the open connections of a replica, or of all."""
        self._do(self._reset(backend))

    def _do(self, work: Coroutine[object, object, None]) -> None:
        """Do work within the loop, which has all that changes to itself."""
        asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _watch(self, backend: Backend) -> None:
        self._probes[backend] = self._loop.create_task(self._ask_on(backend))

    async def _ask_on(self, backend: Backend) -> None:
        misses = 0
        while True:
            ready = await _is_ready(backend)
            misses = misses + 1 if ready is None else 0
            if ready is not None or misses >= MISSES:
                (self._ready.add if ready else self._ready.discard)(backend)
                await self._settle()
            await asyncio.sleep(PROBE_INTERVAL)

    async def _forget(self, backend: Backend) -> None:
        self._probes.pop(backend).cancel()
        self._ready.discard(backend)
        await self._settle()

    async def _pin(self, backend: Backend | None) -> None:
        self._pinned = backend
        await self._settle()

    def _candidates(self) -> list[Backend]:
        ready = [backend for backend in self._probes if backend in self._ready]
        return [each for each in ready if self._pinned in (None, each)]

    async def _settle(self) -> None:
        """Listen while there is somebody to pass connections to, and only then."""
        async with self._settling:
            wanted = bool(self._candidates())
            if wanted and self._server is None:
                listener = held_port(*self._holder.getsockname())
                self._server = await asyncio.start_server(self._accepted, sock=listener)
            if not wanted:
                self._shut()

    def _shut(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None

    async def _accepted(self, reader: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        candidates = self._candidates()
        if not candidates:
            _abort(client)
            return
        backend = candidates[next(self._turns) % len(candidates)]
        connection = _Connection(backend, client)
        self._open.add(connection)
        try:
            await _pass_on(reader, client, backend.grpc)
        finally:
            self._open.discard(connection)

    async def _reset(self, backend: Backend | None) -> None:
        for each in self._open:
            if backend in (None, each.backend):
                _abort(each.client)

    async def _close(self) -> None:
        for probe in self._probes.values():
            probe.cancel()
        self._shut()
        await self._reset(None)
        others = asyncio.all_tasks() - {asyncio.current_task()}
        if others:
            await asyncio.wait(others, timeout=PROBE_TIMEOUT)
        for _ in range(CLOSING_TURNS):
            # Transports that were closed say so, and let go of their sockets, in later turns.
            await asyncio.sleep(0)


async def _is_ready(backend: Backend) -> bool | None:
    """Ask a replica; None where it took too long to answer."""
    try:
        async with asyncio.timeout(PROBE_TIMEOUT):
            context = UNVERIFIED if backend.https else None
            reader, writer = await asyncio.open_connection(LOOPBACK, backend.status, ssl=context)
            try:
                writer.write(QUESTION)
                return READY in await reader.readline()
            finally:
                writer.close()
    except TimeoutError:
        return None
    except OSError:
        return False


async def _pass_on(reader: asyncio.StreamReader, client: asyncio.StreamWriter, port: int) -> None:
    """Copy both ways until one side ends; then both have ended."""
    try:
        answers, replica = await asyncio.open_connection(LOOPBACK, port)
    except OSError:
        _abort(client)
        return
    ways = [
        asyncio.ensure_future(_copy(reader, replica)),
        asyncio.ensure_future(_copy(answers, client)),
    ]
    try:
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for way in ways:
            way.cancel()
        replica.close()
        client.close()


async def _copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while chunk := await source.read(CHUNK):
            sink.write(chunk)
            await sink.drain()


def _abort(writer: asyncio.StreamWriter) -> None:
    """Reset a connection, which is what a packet to a port without listener brings."""
    raw: socket.socket | None = writer.get_extra_info("socket")
    if raw is not None:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_NOT)
    writer.transport.abort()
