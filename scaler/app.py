"""The composition root: build every part, start, wait, stop in order."""

import asyncio
import signal
import time
from collections.abc import Callable
from typing import Protocol

import structlog

from scaler.core.decision import Decision
from scaler.core.model import Instant
from scaler.core.trigger import TriggerRef
from scaler.kube.client import ApiServer
from scaler.kube.credentials import find_credentials
from scaler.kube.events import EventWriter
from scaler.kube.reflector import Reflector, WatchTimes
from scaler.kube.resources import RESOURCES
from scaler.kube.retry import Pace
from scaler.observer.announce import About, Announcer
from scaler.observer.counting import ChangeLog, CountingInbox
from scaler.observer.observer import Observer, decide_safely
from scaler.observer.poller import Poller
from scaler.policyfile import PolicyFile, PolicyState
from scaler.prometheus.source import PrometheusSource
from scaler.rpc.server import Server, connection_age
from scaler.settings import Address, Settings
from scaler.status.metrics import register
from scaler.status.server import StatusServer
from scaler.store import Store
from scaler.telemetry import Telemetry

log = structlog.get_logger(__name__)


class Part(Protocol):
    """A thread that is started and stopped with the others."""

    def start(self) -> None:
        """Start it."""
        ...

    def stop(self) -> None:
        """Ask it to end."""
        ...


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
        """
        self._settings = settings
        self._clock = clock
        policy_file = PolicyFile(settings.policy, clock=clock)
        policy = _first(policy_file)
        api = ApiServer(find_credentials(settings.kubeconfig, context=settings.context))
        telemetry = Telemetry()
        inbox = CountingInbox(telemetry)
        self._store = Store(policy=policy, at=clock())
        self._store.listen(ChangeLog(telemetry))
        self._observer = Observer(
            inbox=inbox,
            store=self._store,
            policy=policy_file,
            clock=clock,
            tick_seconds=settings.tick_seconds,
            policy_poll_seconds=settings.policy_poll_seconds,
        )
        self._sources: tuple[Part, ...] = (
            *_reflectors(settings, api=api, inbox=inbox, clock=clock, pace=pace),
            Poller(
                source=PrometheusSource(clock=clock),
                store=self._store,
                inbox=inbox,
                clock=clock,
                speed=speed,
            ),
            Announcer(
                store=self._store,
                writer=EventWriter(api, failed=telemetry.events_failed.inc),
                clock=clock,
                pod=_pod(settings),
            ),
        )
        self._status = StatusServer(
            store=self._store,
            registry=register(telemetry=telemetry, store=self._store, clock=clock),
            clock=clock,
            address=settings.status,
        )
        self._telemetry = telemetry
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
        )
        port = await self._server.start()
        self._status.start()
        self._observer.start()
        for part in self._sources:
            part.start()
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
        for part in self._sources:
            part.stop()
        self._observer.stop()
        self._status.stop()

    def _decide(self, ref: TriggerRef) -> Decision:
        state = self._store.latest()
        return decide_safely(
            snapshot=state.snapshot, ref=ref, state=state.policy, now=self._clock()
        )


def _reflectors(
    settings: Settings,
    *,
    api: ApiServer,
    inbox: CountingInbox,
    clock: Callable[[], Instant],
    pace: Pace | None,
) -> tuple[Reflector, ...]:
    times = WatchTimes(silence=settings.watch_read_timeout)
    return tuple(
        Reflector(api=api, resource=resource, sink=inbox, clock=clock, pace=pace, times=times)
        for resource in RESOURCES.values()
    )


def _pod(settings: Settings) -> About | None:
    if settings.pod is None:
        return None
    namespace, name, uid = settings.pod
    return About.pod(namespace=namespace, name=name, uid=uid)


def _first(policy_file: PolicyFile) -> PolicyState:
    """Read the policy for the first time; there is no last good one to fall back on."""
    state = policy_file.poll()
    if state is None:
        message = "the policy file gave no first state"
        raise RuntimeError(message)
    if state.warning:
        log.warning("policy can't be reloaded", reason=state.warning)
    return state


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
