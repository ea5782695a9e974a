"""KEDA scales a WorkerScale as any target, through /scale (measured on KEDA 2.21)."""

from collections.abc import Iterator
from dataclasses import dataclass

import grpc
import pytest

from scaler.core.model import Kind
from scaler.sim.clock import ManualClock
from scaler.sim.conditions import condition_of
from scaler.sim.objects import Objects
from scaler.sim.patches import Document
from scaler.sim.scale_loop import ScaleLoop, Version
from scaler.sim.scaledobject import read
from scaler.sim.trigger_calls import TriggerCalls
from tests.sim.stub_scaler import StubScaler

NAME = ("ml", "workers")
SELECTOR = "a=nothing"


@dataclass(kw_only=True)
class Handle:
    """A ScaledObject over a WorkerScale, driven by hand."""

    objects: Objects
    clock: ManualClock
    loop: ScaleLoop

    @property
    def replicas(self) -> int:
        """Give spec.replicas."""
        return int(self._scale()["spec"]["replicas"])

    @property
    def generation(self) -> int:
        """Give metadata.generation."""
        return int(self._scale()["metadata"]["generation"])

    def mirror(self, *, selector: str = SELECTOR) -> None:
        """Write the status as the actuator does."""
        status = {"replicas": self.replicas} | ({"selector": selector} if selector else {})
        self.objects.modify(Kind.WORKER_SCALES, NAME, lambda d: d.update(status=status))

    def sync(self) -> int:
        """Let the HPA read once."""
        self.clock.advance(15)
        self.loop.sync_hpa()
        return self.replicas

    def _scale(self) -> Document:
        found = self.objects.get(Kind.WORKER_SCALES, NAME)
        assert found is not None
        return found


@pytest.fixture
def stub() -> Iterator[StubScaler]:
    """Serve answers that the test sets."""
    server = StubScaler()
    server.start()
    yield server
    server.stop()


@pytest.fixture
def handle(stub: StubScaler) -> Iterator[Handle]:
    """Scale a WorkerScale that says nothing of replicas between 0 and 4."""
    clock = ManualClock()
    objects = Objects(clock=clock)
    named = {"namespace": NAME[0], "name": NAME[1]}
    objects.create(Kind.WORKER_SCALES, {"metadata": dict(named), "spec": {"mode": "Hold"}})
    trigger = {"type": "external", "metadata": {"scalerAddress": stub.address, "signal": "idle"}}
    target = {
        "apiVersion": "kueue-gpu-scaler.dev/v1alpha1",
        "kind": "WorkerScale",
        "name": NAME[1],
    }
    spec = {
        "scaleTargetRef": target,
        "minReplicaCount": 0,
        "maxReplicaCount": 4,
        "cooldownPeriod": 60,
        "triggers": [trigger],
    }
    objects.create(Kind.SCALED_OBJECTS, {"metadata": dict(named), "spec": spec})
    parsed = read(objects.all(Kind.SCALED_OBJECTS)[0])
    channel = grpc.insecure_channel(stub.address)
    calls = [TriggerCalls(spec=parsed, index=0, channel=channel)]
    loop = ScaleLoop(objects=objects, clock=clock, spec=parsed, calls=calls, version=Version())
    yield Handle(objects=objects, clock=clock, loop=loop)
    channel.close()


def test_accepted_with_the_schemas_default(handle: Handle) -> None:
    """The target exposes /scale, with 1 replica; the HPA refers to it."""
    assert handle.loop.create()
    hpa = handle.objects.all(Kind.HPAS)[0]
    assert hpa["spec"]["scaleTargetRef"] == {
        "apiVersion": "kueue-gpu-scaler.dev/v1alpha1",
        "kind": "WorkerScale",
        "name": NAME[1],
    }


def test_idle_is_written_as_zero(stub: StubScaler, handle: Handle) -> None:
    """An inactive poll after the cooldown writes 0: a new generation, and no word to the status."""
    assert handle.loop.create()
    handle.mirror()
    stub.active = False
    handle.clock.advance(1)
    handle.loop.poll()
    assert (handle.replicas, handle.generation) == (0, 2)


def test_wake_is_one_and_then_all(stub: StubScaler, handle: Handle) -> None:
    """The poll writes 1, the HPA's next sync the full size, whatever the status says meanwhile."""
    assert handle.loop.create()
    handle.mirror()
    handle.clock.advance(1)
    handle.loop.poll()
    handle.mirror()
    stub.active, stub.values = True, [(3, 0.0)]
    handle.loop.poll()
    assert handle.replicas == 1
    assert handle.sync() == 3


def test_without_a_selector_it_stays_at_one(stub: StubScaler, handle: Handle) -> None:
    """The HPA needs a selector, if only one that matches nothing."""
    assert handle.loop.create()
    handle.mirror(selector="")
    stub.active, stub.values = True, [(3, 0.0)]
    handle.loop.poll()
    assert handle.sync() == 1
    hpa = handle.objects.all(Kind.HPAS)[0]
    assert condition_of(hpa, "ScalingActive")["reason"] == "InvalidSelector"
