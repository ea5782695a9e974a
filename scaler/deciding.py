"""What `serve` and `actuate` have in common: sources, observer, and the store between them."""

from collections.abc import Callable, Iterator, Mapping
from typing import Protocol

import structlog

from scaler.core.model import Instant, Kind
from scaler.kube.client import ApiServer
from scaler.kube.credentials import find_credentials
from scaler.kube.reflector import Reflector, WatchTimes
from scaler.kube.resources import Resource
from scaler.kube.retry import Pace
from scaler.observer.counting import CountingInbox
from scaler.observer.observer import Observer
from scaler.observer.poller import Poller
from scaler.policyfile import PolicyFile, PolicyState
from scaler.prometheus.source import PrometheusSource
from scaler.settings import SourceSettings
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


class ServedVersions(Mapping[Kind, str]):
    """The version in which each kind is served, as far as it is known by now."""

    def __init__(self, reflectors: Mapping[Kind, Reflector]) -> None:
        """Take whoever knows."""
        self._reflectors = reflectors

    def __getitem__(self, kind: Kind) -> str:
        version = self._reflectors[kind].served_version
        if version is None:
            raise KeyError(kind)
        return version

    def __iter__(self) -> Iterator[Kind]:
        return (kind for kind, each in self._reflectors.items() if each.served_version is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class Deciding:
    """Read the cluster and Prometheus, decide, and publish into `store`."""

    def __init__(
        self,
        settings: SourceSettings,
        *,
        resources: Mapping[Kind, Resource],
        clock: Callable[[], Instant],
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
        policy_file = PolicyFile(settings.policy, clock=clock)
        policy = _first(policy_file)
        self.credentials = find_credentials(settings.kubeconfig, context=settings.context)
        self.api = ApiServer(self.credentials)
        self.telemetry = Telemetry()
        self.store = Store(policy=policy, at=clock())
        inbox = CountingInbox(self.telemetry)
        self._observer = Observer(
            inbox=inbox,
            store=self.store,
            policy=policy_file,
            clock=clock,
            tick_seconds=settings.tick_seconds,
            policy_poll_seconds=settings.policy_poll_seconds,
        )
        times = WatchTimes(silence=settings.watch_read_timeout)
        reflectors = {
            kind: Reflector(
                api=self.api, resource=resource, sink=inbox, clock=clock, pace=pace, times=times
            )
            for kind, resource in resources.items()
        }
        self.versions = ServedVersions(reflectors)
        poller = Poller(
            source=PrometheusSource(clock=clock),
            store=self.store,
            inbox=inbox,
            clock=clock,
            speed=speed,
        )
        self._sources: tuple[Part, ...] = (*reflectors.values(), poller)

    def start(self) -> None:
        """Start the observer, then what it hears from."""
        self._observer.start()
        for part in self._sources:
            part.start()

    def stop(self) -> None:
        """Stop the sources, then the observer."""
        for part in self._sources:
            part.stop()
        self._observer.stop()


def _first(policy_file: PolicyFile) -> PolicyState:
    """Read the policy for the first time; there is no last good one to fall back on."""
    state = policy_file.poll()
    if state is None:
        message = "the policy file gave no first state"
        raise RuntimeError(message)
    if state.warning:
        log.warning("policy can't be reloaded", reason=state.warning)
    return state
