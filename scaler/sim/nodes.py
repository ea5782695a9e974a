"""Node pools: a MachineSet's machines boot into nodes, and a shrink takes a random one."""

import random
from dataclasses import dataclass

from scaler.core.model import Instant, Kind, Name
from scaler.sim.clock import Clock
from scaler.sim.conditions import set_condition
from scaler.sim.kinds import MACHINE_SETS
from scaler.sim.objects import Objects, name_of
from scaler.sim.patches import Document

GPU = "nvidia.com/gpu"
NAMESPACE = "openshift-machine-api"


@dataclass(frozen=True, slots=True, kw_only=True)
class Boot:
    """How long a machine takes, in cluster seconds."""

    to_ready: float = 120.0
    """From the order to a Ready node; until then there is no Node object."""
    to_gpus: float = 60.0
    """From Ready to the device plugin's GPUs: meanwhile the node has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Machine:
    name: str
    ordered: Instant


def machine_set(pool: str, *, capacity: dict[str, str], replicas: int = 0) -> Document:
    """Write a MachineSet whose nodes carry the label `pool` and a taint for GPU pods."""
    labels = {"machine.openshift.io/cluster-api-machineset": pool}
    taints = [{"key": GPU, "value": "present", "effect": "NoSchedule"}]
    machine: Document = {
        "metadata": {"labels": {"pool": pool}},
        "taints": taints if GPU in capacity else [],
        "providerSpec": {"value": {"capacity": capacity}},
    }
    return {
        "metadata": {"name": pool, "namespace": NAMESPACE},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": machine},
        },
    }


class NodePools:
    """Bring the nodes of every MachineSet to its replicas."""

    def __init__(
        self, *, objects: Objects, clock: Clock, boot: Boot | None = None, seed: int = 1
    ) -> None:
        self._objects = objects
        self._clock = clock
        self._boot = boot or Boot()
        self._random = random.Random(seed)  # noqa: S311 - picks victims, not secrets
        self._machines: dict[Name, list[_Machine]] = {}
        self._ordered = 0

    def step(self) -> None:
        """Order and remove machines, and move each booting one on."""
        for document in self._objects.all(MACHINE_SETS):
            machines = self._machines.get(name_of(document))
            if machines is None:
                machines = self._machines[name_of(document)] = self._known(document)
            self._fit(document, machines)
            ready = sum([self._boot_on(document, machine) for machine in machines])
            self._report(document, present=len(machines), ready=ready)
        self._drop_orphans()

    def _known(self, document: Document) -> list[_Machine]:
        """Take the machines that a new MachineSet's status tells of as long booted."""
        present = document.get("status", {}).get("replicas", 0)
        return [self._machine(document, ordered=0.0) for _ in range(present)]

    def _machine(self, document: Document, *, ordered: Instant) -> _Machine:
        self._ordered += 1
        return _Machine(name=f"{document['metadata']['name']}-{self._ordered}", ordered=ordered)

    def _fit(self, document: Document, machines: list[_Machine]) -> None:
        wanted = document["spec"]["replicas"]
        while len(machines) < wanted:
            machines.append(self._machine(document, ordered=self._clock.now()))
        while len(machines) > wanted:
            victim = machines.pop(self._random.randrange(len(machines)))
            if self._objects.get(Kind.NODES, ("", victim.name)) is not None:
                self._objects.delete(Kind.NODES, ("", victim.name))

    def _boot_on(self, document: Document, machine: _Machine) -> bool:
        age = self._clock.now() - machine.ordered
        if age < self._boot.to_ready:
            return False
        template = document["spec"]["template"]["spec"]
        if self._objects.get(Kind.NODES, ("", machine.name)) is None:
            self._objects.create(Kind.NODES, self._node(machine.name, template))
        if age >= self._boot.to_ready + self._boot.to_gpus:
            self._offer(machine.name, template["providerSpec"]["value"]["capacity"])
        return True

    def _node(self, name: str, template: Document) -> Document:
        labels = {"kubernetes.io/hostname": name, **template["metadata"]["labels"]}
        node: Document = {"metadata": {"name": name, "labels": labels}}
        node["spec"] = {"taints": template["taints"]}
        capacity = template["providerSpec"]["value"]["capacity"]
        at_first = {key: value for key, value in capacity.items() if key != GPU}
        node["status"] = {"capacity": at_first, "allocatable": at_first}
        message = "kubelet is posting ready status"
        now = self._clock.now()
        set_condition(node, "Ready", status=True, reason="KubeletReady", message=message, now=now)
        return node

    def _offer(self, name: str, capacity: dict[str, str]) -> None:
        def write(node: Document) -> None:
            node["status"].update(capacity=capacity, allocatable=capacity)

        self._objects.modify(Kind.NODES, ("", name), write)

    def _report(self, document: Document, *, present: int, ready: int) -> None:
        def write(after: Document) -> None:
            status = {"replicas": present, "readyReplicas": ready, "availableReplicas": ready}
            after["status"] = status | {"observedGeneration": after["metadata"]["generation"]}

        self._objects.modify(MACHINE_SETS, name_of(document), write)

    def _drop_orphans(self) -> None:
        present = {node["metadata"]["name"] for node in self._objects.all(Kind.NODES)}
        for pod in self._objects.all(Kind.PODS):
            if pod["spec"].get("nodeName", None) not in {None, *present}:
                self._objects.delete(Kind.PODS, name_of(pod))
