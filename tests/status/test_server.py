"""What people, probes and Prometheus get over HTTP."""

import json
import urllib.error
import urllib.request
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from scaler.core.decision import (
    ClassCount,
    Decision,
    IdleEvidence,
    PoolEvidence,
    QueueEvidence,
    Status,
    Verdict,
)
from scaler.core.model import Kind, SourceState
from scaler.core.policy import Policy
from scaler.core.reasons import Reason
from scaler.core.snapshot import Snapshot
from scaler.core.trigger import Problem, TriggerRef
from scaler.core.usage import Usage, UsageKey
from scaler.policyfile import PolicyState
from scaler.settings import Address
from scaler.status.health import EVERY_KIND, SYNCED_ONCE
from scaler.status.metrics import register
from scaler.status.server import StatusServer
from scaler.store import Store
from scaler.telemetry import Telemetry
from tests.builders import NOW

ALIVE = {kind: SourceState(synced=True, last_alive=NOW - 7) for kind in Kind}
OK = {"code": "OK", "isActive": True, "getMetricSpec": "OK"}
KEY = UsageKey(window_seconds=1800.0, busy_from_percent=1.0)


def make_decision(name: str = "so", **changes: Any) -> Decision:  # noqa: ANN401 - any field of a Decision
    """Build a Decision; every field can be said."""
    fields: dict[str, Any] = {
        "namespace": "ml",
        "name": name,
        "metric": "kueue-queue",
        "status": Status.OK,
        "active": True,
        "value": 3,
        "reason": Reason.DEMAND,
        "detail": "2 more nodes are needed",
        "at": NOW,
        "size": 1,
    }
    return Decision(**(fields | changes))


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A running status port and the store behind it."""

    store: Store
    server: StatusServer

    def publish(
        self,
        *decisions: Decision,
        sources: Mapping[Kind, SourceState] = ALIVE,
        **parts: Any,  # noqa: ANN401 - any part of a Snapshot
    ) -> None:
        """Publish decisions on top of a Snapshot with these sources."""
        self.store.publish(
            snapshot=Snapshot(at=NOW, sources=sources, **parts),
            policy=self.store.latest().policy,
            decisions={
                TriggerRef.of(namespace=d.namespace, name=d.name, metadata={}): d for d in decisions
            },
            changed=frozenset(),
        )

    def get(self, path: str) -> tuple[int, str, str]:
        """Give status, content type and body."""
        url = f"http://127.0.0.1:{self.server.port}{path}"
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:
                return answer.status, answer.headers["Content-Type"], answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.headers["Content-Type"], error.read().decode()

    def samples(self) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
        """Give /metrics by name and labels."""
        _, _, text = self.get("/metrics")
        return {
            (sample.name, tuple(sorted(sample.labels.items()))): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        }


@contextmanager
def serving(
    policy: PolicyState | None = None,
    *,
    needed: tuple[Kind, ...] = SYNCED_ONCE,
    reads: Collection[Kind] = EVERY_KIND,
    decisions: bool = True,
) -> Iterator[Served]:
    """Run a status port on a free port, with nothing published yet."""
    store = Store(policy=policy or PolicyState(policy=Policy()), at=NOW)
    telemetry = Telemetry()
    server = StatusServer(
        store=store,
        registry=register(telemetry=telemetry, store=store, clock=lambda: NOW, decisions=decisions),
        clock=lambda: NOW,
        address=Address(host="127.0.0.1", port=0),
        needed=needed,
        reads=reads,
    )
    server.start()
    try:
        yield Served(store=store, server=server)
    finally:
        server.stop()


def test_another_process_waits_for_other_kinds() -> None:
    """What one needs to be useful depends on what it does."""
    with serving(needed=(Kind.WORKER_SCALES,)) as served:
        status, _, body = served.get("/readyz")
        assert (status, json.loads(body)["waitingFor"]) == (503, ["workerscales"])


def test_a_process_that_shares_its_decisions_with_others_shows_none_in_metrics() -> None:
    """Sums over all processes would count them twice."""
    with serving(decisions=False) as served:
        served.publish(make_decision())
        names = {name for name, _ in served.samples()}
        assert "kueue_gpu_scaler_policy_reload_ok" in names
        assert names.isdisjoint(
            {"kueue_gpu_scaler_decision_value", "kueue_gpu_scaler_decision_reason"}
        )


def test_it_is_not_ready_before_sizes_have_synced_once() -> None:
    """HOLD can't tell its two faces apart before."""
    with serving() as served:
        status, _, body = served.get("/readyz")
        assert status == 503
        assert set(json.loads(body)["waitingFor"]) == {
            "scaledobjects",
            "deployments",
            "statefulsets",
            "horizontalpodautoscalers",
        }


def test_a_source_that_is_down_keeps_it_ready_and_is_named() -> None:
    """A08, P04: no endpoint would be an error to KEDA; HOLD is none."""
    denied = SourceState(synced=False, problem="403 on list workloads.kueue.x-k8s.io")
    with serving() as served:
        served.publish()
        served.publish(
            sources={**ALIVE, Kind.WORKLOADS: denied, Kind.HPAS: denied},
            usage={KEY: Usage(key=KEY, at=NOW, problem="503 while the WAL is replayed")},
        )
        status, _, body = served.get("/readyz")
        details = " ".join(json.loads(body)["details"])
        assert status == 200
        assert "workloads: 403 on list workloads.kueue.x-k8s.io" in details
        assert "prometheus: 503 while the WAL is replayed" in details


def test_a_kind_that_is_not_served_keeps_nobody_waiting() -> None:
    """A06: KEDA's or Kueue's definitions may come later."""
    absent = SourceState(synced=False, installed=False, problem="not served")
    with serving() as served:
        served.publish(sources={**ALIVE, Kind.SCALED_OBJECTS: absent})
        assert served.get("/readyz")[0] == 200


