"""Ask an external scaler without pause, and tell by status how the calls ended.

Usage: python -m tests.e2e.load ADDRESS NAMESPACE NAME METADATA

Until SIGTERM; METADATA is JSON. Prints a JSON object of counts.
"""

import asyncio
import json
import signal
import sys
from collections import Counter

import grpc.aio

from scaler.pb import externalscaler_pb2 as pb
from scaler.pb import externalscaler_pb2_grpc as pb_grpc

CALLERS = 10
LOADED = "asks"
"""Printed once the first call was answered."""
PAUSE = 0.02
"""Seconds between two calls of one caller; the machine is shared."""


async def ask_on(address: str, ref: pb.ScaledObjectRef, leaving: asyncio.Event) -> Counter[str]:
    """Ask over one connection, as KEDA does, until it is time to leave."""
    ended: Counter[str] = Counter()

    async def ask(stub: "pb_grpc.ExternalScalerAsyncStub") -> None:
        while not leaving.is_set():
            try:
                await stub.IsActive(ref)
                ended["OK"] += 1
            except grpc.aio.AioRpcError as error:
                ended[f"{error.code().name}: {error.details()}"] += 1
            await asyncio.sleep(PAUSE)

    async with grpc.aio.insecure_channel(address) as channel:
        stub = pb_grpc.ExternalScalerStub(channel)
        await stub.IsActive(ref)
        print(LOADED, flush=True)  # noqa: T201 - whoever started it waits for it
        await asyncio.gather(*(ask(stub) for _ in range(CALLERS)))
    return ended


async def main(address: str, namespace: str, name: str, metadata: str) -> None:
    """Ask until SIGTERM."""
    leaving = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, leaving.set)
    ref = pb.ScaledObjectRef(namespace=namespace, name=name, scalerMetadata=json.loads(metadata))
    print(json.dumps(await ask_on(address, ref, leaving)), flush=True)  # noqa: T201 - its result


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
