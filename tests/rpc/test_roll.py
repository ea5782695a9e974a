"""How KEDA's connection leaves a server before it stops, so that no call is lost."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import grpc.aio
import pytest

from scaler.pb import externalscaler_pb2_grpc as pb_grpc
from scaler.rpc.server import connection_age
from tests.rpc.fakes import Peer, make_decision, serving

PATIENCE = 20.0
"""A guard against hanging for ever; nothing is measured by it."""
AGE = 0.2
CALLERS = 10


@dataclass(slots=True)
class Service:
    """One address whose new connections go where endpoints lead at the moment."""

    target: int
    port: int = 0
    led_to: list[int] = field(default_factory=list)
    """The port that each connection went to."""
    open: dict[asyncio.StreamWriter, int] = field(default_factory=dict)
    """Both ends of each connection, with the port that it leads to."""
    news: asyncio.Event = field(default_factory=asyncio.Event)

    async def until(self, reached: Callable[[], bool]) -> None:
        """Wait for connections until a condition holds."""
        while not reached():
            self.news.clear()
            await self.news.wait()

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Lead one connection to the target of this moment, until either side ends it."""
        port = self.target
        answers, server = await asyncio.open_connection("127.0.0.1", port)
        self.open |= {writer: port, server: port}
        self.led_to.append(port)
        self.news.set()
        await asyncio.gather(_copy(reader, server), _copy(answers, writer))
        for each in (writer, server):
            with suppress(ConnectionError):
                await each.wait_closed()
            del self.open[each]
        self.news.set()


async def _copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while chunk := await source.read(1 << 16):
            sink.write(chunk)
    sink.close()


@asynccontextmanager
async def in_front(peer: Peer) -> AsyncIterator[Service]:
    """Open an address that leads to a peer."""
    service = Service(target=peer.port)
    listener = await asyncio.start_server(service.accept, "127.0.0.1", 0)
    service.port = listener.sockets[0].getsockname()[1]
    try:
        yield service
    finally:
        listener.close()
        for each in tuple(service.open):
            each.close()
        await service.until(lambda: not service.open)


async def calling(peer: Peer, port: int, leaving: asyncio.Event) -> int:
    """Ask without pause over one connection; give how often, or raise what a call failed with."""

    async def ask(stub: "pb_grpc.ExternalScalerAsyncStub") -> int:
        count = 0
        while not leaving.is_set():
            assert (await stub.IsActive(peer.request())).result
            count += 1
        return count

    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        stub = pb_grpc.ExternalScalerStub(channel)
        return sum(await asyncio.gather(*(ask(stub) for _ in range(CALLERS))))


async def until_or_failed(reached: Awaitable[None], calls: "asyncio.Task[int]") -> None:
    """Wait for a condition, or raise what a call failed with meanwhile."""
    waiting = asyncio.ensure_future(reached)
    await asyncio.wait((waiting, calls), return_when=asyncio.FIRST_COMPLETED)
    if calls.done():
        calls.result()
    await waiting


def test_no_call_is_lost_when_a_server_stops_that_endpoints_left_before() -> None:
    """To KEDA a lost call is an error, and an error may count as inactive."""

    async def test() -> None:
        async with serving(connection_age=AGE) as old, serving() as new, in_front(old) as service:
            for peer in (old, new):
                peer.publish(make_decision(peer.ref(), active=True, value=1))
            leaving = asyncio.Event()
            calls = asyncio.create_task(calling(old, service.port, leaving))
            await until_or_failed(service.until(lambda: len(service.led_to) > 1), calls)
            service.target = new.port
            moved = service.until(lambda: set(service.open.values()) == {new.port})
            await until_or_failed(moved, calls)
            await old.server.stop(grace=1.0)
            leaving.set()
            assert await calls > 0
            assert service.led_to[-1] == new.port

    asyncio.run(asyncio.wait_for(test(), PATIENCE))


def test_a_stream_outlives_the_age_of_its_connection() -> None:
    """Only new calls leave; a push stream that broke would be missing for two seconds."""

    async def test() -> None:
        async with serving(connection_age=AGE) as peer, in_front(peer) as service:
            peer.publish(make_decision(peer.ref(), active=False, value=0))
            address = f"127.0.0.1:{service.port}"
            async with grpc.aio.insecure_channel(address) as channel:
                stub = pb_grpc.ExternalScalerStub(channel)
                stream = stub.StreamIsActive(peer.request())
                while len(service.led_to) < 3:
                    await stub.IsActive(peer.request())
                assert peer.server.streams == 1
                peer.publish(make_decision(peer.ref(), active=True, value=1))
                message = await stream.read()
                assert message
                assert message is not grpc.aio.EOF
                stream.cancel()

    asyncio.run(asyncio.wait_for(test(), PATIENCE))


@pytest.mark.parametrize("drain", [5.0, 15.0, 60.0])
def test_every_connection_has_left_within_the_drain(drain: float) -> None:
    """The age that gRPC chooses is up to a tenth longer."""
    age = connection_age(drain)
    assert age is not None
    assert 1.1 * age < drain


def test_without_a_drain_connections_stay() -> None:
    """There is nothing that they could leave in time for."""
    assert connection_age(0.0) is None
