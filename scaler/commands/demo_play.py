"""Run the real service and actuator against the embedded cluster, and play the story on it."""

import argparse
import asyncio
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from scaler import log
from scaler.actuation import Actuation
from scaler.app import App
from scaler.commands.arguments import Exit
from scaler.settings import ActuatorSettings, Address, Settings, SourceSettings
from scaler.sim.clock import FastClock
from scaler.sim.cluster import Cluster
from scaler.sim.demo import Demo
from scaler.sim.scenario import furnish, policy
from scaler.sim.timeline import StepFailedError

ANY_PORT = Address(host="127.0.0.1", port=0)


def play(args: argparse.Namespace, out: TextIO) -> int:
    """Play the demo; exit 1 where a step did not happen."""
    with tempfile.TemporaryDirectory(prefix="kueue-gpu-scaler-") as folder, _logging(args.log):
        cluster = Cluster(clock=FastClock(speed=args.speed))
        cluster.start()
        try:
            sources = _sources(cluster, Path(folder))
            serving = _serving(cluster, sources, status=args.status)
            with serving as (grpc, status), _actuating(cluster, sources):
                furnish(cluster, scaler_address=str(grpc))
                print(f"One minute in the cluster takes {60 / args.speed:g} s.", file=out)
                print(f"Status page, live: http://{status}/", file=out, flush=True)
                return _play(cluster, grpc=grpc, status=status, out=out)
        finally:
            cluster.stop()


def _play(cluster: Cluster, *, grpc: Address, status: Address, out: TextIO) -> int:
    terminal = out.isatty()
    demo = Demo(
        cluster=cluster,
        status_url=f"http://{status}",
        scaler_address=str(grpc),
        out=out,
        colored=terminal,
        width=shutil.get_terminal_size().columns if terminal else None,
    )
    try:
        demo.play()
        print("\nEvery step happened.", file=out, flush=True)
        if terminal:
            print(f"The status page stays up: http://{status}/  Ctrl-C ends.", file=out, flush=True)
            _linger(demo)
    except StepFailedError as error:
        sys.stderr.write(f"kueue-gpu-scaler demo: {error}\n")
        return Exit.FAILED
    return Exit.DONE


def _linger(demo: Demo) -> None:
    with suppress(KeyboardInterrupt):
        demo.linger()


@contextmanager
def _logging(path: Path | None) -> Iterator[None]:
    """Keep the service's log off the terminal, which is for the timeline."""
    with (path or Path(os.devnull)).open("w", encoding="utf-8") as stream:
        log.configure(stream=stream)
        yield
        log.configure()


def _sources(cluster: Cluster, folder: Path) -> SourceSettings:
    """Write what both processes read, and say where it is."""
    return SourceSettings(
        policy=_mount(folder / "policy", policy(cluster)),
        status=ANY_PORT,
        kubeconfig=str(cluster.write_kubeconfig(folder / "kubeconfig")),
        tick_seconds=0.2,
    )


@contextmanager
def _actuating(cluster: Cluster, sources: SourceSettings) -> Iterator[None]:
    """Run the actuator on the cluster's clock; it leads by a Lease, as it does anywhere."""
    settings = ActuatorSettings(
        policy=sources.policy,
        status=sources.status,
        kubeconfig=sources.kubeconfig,
        tick_seconds=sources.tick_seconds,
        lease_namespace="kueue-gpu-scaler",
        lease_name="kueue-gpu-scaler-actuator",
    )
    actuation = Actuation(settings, clock=cluster.clock.now)
    actuation.start()
    try:
        yield
    finally:
        actuation.stop()


@contextmanager
def _serving(
    cluster: Cluster, sources: SourceSettings, *, status: Address
) -> Iterator[tuple[Address, Address]]:
    """Run the service in a thread with a loop of its own, on the cluster's clock."""
    settings = Settings(
        policy=sources.policy,
        grpc=ANY_PORT,
        status=status,
        kubeconfig=sources.kubeconfig,
        tick_seconds=sources.tick_seconds,
    )
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="demo-serve", daemon=True)
    thread.start()
    try:
        app = asyncio.run_coroutine_threadsafe(_build(settings, cluster), loop).result()
        try:
            yield asyncio.run_coroutine_threadsafe(app.start(), loop).result()
        finally:
            asyncio.run_coroutine_threadsafe(app.stop(), loop).result()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def _mount(folder: Path, text: str) -> Path:
    """Write the policy as the kubelet mounts a ConfigMap: behind the symlink that it swaps."""
    (folder / "..1").mkdir(parents=True)
    (folder / "..1" / "policy.yaml").write_text(text, encoding="utf-8")
    (folder / "..data").symlink_to("..1")
    (folder / "policy.yaml").symlink_to("..data/policy.yaml")
    return folder / "policy.yaml"


async def _build(settings: Settings, cluster: Cluster) -> App:
    """Build the service inside its loop."""
    return App(settings, clock=cluster.clock.now)
