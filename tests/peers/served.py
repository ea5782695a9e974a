"""Our service as a process of its own, on the embedded cluster with its controllers at rest."""

import re
import signal
import subprocess
import sys
import tempfile
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from scaler.core.model import Kind
from scaler.sim.clock import FastClock
from scaler.sim.cluster import Cluster
from scaler.sim.objects import timestamp
from scaler.sim.patches import Document
from tests.golang import ROOT

GPU = "nvidia.com/gpu"
TEAM = "team-a"
POOL = "a100"
PATIENCE = 60.0
STARTED = re.compile(r"serving gRPC on (\S+), status on (http://\S+)")

POLICY = """
pools:
  a100:
    nodeSelector: {pool: a100}
    node: {nvidia.com/gpu: 8, cpu: 64, memory: 512Gi, pods: 110}
    maxNodes: 10
"""


@dataclass(slots=True)
class Service:
    """`serve`, which can be ended and started again on the same port."""

    kubeconfig: Path
    policy: Path
    address: str = "127.0.0.1:0"
    status: str = ""
    process: "subprocess.Popen[str] | None" = None

    def start(self) -> None:
        """Start it and wait until it is ready."""
        command = [sys.executable, "-m", "scaler", "serve", "--status=127.0.0.1:0"]
        command += [f"--grpc={self.address}", f"--policy={self.policy}"]
        command += [f"--kubeconfig={self.kubeconfig}"]
        log = self.policy.with_name("log")
        with log.open("a") as errors:
            self.process = subprocess.Popen(
                command, cwd=ROOT, stdout=subprocess.PIPE, stderr=errors, text=True
            )
        line = self.process.stdout.readline() if self.process.stdout else ""
        said = STARTED.match(line)
        if said is None:
            raise RuntimeError(f"serve did not start: {line}{log.read_text()[-2000:]}")
        self.address, self.status = said.group(1), said.group(2)
        self._wait_until_ready()

    def stop(self) -> int:
        """Ask it to end, as the kubelet does; give its exit code."""
        if self.process is None:
            return 0
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(PATIENCE)
        if self.process.stdout is not None:
            self.process.stdout.close()
        self.process = None
        return code

    def _wait_until_ready(self) -> None:
        pause = threading.Event()
        for _ in range(int(PATIENCE / 0.1)):
            with (
                suppress(OSError),
                urllib.request.urlopen(f"{self.status}readyz", timeout=5) as answer,  # noqa: S310 - our own port
            ):
                if answer.status == 200:
                    return
            pause.wait(0.1)
        raise RuntimeError("serve did not become ready")


@contextmanager
def serving() -> Iterator[tuple[Cluster, Service]]:
    """Give a cluster with a pool of one node and a team's queue, and the service on it."""
    with tempfile.TemporaryDirectory() as folder:
        cluster = Cluster(clock=FastClock(speed=1.0))
        cluster.start(by_hand=True)
        service = Service(
            kubeconfig=cluster.write_kubeconfig(Path(folder) / "kubeconfig"),
            policy=Path(folder) / "policy.yaml",
        )
        service.policy.write_text(POLICY)
        _furnish(cluster)
        try:
            service.start()
            yield cluster, service
        finally:
            service.stop()
            cluster.stop()


def _furnish(cluster: Cluster) -> None:
    cluster.add_flavor(POOL, pool=POOL)
    cluster.add_team(TEAM, flavor=POOL, quota={GPU: "64", "cpu": "999", "memory": "9Ti"})
    for name, replicas in (("running", 2), ("stopped", 0), ("sized", 0)):
        cluster.deploy((TEAM, name), replicas=replicas, requests={GPU: "1"}, pool=POOL)
        cluster.apply(Kind.SCALED_OBJECTS, _scaled_object(name, kind="Deployment", target=name))
    cluster.apply(Kind.SCALED_OBJECTS, _scaled_object("pool", kind="MachineSet", target=POOL))
    cluster.apply(Kind.HPAS, _hpa("pool", replicas=1, now=cluster.clock.now()))


def _scaled_object(name: str, *, kind: str, target: str) -> Document:
    return {
        "metadata": {"name": name, "namespace": TEAM},
        "spec": {
            "scaleTargetRef": {"kind": kind, "name": target},
            "triggers": [{"type": "external-push", "metadata": {"signal": "queue"}}],
        },
        "status": {"hpaName": f"keda-hpa-{name}"},
    }


def _hpa(name: str, *, replicas: int, now: float) -> Document:
    """Write the HPA that KEDA made, just scaled: its one node is still on its way."""
    active = {"type": "ScalingActive", "status": "True", "lastTransitionTime": timestamp(now)}
    return {
        "metadata": {
            "name": f"keda-hpa-{name}",
            "namespace": TEAM,
            "labels": {
                "app.kubernetes.io/managed-by": "keda-operator",
                "scaledobject.keda.sh/name": name,
            },
        },
        "spec": {},
        "status": {"currentReplicas": replicas, "conditions": [active]},
    }


def waiting_workload(name: str, *, pods: int, gpus: int) -> Document:
    """Write a Workload that Kueue has not looked at yet."""
    requests = {GPU: str(gpus), "cpu": "4"}
    template = {"spec": {"containers": [{"name": "main", "resources": {"requests": requests}}]}}
    return {
        "metadata": {"name": name, "namespace": TEAM},
        "spec": {
            "active": True,
            "queueName": "jobs",
            "podSets": [{"name": "main", "count": pods, "template": template}],
        },
    }
