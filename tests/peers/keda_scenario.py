"""What KEDA's own client sees of our service, from creation to a restart in mid-stream."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from scaler.core.model import Kind
from scaler.sim.cluster import Cluster
from tests.peers.keda_client import PATIENCE, Asked, Event, KedaClient, Poll
from tests.peers.served import POOL, TEAM, Service, serving, waiting_workload
from tests.report import Report

DEMAND = {"signal": "queue", "clusterQueue": TEAM, "unit": "gpus"}
NODES = {"signal": "queue", "clusterQueue": TEAM, "pool": POOL}
LOST = {"signal": "queue", "clusterQueue": "nowhere", "unit": "gpus"}
MALFORMED = {"signal": "queue", "clusterQueue": TEAM, "unit": "boxes", "gpuPerNode": "8"}
RECONNECT = 2_000_000_000
"""Nanoseconds of KEDA's shortest back-off: what a stream that ended with OK gets."""


def run(report: Report, *, program: Path) -> None:
    """Play it."""
    with serving() as (cluster, service), KedaClient(program) as client:
        scene = Scene(report=report, cluster=cluster, service=service, client=client)
        scene.creation()
        scene.nodes()
        scene.hold()
        scene.malformed()
        scene.push()
        scene.restart()
        scene.no_false()


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """The parts on stage."""

    report: Report
    cluster: Cluster
    service: Service
    client: KedaClient

    def creation(self) -> None:
        """Ask for the metric of a new ScaledObject, then for its value."""
        first, again = self._poll("sized", DEMAND), self._poll("sized", DEMAND)
        self._check("GetMetricSpec gives one spec with target 1", _one_spec(first), first)
        self._check("and the same one ever after", first.specs == again.specs, again)
        quiet = again.code == "OK" and not again.active and again.values == (0.0,)
        self._check("no demand: inactive, value 0", quiet, again)
        self._submit("first", pods=3, gpus=4)
        busy = self._poll_until("sized", DEMAND, value=12.0)
        self._check("12 GPUs wait: active, value 12", busy.active, busy)
        self.cluster.objects.delete(Kind.WORKLOADS, (TEAM, "first"))
        gone = self._poll_until("sized", DEMAND, value=0.0)
        self._check("none wait any more: inactive, value 0", not gone.active, gone)

    def nodes(self) -> None:
        """Ask for a node pool: its size now, and the nodes that the work needs beyond."""
        before = self._poll_until("pool", NODES, value=1.0)
        self._check("the pool has one node and nothing waits: its size", before.active, before)
        self._submit("gang", pods=3, gpus=8)
        self._poll_until("pool", NODES, value=3.0)
        self.cluster.objects.delete(Kind.WORKLOADS, (TEAM, "gang"))
        after = self._poll_until("pool", NODES, value=1.0)
        self._check("the work is gone: never below its size", after.active, after)

    def hold(self) -> None:
        """Ask what is not known: for a target with pods, then for one at zero."""
        running, stopped = self._poll("running", LOST), self._poll("stopped", LOST)
        held = (running.code, running.active, running.values) == ("OK", True, ())
        self._check("HOLD with replicas: active, without a value", held, running)
        self._check("HOLD at zero: UNAVAILABLE", stopped.code == "Unavailable", stopped)
        self._check("both keep their spec", _one_spec(running) and _one_spec(stopped), stopped)

    def malformed(self) -> None:
        """Ask with bad metadata: KEDA then builds no HPA, and its log says why."""
        since = self.client.mark()
        poll = self._poll("sized", MALFORMED)
        said = self.client.wait(
            lambda event: "code = InvalidArgument" in _error(event), since=since
        )
        self._check("malformed metadata: no spec", poll.specs == (), poll)
        named = said is not None and all(key in _error(said) for key in ("unit", "gpuPerNode"))
        self._check("INVALID_ARGUMENT that names every bad key", named, said)

    def push(self) -> None:
        """Watch the streams over two edges up and one down."""
        key = self.client.watch(_asked("sized", DEMAND), address=self.service.address)
        specs = self.client.wait(lambda event: _is(event, key, "specs"))
        same = specs is not None and _names(specs) == self._poll("sized", DEMAND).specs
        self._check("StreamMetricSpec gives the polled spec at once", same, specs)
        for edge in ("second", "third"):
            since, began = self.client.mark(), time.monotonic()
            self._submit(edge, pods=1, gpus=8)
            pushed = self.client.wait(lambda event: _is(event, key, "push"), since=since)
            took = f"{(time.monotonic() - began) * 1000:.0f} ms"
            self._check(f"a {edge} Workload waits: true is pushed", _true(pushed), pushed, took)
            self.cluster.objects.delete(Kind.WORKLOADS, (TEAM, edge))
            quiet = self._poll_until("sized", DEMAND, value=0.0)
            self._check("it is gone: told by polls", not quiet.active, quiet)

    def restart(self) -> None:
        """End our service under an open stream, and start it again."""
        self._submit("fourth", pods=2, gpus=8)
        self._poll_until("sized", DEMAND, value=16.0)
        since = self.client.mark()
        code = self.service.stop()
        self._check("SIGTERM: exit code 0", code == 0, code)
        ended = self.client.wait(lambda event: "retry backoff" in _message(event), since=since)
        clean = ended is not None and ended["log"].get("duration") in {RECONNECT, "2s"}
        self._check("the stream ended with OK: KEDA comes back in 2 s", clean, ended)
        self.service.start()
        back = self.client.wait(lambda event: event["event"] == "push", since=since)
        gap = "" if ended is None or back is None else f"{back['seconds'] - ended['seconds']:.1f} s"
        self._check("it is back and hears that there is demand", _true(back), back, gap)
        poll = self._poll_until("sized", DEMAND, value=16.0)
        self._check("polls go on with the same spec and value", _one_spec(poll), poll)

    def no_false(self) -> None:
        """Look back: inactivity is told by polls alone."""
        false = [e for e in self.client.events if e["event"] == "push" and not e["active"]]
        self._check("false was never pushed", not false, false)

    def _submit(self, name: str, *, pods: int, gpus: int) -> None:
        self.cluster.apply(Kind.WORKLOADS, waiting_workload(name, pods=pods, gpus=gpus))

    def _poll(self, name: str, metadata: Mapping[str, str]) -> Poll:
        return self.client.poll(_asked(name, metadata), address=self.service.address)

    def _poll_until(self, name: str, metadata: Mapping[str, str], *, value: float) -> Poll:
        """Poll until the value is told; give the last answer either way."""
        poll = self._poll(name, metadata)
        for _ in range(int(PATIENCE / 0.1)):
            if poll.values == (value,):
                break
            self.client.wait(lambda _: False, patience=0.1)
            poll = self._poll(name, metadata)
        self._check(f"the value becomes {value:.0f}", poll.values == (value,), poll)
        return poll

    def _check(self, what: str, ok: bool, found: object, measured: str = "") -> None:  # noqa: FBT001 - a verdict
        self.report.check(what, ok=ok, found=found, measured=measured)


def _asked(name: str, metadata: Mapping[str, str]) -> Asked:
    return Asked(namespace=TEAM, name=name, metadata=metadata)


def _one_spec(poll: Poll) -> bool:
    return len(poll.specs) == 1 and poll.specs[0][0].startswith("s0-") and poll.specs[0][1] == "1"


def _is(event: Event, key: str, kind: str) -> bool:
    return event.get("id") == key and event["event"] == kind


def _true(event: Event | None) -> bool:
    return event is not None and event.get("active") is True


def _names(event: Event) -> tuple[tuple[str, str], ...]:
    return tuple((spec["name"], spec["average"]) for spec in event["specs"])


def _message(event: Event) -> str:
    return str(event.get("log", {}).get("msg", ""))


def _error(event: Event) -> str:
    return str(event.get("log", {}).get("error", ""))
