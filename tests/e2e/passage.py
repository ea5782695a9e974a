"""The way of one client to a server, which can be cut without a word to anybody else."""

import asyncio
import threading
from contextlib import suppress

from tests.e2e.front import LOOPBACK

CHUNK = 65536


class Passage:
    """Pass connections on to a port of loopback; TLS goes through untouched.

    One thread with an event loop of its own; methods may be called from any other thread.
    """

    def __init__(self, port: int) -> None:
        self.late = 0.0
        """Seconds that what the server sends comes later from now on, in order."""
        self._port = port
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="passage", daemon=True)
        self._thread.start()
        self._open: set[asyncio.StreamWriter] = set()
        listening = asyncio.start_server(self._accepted, LOOPBACK, 0)
        self._server = asyncio.run_coroutine_threadsafe(listening, self._loop).result()

    @property
    def port(self) -> int:
        """Give the port on which it listens."""
        number: int = self._server.sockets[0].getsockname()[1]
        return number

    def cut(self) -> None:
        """Break the open connections; new ones pass."""
        asyncio.run_coroutine_threadsafe(self._cut(), self._loop).result()

    async def _cut(self) -> None:
        for each in self._open:
            each.transport.abort()

    async def _accepted(self, reader: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        try:
            answers, server = await asyncio.open_connection(LOOPBACK, self._port)
        except OSError:
            client.transport.abort()
            return
        self._open.add(client)
        ways = [
            asyncio.ensure_future(_copy(reader, server)),
            asyncio.ensure_future(self._copy_late(answers, client)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._open.discard(client)
            for way in ways:
                way.cancel()
            server.close()
            client.close()

    async def _copy_late(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        """Copy each chunk when it is due, without slowing down the server."""
        chunks: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

        async def read() -> None:
            with suppress(ConnectionError):
                while chunk := await source.read(CHUNK):
                    chunks.put_nowait((self._loop.time() + self.late, chunk))
            chunks.put_nowait((self._loop.time() + self.late, b""))

        reading = asyncio.ensure_future(read())
        try:
            with suppress(ConnectionError):
                while True:
                    due, chunk = await chunks.get()
                    await asyncio.sleep(due - self._loop.time())
                    if not chunk:
                        return
                    sink.write(chunk)
                    await sink.drain()
        finally:
            reading.cancel()


async def _copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while chunk := await source.read(CHUNK):
            sink.write(chunk)
            await sink.drain()
