"""Many open push streams: what each costs the server in memory."""

import asyncio
from collections.abc import Iterator

import grpc.aio

from benchmarks.figures import Figure
from benchmarks.keda import reference
from benchmarks.objects import Fleet
from benchmarks.scaling import LOOPBACK, Scaler, scaler
from scaler.pb import externalscaler_pb2_grpc as pb_grpc


def measure(*, streams: int = 5_000) -> Iterator[Figure]:
    """Open one stream for each of as many triggers, and look at the server's peak."""
    fleet = Fleet(workloads=streams, queues=streams)
    with scaler(fleet) as running:
        before = running.peak_rss()
        after = asyncio.run(_open(fleet, running))
    name = f"{streams:,} open streams"
    yield Figure(name=f"{name}: peak RSS", value=after, unit="MiB", goal=200)
    yield Figure(name=f"{name}: of that before the first opened", value=before, unit="MiB")


async def _open(fleet: Fleet, running: Scaler) -> float:
    """Hold all streams open at once; give the server's peak."""
    async with grpc.aio.insecure_channel(f"{LOOPBACK}:{running.synced.port}") as channel:
        stub = pb_grpc.ExternalScalerStub(channel)
        calls = [stub.StreamIsActive(reference(fleet, queue)) for queue in range(fleet.queues)]
        await running.opened(fleet.queues)
        peak = running.peak_rss()
        for call in calls:
            call.cancel()
    return peak
