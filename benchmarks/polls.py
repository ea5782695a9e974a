"""One poll of KEDA, GetMetrics then IsActive, beside a server that answers with empty messages.

Both servers run in processes of their own; one client asks them in turn, so that whatever else
the machine does meets both.
"""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

import grpc
import grpc.aio

from benchmarks.figures import Figure, percentile
from benchmarks.keda import question
from benchmarks.objects import Fleet
from benchmarks.scaling import LOOPBACK, scaler
from scaler.pb import externalscaler_pb2 as pb
from scaler.pb import externalscaler_pb2_grpc as pb_grpc
from scaler.rpc.server import SERVICE

_WARM_UP = 200


async def _metrics(_request: object, _context: object) -> pb.GetMetricsResponse:
    return pb.GetMetricsResponse()


async def _active(_request: object, _context: object) -> pb.IsActiveResponse:
    return pb.IsActiveResponse()


async def _serve_nothing(pipe: Connection) -> None:
    """Serve the two RPCs of a poll as the generated code would, and do no more."""
    answers: dict[str, grpc.RpcMethodHandler[Any, Any]] = {
        "GetMetrics": grpc.unary_unary_rpc_method_handler(
            _metrics,
            request_deserializer=pb.GetMetricsRequest.FromString,
            response_serializer=pb.GetMetricsResponse.SerializeToString,
        ),
        "IsActive": grpc.unary_unary_rpc_method_handler(
            _active,
            request_deserializer=pb.ScaledObjectRef.FromString,
            response_serializer=pb.IsActiveResponse.SerializeToString,
        ),
    }
    server = grpc.aio.server()
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, answers),))
    port = server.add_insecure_port(f"{LOOPBACK}:0")
    await server.start()
    pipe.send(port)
    await asyncio.get_running_loop().run_in_executor(None, pipe.recv)
    await server.stop(None)


def _run(pipe: Connection) -> None:
    asyncio.run(_serve_nothing(pipe))


@contextmanager
def nothing() -> Iterator[int]:
    """Run the empty server in a process of its own; give its port."""
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_run, args=(theirs,))
    process.start()
    try:
        yield int(ours.recv())
    finally:
        ours.send("stop")
        process.join()


def measure(
    *, workloads: int = 100_000, queues: int = 1_000, polls: int = 5_000
) -> Iterator[Figure]:
    """Poll both servers in turn, each time for another trigger."""
    fleet = Fleet(workloads=workloads, queues=queues)
    with scaler(fleet) as running, nothing() as port:
        ours, empty = _alternate(fleet, ports=(running.synced.port, port), polls=polls)
    ratio = percentile(ours, 50) / percentile(empty, 50)
    yield Figure(
        name="GetMetrics + IsActive over an empty server: p50", value=ratio, unit="x", goal=1.2
    )
    for name, spent in ((f"with {workloads:,} Workloads", ours), ("empty server", empty)):
        for percent in (50, 99):
            value = percentile(spent, percent) * 1e3
            yield Figure(name=f"GetMetrics + IsActive, {name}: p{percent}", value=value, unit="ms")


def _alternate(
    fleet: Fleet, *, ports: tuple[int, ...], polls: int
) -> tuple[list[float], list[float]]:
    """Give the seconds that each poll took, of the first server and of the second."""
    channels = [grpc.insecure_channel(f"{LOOPBACK}:{port}") for port in ports]
    stubs = [pb_grpc.ExternalScalerStub(channel) for channel in channels]
    spent: tuple[list[float], list[float]] = ([], [])
    for number in range(_WARM_UP + polls):
        asked = question(fleet, number % fleet.queues)
        for stub, times in zip(stubs, spent, strict=True):
            began = time.perf_counter()
            stub.GetMetrics(asked)
            stub.IsActive(asked.scaledObjectRef)
            times.append(time.perf_counter() - began)
    for channel in channels:
        channel.close()
    return spent[0][_WARM_UP:], spent[1][_WARM_UP:]
