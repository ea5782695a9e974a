"""`actuate` as a whole, against the embedded cluster over real HTTP."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from scaler.actuation import Actuation
from scaler.actuator import orphans
from scaler.core.model import Kind
from scaler.settings import ActuatorSettings, Address
from scaler.sim.conditions import is_true
from scaler.sim.kinds import EVENTS, LEASES
from scaler.sim.patches import Document
from scaler.sim.scenario_ray import SIM, SIM_WORKERS, WORKERS, furnish_ray
from tests.cases.client import until
from tests.commands.furnished import NOBODY, Furnished, furnished

LEASE = ("scaling", "actuator")
FINALIZER = "kueue-gpu-scaler.dev/restore"
MARKED = "held.kueue-gpu-scaler.dev/"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Furnished]:
    """A RayCluster that runs, and a WorkerScale that wants its workers."""
    with furnished(tmp_path) as one:
        furnish_ray(one.cluster, scaler_address=NOBODY)
        one.pass_time(120)
        until(lambda: workers(one) == WORKERS, seen=lambda: workers(one))
        yield one


class Running:
    """An actuator on the cluster's clock, and a cluster that lives on while one waits."""

    def __init__(self, cluster: Furnished) -> None:
        self.cluster = cluster
        settings = ActuatorSettings(
            policy=cluster.policy,
            status=Address(host="127.0.0.1", port=0),
            kubeconfig=str(cluster.kubeconfig),
            tick_seconds=0.2,
            lease_namespace=LEASE[0],
            lease_name=LEASE[1],
        )
        self.actuation = Actuation(settings, clock=cluster.clock.now, speed=15.0)
        self.address = self.actuation.start()

    def until(self, wanted: str) -> None:
        """Wait for a state."""
        until(lambda: self.state() == wanted, seen=lambda: scale(self.cluster).get("status"))

    def state(self) -> str:
        """Let the cluster live on for a moment, and give what the WorkerScale's status says."""
        self.cluster.clock.advance(0.2)
        self.cluster.cluster.step()
        return str(scale(self.cluster).get("status", {}).get("state", ""))

    def get(self, path: str) -> tuple[int, str]:
        """Ask the status port."""
        try:
            with urllib.request.urlopen(f"http://{self.address}{path}", timeout=30) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()


@contextmanager
def actuating(cluster: Furnished) -> Iterator[Running]:
    """Run an actuator for a while."""
    running = Running(cluster)
    try:
        yield running
    finally:
        running.actuation.stop()


def workers(cluster: Furnished) -> int:
    """Count the worker pods that live."""
    pods = cluster.cluster.pods(SIM[0], SIM[1])
    return sum("-gpu-" in pod["metadata"]["name"] for pod in pods)


def scale(cluster: Furnished) -> Document:
    """Read the WorkerScale."""
    document = cluster.cluster.objects.get(Kind.WORKER_SCALES, SIM_WORKERS)
    assert document is not None
    return document


def ready(cluster: Furnished) -> tuple[str, str, str]:
    """Give the condition Ready: status, reason and message."""
    (found,) = (each for each in scale(cluster)["status"]["conditions"] if each["type"] == "Ready")
    return found["status"], found["reason"], found["message"]


def want(cluster: Furnished, replicas: int) -> None:
    """Write spec.replicas, as KEDA does."""

    def change(document: Document) -> None:
        document["spec"]["replicas"] = replicas

    cluster.cluster.objects.modify(Kind.WORKER_SCALES, SIM_WORKERS, change)


def workload(cluster: Furnished) -> tuple[str, bool]:
    """Give the RayCluster's Workload: its uid, and whether it has its quota."""
    (found,) = (
        each
        for each in cluster.cluster.objects.all(Kind.WORKLOADS)
        if each["metadata"]["namespace"] == SIM[0]
    )
    return found["metadata"]["uid"], is_true(found, "QuotaReserved")


def idle(cluster: Furnished) -> None:
    """Let the workers rest for longer than idleAfter."""
    cluster.cluster.set_load(SIM, percent=0)
    cluster.pass_time(900)


def events(cluster: Furnished) -> set[tuple[str, str]]:
    """Give (kind, reason) of the Events that were written."""
    return {
        (each["involvedObject"]["kind"], each["reason"])
        for each in cluster.cluster.objects.all(EVENTS)
    }


def test_idle_workers_go_when_zero_is_wanted_and_come_back(cluster: Furnished) -> None:
    """The Workload keeps its uid and its quota all the while, and people hear of it."""
    idle(cluster)
    before = workload(cluster)
    with actuating(cluster) as running:
        running.until("Running")
        assert scale(cluster)["status"]["size"] == WORKERS
        want(cluster, 0)
        running.until("Held")
        assert workers(cluster) == 0
        assert workload(cluster) == before
        assert FINALIZER in scale(cluster)["metadata"]["finalizers"]
        held = 'kueue_gpu_scaler_held_gpus{mode="Hold"} 8.0'
        until(lambda: held in running.get("/metrics")[1])
        want(cluster, WORKERS)
        running.until("Running")
        assert workers(cluster) == WORKERS
        assert workload(cluster) == before
        told = {("WorkerScale", "Held"), ("RayCluster", "Held"), ("WorkerScale", "Woken")}
        until(lambda: told <= events(cluster), seen=lambda: events(cluster))