def test_a_kind_that_the_process_does_not_read_is_not_missed() -> None:
    """`serve` has no use for some that `actuate` reads."""
    with serving(reads=(Kind.PODS,)) as served:
        served.publish(sources={})
        assert json.loads(served.get("/readyz")[2])["details"] == ["pods: not started"]


def test_a_stale_watch_is_named() -> None:
    """A03: it shows before and while it makes HOLD."""
    old = SourceState(synced=True, last_alive=NOW - 301)
    with serving() as served:
        served.publish(sources={**ALIVE, Kind.NODES: old})
        assert "nodes: no sign of life for over 300 s" in served.get("/readyz")[2]


def test_draining_is_unready_and_still_answers() -> None:
    """Endpoints follow readiness; the last polls must not fail."""
    with serving() as served:
        served.publish(make_decision())
        served.server.drain()
        status, _, body = served.get("/readyz")
        assert (status, json.loads(body)["status"]) == (503, "stopping")
        assert served.get("/decisions")[0] == 200
        assert served.get("/healthz")[0] == 200


def test_a_refused_policy_shows_in_readiness_decisions_and_metrics() -> None:
    """A10: the last good one stays in force, and nobody has to read logs to see it."""
    problem = Problem(path="defaults.idle_time", value="5", allowed="known keys are")
    with serving(PolicyState(policy=Policy(), problems=(problem,), hot=True)) as served:
        served.publish()
        assert "defaults.idle_time" in served.get("/readyz")[2]
        body = json.loads(served.get("/decisions")[2])
        assert body["policyOk"] is False
        assert "defaults.idle_time" in body["policyProblems"][0]
        assert served.samples()[("kueue_gpu_scaler_policy_reload_ok", ())] == 0.0


def test_a_decision_is_shown_with_what_keda_gets() -> None:
    """The page, /decisions and explain print the same Decision."""
    queue = QueueEvidence(
        classes=(ClassCount(cluster_queue="cq", workload_class="B", workloads=2, gpus=16),),
        pool=PoolEvidence(
            pool="gpu",
            present=1,
            usable=1,
            coming=0,
            broken=0,
            new=2,
            empty=0,
            spare=0,
            max_nodes=10,
            size=1,
        ),
    )
    with serving() as served:
        served.publish(make_decision(queue=queue))
        (shown,) = json.loads(served.get("/decisions")[2])["decisions"]
    assert (shown["status"], shown["active"], shown["value"]) == ("OK", True, 3)
    assert shown["reason"] == "Demand"
    assert shown["evidence"]["queue"]["pool"]["new"] == 2
    assert shown["answer"] == {
        "code": "OK",
        "isActive": True,
        "metricValues": [3],
        "getMetricSpec": "OK",
    }


def test_hold_is_shown_as_what_it_is() -> None:
    """KEDA shows HOLD as healthy, so it has to be seen here."""
    hold = make_decision(
        status=Status.HOLD, active=None, value=None, running=True, reason=Reason.PROMETHEUS_FAILED
    )
    with serving() as served:
        served.publish(hold)
        (shown,) = json.loads(served.get("/decisions")[2])["decisions"]
        samples = served.samples()
    assert shown["answer"] == {
        "code": "OK",
        "isActive": True,
        "metricValues": [],
        "getMetricSpec": "OK",
    }
    labels = {"namespace": "ml", "scaled_object": "so", "metric": "kueue-queue"}
    held = tuple(sorted((labels | {"reason": "PrometheusFailed"}).items()))
    assert samples[("kueue_gpu_scaler_hold", held)] == 1.0
    values = [name for name, _ in samples if name == "kueue_gpu_scaler_decision_value"]
    assert values == []


def test_metrics_hold_what_alerts_need() -> None:
    """Values with reasons, idle seconds, demand by class, pools, ages, the policy."""
    idle = IdleEvidence(
        workload="Deployment/llm",
        component="main",
        verdict=Verdict.IDLE,
        idle_seconds=1860.0,
    )
    queue = QueueEvidence(
        classes=(ClassCount(cluster_queue="cq", workload_class="D", workloads=4, gpus=8),)
    )
    with serving() as served:
        served.publish(make_decision("a", queue=queue), make_decision("b", queue=queue, idle=idle))
        samples = served.samples()
    names = {name.removeprefix("kueue_gpu_scaler_") for name, _ in samples}
    assert {
        "decision_value",
        "decision_reason",
        "idle_seconds",
        "dry_run_would_be_idle",
        "workloads",
        "workload_gpus",
        "source_age_seconds",
        "source_up",
        "policy_hot_reload",
        "target_size",
        "policy_loaded_timestamp_seconds",
        "open_streams",
    } <= names
    demand = (("class", "D"), ("cluster_queue", "cq"))
    assert samples[("kueue_gpu_scaler_workloads", demand)] == 4.0
    would = [value for (name, _), value in samples.items() if name.endswith("would_be_idle")]
    assert would == [0.0], "no dry run is in force"
    assert samples[("kueue_gpu_scaler_source_age_seconds", (("source", "pods"),))] == 7.0


def test_an_unknown_path_says_what_there_is() -> None:
    """A typo is answered with the way on."""
    with serving() as served:
        status, _, body = served.get("/metric")
        assert status == 404
        assert "/metrics" in body


def test_a_port_in_use_is_one_sentence() -> None:
    """No traceback for a person who starts a second one."""
    with serving() as served, pytest.raises(OSError, match="is the port in use"):
        StatusServer(
            store=served.store,
            registry=Telemetry().registry,
            clock=lambda: NOW,
            address=Address(host="127.0.0.1", port=served.server.port),
        )
