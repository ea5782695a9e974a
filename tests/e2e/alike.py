"""Ask two replicas the same at the same time, over and over, and tell when they differed.

Usage: python -m tests.e2e.alike ADDRESS ADDRESS QUESTIONS

Until SIGTERM. QUESTIONS is a file with a JSON list of [namespace, name, metadata]. Prints a
Comparison as JSON; times are monotonic seconds, which all processes of a machine share.
"""

import asyncio
import json
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

import grpc.aio

from scaler.pb import externalscaler_pb2 as pb
from scaler.pb import externalscaler_pb2_grpc as pb_grpc
from tests.e2e.load import LOADED, refs

PAUSE = 0.1
"""Seconds between two rounds."""


@dataclass(slots=True, kw_only=True)
class Span:
    """A time in which two replicas answered differently about one trigger."""

    about: str
    since: float
    """The begin of the first round in which they differed."""
    until: float
    """The end of the first one in which they did not any more, else of the last one."""
    answers: list[str]
    """The first pair."""

    @property
    def seconds(self) -> float:
        """Give how long it took, and a round more."""
        return self.until - self.since


@dataclass(slots=True)
class Comparison:
    """What came of all rounds."""

    compared: int = 0
    """Pairs of answers."""
    spans: list[Span] = field(default_factory=list)
    agreed: dict[str, list[str]] = field(default_factory=dict)
    """Answers that both gave, in order, without repetition."""
    _open: dict[str, Span] = field(default_factory=dict)

    def note(self, about: str, answers: tuple[str, str], *, since: float, until: float) -> None:
        """Take the answers of a round that began and ended at these times."""
        self.compared += 1
        span = self._open.get(about)
        if span is not None:
            span.until = until
        if answers[0] == answers[1]:
            self._open.pop(about, None)
            before = self.agreed.setdefault(about, [])
            if before[-1:] != [answers[0]]:
                before.append(answers[0])
        elif span is None:
            span = Span(about=about, since=since, until=until, answers=list(answers))
            self._open[about] = span
            self.spans.append(span)

    def told(self) -> str:
        """Write it as JSON."""
        found = asdict(self)
        del found["_open"]
        return json.dumps(found)


def read(text: str) -> Comparison:
    """Read what was written."""
    found = json.loads(text)
    spans = [Span(**each) for each in found["spans"]]
    return Comparison(compared=found["compared"], spans=spans, agreed=found["agreed"])


async def answer(stub: "pb_grpc.ExternalScalerAsyncStub", ref: pb.ScaledObjectRef) -> str:
    """Give in words all that a replica answers about a trigger: spec, value and activity."""
    told = []
    for part in (_spec, _value, _activity):
        try:
            told.append(await part(stub, ref))
        except grpc.aio.AioRpcError as error:
            told.append(error.code().name)
    return ", ".join(told)


async def _spec(stub: "pb_grpc.ExternalScalerAsyncStub", ref: pb.ScaledObjectRef) -> str:
    found = await stub.GetMetricSpec(ref)
    specs = [f"{each.metricName}/{each.targetSizeFloat:g}" for each in found.metricSpecs]
    return " ".join(specs)


async def _value(stub: "pb_grpc.ExternalScalerAsyncStub", ref: pb.ScaledObjectRef) -> str:
    found = await stub.GetMetrics(pb.GetMetricsRequest(scaledObjectRef=ref))
    values = [f"{each.metricName}={each.metricValueFloat:g}" for each in found.metricValues]
    return " ".join(values) or NO_VALUE


async def _activity(stub: "pb_grpc.ExternalScalerAsyncStub", ref: pb.ScaledObjectRef) -> str:
    return "active" if (await stub.IsActive(ref)).result else "inactive"


NO_VALUE = "no value"
"""HOLD of a target that is there."""


async def compare(
    addresses: tuple[str, str], asked: Sequence[pb.ScaledObjectRef], leaving: asyncio.Event
) -> Comparison:
    """Ask both until it is time to leave, and once in any case."""
    found = Comparison()
    one, other = (grpc.aio.insecure_channel(each) for each in addresses)
    async with one, other:
        stubs: list[pb_grpc.ExternalScalerAsyncStub] = [
            pb_grpc.ExternalScalerStub(each) for each in (one, other)
        ]

        async def both(ref: pb.ScaledObjectRef) -> None:
            since = time.monotonic()
            first, second = await asyncio.gather(*(answer(stub, ref) for stub in stubs))
            about = f"{ref.namespace}/{ref.name}"
            found.note(about, (first, second), since=since, until=time.monotonic())

        while True:
            await asyncio.gather(*(both(ref) for ref in asked))
            if found.compared == len(asked):
                print(LOADED, flush=True)  # noqa: T201 - whoever started it waits for it
            with suppress(TimeoutError):
                await asyncio.wait_for(leaving.wait(), PAUSE)
                break
    return found


async def main(addresses: tuple[str, str], questions: str) -> None:
    """Ask until SIGTERM."""
    leaving = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, leaving.set)
    found = await compare(addresses, refs(json.loads(questions)), leaving)
    print(found.told(), flush=True)  # noqa: T201 - its result


if __name__ == "__main__":
    asyncio.run(main((sys.argv[1], sys.argv[2]), Path(sys.argv[3]).read_text()))
