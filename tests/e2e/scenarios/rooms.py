"""One node pool with queues in front of it, grown by the ScaledObject that the project ships."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from tests.e2e import deployed
from tests.e2e.api import Object
from tests.e2e.machine_objects import CPU, GPU_DELAY, GPUS, MEMORY, NODE_DELAY, SELECTOR_OF
from tests.e2e.policies import GPUS as DEVICES
from tests.e2e.policies import NODE, POOL_LABEL, pool
from tests.e2e.queues import cluster_queue, flavor, job, local_queue, topology
from tests.e2e.sizes import Sizes
from tests.e2e.waiting import NeverCameError, until
from tests.e2e.world import World

SOON = 120.0
"""Seconds for one thing to happen while other scenarios share the machine."""
GROWN = 180.0
"""Seconds for a pool to grow: an HPA at most doubles a size, or adds 4, each 15 s."""
LOOK = 0.5
"""Seconds between two looks at the API server, which many scenarios ask at once."""
STAYS = 8.0
"""Seconds: several polls of KEDA, syncs of the HPA and rounds of Kueue."""
TARGETS = {"MachineSet": "machineset.yaml", "MachineDeployment": "machinedeployment.yaml"}
API_VERSIONS = {
    "MachineSet": "machine.openshift.io/v1beta1",
    "MachineDeployment": "cluster.x-k8s.io/v1beta2",
}


def patient(name: str) -> tuple[str, Object]:
    """Give a pool whose Machines are never too late, however slow what plays them."""
    return pool(name, provisioningTimeout="10m")


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """What is set up; the namespace's name is also that of everything else in it."""

    world: World
    name: str
    pool: str
    """Of the policy, and the value of its nodes' label."""
    kind: str
    """Of the scale target."""
    sizes: Sizes

    @property
    def size(self) -> int | None:
        """Give the target's size."""
        return self.sizes.of(self.name)

    def job(self, name: str, *, pods: int = 1, gpus: int = 8, **more: object) -> None:
        """Queue a Job; `queue` is jobs where it is not told."""
        given: Object = {"queue": "jobs"} | more
        self.world.api.create(job(name, namespace=self.name, pods=pods, gpus=gpus, **given))

    def grows_to(self, size: int, *, within: float = GROWN) -> float:
        """Wait until the target has a size; give the monotonic time of it.

        Raises:
            NeverCameError: it did not in time.
            AssertionError: it grew beyond it instead.
        """
        try:
            return self.sizes.until(self.name, size, within=within)
        except NeverCameError:
            steps = self.sizes.steps(self.name)
            if max(steps, default=0) > size:
                raise AssertionError(f"overshot {size}: {steps}") from None
            raise

    def stays(self, size: int, *, seconds: float = STAYS) -> None:
        """Demand that the target keeps a size for a time, and was never larger.

        Raises:
            AssertionError: it did not, or was; all its sizes are in the message.
        """
        since = time.monotonic() + seconds
        until(lambda: self.size != size or time.monotonic() > since, "time", within=2 * seconds)
        steps = self.sizes.steps(self.name)
        assert self.size == size, f"{size} nodes did not stay: {steps}"
        assert max(steps) == size, f"overshot {size}: {steps}"

    def runs(self, pods: int, *, within: float = SOON) -> list[Object]:
        """Wait until so many of the namespace's pods run, and give them."""

        def look() -> tuple[list[Object]] | None:
            found = self.running()
            return (found,) if len(found) == pods else None

        return until(look, f"{pods} pods run in {self.name}", within=within, every=LOOK)[0]

    def running(self) -> list[Object]:
        """Give the pods that run."""
        found = self.world.api.list("Pod", self.name)
        return [each for each in found if each["status"].get("phase") == "Running"]

    def told(self) -> bool:
        """Say whether the target's status has all its Nodes and the selector for an HPA."""
        status = (self.world.api.get(self.kind, self.name, self.name) or {}).get("status") or {}
        size = self.size
        return (
            SELECTOR_OF[self.kind] in status
            and status["readyReplicas"] == size
            and len(self.nodes()) == size
        )

    def nodes(self) -> list[Object]:
        """Give the pool's Nodes, of whatever set."""
        return self.world.api.list("Node", labels=f"{POOL_LABEL}={self.pool}")

    def end(self, pod: Object) -> None:
        """Let a pod succeed."""
        status = {"status": {"phase": "Succeeded"}}
        self.world.api.patch("Pod", pod["metadata"]["name"], self.name, change=status, sub="status")

    def decision(self, reason: str = "", *, within: float = SOON) -> Object:
        """Wait until the first replica decides, for a reason where one is told."""

        def look() -> Object | None:
            found = self.world.scaler.decision(self.name, self.name)
            return found if found and reason in {"", found["reason"]} else None

        return until(look, f"{self.name} decided {reason}", within=within, every=LOOK)