def test_busy_workers_stay_though_zero_is_wanted(cluster: Furnished) -> None:
    """Zero is a request: what decides is whether they are idle."""
    with actuating(cluster) as running:
        running.until("Running")
        want(cluster, 0)
        running.until("NotIdle")
        assert workers(cluster) == WORKERS


def test_a_worker_scale_that_goes_leaves_its_target_as_it_was(cluster: Furnished) -> None:
    """The finalizer keeps it until then."""
    idle(cluster)
    with actuating(cluster) as running:
        running.until("Running")
        want(cluster, 0)
        running.until("Held")
        cluster.cluster.objects.end(Kind.WORKER_SCALES, SIM_WORKERS)

        def gone() -> bool:
            cluster.clock.advance(0.2)
            cluster.cluster.step()
            return cluster.cluster.objects.get(Kind.WORKER_SCALES, SIM_WORKERS) is None

        until(gone)

        def back() -> bool:
            cluster.cluster.step()
            return workers(cluster) == WORKERS

        until(back)


def test_workers_come_back_though_the_worker_scale_was_torn_away(
    cluster: Furnished, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its finalizer was taken off by hand: the marks alone tell, and the target's Event says so."""
    cluster.policy.write_text(
        f"{cluster.policy.read_text('utf-8')}\nworkerScales: {{orphanAfter: 1s}}\n", "utf-8"
    )
    monkeypatch.setattr(orphans, "SEARCH_SECONDS", 0.2)
    idle(cluster)
    before = workload(cluster)

    def tear(document: Document) -> None:
        document["metadata"]["finalizers"] = []

    with actuating(cluster) as running:
        running.until("Running")
        want(cluster, 0)
        running.until("Held")
        cluster.cluster.objects.modify(Kind.WORKER_SCALES, SIM_WORKERS, tear)
        cluster.cluster.objects.end(Kind.WORKER_SCALES, SIM_WORKERS)
        assert cluster.cluster.objects.get(Kind.WORKER_SCALES, SIM_WORKERS) is None
        assert workers(cluster) == 0

        def back() -> bool:
            cluster.clock.advance(0.2)
            cluster.cluster.step()
            return workers(cluster) == WORKERS

        until(back)
        assert workload(cluster) == before
        target = cluster.cluster.objects.get(Kind.RAY_CLUSTERS, SIM)
        assert target is not None
        assert not any(MARKED in name for name in target["metadata"].get("annotations", {}))
        told = {("RayCluster", "RolledBack")}
        until(lambda: told <= events(cluster), seen=lambda: events(cluster))
        labels = f'cause="WorkerScaleLost",namespace="{SIM[0]}",worker_scale="{SIM_WORKERS[1]}"'
        counted = f"kueue_gpu_scaler_hold_breaches_total{{{labels}}} 1.0"
        until(lambda: counted in running.get("/metrics")[1])


def test_a_write_that_is_forbidden_is_told_in_ready_until_it_is_allowed(
    cluster: Furnished,
) -> None:
    """Whoever waits on the condition reads which right is missing; nothing is lost by it."""
    idle(cluster)
    cluster.cluster.api.faults.unwritable.add("rayclusters")
    before = workload(cluster)
    with actuating(cluster) as running:
        running.until("Running")
        want(cluster, 0)
        running.until("Holding")
        until(lambda: ready(cluster)[:2] == ("False", "Forbidden"), seen=lambda: ready(cluster))
        named = f"may not patch rayclusters.ray.io in namespace {SIM[0]}: 403: "
        assert ready(cluster)[2].startswith(named)
        told = {("WorkerScale", "WriteRefused"), ("RayCluster", "WriteRefused")}
        until(lambda: told <= events(cluster), seen=lambda: events(cluster))
        assert workers(cluster) == WORKERS
    cluster.cluster.api.faults.unwritable.clear()
    with actuating(cluster) as running:
        running.until("Held")
        until(lambda: ready(cluster)[0] == "True", seen=lambda: ready(cluster))
    assert workers(cluster) == 0
    assert workload(cluster) == before


def test_the_next_actuator_goes_on_where_the_last_one_ended(cluster: Furnished) -> None:
    """All that it needs to know is in the cluster, and the Lease was given back."""
    idle(cluster)
    with actuating(cluster) as running:
        running.until("Running")
        want(cluster, 0)
        running.until("Held")
    lease = cluster.cluster.objects.get(LEASES, LEASE)
    assert lease is not None
    assert lease["spec"]["holderIdentity"] == ""
    want(cluster, WORKERS)
    with actuating(cluster) as running:
        running.until("Running")
    assert workers(cluster) == WORKERS


def test_a_follower_is_ready_too(cluster: Furnished) -> None:
    """Ready means that it could act; the Lease says whether it does."""
    with actuating(cluster) as leader:
        leader.until("Running")
        with actuating(cluster) as follower:
            until(lambda: follower.get("/readyz")[0] == 200, seen=lambda: follower.get("/readyz"))
            assert "kueue_gpu_scaler_leader 0.0" in follower.get("/metrics")[1]
        assert "kueue_gpu_scaler_leader 1.0" in leader.get("/metrics")[1]
        decisions = json.loads(leader.get("/decisions")[1])["decisions"]
        assert "sim-workers" in {each["name"] for each in decisions}
        assert leader.get("/healthz")[0] == 200
