"""The controller of Machines: which Nodes it makes, when, and whom it takes away."""

from collections.abc import Iterator, Mapping
from random import Random

import pytest

from tests.e2e.api import Object
from tests.e2e.devices import RESOURCE
from tests.e2e.fakes import FakeCluster, gpu_pod
from tests.e2e.machine_objects import CLUSTER_API, OPENSHIFT
from tests.e2e.machines import Machines, crds, node
from tests.e2e.waiting import until


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        """Give the time that the test set."""
        return self.now


def machine_set(
    name: str = "a100",
    *,
    kind: str = "MachineSet",
    replicas: int = 0,
    annotations: Mapping[str, str] | None = None,
) -> Object:
    """Build a set of nodes with 8 GPUs in namespace `machines`."""
    return {
        "apiVersion": OPENSHIFT if kind == "MachineSet" else CLUSTER_API,
        "kind": kind,
        "metadata": {
            "namespace": "machines",
            "name": name,
            "annotations": {"e2e/gpus": "8", "e2e/cpu": "32"} | dict(annotations or {}),
        },
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"set": name, "a": "b"}},
            "template": {
                "metadata": {"labels": {"set": name}},
                "spec": {
                    "metadata": {"labels": {"pool": name}},
                    "taints": [{"key": RESOURCE, "effect": "NoSchedule"}],
                },
            },
        },
    }


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    """Give an empty cluster."""
    found = FakeCluster()
    yield found
    found.cut()


@pytest.fixture
def clock() -> Clock:
    """Give a clock that stands still."""
    return Clock()


@pytest.fixture
def machines(cluster: FakeCluster, clock: Clock) -> Machines:
    """A controller whose sets are mirrored, and whose rounds the test goes itself."""
    made = Machines(cluster, chance=Random(7), clock=clock)  # noqa: S311 - repeatable, not secret
    for mirror in made._sets:
        mirror.start()
    until(lambda: all(each.synced(0) for each in made._sets), "sets are listed", within=10)
    return made


def settle(machines: Machines, cluster: FakeCluster, count: int, kind: str = "Node") -> list[str]:
    """Go rounds until there are so many of a kind, and give their names."""

    def look() -> bool:
        machines.reconcile()
        return len(cluster.names(kind)) == count

    until(look, f"{count} of {kind}", within=10)
    return cluster.names(kind)


def resize(cluster: FakeCluster, replicas: int, name: str = "a100") -> None:
    """Write a set's spec.replicas."""
    cluster.patch("MachineSet", name, "machines", change={"spec": {"replicas": replicas}})


def status_of(cluster: FakeCluster) -> Object:
    """Give the status of the set a100."""
    found: Object = cluster.one("MachineSet", "a100").get("status") or {}
    return found


def test_a_node_is_what_its_set_says(machines: Machines, cluster: FakeCluster) -> None:
    """Labels and taints are the template's, GPUs and CPUs the annotations'."""
    cluster.create(machine_set(replicas=1))
    (name,) = settle(machines, cluster, 1)
    found = cluster.one("Node", name)
    assert found["metadata"]["labels"] == {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "pool": "a100",
    }
    assert found["metadata"]["annotations"] == {
        "kwok.x-k8s.io/node": "fake",
        "machine.openshift.io/machine": f"machines/{name}",
    }
    assert found["spec"]["taints"] == [{"key": RESOURCE, "effect": "NoSchedule"}]
    offer = {"cpu": "32", "memory": "512Gi", "pods": "110", RESOURCE: "8"}
    assert found["status"] == {"capacity": offer, "allocatable": offer}
    assert name.startswith("a100-")
    assert cluster.one("Machine", name)["status"]["phase"] == "Running"


