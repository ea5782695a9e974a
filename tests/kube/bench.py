"""A reflector of ours at a loopback API server."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from scaler.core.model import Instant
from scaler.kube.client import ApiServer
from scaler.kube.credentials import find_credentials
from scaler.kube.reflector import Reflector, WatchTimes
from scaler.kube.resources import RESOURCES
from scaler.kube.retry import Pace
from tests.kube.apiserver import LoopbackApi
from tests.kube.documents import workload
from tests.kube.keeping import KeepingSink


class Bench:
    """A server, a reflector of ours at it, and what it told."""

    def __init__(self, server: LoopbackApi, folder: Path, *, silence: float = 20.0) -> None:
        self.server = server
        self.sink = KeepingSink()
        self.at: Instant = 1000.0
        self.api = ApiServer(find_credentials(server.kubeconfig(folder)))
        self.reflector = Reflector(
            api=self.api,
            resource=RESOURCES[server.shelf.kind],
            sink=self.sink,
            clock=lambda: self.at,
            pace=Pace(),
            times=WatchTimes(silence=silence),
            jitter=lambda: 0.0,
        )

    def turn(self) -> float:
        """Take one turn."""
        return self.reflector.turn()

    def sync(self) -> None:
        """Discover and list."""
        assert [self.turn(), self.turn()] == [0.0, 0.0]

    @contextmanager
    def followed(self) -> Iterator[None]:
        """Run the reflector in its thread meanwhile."""
        self.reflector.start()
        try:
            yield
        finally:
            self.reflector.stop()
            assert self.reflector.join(timeout=20.0)


def fill(server: LoopbackApi, count: int) -> None:
    """Put Workloads on the server."""
    for number in range(count):
        server.put(workload(f"job-{number:04d}"))
