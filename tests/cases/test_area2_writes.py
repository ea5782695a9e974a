"""Area 2 with all that runs: what `serve` and the actuator send to the Kubernetes API."""

from collections.abc import Iterator
from contextlib import contextmanager

from scaler.actuation import Actuation
from scaler.core.model import Kind
from scaler.settings import ActuatorSettings
from tests.cases import written
from tests.cases.client import until, value
from tests.cases.cluster import target
from tests.cases.service import ANY_PORT, QUICK, SPEED, Serve
from tests.cases.world import World

IDLE = {"signal": "idle"}
GPUS = {"signal": "queue", "clusterQueue": "gpu-cq", "unit": "gpus"}
STATEFUL_SET = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "sts"}
SCALE = ("ml", "sts")


@contextmanager
def actuating(world: World) -> Iterator[None]:
    """Run an actuator for a while."""
    settings = ActuatorSettings(
        policy=world.policy.path,
        status=ANY_PORT,
        kubeconfig=world.kubeconfig(),
        tick_seconds=0.1,
        lease_namespace="scaling",
        lease_name="actuator",
    )
    actuation = Actuation(settings, clock=world.clock.now, speed=SPEED, pace=QUICK)
    actuation.start()
    try:
        yield
    finally:
        actuation.stop()


def add_stateful_set_at_zero(world: World) -> None:
    """Add one whose evicted Workload keeps its quota, and whoever may want to do about that."""
    world.add_queue(quota=16)
    world.add(Kind.NODES, written.node("n1"))
    kept = written.workload("sts", pods=2, conditions=written.ADMITTED | {"Evicted": "True"})
    for condition in kept["status"]["conditions"]:
        condition["reason"] = "PodsReadyTimeout"
    world.add(Kind.WORKLOADS, kept)
    world.add(Kind.STATEFUL_SETS, dict(target("StatefulSet", "sts", replicas=0, queue="lq")))
    world.add(
        Kind.SCALED_OBJECTS,
        written.scaled_object("sts", metadata=IDLE, kind="StatefulSet"),
        written.scaled_object("gpus", metadata=GPUS),
    )
    world.add(Kind.HPAS, written.hpa("sts", replicas=0))
    scale = {"mode": "Release", "replicas": 0, "target": STATEFUL_SET}
    named = {"namespace": SCALE[0], "name": SCALE[1]}
    world.add(Kind.WORKER_SCALES, {"metadata": named, "spec": scale})


def state(world: World) -> str:
    """Give what the actuator says of the WorkerScale."""
    found = world.objects.get(Kind.WORKER_SCALES, SCALE)
    assert found is not None
    return str(found.get("status", {}).get("state"))


def writes(world: World) -> list[str]:
    """Give the API server's log of all that was no read, without our own Lease and Events."""
    own = ("/leases", "/events")
    return [
        line
        for line in list(world.api.asked)
        if not line.startswith("GET ") and not any(word in line for word in own)
    ]


def test_q14_nobody_writes_a_workload(world: World, serve: Serve) -> None:
    """Q14: what keeps quota for a StatefulSet at zero is Kueue's to end, not ours."""
    add_stateful_set_at_zero(world)
    service = serve()
    with actuating(world):
        service.until("sts", IDLE, value(0))
        service.until("gpus", GPUS, value(0))
        until(lambda: state(world) == "Refused", seen=lambda: state(world))
        world.at(1200)
        assert service.poll("sts", IDLE) == value(0)
        assert state(world) == "Refused"
    sent = writes(world)
    assert any("/workerscales/sts/status" in line for line in sent)
    assert [line for line in sent if "/workloads" in line] == []
