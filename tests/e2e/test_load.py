"""Streams that are opened again as KEDA does, and the time without one."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress

import grpc
import grpc.aio

from tests.e2e.load import Stream, Tally

UNAVAILABLE = grpc.aio.AioRpcError(
    grpc.StatusCode.UNAVAILABLE, grpc.aio.Metadata(), grpc.aio.Metadata(), details="gone"
)


class Server:
    """Plays streams one after the other: a first message or none, then an end; the last stays."""

    def __init__(self, *streams: tuple[bool, Exception | None]) -> None:
        self._streams = list(streams)
        self.now = 0.0
        self.done = asyncio.Event()

    async def open(self) -> AsyncIterator[str]:
        """Play the next one; time passes at the begin of each."""
        self.now += 1.5
        if not self._streams:
            yield "again"
            self.done.set()  # asked for more: the message has been heard
            await asyncio.Event().wait()
        speaks, error = self._streams.pop(0)
        if speaks:
            yield "first"
        if error is not None:
            raise error


def kept(*streams: tuple[bool, Exception | None]) -> Stream:
    """Keep a stream until all of these are over and one stays."""

    async def keep() -> Stream:
        server = Server(*streams)
        stream = Stream(server.open, Tally(), clock=lambda: server.now, back=0.0)
        task = asyncio.create_task(stream.keep())
        await server.done.wait()
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        return stream

    return asyncio.run(keep())


def test_a_gap_ends_with_the_first_message() -> None:
    """Not when the stream is opened."""
    tally = kept((True, None), (False, None)).tally
    assert tally.streams == {"OK": 2}
    assert tally.gaps == [3.0]


def test_a_stream_that_is_cut_is_told_with_its_error() -> None:
    """And is opened again too."""
    tally = kept((True, UNAVAILABLE)).tally
    assert tally.streams == {"UNAVAILABLE: gone": 1}
    assert tally.gaps == [1.5]


def test_a_gap_at_the_end_counts() -> None:
    """Whoever leaves while there is no server notes it."""
    stream = Stream(Server().open, Tally(), clock=lambda: 5.0, ended=1.0)
    stream.note()
    assert stream.tally.gaps == [4.0]
    stream.note()
    assert stream.tally.gaps == [4.0]


def test_what_is_written_can_be_read() -> None:
    """The program prints it, the scenario reads it."""
    tally = Tally(gaps=[2.5])
    tally.calls["OK"] += 3
    tally.streams["UNAVAILABLE: gone"] += 1
    written = json.loads(tally.told())
    assert written == {"calls": {"OK": 3}, "streams": {"UNAVAILABLE: gone": 1}, "gaps": [2.5]}
