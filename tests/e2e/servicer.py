"""The five RPCs of an external scaler, answered by script."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

import grpc
import grpc.aio

from scaler.pb import externalscaler_pb2 as pb
from scaler.pb import externalscaler_pb2_grpc as pb_grpc
from tests.e2e.calls import Call, CallLog, Method, Outcome
from tests.e2e.script import Answers, Ending, Fault, Pairs

if TYPE_CHECKING:
    from scaler.pb.externalscaler_pb2_grpc import _ServicerContext as Context

T = TypeVar("T")
SCRIPT = "script"
"""The key in a trigger's metadata that names its script, where one ScaledObject has two."""


@dataclass(slots=True)
class Part:
    """A script and the streams that are open to it; belongs to the stub's thread."""

    answers: Answers = field(default_factory=Answers)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    activity: set["asyncio.Queue[bool | Ending]"] = field(default_factory=set)
    specs: set["asyncio.Queue[Pairs | Ending]"] = field(default_factory=set)

    def change(self, answers: Answers) -> None:
        """Take a new script; who hangs looks again, spec streams say what is new."""
        before, self.answers = self.answers, answers
        self.changed.set()
        self.changed = asyncio.Event()
        if answers.streamed != before.streamed:
            tell(self.specs, answers.streamed)


def tell(queues: "set[asyncio.Queue[T]]", item: T) -> None:
    """Give an item to every open stream."""
    for queue in queues:
        queue.put_nowait(item)


@contextmanager
def queued(queues: "set[asyncio.Queue[T]]") -> "Iterator[asyncio.Queue[T]]":
    """Give a queue that hears what is told as long as it is in use."""
    queue: asyncio.Queue[T] = asyncio.Queue()
    queues.add(queue)
    try:
        yield queue
    finally:
        queues.discard(queue)


class Servicer(pb_grpc.ExternalScalerServicer):
    """The five RPCs by script; belongs to the stub's thread."""

    def __init__(self, log: CallLog) -> None:
        self.log = log
        self.parts: dict[tuple[str, str], Part] = {}

    def part(self, namespace: str, name: str) -> Part:
        """Give a script's part, a fresh one where it has none yet."""
        return self.parts.setdefault((namespace, name), Part())

    async def IsActive(  # noqa: N802 - the proto's name
        self, request: pb.ScaledObjectRef, context: "Context"
    ) -> pb.IsActiveResponse:
        """Say what the script says."""
        with self._opened(Method.IS_ACTIVE, request, context) as (call, part):
            active = await _answered(part, lambda answers: answers.is_active, call, context)
        return pb.IsActiveResponse(result=active)

    async def GetMetrics(  # noqa: N802 - the proto's name
        self, request: pb.GetMetricsRequest, context: "Context"
    ) -> pb.GetMetricsResponse:
        """Give the values under the name that was asked for."""
        ref = request.scaledObjectRef
        with self._opened(Method.METRICS, ref, context) as (call, part):
            values = await _answered(part, lambda answers: answers.metrics, call, context)
        return pb.GetMetricsResponse(
            metricValues=[
                pb.MetricValue(
                    metricName=request.metricName, metricValue=whole, metricValueFloat=exact
                )
                for whole, exact in values
            ]
        )

    async def GetMetricSpec(  # noqa: N802 - the proto's name
        self, request: pb.ScaledObjectRef, context: "Context"
    ) -> pb.GetMetricSpecResponse:
        """Give the targets."""
        with self._opened(Method.METRIC_SPEC, request, context) as (call, part):
            return _specs(await _answered(part, lambda answers: answers.spec, call, context))

    async def StreamIsActive(  # noqa: N802 - the proto's name
        self, request: pb.ScaledObjectRef, context: "Context"
    ) -> AsyncIterator[pb.IsActiveResponse]:
        """Stay open and say what is pushed."""
        with (
            self._opened(Method.STREAM_IS_ACTIVE, request, context) as (call, part),
            queued(part.activity) as queue,
        ):
            item: bool | Ending | None = part.answers.stream
            while not isinstance(item, Ending):
                if item is not None:
                    yield pb.IsActiveResponse(result=item)
                item = await queue.get()
            await _end(item, call, context)

    async def StreamMetricSpec(  # noqa: N802 - the proto's name
        self, request: pb.ScaledObjectRef, context: "Context"
    ) -> AsyncIterator[pb.GetMetricSpecResponse]:
        """Give the targets now and when they change."""
        with (
            self._opened(Method.STREAM_METRIC_SPEC, request, context) as (call, part),
            queued(part.specs) as queue,
        ):
            item = part.answers.streamed
            while not isinstance(item, Ending):
                yield _specs(item)
                item = await queue.get()
            await _end(item, call, context)

    @contextmanager
    def _opened(
        self, method: Method, ref: pb.ScaledObjectRef, context: "Context"
    ) -> Iterator[tuple[Call, Part]]:
        name = ref.scalerMetadata.get(SCRIPT, ref.name)
        call = Call(
            at=time.monotonic(),
            method=method,
            namespace=ref.namespace,
            name=name,
            deadline=context.time_remaining(),
            peer=context.peer(),
            headers={key: str(value) for key, value in context.invocation_metadata() or ()},
        )
        with self.log.open(call):
            yield call, self.part(ref.namespace, name)


async def _answered(
    part: Part, pick: Callable[[Answers], T | Fault], call: Call, context: "Context"
) -> T:
    await asyncio.sleep(part.answers.delay)
    while (found := pick(part.answers)) is Fault.HANG:
        await part.changed.wait()
    if isinstance(found, Fault):
        call.outcome = Outcome.UNAVAILABLE
        await context.abort(grpc.StatusCode.UNAVAILABLE, "as scripted")
    return found


async def _end(ending: Ending, call: Call, context: "Context") -> None:
    call.outcome = Outcome(ending)
    if ending is not Ending.OK:
        await context.abort(grpc.StatusCode[ending], "as scripted")


def _specs(pairs: Pairs) -> pb.GetMetricSpecResponse:
    return pb.GetMetricSpecResponse(
        metricSpecs=[
            pb.MetricSpec(metricName=f"size-{at}", targetSize=whole, targetSizeFloat=exact)
            for at, (whole, exact) in enumerate(pairs)
        ]
    )
