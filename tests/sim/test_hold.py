"""KEDA's race of errors against the whole service: HOLD takes nothing, plain errors do.

Measured on the real KEDA: 23 of 60 targets went to zero in 110 s of errors, none of 56 under HOLD.
"""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from scaler.app import App
from scaler.core.model import Kind
from scaler.settings import Address, Settings
from scaler.sim.apiserver import ApiServer
from scaler.sim.clock import FastClock
from scaler.sim.deployments import deployment
from scaler.sim.keda import Keda
from scaler.sim.objects import Objects, timestamp
from scaler.sim.pods import pod_template
from scaler.sim.scale_loop import Version
from tests.cases.client import Client, until
from tests.cases.service import ANY_PORT, QUICK, Loop
from tests.sim.stub_scaler import StubScaler

SPEED = 20.0
OUTAGE = 110.0
TARGETS = 20
REPLICAS = 2
POLICY = """\
prometheus: {url: "http://127.0.0.1:9", refresh: 5s, timeout: 1s}
safety: {idleAfterMin: 1s}
"""
"""Port 9 is nobody's: every idle signal is UNKNOWN."""


class Cluster:
    """Twenty Deployments and their ScaledObjects, with KEDA at work on them."""

    def __init__(self) -> None:
        self.clock = FastClock(speed=SPEED)
        self.objects = Objects(clock=self.clock)
        self.keda = Keda(
            objects=self.objects, clock=self.clock, version=Version(race=True, sync=2.0)
        )
        template = pod_template(requests={"nvidia.com/gpu": "1"})
        for name in self._names():
            made = deployment(namespace="ml", name=name, template=template, replicas=REPLICAS)
            self.objects.create(Kind.DEPLOYMENTS, made | {"status": {"replicas": REPLICAS}})
            for number in range(REPLICAS):
                self._run_pod(f"{name}-{number}", app=name)

    def attach(self, address: str) -> None:
        """Create the ScaledObjects, with a cooldown that is soon over."""
        trigger = {"type": "external", "metadata": {"scalerAddress": address, "signal": "idle"}}
        for name in self._names():
            target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}
            spec = {
                "scaleTargetRef": target,
                "triggers": [trigger],
                "cooldownPeriod": 4,
                "pollingInterval": 2,
            }
            made = {"metadata": {"name": name, "namespace": "ml"}, "spec": spec}
            self.objects.create(Kind.SCALED_OBJECTS, made)

    def sizes(self) -> list[int]:
        """Give the wanted size of every target."""
        return [int(d["spec"]["replicas"]) for d in self.objects.all(Kind.DEPLOYMENTS)]

    def close(self) -> None:
        """End the clock, then KEDA."""
        self.clock.stop()
        self.keda.stop()

    def _run_pod(self, name: str, *, app: str) -> None:
        """Create a pod that has been Ready for hours, so that only its use is not known."""
        long_ago = timestamp(self.clock.now() - 7200)
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": long_ago}
        labels = {"app": app}
        metadata = {"name": name, "namespace": "ml", "labels": labels}
        limits = {"limits": {"nvidia.com/gpu": "1"}}
        made = {
            "metadata": metadata | {"creationTimestamp": long_ago},
            "spec": {"nodeName": "n1", "containers": [{"name": "c", "resources": limits}]},
            "status": {"phase": "Running", "startTime": long_ago, "conditions": [ready]},
        }
        self.objects.create(Kind.PODS, made)

    def _names(self) -> list[str]:
        return [f"llm-{number}" for number in range(TARGETS)]


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """Hold a cluster, and end its threads."""
    made = Cluster()
    yield made
    made.close()


@pytest.fixture
def service(cluster: Cluster, tmp_path: Path) -> Iterator[Client]:
    """Serve the cluster's triggers, with a Prometheus that does not answer."""
    policy = tmp_path / "policy.yaml"
    policy.write_text(POLICY)
    api = ApiServer(objects=cluster.objects, bookmark_every=0.2)
    api.start()
    settings = Settings(
        policy=policy,
        grpc=ANY_PORT,
        status=ANY_PORT,
        kubeconfig=str(api.write_kubeconfig(tmp_path / "kubeconfig")),
        tick_seconds=0.2,
    )
    loop, apps = Loop(), list[App]()

    async def start() -> tuple[Address, Address]:
        apps.append(App(settings, clock=cluster.clock.now, speed=SPEED, pace=QUICK))
        return await apps[0].start()

    grpc_address, status_address = loop.run(start())
    cluster.attach(str(grpc_address))
    client = Client(grpc_address=str(grpc_address), status_address=str(status_address))
    yield client
    cluster.clock.stop()
    client.close()
    loop.run(apps[0].stop())
    loop.close()
    api.stop()


def test_k01_unknown_takes_no_target_to_zero(cluster: Cluster, service: Client) -> None:
    """K01: twenty targets, a short cooldown, and 110 s in which nothing is known."""
    until(lambda: service.ready()[0], seen=service.ready)
    until(
        lambda: service.decision("llm-0").get("status") == "HOLD",
        seen=lambda: service.reason("llm-0"),
    )
    cluster.keda.step()
    assert cluster.clock.sleep_until(cluster.clock.now() + OUTAGE)
    assert cluster.sizes() == [REPLICAS] * TARGETS
    held = service.metric("answers_total", rpc="GetMetrics", outcome="HOLD") or 0.0
    assert held > TARGETS * 10, "KEDA did not ask"


def test_plain_errors_do_take_one(cluster: Cluster) -> None:
    """The control: the same KEDA, and answers that are errors and take a moment."""
    stub = StubScaler()
    stub.start()
    stub.failing = {"GetMetrics", "IsActive"}
    ended = threading.Event()

    def take_a_moment() -> None:
        ended.wait(0.05)

    stub.on_metrics = take_a_moment
    cluster.attach(stub.address)
    try:
        cluster.keda.step()
        until(lambda: 0 in cluster.sizes(), seen=cluster.sizes)
    finally:
        ended.set()
        cluster.close()
        stub.stop()
