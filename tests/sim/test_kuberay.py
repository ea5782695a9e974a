"""RayClusters are queued as Kueue queues them, and run as KubeRay runs them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from scaler.core.model import Kind, Name
from scaler.sim.clock import ManualClock
from scaler.sim.cluster import Cluster
from scaler.sim.conditions import condition_of, is_true
from scaler.sim.integrations import workload_name
from scaler.sim.kinds import EVENTS
from scaler.sim.kuberay import KubeRay, ray_cluster
from scaler.sim.nodes import GPU
from scaler.sim.objects import Objects
from scaler.sim.patches import Document
from scaler.sim.pods import finished
from scaler.sim.room import room_for_admission
from scaler.sim.story import workers

SIM: Name = ("robots", "sim")
NODE = {"cpu": "60", GPU: "8", "pods": "110"}
HEADS = {"cpu": "60", "pods": "110"}


@dataclass(kw_only=True)
class Lab:
    """A cluster with one GPU node of 8, one node for heads, and RayCluster `robots/sim` on them."""

    cluster: Cluster
    clock: ManualClock

    def run(self, seconds: float = 30) -> None:
        """Let time pass in steps of five seconds."""
        for _ in range(round(seconds / 5)):
            self.clock.advance(5)
            self.cluster.step()

    def ray(self) -> Document:
        """Give the RayCluster."""
        return self._there(Kind.RAY_CLUSTERS, SIM)

    def workload(self) -> Document:
        """Give its Workload."""
        return self._there(Kind.WORKLOADS, (SIM[0], workload_name(self.ray())))

    def change(self, change: Callable[[Document], None]) -> None:
        """Write to the RayCluster."""
        self.cluster.objects.modify(Kind.RAY_CLUSTERS, SIM, change)

    def activate(self, active: bool) -> None:  # noqa: FBT001 - the field's own value
        """Write to the Workload's spec.active."""
        name = (SIM[0], self.workload()["metadata"]["name"])
        self.cluster.objects.modify(Kind.WORKLOADS, name, lambda d: d["spec"].update(active=active))

    def suspend_group(self, suspend: bool) -> None:  # noqa: FBT001 - the field's own value
        """Write to the group's suspend."""
        self.change(lambda d: d["spec"]["workerGroupSpecs"][0].update(suspend=suspend))

    def kept(self) -> tuple[str, str, Document]:
        """Give what a hold must leave as it is."""
        workload = self.workload()
        since = condition_of(workload, "QuotaReserved")["lastTransitionTime"]
        return workload["metadata"]["uid"], since, workload["status"]["admission"]

    def head(self) -> list[str]:
        """Give the head pods' names."""
        names = [pod["metadata"]["name"] for pod in self.cluster.pods(*SIM)]
        return [name for name in names if name.startswith("sim-head-")]

    def _there(self, kind: Kind, name: Name) -> Document:
        document = self.cluster.objects.get(kind, name)
        assert document is not None
        return document


def _lab(*, topology: str | None = None) -> Lab:
    clock = ManualClock()
    cluster = Cluster(clock=clock)
    cluster.start(by_hand=True)
    cluster.add_pool("h100", capacity=NODE, nodes=1)
    cluster.add_pool("cpu", capacity=HEADS, nodes=1)
    cluster.add_flavor("h100", pool="h100", topology=topology)
    cluster.add_flavor("cpu", pool="cpu", topology=topology)
    quota = {"cpu": "100", GPU: "8"}
    cluster.add_team("robots", flavor="h100", quota=quota, before={"cpu": {"cpu": "8"}})
    cluster.add_team("video", flavor="h100", quota=quota)
    groups = {"GPU": (2, {"cpu": "8", GPU: "4"})}
    document = ray_cluster(
        namespace=SIM[0], name=SIM[1], queue="jobs", head={"cpu": "8"}, groups=groups
    )
    cluster.apply(Kind.RAY_CLUSTERS, document)
    lab = Lab(cluster=cluster, clock=clock)
    lab.run(60)
    return lab


@pytest.fixture
def lab() -> Iterator[Lab]:
    """Run the RayCluster on nodes without topology."""
    made = _lab()
    yield made
    made.cluster.stop()


@pytest.fixture
def topological() -> Iterator[Lab]:
    """Run the RayCluster on nodes with a topology."""
    made = _lab(topology="default")
    yield made
    made.cluster.stop()


# --- admitted ----------------------------------------------------------------------------------


