"""The real `actuate` with a thousand WorkerScales: at rest, taking all, and giving all back."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.figures import MIB, Figure
from scaler.core.model import Kind
from scaler.core.quantity import format_instant
from scaler.sim.clock import FastClock
from scaler.sim.cluster import Cluster, Design
from scaler.sim.kuberay import ray_cluster
from scaler.sim.patches import Document

_OWN = "gpu-system"
"""The actuator's namespace."""
_SCALES_A_TEAM = 20
"""Teams have namespaces of their own, and a change in one has its triggers alone decided anew."""
_WORKERS = 2
_NODE = {"cpu": "96", "pods": "250", "nvidia.com/gpu": "8"}
_CLUSTERS_OF_NODE = 4
_API_VERSION = "kueue-gpu-scaler.dev/v1alpha1"
_TICKS = 100
"""Of the CPU's accounting, a second."""
_SETTLED = 120.0
_LOOK = 0.1


def measure(*, scales: int = 1_000, rest: float = 30.0) -> Iterator[Figure]:
    """Let a person take the workers of as many RayClusters at once, and wake them at once.

    Nobody asks Prometheus: what its answers cost is `serve`'s to measure.
    """
    with (
        _cluster(scales) as cluster,
        tempfile.TemporaryDirectory() as name,
        _actuator(cluster, Path(name)) as process,
    ):
        _until(lambda: _counted(cluster, _sized) == scales, "every size is read")
        began = process.cpu()
        time.sleep(rest)
        idle = process.cpu() - began
        told = f"{scales:,} WorkerScales"
        yield Figure(
            name=f"{told} at rest: CPU of one core", value=100 * idle / rest, unit="%", goal=5
        )
        yield Figure(name=f"{told}: peak RSS at rest", value=process.peak_rss(), unit="MiB")
        for word, state in (("hold-now", "Held"), ("wake", "Running")):
            took, cpu = _all_become(cluster, process, word=word, state=state, scales=scales)
            yield Figure(name=f"{word} on all: until all are {state}", value=took, unit="s")
            yield Figure(name="the same: CPU", value=cpu, unit="s")
        yield Figure(name=f"{told}: peak RSS", value=process.peak_rss(), unit="MiB", goal=300)


def _all_become(
    cluster: Cluster, process: "_Process", *, word: str, state: str, scales: int
) -> tuple[float, float]:
    """Annotate every WorkerScale; give seconds and CPU until each is in a state."""
    began, cpu = time.monotonic(), process.cpu()

    def annotate(document: Document) -> None:
        document["metadata"].setdefault("annotations", {})[f"kueue-gpu-scaler.dev/{word}"] = (
            format_instant(time.time())
        )

    for number in range(scales):
        cluster.objects.modify(Kind.WORKER_SCALES, (_team(number), f"ray-{number}"), annotate)

    def there(document: Document) -> bool:
        return bool(_status(document).get("state") == state)

    _until(lambda: _counted(cluster, there) == scales, f"all are {state}")
    return time.monotonic() - began, process.cpu() - cpu


@contextmanager
def _cluster(scales: int) -> Iterator[Cluster]:
    """Run an embedded cluster with RayClusters that all run, and their WorkerScales."""
    cluster = Cluster(clock=FastClock(speed=1), design=Design(tick=1.0, scrape_interval=3600))
    nodes = -(-scales // _CLUSTERS_OF_NODE)
    cluster.add_pool("gpu", capacity=_NODE, nodes=nodes)
    cluster.add_flavor("gpu", pool="gpu")
    quota = {"cpu": str(100 * nodes), "nvidia.com/gpu": str(8 * nodes)}
    for team in sorted({_team(number) for number in range(scales)}):
        cluster.add_team(team, flavor="gpu", quota=quota)
    group = {"gpu": (_WORKERS, {"cpu": "1", "nvidia.com/gpu": "1"})}
    for number in range(scales):
        name = f"ray-{number}"
        target = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "name": name, "component": "gpu"}
        cluster.apply(
            Kind.RAY_CLUSTERS,
            ray_cluster(
                namespace=_team(number),
                name=name,
                queue="jobs",
                head={"cpu": "1"},
                groups=group,
            ),
        )
        cluster.apply(
            Kind.WORKER_SCALES,
            {
                "apiVersion": _API_VERSION,
                "kind": "WorkerScale",
                "metadata": {"namespace": _team(number), "name": name},
                "spec": {"target": target, "mode": "Hold", "replicas": 1},
            },
        )
    cluster.start()
    try:
        pods = scales * (_WORKERS + 1)
        _until(lambda: _running(cluster) == pods, f"{pods} pods run")
        yield cluster
    finally:
        cluster.stop()


def _team(number: int) -> str:
    return f"team-{number // _SCALES_A_TEAM}"


@dataclass(frozen=True, slots=True)
class _Process:
    """The running actuator, as the kernel sees it."""

    pid: int

    def cpu(self) -> float:
        """Give its CPU so far, in seconds."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        user, system = 11, 12
        return (int(fields[user]) + int(fields[system])) / _TICKS

    def peak_rss(self) -> float:
        """Give its largest resident size so far, in MiB."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        (line,) = (each for each in status.splitlines() if each.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024 / MIB


@contextmanager
def _actuator(cluster: Cluster, folder: Path) -> Iterator[_Process]:
    policy = folder / "policy.yaml"
    policy.write_text("prometheus: {url: 'http://127.0.0.1:1'}\n")
    command = [
        *(sys.executable, "-m", "scaler", "actuate", f"--policy={policy}"),
        f"--kubeconfig={cluster.write_kubeconfig(folder / 'kubeconfig')}",
        *("--status=127.0.0.1:0", f"--lease-namespace={_OWN}"),
    ]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            yield _Process(process.pid)
        finally:
            process.terminate()
            process.wait()


def _running(cluster: Cluster) -> int:
    return sum(
        each.get("status", {}).get("phase") == "Running" for each in cluster.objects.all(Kind.PODS)
    )


def _counted(cluster: Cluster, fits: Callable[[Document], bool]) -> int:
    return sum(fits(each) for each in cluster.objects.all(Kind.WORKER_SCALES))


def _sized(document: Document) -> bool:
    return "size" in _status(document)


def _status(document: Document) -> Document:
    status: Document = document.get("status") or {}
    return status


def _until(look: Callable[[], bool], what: str) -> None:
    ends = time.monotonic() + _SETTLED
    while not look():
        if time.monotonic() > ends:
            raise RuntimeError(f"{what}: not within {_SETTLED:.0f} s")
        time.sleep(_LOOK)
