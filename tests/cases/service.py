"""The service over real sockets: the whole App in a loop of its own, and a client of it."""

import asyncio
import ssl
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import grpc
from prometheus_client.parser import text_string_to_metric_families

from scaler.app import App
from scaler.core.quantity import format_instant
from scaler.kube.retry import Pace
from scaler.settings import Address, CertificateFiles, Settings
from tests.cases.client import PATIENCE, Client, until
from tests.cases.world import World

T = TypeVar("T")

SPEED = 150.0
"""Prometheus is asked every 30 s of the policy's, which is 0.2 s of the wall's."""
ANY_PORT = Address(host="127.0.0.1", port=0)
QUICK = Pace(first=0.05, longest=0.4, forbidden=0.1, absent=0.1, steady=0.3)


class Loop:
    """An event loop in a thread of its own; several Apps may live in it, as gRPC wants."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="loop")
        self._thread.start()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run to the end, and give what comes out."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(PATIENCE)

    def close(self) -> None:
        """End the thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class Service(Client):
    """The App in a loop, and a client of it; `stop` it."""

    def __init__(
        self,
        world: World,
        loop: Loop,
        *,
        policy: Path | None = None,
        kubeconfig: str | None = None,
        pace: Pace = QUICK,
        watch_read_timeout: float = 60.0,
        grpc_certificates: CertificateFiles | None = None,
        status_certificates: CertificateFiles | None = None,
        credentials: grpc.ChannelCredentials | None = None,
        context: ssl.SSLContext | None = None,
    ) -> None:
        self._loop = loop
        self._world = world
        settings = Settings(
            policy=policy or world.policy.path,
            grpc=ANY_PORT,
            status=ANY_PORT,
            kubeconfig=kubeconfig or world.kubeconfig(),
            tick_seconds=0.1,
            policy_poll_seconds=0.05,
            certificate_poll_seconds=0.05,
            grpc_certificates=grpc_certificates,
            status_certificates=status_certificates,
            watch_read_timeout=watch_read_timeout,
        )
        addresses = loop.run(self._start(settings, pace))
        super().__init__(
            grpc_address=str(addresses[0]),
            status_address=str(addresses[1]),
            credentials=credentials,
            context=context,
        )
        world.settlers.append(self.settle)

    async def _start(self, settings: Settings, pace: Pace) -> tuple[Address, Address]:
        self._app = App(settings, clock=self._world.clock.now, speed=SPEED, pace=pace)
        return await self._app.start()

    def settle(self) -> None:
        """Wait until each source that works has shown a sign of life now, and all is decided."""
        until(self._settled, seen=self.ready)

    def _settled(self) -> bool:
        families = text_string_to_metric_families(self.get("/metrics")[1])
        samples = [sample for family in families for sample in family.samples]
        ages = {s.labels["source"]: s.value for s in samples if s.name.endswith("_age_seconds")}
        works = [s.labels["source"] for s in samples if s.name.endswith("source_up") and s.value]
        alive = all(ages.get(source, 0.0) == 0.0 for source in works)
        return alive and self.decided_at() == {format_instant(self._world.now)}

    def stop(self) -> None:
        """Stop it in order, as SIGTERM does."""
        self._world.settlers.remove(self.settle)
        self._loop.run(self._app.stop())
        self.close()


Serve: TypeAlias = Callable[..., Service]
"""Starts a service; what is given goes to it."""


@contextmanager
def serving(world: World) -> Iterator[Serve]:
    """Start services in one loop, and stop those that still run at the end."""
    loop = Loop()
    started: list[Service] = []

    def start(**more: Any) -> Service:  # noqa: ANN401 - as Service takes them
        started.append(Service(world, loop, **more))
        return started[-1]

    try:
        yield start
        for service in started:
            if service.settle in world.settlers:
                service.stop()
    finally:
        loop.close()
