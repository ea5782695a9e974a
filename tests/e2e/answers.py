"""A scaler that answers what it is told to, so that KEDA can be watched from the other side."""

import asyncio
import threading
from collections.abc import Coroutine
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

import grpc.aio

from scaler.pb import externalscaler_pb2_grpc as pb_grpc
from tests.e2e.calls import Call, CallLog, Method
from tests.e2e.script import Answers, Ending
from tests.e2e.servicer import Servicer, tell

T = TypeVar("T")
HOST = "127.0.0.1"
PATIENCE = 10.0
"""Seconds for the stub's own thread to do what it is told."""
OPTIONS = (("grpc.so_reuseport", 0),)
"""A second server on a port fails instead of taking some of its connections."""
ESTABLISHED = "01"


class Stub:
    """An external scaler on as many addresses as wanted; threads may share it.

    All addresses give the same answers: by namespace and name of the ScaledObject, or of what its
    trigger's metadata names by the key `script`. What has no script yet is idle at size 0.
    What is told is in force when the call returns.
    """

    def __init__(self) -> None:
        self._log = CallLog()
        self._servicer = Servicer(self._log)
        self._servers: dict[str, grpc.aio.Server | None] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="stub", daemon=True)
        self._thread.start()

    def listen(self) -> str:
        """Open one more port and give its address."""
        return self._do(self._serve(0))

    def down(self, address: str) -> None:
        """Close a port; its calls and streams are cut, new connections refused."""
        self._do(self._close(address))

    def up(self, address: str) -> None:
        """Open a port again that was closed."""
        self._do(self._serve(int(address.rpartition(":")[2])))

    def script(self, namespace: str, name: str, answers: Answers) -> None:
        """Set the answers from now on; whoever hangs looks again."""

        async def change() -> None:
            self._servicer.part(namespace, name).change(answers)

        self._do(change())

    def push(self, namespace: str, name: str, active: bool) -> None:  # noqa: FBT001 - as on the wire
        """Say something on the activity streams that are open."""

        async def say() -> None:
            tell(self._servicer.part(namespace, name).activity, active)

        self._do(say())

    def end(
        self, namespace: str, name: str, ending: Ending, method: Method = Method.STREAM_IS_ACTIVE
    ) -> None:
        """End the streams of a kind that are open; new ones are served as scripted."""

        async def say() -> None:
            part = self._servicer.part(namespace, name)
            if method is Method.STREAM_METRIC_SPEC:
                tell(part.specs, ending)
            else:
                tell(part.activity, ending)

        self._do(say())

    def calls(
        self, namespace: str, name: str, method: Method | None = None, since: float = 0.0
    ) -> tuple[Call, ...]:
        """Give the calls of one script that began since a monotonic time, in that order."""
        return self._log.of(namespace, name, method, since)

    def connections(self, address: str) -> int:
        """Count the TCP connections to an address that are established."""
        port = f"{int(address.rpartition(':')[2]):04X}"
        # gRPC listens on IPv6 sockets for IPv4 addresses too.
        tables = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
        lines = (line for table in tables for line in table.read_text().splitlines()[1:])
        fields = (line.split() for line in lines)
        return sum(each[1].endswith(f":{port}") and each[3] == ESTABLISHED for each in fields)

    def stop(self) -> None:
        """Close all ports and end the thread; a second time is fine."""
        if self._loop.is_closed():
            return
        for address in list(self._servers):
            self.down(address)
        self._do(self._loop.shutdown_asyncgens())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE)
        self._loop.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    async def _serve(self, port: int) -> str:
        server = grpc.aio.server(options=OPTIONS)
        pb_grpc.add_ExternalScalerServicer_to_server(self._servicer, server)
        address = f"{HOST}:{server.add_insecure_port(f'{HOST}:{port}')}"
        await server.start()
        self._servers[address] = server
        return address

    async def _close(self, address: str) -> None:
        server, self._servers[address] = self._servers[address], None
        if server:
            await server.stop(None)

    def _do(self, work: Coroutine[object, object, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE)
