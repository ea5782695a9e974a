"""The composition root of `actuate`: build every part, start, wait, stop in order."""

import signal
import threading
import time
from collections.abc import Callable

import structlog

from scaler.actuator.actuator import NEEDED, Actuator
from scaler.actuator.lease import Elector, identity
from scaler.actuator.metrics import HeldCollector, Tracker
from scaler.actuator.news import News
from scaler.actuator.parts import Parts
from scaler.actuator.planning import plan_within_policy
from scaler.certificates import Port, Renewal
from scaler.core.model import Instant
from scaler.core.scales import refs_of_scale
from scaler.deciding import Deciding
from scaler.kube.api import TimeOuts
from scaler.kube.client import ApiServer
from scaler.kube.events import EventWriter
from scaler.kube.resources import ACTUATOR_RESOURCES
from scaler.kube.retry import Pace
from scaler.kube.writes import Writer
from scaler.observer.counting import ChangeLog
from scaler.settings import ActuatorSettings, Address
from scaler.status.metrics import register
from scaler.status.server import StatusServer

LEASE_TIME_OUTS = TimeOuts(connect=2.0, read=4.0)
"""A renewal that hangs must leave time for another one before the deadline."""
WRITE_TIME_OUTS = TimeOuts(connect=3.0, read=12.0)
"""Longer than the 10 s that the API server gives an admission webhook.

A write that was sent as leader may so come in when another one leads; resourceVersions and the
tests in patches guard it, as they do any other writer's.
"""

log = structlog.get_logger(__name__)


class Actuation:
    """All parts of `actuate`; nothing in it needs an event loop."""

    def __init__(
        self,
        settings: ActuatorSettings,
        *,
        clock: Callable[[], Instant] = time.time,
        speed: float = 1.0,
        pace: Pace | None = None,
    ) -> None:
        """Read the policy and find the cluster, then build; nothing is opened yet.

        `clock`, `speed` and `pace` are those of `Deciding`.

        Raises:
            PolicyError: no good policy to start with.
            NoClusterError: no way to a cluster.
            OSError: the status port can't be had.
            CertificatesError: no good certificates to start with.
        """
        self._deciding = Deciding(
            settings, resources=ACTUATOR_RESOURCES, clock=clock, speed=speed, pace=pace
        )
        store, telemetry = self._deciding.store, self._deciding.telemetry
        self._renewal = Renewal(
            {Port.STATUS: settings.status_certificates},
            clock=time.time,  # whatever the cluster's is: clients go by the wall's too
            telemetry=telemetry,
            every=settings.certificate_poll_seconds,
        )
        store.listen(ChangeLog(telemetry))
        self._elector = self._election(settings, clock)
        tracker = Tracker(telemetry.registry)
        self._news = News(
            writer=EventWriter(self._deciding.api, failed=telemetry.events_failed.inc),
            refs_of=refs_of_scale,
            clock=clock,
        )
        self.actuator = Actuator(
            Parts(
                store=store,
                plan=plan_within_policy,
                refs_of=refs_of_scale,
                writer=Writer(
                    ApiServer(self._deciding.credentials, time_outs=WRITE_TIME_OUTS),
                    self._deciding.versions,
                ),
                leadership=self._elector,
                witnesses=(tracker, self._news),
            ),
            clock=clock,
        )
        registry = register(telemetry=telemetry, store=store, clock=clock, decisions=False)
        registry.register(
            HeldCollector(
                tracker=tracker, plans=lambda: self.actuator.plans, leadership=self._elector
            )
        )
        self._status = StatusServer(
            store=store,
            registry=registry,
            clock=clock,
            address=settings.status,
            needed=NEEDED,
            reads=ACTUATOR_RESOURCES,
            certificates=self._renewal.of(Port.STATUS),
            details=self._renewal.details,
        )
        self._host = settings.status.host

    def _election(self, settings: ActuatorSettings, clock: Callable[[], Instant]) -> Elector:
        return Elector(
            ApiServer(self._deciding.credentials, time_outs=LEASE_TIME_OUTS),
            namespace=settings.lease_namespace,
            name=settings.lease_name,
            identity=identity(settings.pod),
            clock=clock,
        )

    def start(self) -> Address:
        """Start all parts; give the status port's address."""
        self._status.start()
        self._renewal.start()
        self._deciding.start()
        self._news.start()
        self.actuator.start()
        self._elector.start()
        return Address(host=self._host, port=self._status.port)

    def stop(self) -> None:
        """End the writing first, then give the Lease back, then stop what it was decided from."""
        self._status.drain()
        self.actuator.stop()
        self._elector.stop()
        self._news.stop()
        self._deciding.stop()
        self._renewal.stop()
        self._status.stop()


def run(settings: ActuatorSettings, started: Callable[[Address], None]) -> None:
    """Actuate until SIGTERM or SIGINT."""
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: stopping.set())
    actuation = Actuation(settings)
    try:
        started(actuation.start())
        stopping.wait()
        log.info("stopping")
    finally:
        actuation.stop()
