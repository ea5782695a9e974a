"""Namespaces with quota and GPU nodes of their own, in which a scenario's job lives."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tests.e2e.machines import node
from tests.e2e.policies import POOL_LABEL
from tests.e2e.queues import cluster_queue, flavor, local_queue, topology
from tests.e2e.world import World

QUEUE = "team"
"""The LocalQueue."""
GPUS_OF_NODE = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A namespace with a ClusterQueue, a flavor and nodes, all of its name."""

    world: World
    name: str

    def node(self, number: int = 0) -> str:
        """Create a node with GPUs; give its name."""
        name = f"{self.name}-gpu-{number}"
        wanted = node(name, {POOL_LABEL: self.name}, gpus=GPUS_OF_NODE)
        self.world.api.apply(wanted)
        self.world.api.patch("Node", name, change={"status": wanted["status"]}, sub="status")
        return name

    def nodes(self) -> list[str]:
        """Name its nodes."""
        found = self.world.api.list("Node", labels=f"{POOL_LABEL}={self.name}")
        return [each["metadata"]["name"] for each in found]

    def lose_nodes(self, *names: str) -> None:
        """Delete nodes, all where none is told, and the pods that were on them."""
        lost = names or self.nodes()
        for name in lost:
            self.world.api.delete("Node", name)
        for each in self.world.api.list("Pod", self.name):
            if each["spec"].get("nodeName") in lost:
                self.world.api.delete("Pod", each["metadata"]["name"], self.name, grace=0)


@contextmanager
def place(
    world: World,
    ident: str,
    *,
    gpus: int,
    nodes: int = 1,
    aware: bool = False,
) -> Iterator[Place]:
    """Set up a namespace in which jobs find quota and nodes; higher priorities preempt.

    Args:
        world: the stack.
        ident: begins its name.
        gpus: nominal quota.
        nodes: of 8 GPUs each.
        aware: whether the flavor is topology-aware.
    """
    where = world.namespace(ident)
    made = Place(world=world, name=where)
    preemption = {"withinClusterQueue": "LowerPriority"}
    if aware:
        world.api.apply(topology(where))
    world.api.apply(
        flavor(where, pool=where, topology=where if aware else ""),
        cluster_queue(where, flavor=where, gpus=gpus, preemption=preemption),
        local_queue(QUEUE, namespace=where, cluster_queue=where),
    )
    try:
        for number in range(nodes):
            made.node(number)
        yield made
    finally:
        _clear(made)


def _clear(made: Place) -> None:
    api, where = made.world.api, made.name
    for kind in ("RayJob", "RayCluster", "TrainJob", "JobSet", "Job"):
        for each in api.list(kind, where):
            api.delete(kind, each["metadata"]["name"], where)
    for each in api.list("Pod", where):
        api.delete("Pod", each["metadata"]["name"], where, grace=0)
    for kind, name in (("ClusterQueue", where), ("ResourceFlavor", where), ("Topology", where)):
        api.delete(kind, name)
    for name in made.nodes():
        api.delete("Node", name)
