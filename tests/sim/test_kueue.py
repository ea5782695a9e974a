"""Jobs queue, are admitted by quota and topology, run on nodes and finish."""

from dataclasses import dataclass
from typing import Any

import pytest

from scaler.core.model import Kind
from scaler.sim.clock import ManualClock
from scaler.sim.conditions import condition_of, is_true
from scaler.sim.deployments import Deployments, deployment
from scaler.sim.jobs import Jobs, job
from scaler.sim.kinds import MACHINE_SETS
from scaler.sim.kueue import Kueue
from scaler.sim.nodes import GPU, NAMESPACE, NodePools, machine_set
from scaler.sim.objects import Objects
from scaler.sim.patches import Document
from scaler.sim.pods import pod_template
from scaler.sim.queues import cluster_queue, local_queue, resource_flavor
from scaler.sim.scheduler import Scheduler

CAPACITY = {"cpu": "188", "memory": "1900Gi", GPU: "8", "pods": "110"}


@dataclass(kw_only=True)
class Small:
    """A cluster with one pool, one ClusterQueue `cq` and one LocalQueue `ml/lq`."""

    objects: Objects
    clock: ManualClock
    parts: tuple[Any, ...]

    def run(self, seconds: float) -> None:
        """Let time pass in steps of five seconds."""
        for _ in range(round(seconds / 5)):
            self.clock.advance(5)
            for part in self.parts:
                part.step()

    def pool(self, replicas: int) -> None:
        """Set the size of the pool."""
        name = (NAMESPACE, "a100")
        self.objects.modify(MACHINE_SETS, name, lambda d: d["spec"].update(replicas=replicas))

    def submit(self, name: str, pods: int, gpus: int, **more: Any) -> None:  # noqa: ANN401 - any of job's
        """Submit a Job that runs for 300 s."""
        asked: dict[str, Any] = {"queue": "lq", "requests": {GPU: str(gpus)}, "duration": 300.0}
        fields = asked | more
        self.objects.create(Kind.JOBS, job(namespace="ml", name=name, pods=pods, **fields))

    def waits(self, name: str) -> tuple[str, str]:
        """Give reason and message of QuotaReserved."""
        found = condition_of(self.workload(name), "QuotaReserved")
        return found["reason"], found["message"]

    def workload(self, name: str) -> Document:
        """Give a Job's Workload."""
        for document in self.objects.all(Kind.WORKLOADS):
            if document["metadata"]["ownerReferences"][0]["name"] == name:
                return document
        raise LookupError(name)

    def nodes(self) -> int:
        """Count the nodes."""
        return len(self.objects.all(Kind.NODES))

    def phases(self) -> list[str]:
        """Give the phases of all pods."""
        return [pod["status"]["phase"] for pod in self.objects.all(Kind.PODS)]


def small(
    *, gpus: int = 16, topology: str | None = "default", old: bool = False, strict: bool = False
) -> Small:
    """Build the cluster, with no nodes."""
    clock = ManualClock()
    objects = Objects(clock=clock)
    objects.create(MACHINE_SETS, machine_set("a100", capacity=CAPACITY))
    flavor = resource_flavor("a100", node_labels={"pool": "a100"}, topology=topology)
    objects.create(Kind.RESOURCE_FLAVORS, flavor)
    queue = cluster_queue("cq", flavor="a100", quota={GPU: str(gpus)}, strict=strict)
    objects.create(Kind.CLUSTER_QUEUES, queue)
    objects.create(Kind.LOCAL_QUEUES, local_queue("lq", namespace="ml", cluster_queue="cq"))
    both: dict[str, Any] = {"objects": objects, "clock": clock}
    parts = (
        NodePools(**both),
        Kueue(**both, reasons_of_0_17=old),
        Jobs(**both),
        Deployments(**both),
        Scheduler(**both),
    )
    return Small(objects=objects, clock=clock, parts=parts)