def test_head_and_group_are_podsets(lab: Lab) -> None:
    """Head and workers are counted apart, under names in lower case, each on its own flavor."""
    workload = lab.workload()
    assert [(p["name"], p["count"]) for p in workload["spec"]["podSets"]] == [
        ("head", 1),
        ("gpu", 2),
    ]
    head, gpu = workload["status"]["admission"]["podSetAssignments"]
    assert head["flavors"] == {"cpu": "cpu"}
    assert gpu["flavors"] == {"cpu": "h100", GPU: "h100"}
    assert gpu["resourceUsage"] == {"cpu": "16000m", GPU: "8"}


def test_pods_run_on_their_flavors_nodes(lab: Lab) -> None:
    """Head and workers run where they were admitted, and name Workload and podset."""
    pods = {
        pod["metadata"]["labels"]["kueue.x-k8s.io/podset"]: pod for pod in lab.cluster.pods(*SIM)
    }
    assert {name: pod["spec"]["nodeName"] for name, pod in pods.items()} == {
        "head": "cpu-1",
        "gpu": "h100-2",
    }
    name = pods["gpu"]["metadata"]["annotations"]["kueue.x-k8s.io/workload"]
    assert name == lab.workload()["metadata"]["name"]
    assert [pod["status"]["phase"] for pod in lab.cluster.pods(*SIM)] == ["Running"] * 3
    assert pods["head"]["metadata"]["annotations"]["ray.io/kuberay-version"] == "v1.6.0"


def test_status_says_what_is_there(lab: Lab) -> None:
    """KubeRay has seen the spec, and counts its workers."""
    status = lab.ray()["status"]
    assert (status["state"], status["desiredWorkerReplicas"]) == ("ready", 2)
    assert status["observedGeneration"] == lab.ray()["metadata"]["generation"]


def test_too_large_a_group_waits(lab: Lab) -> None:
    """A podset without quota leaves the whole cluster waiting, and is named."""
    document = ray_cluster(
        namespace="video",
        name="big",
        queue="jobs",
        head={"cpu": "1"},
        groups={"a": (1, {GPU: "8"}), "b": (1, {GPU: "8"})},
    )
    big = lab.cluster.apply(Kind.RAY_CLUSTERS, document)
    lab.run()
    workload = lab.cluster.objects.get(Kind.WORKLOADS, ("video", workload_name(big)))
    assert workload is not None
    condition = condition_of(workload, "QuotaReserved")
    assert (condition["status"], condition["reason"]) == ("False", "WaitingForQuota")
    assert "pod set b: insufficient unused quota" in condition["message"]
    assert not lab.cluster.pods("video", "big")


# --- held --------------------------------------------------------------------------------------


def test_suspended_group_has_no_pods_and_keeps_its_quota(lab: Lab) -> None:
    """The workers go, the head stays the same pod, and Kueue sees no difference."""
    kept, head = lab.kept(), lab.head()
    lab.suspend_group(True)
    lab.run()
    assert not workers(lab.cluster, SIM)
    assert lab.head() == head
    assert lab.kept() == kept
    status = lab.ray()["status"]
    assert "desiredWorkerReplicas" not in status
    assert status["state"] == "ready"
    assert status["observedGeneration"] == lab.ray()["metadata"]["generation"]


def test_resumed_group_is_back_without_a_queue(lab: Lab) -> None:
    """The workers come back on the flavor that was assigned, by the same admission."""
    kept = lab.kept()
    lab.suspend_group(True)
    lab.run()
    lab.suspend_group(False)
    lab.run()
    assert [pod["spec"]["nodeName"] for pod in workers(lab.cluster, SIM)] == ["h100-2"] * 2
    assert lab.kept() == kept


def test_freed_node_takes_another_teams_job(lab: Lab) -> None:
    """Nodes are free when pods are gone; the woken workers then wait for one."""
    lab.suspend_group(True)
    lab.run()
    lab.cluster.submit(("video", "render"), pods=1, requests={GPU: "8"}, duration=600)
    lab.run()
    assert [p["spec"]["nodeName"] for p in lab.cluster.pods("video", "render")] == ["h100-2"]
    lab.suspend_group(False)
    lab.run()
    assert [condition_of(p, "PodScheduled")["reason"] for p in workers(lab.cluster, SIM)] == [
        "Unschedulable"
    ] * 2
    assert is_true(lab.workload(), "Admitted")