@contextmanager
def room(
    world: World,
    pool: str,
    *,
    queues: Mapping[str, int],
    scaled: tuple[str, ...] = (),
    cohort: bool = False,
    aware: bool = True,
    kind: str = "MachineSet",
    replicas: int = 0,
    node_delay: float = 0,
    gpu_delay: float = 0,
    metadata: Mapping[str, str] | None = None,
    alter: Callable[[Object], None] = lambda _: None,
) -> Iterator[Room]:
    """Set up a pool and take it all away again.

    Args:
        world: it is set up in.
        pool: of the policy.
        queues: GPUs of nominal quota by LocalQueue; each has a ClusterQueue of its own.
        scaled: the queues that the trigger names; all where none is told.
        cohort: whether the ClusterQueues share a cohort.
        aware: whether the flavor is topology-aware.
        kind: of the scale target.
        replicas: of the scale target at first; Nodes and KEDA are waited for.
        node_delay: seconds from a Machine to its Node.
        gpu_delay: seconds from a Node to its GPUs.
        metadata: the trigger's values in place of `pool`; `{name}` is the room's name.
        alter: changes the ScaledObject before it is created.
    """
    name = world.namespace(pool)
    world.api.apply(*_queues(name, pool, queues, cohort=cohort, aware=aware))
    names = ",".join(f"{name}-{each}" for each in scaled or queues)
    own = {key: value.format(name=name) for key, value in (metadata or {"pool": pool}).items()}
    given = {"clusterQueue": names} | own
    delays = {NODE_DELAY: f"{node_delay:g}", GPU_DELAY: f"{gpu_delay:g}"}
    with Sizes(world.api, kind, name) as sizes:
        made = Room(world=world, name=name, pool=pool, kind=kind, sizes=sizes)
        try:
            world.api.create(
                machine_set(name, name, pool=pool, kind=kind, replicas=replicas, delays=delays)
            )
            until(made.told, f"the status of {name}", within=SOON, every=LOOK)
            world.api.create(_scaled_object(made, given, alter))
            made.decision("NoDemand")
            yield made
        finally:
            _clear(made, queues)


def _queues(
    name: str, pool: str, queues: Mapping[str, int], *, cohort: bool, aware: bool
) -> Iterator[Object]:
    if aware:
        yield topology(name)
    yield flavor(name, pool=pool, topology=name if aware else "")
    for queue, gpus in queues.items():
        own = f"{name}-{queue}"
        yield cluster_queue(own, flavor=name, gpus=gpus, cohort=name if cohort else "")
        yield local_queue(queue, namespace=name, cluster_queue=own)


def _scaled_object(made: Room, given: Mapping[str, str], alter: Callable[[Object], None]) -> Object:
    shipped = deployed.one(deployed.example(TARGETS[made.kind]), "ScaledObject")
    own = deployed.adapted(
        shipped,
        namespace=made.name,
        name=made.name,
        target=made.name,
        maximum=30,
        metadata=given,
    )
    alter(own)
    return own


def machine_set(
    name: str,
    namespace: str,
    *,
    pool: str,
    kind: str = "MachineSet",
    replicas: int = 0,
    delays: Mapping[str, str] | None = None,
) -> Object:
    """Give a set of Machines whose Nodes are as the policy's pools have them."""
    labels = {"set": name}
    offers = {GPUS: str(NODE[DEVICES]), CPU: str(NODE["cpu"]), MEMORY: str(NODE["memory"])}
    return {
        "apiVersion": API_VERSIONS[kind],
        "kind": kind,
        "metadata": {
            "name": name,
            "namespace": namespace,
            "annotations": offers | dict(delays or {}),
        },
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"metadata": {"labels": {POOL_LABEL: pool}}},
            },
        },
    }


def _clear(made: Room, queues: Mapping[str, int]) -> None:
    """Take everything away, the ScaledObject first, so that nothing grows meanwhile."""
    api = made.world.api
    api.delete("ScaledObject", made.name, made.name)
    for kind in ("JobSet", "RayCluster", "Job"):
        for each in api.list(kind, made.name):
            api.delete(kind, each["metadata"]["name"], made.name)
    for each in api.list(made.kind, made.name):
        api.delete(made.kind, each["metadata"]["name"], made.name)
    api.delete("Namespace", made.name)
    for queue in queues:
        api.delete("ClusterQueue", f"{made.name}-{queue}")
    api.delete("ResourceFlavor", made.name)
    api.delete("Topology", made.name)
    until(lambda: not made.nodes(), f"no node of {made.pool}", within=SOON, every=LOOK)
