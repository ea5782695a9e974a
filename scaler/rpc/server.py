"""The gRPC server: port, health, reflection, and an orderly end."""

import asyncio
import threading
from collections.abc import Callable

import grpc.aio
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_health.v1._async import HealthServicer
from grpc_reflection.v1alpha import reflection

from scaler.certificates import Certificates
from scaler.core.decision import Decision
from scaler.core.model import Instant
from scaler.core.trigger import TriggerRef
from scaler.pb import externalscaler_pb2 as pb
from scaler.pb import externalscaler_pb2_grpc as pb_grpc
from scaler.rpc.credentials import server_credentials
from scaler.rpc.servicer import Servicer
from scaler.rpc.watches import Watches
from scaler.settings import Address
from scaler.store import Store
from scaler.telemetry import Telemetry

SERVICE = pb.DESCRIPTOR.services_by_name["ExternalScaler"].full_name

OPTIONS: tuple[tuple[str, int], ...] = (
    # Two servers on one port would share its connections unseen; a second one must fail instead.
    ("grpc.so_reuseport", 0),
    # KEDA's client sends no pings by default; where it is told to, none may cost the connection.
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.min_ping_interval_without_data_ms", 5_000),
    ("grpc.http2.max_ping_strikes", 0),
    # A vanished operator node is noticed within a minute, not after TCP's quarter of an hour.
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 20_000),
    # Streams and polls of all ScaledObjects share KEDA's one connection.
    ("grpc.max_concurrent_streams", 100_000),
    # KEDA opens all its streams at once after a restart. Beyond 1,000 calls that wait to be taken
    # gRPC would cancel some at random, and to KEDA that is an error.
    ("grpc.server.max_pending_requests", 100_000),
    ("grpc.server.max_pending_requests_hard_limit", 100_000),
    # A reference and its metadata are small; nothing larger may be held in memory.
    ("grpc.max_receive_message_length", 64 << 10),
    ("grpc.max_metadata_size", 32 << 10),
)

TURN_SECONDS = 1.0
"""Until then the event loop must have got to a call; a probe waits for two seconds."""

SHORTEST_DRAIN = 5.0
"""Seconds; a shorter drain leaves connections as they are."""
AGE_OF_DRAIN = 0.7
"""gRPC varies an age by a tenth of it; the rest is for endpoints to follow."""


def connection_age(drain: float) -> float | None:
    """Give the seconds after which KEDA is to connect anew, for so many seconds of drain.

    gRPC cancels the calls that reach a server which stops, before the client has read that it
    does. So the client has to have left by then, and only an age makes it leave: new calls go to
    a new connection, which endpoints lead to another replica, and open streams stay.
    """
    return drain * AGE_OF_DRAIN if drain >= SHORTEST_DRAIN else None


def _options(age: float | None) -> tuple[tuple[str, int], ...]:
    if age is None:
        return OPTIONS
    return (*OPTIONS, ("grpc.max_connection_age_ms", round(age * 1000)))


class Server:
    """Serve KEDA until stopped; belongs to the event loop's thread."""

    def __init__(
        self,
        *,
        store: Store,
        clock: Callable[[], Instant],
        decide: Callable[[TriggerRef], Decision],
        address: Address,
        telemetry: Telemetry,
        connection_age: float | None = None,
        certificates: Certificates | None = None,
    ) -> None:
        """Build it; without certificates it speaks plaintext."""
        self._address = address
        self._certificates = certificates
        self._loop: asyncio.AbstractEventLoop | None = None
        self._watches = Watches(store)
        self._health = HealthServicer()
        self._server = grpc.aio.server(options=_options(connection_age))
        servicer = Servicer(
            store=store, watches=self._watches, clock=clock, decide=decide, telemetry=telemetry
        )
        telemetry.streams.set_function(lambda: float(self.streams))
        pb_grpc.add_ExternalScalerServicer_to_server(servicer, self._server)
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        reflection.enable_server_reflection(
            (
                SERVICE,
                health_pb2.DESCRIPTOR.services_by_name["Health"].full_name,
                reflection.SERVICE_NAME,
            ),
            self._server,
        )

    async def start(self) -> int:
        """Listen, say SERVING, and give the port.

        Raises:
            OSError: the port can't be had; one sentence.
        """
        try:
            port = self._open(str(self._address))
        except RuntimeError as error:
            message = f"can't listen on {self._address}: is the port in use?"
            raise OSError(message) from error
        self._loop = asyncio.get_running_loop()
        await self._server.start()
        for service in ("", SERVICE):
            await self._health.set(service, health_pb2.HealthCheckResponse.SERVING)
        return port

    def turns(self, *, within: float = TURN_SECONDS) -> bool:
        """Say whether the event loop that answers KEDA gets to a call in time.

        Asked from other threads. It stands for gRPC's health service where a probe can't ask that:
        no kubelet speaks TLS to it. Before the start, and after the end, there is nothing to say.
        """
        if self._loop is None or self._loop.is_closed():
            return True
        turned = threading.Event()
        try:
            self._loop.call_soon_threadsafe(turned.set)
        except RuntimeError:  # it was closed just now
            return True
        return turned.wait(within)

    def _open(self, address: str) -> int:
        if self._certificates is None:
            return self._server.add_insecure_port(address)
        return self._server.add_secure_port(address, server_credentials(self._certificates))

    @property
    def streams(self) -> int:
        """Count the open streams."""
        return len(self._watches)

    async def stop(self, *, grace: float = 2.0) -> None:
        """End the streams with OK, so that KEDA is back in two seconds, then close the port.

        Order: streams first; stopping the server first would end them with UNAVAILABLE, and
        KEDA's client then waits up to a minute.
        """
        await self._health.enter_graceful_shutdown()
        self._watches.end()
        await self._server.stop(grace)