@pytest.mark.parametrize(("old", "reason"), [(True, "Pending"), (False, "TopologyPlacementFailed")])
def test_pool_without_nodes(*, old: bool, reason: str) -> None:
    """A flavor with a topology and no node: the Workload waits, and there are no pods."""
    cluster = small(old=old)
    cluster.submit("j", 3, 5)
    cluster.run(5)
    text = "couldn't assign flavors to pod set main: no topology domains at level: "
    assert cluster.waits("j") == (reason, f"{text}kubernetes.io/hostname")
    assert cluster.phases() == []
    requests = cluster.workload("j")["status"]["resourceRequests"]
    assert requests == [{"name": "main", "resources": {GPU: "15"}}]


def test_too_few_nodes() -> None:
    """Two nodes for three pods of five GPUs: the sum would fit, the pods don't."""
    cluster = small()
    cluster.pool(2)
    cluster.run(200)
    cluster.submit("j", 3, 5)
    cluster.run(5)
    _, message = cluster.waits("j")
    assert 'topology "default" allows to fit only 2 out of 3 pod(s). Total nodes: 2' in message
    cluster.pool(3)
    cluster.run(200)
    assert cluster.phases() == ["Running"] * 3
    part = cluster.workload("j")["status"]["admission"]["podSetAssignments"][0]
    assert len(part["topologyAssignment"]["slices"]) == 3


def test_node_boots() -> None:
    """A node comes after a while, and its GPUs later still."""
    cluster = small()
    cluster.pool(1)
    cluster.run(100)
    assert cluster.nodes() == 0
    cluster.run(30)
    node = cluster.objects.all(Kind.NODES)[0]
    assert is_true(node, "Ready")
    assert GPU not in node["status"]["allocatable"]
    cluster.run(60)
    assert cluster.objects.all(Kind.NODES)[0]["status"]["allocatable"][GPU] == "8"


def test_without_topology() -> None:
    """Without a topology quota alone admits: the pods are Unschedulable until nodes come."""
    cluster = small(topology=None)
    cluster.submit("j", 2, 8)
    cluster.run(10)
    assert is_true(cluster.workload("j"), "Admitted")
    pods = cluster.objects.all(Kind.PODS)
    assert [condition_of(pod, "PodScheduled")["reason"] for pod in pods] == ["Unschedulable"] * 2
    cluster.pool(2)
    cluster.run(200)
    assert cluster.phases() == ["Running"] * 2


def test_quota() -> None:
    """More than the quota never fits; more than is free waits until a Job has finished."""
    cluster = small(topology=None)
    cluster.pool(2)
    cluster.submit("first", 2, 8)
    cluster.submit("huge", 3, 8)
    cluster.run(5)
    cluster.submit("second", 1, 8)
    cluster.run(10)
    reason, message = cluster.waits("huge")
    assert reason == "ExceedsMaxQuota"
    assert "current podset request (24) > maximum capacity (16)" in message
    reason, message = cluster.waits("second")
    assert reason == "WaitingForQuota"
    assert "insufficient unused quota for nvidia.com/gpu in flavor a100, 8 more needed" in message
    status = cluster.objects.all(Kind.CLUSTER_QUEUES)[0]["status"]
    assert (status["admittedWorkloads"], status["pendingWorkloads"]) == (1, 2)
    cluster.run(600)
    assert is_true(cluster.workload("first"), "Finished")
    assert is_true(cluster.workload("second"), "Admitted")


@pytest.mark.parametrize(("strict", "admitted"), [(False, True), (True, False)])
def test_order(*, strict: bool, admitted: bool) -> None:
    """The higher priority goes first; under StrictFIFO whoever waits holds up the rest."""
    cluster = small(topology=None, gpus=8, strict=strict)
    cluster.submit("low", 1, 4)
    cluster.submit("high", 1, 16, priority=5)
    cluster.run(5)
    assert cluster.waits("high")[0] == "ExceedsMaxQuota"
    assert is_true(cluster.workload("low"), "Admitted") is admitted


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("no queue", "LocalQueue nope doesn't exist"),
        ("queue stopped", "LocalQueue lq is inactive"),
        ("cluster queue stopped", "ClusterQueue cq is inactive"),
        ("cluster queue gone", "ClusterQueue cq doesn't exist"),
    ],
)
def test_no_way(change: str, message: str) -> None:
    """A Workload that has no way to a ClusterQueue says so (Q03)."""
    cluster = small(old=True)
    match change:
        case "queue stopped":
            name = ("ml", "lq")
            cluster.objects.modify(Kind.LOCAL_QUEUES, name, _hold)
        case "cluster queue stopped":
            cluster.objects.modify(Kind.CLUSTER_QUEUES, ("", "cq"), _hold)
        case "cluster queue gone":
            cluster.objects.delete(Kind.CLUSTER_QUEUES, ("", "cq"))
        case _:
            pass
    cluster.submit("j", 1, 1, queue="nope" if change == "no queue" else "lq")
    cluster.run(5)
    assert cluster.waits("j") == ("Inadmissible", message)


