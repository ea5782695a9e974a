"""The composition root of `serve`: build every part, start, wait, stop in order."""

import asyncio
import signal
import time
from collections.abc import Callable

import structlog

from scaler.certificates import Port, Renewal
from scaler.core.decision import Decision
from scaler.core.model import Instant
from scaler.core.trigger import TriggerRef
from scaler.deciding import Deciding, Part
from scaler.kube.events import EventWriter
from scaler.kube.resources import RESOURCES
from scaler.kube.retry import Pace
from scaler.observer.announce import About, Announcer
from scaler.observer.counting import ChangeLog
from scaler.observer.observer import decide_safely
from scaler.rpc.server import Server, connection_age
from scaler.settings import Address, Settings
from scaler.status.metrics import register
from scaler.status.server import StatusServer

log = structlog.get_logger(__name__)


class App:
    """All parts of `serve`; built and run inside one event loop."""

    def __init__(
        self,
        settings: Settings,
        *,
        clock: Callable[[], Instant] = time.time,
        speed: float = 1.0,
        pace: Pace | None = None,
    ) -> None:
        """Read the policy and find the cluster, then build; nothing is opened yet.

        The clock is the cluster's: an embedded one may run faster than the wall's, `speed` times.
        `pace` says how hard the API server may be asked; None = as gently as it is used to.

        Raises:
            PolicyError: no good policy to start with.
            NoClusterError: no way to a cluster.
            CertificatesError: no good certificates to start with.
        """
        self._settings = settings
        self._clock = clock
        self._deciding = Deciding(
            settings, resources=RESOURCES, clock=clock, speed=speed, pace=pace
        )
        self._store, self._telemetry = self._deciding.store, self._deciding.telemetry
        self._renewal = Renewal(
            {Port.GRPC: settings.grpc_certificates, Port.STATUS: settings.status_certificates},
            clock=time.time,  # whatever the cluster's is: clients go by the wall's too
            telemetry=self._telemetry,
            every=settings.certificate_poll_seconds,
        )
        self._announcer: Part = Announcer(
            store=self._store,
            writer=EventWriter(self._deciding.api, failed=self._telemetry.events_failed.inc),
            clock=clock,
            pod=_pod(settings),
        )
        self._status = StatusServer(
            store=self._store,
            registry=register(telemetry=self._telemetry, store=self._store, clock=clock),
            clock=clock,
            address=settings.status,
            reads=RESOURCES,
            certificates=self._renewal.of(Port.STATUS),
            details=self._renewal.details,
            alive=self._turns,
        )
        self._server: Server | None = None

    async def start(self) -> tuple[Address, Address]:
        """Open the ports, then start the sources; give the gRPC and status addresses.

        Order: ports first, so that a port in use ends the process before anything runs, and
        KEDA gets HOLD rather than no answer while the first lists are read.
        """
        self._server = Server(
            store=self._store,
            clock=self._clock,
            decide=self._decide,
            address=self._settings.grpc,
            telemetry=self._telemetry,
            connection_age=connection_age(self._settings.drain_seconds),
            certificates=self._renewal.of(Port.GRPC),
        )
        # After the server, which pushes: a line is written when KEDA has been told.
        self._store.listen(ChangeLog(self._telemetry))
        port = await self._server.start()
        self._status.start()
        self._renewal.start()
        self._deciding.start()
        self._announcer.start()
        return (
            Address(host=self._settings.grpc.host, port=port),
            Address(host=self._settings.status.host, port=self._status.port),
        )

    async def stop(self) -> None:
        """Turn unready, let endpoints follow, end the streams with OK, then stop the sources."""
        self._status.drain()
        await asyncio.sleep(self._settings.drain_seconds)
        if self._server is not None:
            await self._server.stop()
        self._announcer.stop()
        self._deciding.stop()
        self._renewal.stop()
        self._status.stop()

    def _turns(self) -> bool:
        return self._server is None or self._server.turns()

    def _decide(self, ref: TriggerRef) -> Decision:
        state = self._store.latest()
        return decide_safely(
            snapshot=state.snapshot, ref=ref, state=state.policy, now=self._clock()
        )


def _pod(settings: Settings) -> About | None:
    if settings.pod is None:
        return None
    namespace, name, uid = settings.pod
    return About.pod(namespace=namespace, name=name, uid=uid)


async def run(settings: Settings, started: Callable[[Address, Address], None]) -> None:
    """Serve until SIGTERM or SIGINT."""
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    app = App(settings)
    try:
        started(*await app.start())
        await stopping.wait()
        log.info("stopping")
    finally:
        await app.stop()