def test_a_deployment_has_the_name_of_a_set_in_its_machines(
    machines: Machines, cluster: FakeCluster
) -> None:
    """As Cluster API has a MachineSet between the two."""
    cluster.create(machine_set(kind="MachineDeployment", replicas=2))
    names = settle(machines, cluster, 2)
    assert {len(name.split("-")) for name in names} == {3}
    assert len({name.rpartition("-")[0] for name in names}) == 1
    found = cluster.one("Node", names[0])["metadata"]
    assert found["labels"].items() >= {"pool": "a100", "set": "a100"}.items()
    assert found["annotations"]["cluster.x-k8s.io/machine"] == names[0]
    machines.reconcile()
    status = cluster.one("MachineDeployment", "a100")["status"]
    assert (status["replicas"], status["selector"]) == (2, "a=b,set=a100")


def test_machines_come_at_once_and_nodes_after_their_delay(
    machines: Machines, cluster: FakeCluster, clock: Clock
) -> None:
    """The status counts Machines, and as ready those with a Node."""
    cluster.create(machine_set(replicas=2, annotations={"e2e/node-delay": "5s"}))
    settle(machines, cluster, 2, "Machine")
    until(lambda: status_of(cluster).get("replicas") == 2, "status", within=10)
    clock.now += 4.9
    machines.reconcile()
    assert cluster.names("Node") == []
    assert status_of(cluster)["readyReplicas"] == 0
    clock.now += 0.2
    machines.reconcile()
    assert cluster.names("Node") == cluster.names("Machine")
    assert status_of(cluster)["readyReplicas"] == 2
    assert status_of(cluster)["labelSelector"] == "a=b,set=a100"


def test_gpus_appear_after_their_delay(
    machines: Machines, cluster: FakeCluster, clock: Clock
) -> None:
    """Until then the Node is there and whole but for them."""
    cluster.create(machine_set(replicas=1, annotations={"e2e/gpu-delay": "5"}))
    (name,) = settle(machines, cluster, 1)
    machines.reconcile()
    assert RESOURCE not in cluster.one("Node", name)["status"]["capacity"]
    clock.now += 5
    machines.reconcile()
    status = cluster.one("Node", name)["status"]
    assert status["capacity"][RESOURCE] == status["allocatable"][RESOURCE] == "8"
    assert status["capacity"]["cpu"] == "32"


def test_held_machines_have_no_node_until_released(
    machines: Machines, cluster: FakeCluster
) -> None:
    """Another set's come meanwhile."""
    machines.hold("a100")
    cluster.create(machine_set(replicas=2))
    cluster.create(machine_set("h100", replicas=1))
    settle(machines, cluster, 3, "Machine")
    assert [name[:4] for name in settle(machines, cluster, 1)] == ["h100"]
    machines.release("a100")
    settle(machines, cluster, 3)


def test_a_random_machine_goes_with_its_node_and_pods_and_is_recorded(
    machines: Machines, cluster: FakeCluster, clock: Clock
) -> None:
    """The Node first, and the pods without grace."""
    cluster.create(machine_set(replicas=4))
    before = settle(machines, cluster, 4)
    for name in before:
        cluster.create(gpu_pod(f"pod-on-{name}", node=name))
    cluster.create(gpu_pod("elsewhere", node="other"))
    clock.now += 60
    resize(cluster, 3)
    after = settle(machines, cluster, 3)
    (victim,) = set(before) - set(after)
    (removal,) = machines.removed
    assert (removal.at, removal.namespace, removal.name) == (1060.0, "machines", "a100")
    assert (removal.machine, removal.running) == (victim, (f"ml/pod-on-{victim}",))
    assert removal.busy
    assert cluster.deleted == [
        ("Node", victim, None),
        ("Pod", f"pod-on-{victim}", 0),
        ("Machine", victim, None),
    ]


def test_chance_and_not_age_picks_who_goes(machines: Machines, cluster: FakeCluster) -> None:
    """Ten of twenty: neither the oldest nor the youngest ten, for this seed."""
    cluster.create(machine_set(replicas=20))
    settle(machines, cluster, 20)
    order = [each.name for each in machines._members]
    resize(cluster, 10)
    left = set(settle(machines, cluster, 10))
    assert left not in (set(order[:10]), set(order[10:]))


