"""Many open push streams: what each costs the server in memory."""

import asyncio
from collections.abc import Iterator

import grpc.aio

from benchmarks.figures import Figure
from benchmarks.keda import reference
from benchmarks.objects import Fleet
from benchmarks.scaling import LOOPBACK, Scaler, scaler
from scaler.pb import externalscaler_pb2_grpc as pb_grpc


def measure(*, streams: int = 5_000, shared: int = 100) -> Iterator[Figure]:
    """Open the streams on few triggers, then one for each of as many: look at the server's peak."""
    for triggers, (before, after) in asyncio.run(_both(streams, shared)).items():
        name = f"{streams:,} open streams, {triggers:,} triggers"
        yield Figure(name=f"{name}: peak RSS", value=after, unit="MiB", goal=200)
        yield Figure(name="of that before the first stream opened", value=before, unit="MiB")


async def _both(streams: int, shared: int) -> dict[int, tuple[float, float]]:
    """Give the server's peaks, before and after, by the number of triggers.

    In one event loop: gRPC's client binds itself to the first that a process has.
    """
    peaks: dict[int, tuple[float, float]] = {}
    for triggers in (shared, streams):
        fleet = Fleet(workloads=triggers, queues=triggers)
        with scaler(fleet) as running:
            before = running.peak_rss()
            peaks[triggers] = before, await _open(fleet, running, streams=streams)
    return peaks


async def _open(fleet: Fleet, running: Scaler, *, streams: int) -> float:
    """Hold all streams open at once; give the server's peak."""
    async with grpc.aio.insecure_channel(f"{LOOPBACK}:{running.synced.port}") as channel:
        stub = pb_grpc.ExternalScalerStub(channel)
        calls = [
            stub.StreamIsActive(reference(fleet, number % fleet.queues))
            for number in range(streams)
        ]
        await running.opened(streams)
        peak = running.peak_rss()
        for call in calls:
            call.cancel()
    return peak
