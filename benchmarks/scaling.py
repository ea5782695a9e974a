"""The real `serve` in a process of its own, which tells what it holds and what it cost."""

import asyncio
import gc
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

from benchmarks import api
from benchmarks.figures import peak_rss
from benchmarks.objects import Fleet
from scaler.core.decision import Status
from scaler.core.trigger import TriggerRef
from scaler.store import State

LOOPBACK = "127.0.0.1"
_PATIENCE = 60.0
_SYNC_PATIENCE = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Synced:
    """The process once its Snapshot holds every Workload and each trigger is decided."""

    port: int
    cpu: float
    """Seconds of process CPU from before the sources start until the Workloads are published."""
    cpu_decided: float
    """The same until each trigger has its first Decision that is not HOLD."""
    wall: float
    rss: float
    """Peak, in MiB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaler:
    """The way to a running scaler process."""

    synced: Synced
    api: api.Api
    pipe: Connection

    def peak_rss(self) -> float:
        """Ask for its largest resident size so far, in MiB."""
        self.pipe.send("rss")
        return float(self.pipe.recv())

    async def opened(self, streams: int) -> None:
        """Wait until so many push streams are open.

        A stream's headers come with its first message, and a target at zero has none to get:
        only the server can tell.
        """
        async with asyncio.timeout(_PATIENCE):
            while self._streams() < streams:  # noqa: ASYNC110 - the event is in another process
                await asyncio.sleep(0.05)

    def _streams(self) -> int:
        self.pipe.send("streams")
        return int(self.pipe.recv())


@contextmanager
def scaler(fleet: Fleet) -> Iterator[Scaler]:
    """Run an API server with a fleet, and a scaler that has read all of it."""
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    with tempfile.TemporaryDirectory() as name, api.served(fleet) as server:
        folder = Path(name)
        process = context.Process(target=_run, args=(fleet, server.kubeconfig(folder), theirs))
        process.start()
        try:
            synced = ours.recv()
            if not isinstance(synced, Synced):
                raise RuntimeError(f"the scaler says: {synced}")  # noqa: TRY004 - no wrong argument
            yield Scaler(synced=synced, api=server, pipe=ours)
        finally:
            ours.send("stop")
            process.join()


class _Watch:
    """Look at each publication, in the observer's thread, until all is there."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._began = time.process_time(), time.monotonic()
        self._listed: tuple[float, float, float] | None = None
        self._cpu_decided = 0.0
        self.decided = threading.Event()

    def __call__(self, state: State, changed: frozenset[TriggerRef]) -> None:
        del changed
        spent = time.process_time() - self._began[0]
        if self._listed is None and len(state.snapshot.workload_index) >= self._fleet.workloads:
            self._listed = spent, time.monotonic() - self._began[1], peak_rss()
        ready = sum(one.status is Status.OK for one in state.decisions.values())
        if self._listed is not None and ready >= self._fleet.triggers and not self.decided.is_set():
            self._cpu_decided = spent
            self.decided.set()

    def synced(self, port: int) -> Synced:
        """Say what it took."""
        cpu, wall, rss = self._listed or (0.0, 0.0, 0.0)
        return Synced(port=port, cpu=cpu, cpu_decided=self._cpu_decided, wall=wall, rss=rss)


def _run(fleet: Fleet, kubeconfig: Path, pipe: Connection) -> None:
    from scaler import log

    with Path(os.devnull).open("w") as nowhere:
        log.configure(stream=nowhere)
        asyncio.run(_serve(fleet, kubeconfig, pipe))


async def _serve(fleet: Fleet, kubeconfig: Path, pipe: Connection) -> None:
    from scaler.app import App
    from scaler.commands.running import GC_THRESHOLDS
    from scaler.settings import Address, Settings

    gc.set_threshold(*GC_THRESHOLDS)
    policy = kubeconfig.parent / "policy.yaml"
    policy.write_text("defaults: {idleAfter: 30m}\n", encoding="utf-8")
    app = App(
        Settings(
            policy=policy,
            grpc=Address(host=LOOPBACK, port=0),
            status=Address(host=LOOPBACK, port=0),
            kubeconfig=str(kubeconfig),
        )
    )
    store = app._store  # noqa: SLF001 - what the Snapshot holds is nobody else's business
    watch = _Watch(fleet)
    store.listen(watch)
    grpc, _ = await app.start()
    loop = asyncio.get_running_loop()
    if await loop.run_in_executor(None, watch.decided.wait, _SYNC_PATIENCE):
        pipe.send(watch.synced(grpc.port))
    else:
        pipe.send("there is a trigger that nothing was decided for")
    server = app._server  # noqa: SLF001 - same
    while (asked := await loop.run_in_executor(None, pipe.recv)) != "stop":
        pipe.send(peak_rss() if asked == "rss" or server is None else server.streams)
    await app.stop()
