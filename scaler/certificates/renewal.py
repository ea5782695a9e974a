"""Follow the files of all ports in one thread, and say what became of them."""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping

import structlog
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from scaler.certificates.watch import Certificates, CertificatesError, CertificateState, Port
from scaler.core.model import Instant
from scaler.core.quantity import format_instant
from scaler.core.trigger import Problem
from scaler.settings import CertificateFiles
from scaler.telemetry import Telemetry, gauge

log = structlog.get_logger(__name__)


class Renewal(Collector):
    """The ports' certificates, polled until stopped; its metrics are those of the certificates."""

    def __init__(
        self,
        wanted: Mapping[Port, CertificateFiles | None],
        *,
        clock: Callable[[], Instant],
        telemetry: Telemetry,
        every: float = 2.0,
    ) -> None:
        """Read the files of every port that has some; nothing is followed yet.

        Raises:
            CertificatesError: every problem of every port.
        """
        self._every = every
        self._refused = telemetry.certificates_refused
        self._ports = _opened(wanted, clock)
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="certificates", daemon=True)
        for port in self._ports:
            self._refused.labels(port)
        telemetry.registry.register(self)

    def of(self, port: Port) -> Certificates | None:
        """Give a port's certificates; None where it has none."""
        return self._ports.get(port)

    def details(self) -> tuple[str, ...]:
        """Say in sentences what is wrong."""
        return tuple(each for port in self._ports.values() for each in port.details())

    def start(self) -> None:
        """Follow the files; without any there is nothing to do."""
        for port in self._ports.values():
            _say(port, port.state)
        if self._ports:
            self._thread.start()

    def stop(self) -> None:
        """Follow them no longer."""
        self._ending.set()
        if self._thread.is_alive():
            self._thread.join()

    def poll(self) -> None:
        """Look at every port's files once."""
        for port in self._ports.values():
            state = port.poll()
            if state is None:
                continue
            if state.problems:
                self._refused.labels(port.port).inc()
            _say(port, state)

    def collect(self) -> Iterable[Metric]:
        """Give the gauges; without a sample where no port has certificates."""
        return _families(self._ports.values())

    def describe(self) -> Iterable[Metric]:
        """Name no family ahead: a registry would else collect once at registration."""
        return ()

    def _follow(self) -> None:
        while not self._ending.wait(self._every):
            try:
                self.poll()
            except Exception:
                # A defect in reading one file must not end the following of all.
                log.exception("certificates could not be looked at")


def _opened(
    wanted: Mapping[Port, CertificateFiles | None], clock: Callable[[], Instant]
) -> Mapping[Port, Certificates]:
    ports: dict[Port, Certificates] = {}
    problems: list[Problem] = []
    for port, files in wanted.items():
        try:
            if files is not None:
                ports[port] = Certificates(port, files, clock=clock)
        except CertificatesError as error:
            problems += error.problems
    if problems:
        raise CertificatesError(tuple(dict.fromkeys(problems)))
    return ports


def _say(port: Certificates, state: CertificateState) -> None:
    identity = state.identity
    facts = {"port": str(port.port), "serial": identity.serial}
    facts["expires"] = format_instant(identity.expires)
    if state.problems:
        said = [str(problem) for problem in state.problems]
        log.error("certificates refused, the last good ones stay in use", **facts, problems=said)
    else:
        log.info("certificates in use", **facts)


def _families(ports: Iterable[Certificates]) -> Iterator[Metric]:
    expiry = gauge(
        "certificate_expiry_seconds",
        "When the certificate in use ends, in Unix seconds; of client authorities the last one.",
        ("port", "certificate"),
    )
    loaded = gauge(
        "certificate_loaded_timestamp_seconds", "When the ones in use were loaded.", ("port",)
    )
    ok = gauge("certificate_reload_ok", "1 = the files as they are now are in use.", ("port",))
    for port in ports:
        state = port.state
        expiry.add_metric((port.port, "server"), state.identity.expires)
        if state.identity.authorities_expire is not None:
            expiry.add_metric((port.port, "client-ca"), state.identity.authorities_expire)
        loaded.add_metric((port.port,), state.loaded_at)
        ok.add_metric((port.port,), float(not state.problems))
    yield from (expiry, loaded, ok)
