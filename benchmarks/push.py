"""From an event on the API server's wire to the `true` that KEDA's client receives."""

import asyncio
import random
import time
from collections.abc import Iterator

import grpc.aio

from benchmarks import objects
from benchmarks.figures import Figure, percentile
from benchmarks.keda import reference
from benchmarks.objects import Fleet
from benchmarks.scaling import LOOPBACK, Scaler, scaler
from scaler.pb import externalscaler_pb2 as pb
from scaler.pb import externalscaler_pb2_grpc as pb_grpc

_PATIENCE = 60.0
_SETTLE = 2.0


def measure(
    *, workloads: int = 100_000, streams: int = 1_000, events: int = 400, pause: float = 0.05
) -> Iterator[Figure]:
    """Let a Workload that lacks nodes appear in one queue after the other.

    Every target is at zero, and all its Workloads wait for quota that is taken. `pause` is the
    mean time between two events, in seconds: they fall into every phase of the observer's tick.
    """
    fleet = Fleet(workloads=workloads, queues=streams)
    with scaler(fleet) as running:
        delays = asyncio.run(_push(fleet, running, events=min(events, streams), pause=pause))
    name = f"API event to pushed true, {streams:,} streams"
    yield Figure(name=f"{name}: p99", value=percentile(delays, 99) * 1e3, unit="ms", goal=50)
    yield Figure(name=f"{name}: p50", value=percentile(delays, 50) * 1e3, unit="ms")
    yield Figure(name=f"{name}: longest", value=max(delays) * 1e3, unit="ms")


async def _push(fleet: Fleet, running: Scaler, *, events: int, pause: float) -> list[float]:
    """Give the seconds that each event took to its stream."""
    order = random.Random(7)  # noqa: S311 - the same order each time, no secret
    queues = order.sample(range(fleet.queues), events)
    delays: list[float] = []
    async with grpc.aio.insecure_channel(f"{LOOPBACK}:{running.synced.port}") as channel:
        stub = pb_grpc.ExternalScalerStub(channel)
        calls = [stub.StreamIsActive(reference(fleet, queue)) for queue in range(fleet.queues)]
        await running.opened(fleet.queues)
        await asyncio.sleep(_SETTLE if pause else 0)
        for version, queue in enumerate(queues, start=1_000_001):
            await asyncio.sleep(order.uniform(0, 2 * pause))
            event = objects.waiting_for_nodes(fleet, queue=queue, version=version)
            wrote = running.api.write(event)
            async with asyncio.timeout(_PATIENCE):
                answer = await calls[queue].read()
            delays.append(time.monotonic() - wrote)
            if answer != pb.IsActiveResponse(result=True):
                raise RuntimeError(f"the stream of queue {queue} gave {answer!r}")
        for call in calls:
            call.cancel()
    return delays
