"""Ask an external scaler without pause and keep streams open; tell how calls and streams ended.

Usage: python -m tests.e2e.load ADDRESS QUESTIONS

Until SIGTERM. QUESTIONS is a file with a JSON object: `asked` and `active` are lists of
[namespace, name, metadata]. Each is asked about by every unary RPC and has a StreamMetricSpec;
`active` ones, which must be so all the time, have a StreamIsActive too. Prints a Tally as JSON.
"""

import asyncio
import itertools
import json
import signal
import sys
import time
from collections import Counter
from collections.abc import AsyncIterable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import grpc.aio

from scaler.pb import externalscaler_pb2 as pb
from scaler.pb import externalscaler_pb2_grpc as pb_grpc

CALLERS = 10
LOADED = "asks"
"""Printed once the first call was answered and each stream has brought a message."""
PAUSE = 0.02
"""Seconds between two calls of one caller; the machine is shared."""
BACK = 2.0
"""Seconds after which KEDA opens a stream again that ended with OK."""
Open = Callable[[], AsyncIterable[object]]
"""Opens a stream whose first message comes at once."""


@dataclass(slots=True)
class Tally:
    """What became of it all."""

    calls: Counter[str] = field(default_factory=Counter)
    """How many unary calls ended how."""
    streams: Counter[str] = field(default_factory=Counter)
    """How many streams ended how, before it was time to leave."""
    gaps: list[float] = field(default_factory=list)
    """Seconds from a stream's end to the first message of the one that was opened again."""

    def told(self) -> str:
        """Write it as JSON."""
        found = {"calls": self.calls, "streams": self.streams, "gaps": self.gaps}
        return json.dumps(found)


@dataclass(slots=True)
class Stream:
    """One stream that is opened again as KEDA does."""

    open: Open
    tally: Tally
    clock: Callable[[], float] = time.monotonic
    back: float = BACK
    heard: asyncio.Event = field(default_factory=asyncio.Event)
    ended: float | None = None
    """Since when there is none."""

    async def keep(self) -> None:
        """Listen until cancelled."""
        while True:
            try:
                async for _ in self.open():
                    self.note()
            except grpc.aio.AioRpcError as error:
                self.tally.streams[_told(error)] += 1
            else:
                self.tally.streams["OK"] += 1
            self.ended = self.clock() if self.ended is None else self.ended
            await asyncio.sleep(self.back)

    def note(self) -> None:
        """Note that there is a server, or that it ends without one."""
        self.heard.set()
        if self.ended is not None:
            self.tally.gaps.append(self.clock() - self.ended)
            self.ended = None


async def ask_on(
    address: str,
    asked: Sequence[pb.ScaledObjectRef],
    active: Sequence[pb.ScaledObjectRef],
    leaving: asyncio.Event,
) -> Tally:
    """Ask over one connection, as KEDA does, until it is time to leave."""
    tally = Tally()
    async with grpc.aio.insecure_channel(address) as channel:
        stub: pb_grpc.ExternalScalerAsyncStub = pb_grpc.ExternalScalerStub(channel)
        opens: list[Open] = [partial(stub.StreamMetricSpec, ref) for ref in (*asked, *active)]
        opens += [partial(stub.StreamIsActive, ref) for ref in active]
        streams = [Stream(each, tally) for each in opens]
        kept = [asyncio.create_task(each.keep()) for each in streams]
        await stub.IsActive(active[0])
        await asyncio.gather(*(each.heard.wait() for each in streams))
        print(LOADED, flush=True)  # noqa: T201 - whoever started it waits for it
        turns = itertools.cycle([*asked, *active])
        await asyncio.gather(*(_ask(stub, turns, tally, leaving) for _ in range(CALLERS)))
        for task in kept:
            task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(*kept)
        for each in streams:
            each.note()
    return tally


async def _ask(
    stub: "pb_grpc.ExternalScalerAsyncStub",
    turns: "itertools.cycle[pb.ScaledObjectRef]",
    tally: Tally,
    leaving: asyncio.Event,
) -> None:
    """Ask what KEDA asks in a poll, about each in turn."""
    while not leaving.is_set():
        ref = next(turns)
        try:
            await stub.GetMetricSpec(ref)
            await stub.GetMetrics(pb.GetMetricsRequest(scaledObjectRef=ref))
            await stub.IsActive(ref)
            tally.calls["OK"] += 3
        except grpc.aio.AioRpcError as error:
            tally.calls[_told(error)] += 1
        await asyncio.sleep(PAUSE)


def _told(error: grpc.aio.AioRpcError) -> str:
    return f"{error.code().name}: {error.details()}"


def refs(found: Sequence[tuple[str, str, dict[str, str]]]) -> list[pb.ScaledObjectRef]:
    """Give what is sent about each of [namespace, name, metadata]."""
    return [
        pb.ScaledObjectRef(namespace=namespace, name=name, scalerMetadata=metadata)
        for namespace, name, metadata in found
    ]


async def main(address: str, questions: str) -> None:
    """Ask until SIGTERM."""
    leaving = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, leaving.set)
    found = json.loads(questions)
    tally = await ask_on(address, refs(found["asked"]), refs(found["active"]), leaving)
    print(tally.told(), flush=True)  # noqa: T201 - its result


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]).read_text()))