def test_a_removal_without_a_running_pod_is_not_busy(
    machines: Machines, cluster: FakeCluster
) -> None:
    """A pod that has ended is no victim, but goes too."""
    cluster.create(machine_set(replicas=1))
    (name,) = settle(machines, cluster, 1)
    cluster.create(gpu_pod("done", node=name) | {"status": {"phase": "Succeeded"}})
    resize(cluster, 0)
    settle(machines, cluster, 0)
    assert [each.busy for each in machines.removed] == [False]
    assert cluster.names("Pod") == []


def test_a_deleted_set_takes_its_machines_and_nodes(
    machines: Machines, cluster: FakeCluster
) -> None:
    """Another's stay."""
    cluster.create(machine_set(replicas=2))
    cluster.create(machine_set("h100", replicas=1))
    settle(machines, cluster, 3)
    cluster.delete("MachineSet", "a100", "machines")
    assert [name[:4] for name in settle(machines, cluster, 1)] == ["h100"]
    assert len(cluster.names("Machine")) == 1


def test_every_change_of_size_is_recorded_and_nothing_else(
    machines: Machines, cluster: FakeCluster, clock: Clock
) -> None:
    """The status is written several times meanwhile."""
    cluster.create(machine_set(replicas=1))
    settle(machines, cluster, 1)
    clock.now += 7
    resize(cluster, 3)
    settle(machines, cluster, 3)
    assert machines.sizes("machines", "a100") == [(1000.0, 1), (1007.0, 3)]
    assert machines.sizes("machines", "other") == []


def test_an_outage_interrupts_a_round_and_the_next_goes_on(
    machines: Machines, cluster: FakeCluster
) -> None:
    """No Machine is made twice."""
    cluster.create(machine_set(replicas=1))
    settle(machines, cluster, 1)
    resize(cluster, 3)
    until(lambda: len(machines.sizes("machines", "a100")) == 2, "it is heard", within=10)
    cluster.down = True
    cluster.cut()
    with pytest.raises(OSError, match="refused"):
        machines.reconcile()
    cluster.down = False
    settle(machines, cluster, 3)
    assert len(cluster.names("Machine")) == 3


def test_one_set_that_is_refused_does_not_stop_another(
    machines: Machines, cluster: FakeCluster
) -> None:
    """A namespace that is going refuses everything."""
    cluster.create(machine_set(replicas=1))
    settle(machines, cluster, 1)
    cluster.refused.add("Machine")
    cluster.create(machine_set("h100", replicas=1))
    resize(cluster, 0)
    settle(machines, cluster, 0)
    cluster.refused.clear()
    assert [name[:4] for name in settle(machines, cluster, 1)] == ["h100"]


def test_it_works_by_itself_and_stops(cluster: FakeCluster) -> None:
    """Its thread ends with it."""
    machines = Machines(cluster)
    machines.start()
    cluster.create(machine_set(replicas=2))
    until(lambda: len(cluster.names("Node")) == 2, "nodes come", within=10)
    machines.stop()
    assert not machines._thread.is_alive()


def test_the_definitions_say_where_scale_finds_its_numbers() -> None:
    """The two kinds name their selector differently."""
    scales = {
        each["spec"]["names"]["kind"]: each["spec"]["versions"][0]["subresources"].get("scale")
        for each in crds()
    }
    paths = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    assert scales == {
        "MachineSet": paths | {"labelSelectorPath": ".status.labelSelector"},
        "MachineDeployment": paths | {"labelSelectorPath": ".status.selector"},
        "Machine": None,
    }
    assert [each["metadata"]["name"] for each in crds()] == [
        "machinesets.machine.openshift.io",
        "machinedeployments.cluster.x-k8s.io",
        "machines.machine.openshift.io",
    ]


def test_a_node_without_gpus_offers_none() -> None:
    """Not even 0 of them: the resource is absent as before the driver is up."""
    assert RESOURCE not in node("cpu", {}, gpus=0)["status"]["capacity"]
    assert RESOURCE not in node("later", {}, gpus=8, gpus_now=False)["status"]["allocatable"]