def test_topology_keeps_a_held_place(topological: Lab) -> None:
    """With a topology the assignment counts, not the pods: nobody else is admitted there."""
    topological.suspend_group(True)
    topological.run()
    topological.cluster.submit(("video", "render"), pods=1, requests={GPU: "8"}, duration=600)
    topological.run()
    assert not topological.cluster.pods("video", "render")
    assert dict(room_for_admission(topological.cluster.objects)["h100-2"]).get(GPU, 0) == 0


def test_place_is_free_when_its_workload_has_finished(topological: Lab) -> None:
    """A finished Workload's assignment takes no room, nor do its ended pods."""
    topological.cluster.objects.delete(Kind.RAY_CLUSTERS, SIM)
    topological.cluster.objects.delete(
        Kind.WORKLOADS,
        (SIM[0], topological.cluster.objects.all(Kind.WORKLOADS)[0]["metadata"]["name"]),
    )
    topological.cluster.submit(("video", "render"), pods=1, requests={GPU: "8"}, duration=20)
    topological.run(120)
    assert all(map(finished, topological.cluster.pods("video", "render")))
    assert dict(room_for_admission(topological.cluster.objects)["h100-2"])[GPU] == 8


# --- lost, stopped and evicted -----------------------------------------------------------------


def test_count_changed_costs_the_workload(lab: Lab) -> None:
    """Replicas 0 deletes the Workload, stops head and all, and queues a smaller one."""
    uid, _, _ = lab.kept()
    head = lab.head()
    lab.change(lambda d: d["spec"]["workerGroupSpecs"][0].update(replicas=0))
    lab.run()
    after, _, admission = lab.kept()
    assert after != uid
    assert admission["podSetAssignments"][1]["resourceUsage"].get(GPU) == "0"
    assert lab.head() != head


def test_whole_suspend_is_undone(lab: Lab) -> None:
    """Kueue's own switch is Kueue's: an admitted cluster runs."""
    kept = lab.kept()
    lab.change(lambda d: d["spec"].update(suspend=True))
    lab.run()
    assert lab.ray()["spec"]["suspend"] is False
    assert len(lab.cluster.pods(*SIM)) == 3
    assert lab.kept() == kept


def test_deactivated_workload_gives_its_quota_back(lab: Lab) -> None:
    """All pods go, the UID stays, the usage is gone; active again, it is admitted again."""
    uid, _, _ = lab.kept()
    lab.activate(False)
    lab.run()
    assert not lab.cluster.pods(*SIM)
    workload = lab.workload()
    assert workload["metadata"]["uid"] == uid
    assert "admission" not in workload["status"]
    assert condition_of(workload, "Evicted")["reason"] == "Deactivated"
    assert lab.ray()["status"]["state"] == "suspended"
    lab.activate(True)
    lab.run(60)
    assert lab.kept()[0] == uid
    assert condition_of(lab.workload(), "Evicted")["status"] == "False"
    assert [pod["status"]["phase"] for pod in lab.cluster.pods(*SIM)] == ["Running"] * 3


def test_deleted_cluster_takes_its_pods_along(lab: Lab) -> None:
    """Pods whose RayCluster is gone are collected."""
    lab.cluster.objects.delete(Kind.RAY_CLUSTERS, SIM)
    lab.run(5)
    assert not lab.cluster.pods(*SIM)


# --- before 1.6 --------------------------------------------------------------------------------


def test_kuberay_without_its_gate_ignores_the_cluster() -> None:
    """Pods stay, observedGeneration stays behind and a Warning says so; taken back, it heals."""
    objects = Objects(clock=ManualClock())
    kuberay = KubeRay(objects=objects, clock=ManualClock(), suspends_groups=False)
    document = ray_cluster(
        namespace="robots",
        name="sim",
        queue="q",
        head={"cpu": "1"},
        groups={"g": (2, {"cpu": "1"})},
    )
    document["spec"]["suspend"] = False
    objects.create(Kind.RAY_CLUSTERS, document)
    kuberay.step()
    for suspend, behind in ((True, 1), (False, 0)):

        def write(after: Document, suspend: bool = suspend) -> None:  # noqa: FBT001 - bound here
            after["spec"]["workerGroupSpecs"][0]["suspend"] = suspend

        objects.modify(Kind.RAY_CLUSTERS, SIM, write)
        kuberay.step()
        kuberay.step()
        after = objects.all(Kind.RAY_CLUSTERS)[0]
        assert after["metadata"]["generation"] - after["status"]["observedGeneration"] == behind
        assert len(objects.all(Kind.PODS)) == 3
    assert [event["reason"] for event in objects.all(EVENTS)] == ["InvalidRayClusterSpec"]