def _hold(document: Document) -> None:
    document["spec"]["stopPolicy"] = "Hold"


def test_uncovered_resource() -> None:
    """A resource that the ClusterQueue doesn't cover fits no flavor."""
    cluster = small()
    cluster.submit("j", 1, 1, requests={"amd.com/gpu": "1"})
    cluster.run(5)
    reason, message = cluster.waits("j")
    assert reason == "NoMatchingFlavor"
    assert message.endswith("resource amd.com/gpu unavailable in ClusterQueue")


def test_deactivated() -> None:
    """A deactivated Workload is not admitted."""
    cluster = small(topology=None)
    cluster.submit("j", 1, 16)
    cluster.run(5)
    cluster.submit("k", 1, 1)
    cluster.run(5)
    name = ("ml", cluster.workload("k")["metadata"]["name"])
    cluster.objects.modify(Kind.WORKLOADS, name, lambda d: d["spec"].update(active=False))
    cluster.run(5)
    assert cluster.waits("k") == ("Deactivated", "The workload is deactivated")


def test_pods_name_their_workload() -> None:
    """A Job's pods carry Kueue's names and the flavor's labels, and end after their duration."""
    cluster = small(topology=None)
    cluster.pool(1)
    cluster.submit("j", 1, 8)
    cluster.run(200)
    pod = cluster.objects.all(Kind.PODS)[0]
    workload = cluster.workload("j")["metadata"]["name"]
    assert pod["metadata"]["annotations"]["kueue.x-k8s.io/workload"] == workload
    assert pod["metadata"]["labels"]["kueue.x-k8s.io/podset"] == "main"
    assert pod["spec"]["nodeSelector"] == {"pool": "a100"}
    assert pod["status"]["phase"] == "Running"
    cluster.run(320)
    assert cluster.phases() == ["Succeeded"]


def test_shrink_takes_a_random_node() -> None:
    """A shrunken MachineSet takes any node, busy or not, and the pods on it (K13)."""
    cluster = small(topology=None)
    cluster.pool(4)
    template = pod_template(requests={GPU: "8"})
    document = deployment(namespace="ml", name="d", template=template, replicas=4)
    cluster.objects.create(Kind.DEPLOYMENTS, document)
    cluster.run(250)
    assert cluster.phases() == ["Running"] * 4
    cluster.pool(1)
    cluster.run(10)
    assert cluster.nodes() == 1
    assert sorted(cluster.phases()) == ["Pending"] * 3 + ["Running"]


def test_deployment_follows_its_replicas() -> None:
    """A Deployment at zero has no pods, and its status says so."""
    cluster = small()
    cluster.pool(1)
    template = pod_template(requests={GPU: "1"})
    document = deployment(namespace="ml", name="d", template=template, replicas=3)
    cluster.objects.create(Kind.DEPLOYMENTS, document)
    cluster.run(250)
    cluster.objects.modify(Kind.DEPLOYMENTS, ("ml", "d"), lambda d: d["spec"].update(replicas=0))
    cluster.run(5)
    assert cluster.phases() == []
    after = cluster.objects.all(Kind.DEPLOYMENTS)[0]
    assert (after["status"]["replicas"], after["status"]["readyReplicas"]) == (0, 0)


def test_untolerated_taint() -> None:
    """A pod that doesn't tolerate the pool's taint is not placed on it."""
    cluster = small()
    cluster.pool(1)
    template = pod_template(requests={"cpu": "1"})
    template["spec"]["tolerations"] = []
    document = deployment(namespace="ml", name="d", template=template)
    cluster.objects.create(Kind.DEPLOYMENTS, document)
    cluster.run(250)
    assert cluster.phases() == ["Pending"]
