"""One line a change of decision, with what was before and why; none a poll."""

import asyncio
import io
import json
from dataclasses import replace

import pytest

from scaler import log
from scaler.core.decide import decide
from scaler.core.decision import Decision
from scaler.core.policy import Policy
from scaler.core.snapshot import Snapshot
from scaler.core.trigger import TriggerRef
from scaler.observer.counting import ChangeLog
from scaler.observer.observer import differs
from scaler.pb import externalscaler_pb2 as pb
from scaler.policyfile import PolicyState
from scaler.rpc.servicer import Servicer
from scaler.rpc.watches import Watches
from scaler.store import Store
from scaler.telemetry import Telemetry
from tests.builders import NOW
from tests.core.idle_fixture import METADATA, cluster, usage_of, util
from tests.core.idle_fixture import POLICY as IDLE_POLICY
from tests.core.queue_fixture import NODES, POLICY, make_cluster, make_jobs

REF = TriggerRef.of(namespace="ml", name="so", metadata=NODES)
RESTING = TriggerRef.of(namespace="ml", name="so", metadata=METADATA)
MALFORMED = {**NODES, "unit": "boxes", "apiToken": "sesame-open"}


class Logged:
    """A store whose changes are logged, and what was."""

    def __init__(self, stream: io.StringIO) -> None:
        self.stream = stream
        self.telemetry = Telemetry()
        self.store = Store(policy=PolicyState(policy=Policy()), at=NOW)
        self.store.listen(ChangeLog(self.telemetry))
        self.decisions: dict[TriggerRef, Decision] = {}

    def see(self, ref: TriggerRef, snapshot: Snapshot, policy: Policy = POLICY) -> Decision:
        """Decide as the observer does: only what differs is a change."""
        decision = decide(snapshot=snapshot, ref=ref, policy=policy, now=snapshot.at)
        news = differs(self.decisions.get(ref), decision)
        self.decisions = {**self.decisions, ref: decision}
        self.store.publish(
            snapshot=snapshot,
            policy=PolicyState(policy=policy),
            decisions=self.decisions,
            changed=frozenset({ref}) if news else frozenset(),
        )
        return decision

    def lines(self) -> list[dict[str, object]]:
        """Give what was logged since the last call."""
        found = [json.loads(line) for line in self.stream.getvalue().splitlines()]
        self.stream.seek(0)
        self.stream.truncate()
        return found


@pytest.fixture
def logged() -> Logged:
    """Log into memory."""
    stream = io.StringIO()
    log.configure(stream=stream, verbose=True)
    return Logged(stream)


def test_a_change_is_one_line_with_before_after_reason_and_evidence(logged: Logged) -> None:
    """A platform engineer greps for the trigger and reads why."""
    logged.see(REF, make_cluster())
    logged.lines()
    logged.see(REF, make_cluster(*make_jobs(2)))
    (line,) = logged.lines()
    assert (line["event"], line["namespace"], line["scaled_object"]) == ("decided", "ml", "so")
    assert line["trigger"] == "clusterQueue=gpu-cq pool=gpu signal=queue"
    assert (line["value_before"], line["value"]) == (0, 2)
    assert (line["reason_before"], line["reason"]) == ("NoDemand", "Demand")
    assert str(line["detail"]).startswith("2 Workloads (2 pods) in pool gpu: 2 need 2 new nodes")
    assert line["evidence"] == {
        "classes": {"gpu-cq/J": 2},
        "pool": "gpu",
        "new": 2,
        "usable": 0,
        "coming": 0,
        "broken": 0,
        "max_nodes": 10,
    }


def test_the_first_decision_has_nothing_before_it(logged: Logged) -> None:
    """And neither has one that was forgotten in between."""
    logged.see(REF, make_cluster())
    (line,) = logged.lines()
    assert (line["value_before"], line["reason_before"]) == (None, None)
    logged.decisions = {}
    logged.see(RESTING, cluster(), IDLE_POLICY)
    logged.see(REF, make_cluster())
    assert logged.lines()[-1]["reason_before"] is None


def test_an_idle_trigger_s_line_has_what_its_gpus_did(logged: Logged) -> None:
    """The peak, and for how long it rested."""
    logged.see(RESTING, cluster(usage=usage_of(util("w-0", 0, 60))), IDLE_POLICY)
    (line,) = logged.lines()
    assert line["evidence"] == {
        "workload": "Deployment/workers",
        "verdict": "BUSY",
        "pods": 1,
        "gpus": 1,
        "idle_seconds": None,
        "peak_percent": 60.0,
    }


def test_a_decision_that_stays_is_no_line_however_often_it_is_made(logged: Logged) -> None:
    """A thousand ticks, with a later time each."""
    logged.see(REF, make_cluster(*make_jobs(2)))
    logged.lines()
    for second in range(1000):
        logged.see(REF, replace(make_cluster(*make_jobs(2)), at=NOW + second / 10))
    assert logged.lines() == []


class Refused(Exception):  # noqa: N818 # what a servicer's abort raises
    """A call that was ended with an error."""


class Context:
    """As far as the servicer uses it."""

    async def abort(self, code: object, details: str) -> None:
        """End the call."""
        raise Refused(f"{code} {details}")


def test_a_burst_of_1000_polls_logs_nothing(logged: Logged) -> None:
    """GetMetricSpec, IsActive and GetMetrics; of a malformed trigger one line in all."""
    decision = logged.see(REF, make_cluster(*make_jobs(2)))
    logged.lines()
    asyncio.run(_poll(logged, decision, NODES))
    assert logged.lines() == []
    asyncio.run(_poll(logged, decision, MALFORMED))
    (line,) = logged.lines()
    assert line["event"] == "trigger refused"
    assert "unit: 'boxes' is not allowed" in str(line["problems"])


async def _poll(logged: Logged, decision: Decision, metadata: dict[str, str]) -> None:
    servicer = Servicer(
        store=logged.store,
        watches=Watches(logged.store),
        clock=lambda: NOW,
        decide=lambda _: decision,
        telemetry=logged.telemetry,
    )
    ref = pb.ScaledObjectRef(namespace="ml", name="so", scalerMetadata=metadata)
    for _ in range(1000):
        for call in (
            servicer.GetMetricSpec(ref, Context()),  # type: ignore[arg-type] # the part that is used
            servicer.IsActive(ref, Context()),  # type: ignore[arg-type] # same
            servicer.GetMetrics(pb.GetMetricsRequest(scaledObjectRef=ref), Context()),  # type: ignore[arg-type] # same
        ):
            try:
                await call
            except Refused:
                continue


def test_a_credential_in_a_trigger_s_metadata_is_never_shown(logged: Logged) -> None:
    """It was meant for another scaler; its key is named, its value is not."""
    ref = TriggerRef.of(namespace="ml", name="so", metadata=MALFORMED)
    decision = logged.see(ref, make_cluster())
    assert any(problem.startswith("apiToken: ") for problem in decision.problems)
    said = f"{decision} {logged.lines()}".replace(str(ref), "")
    assert "apiToken" in said
    assert "sesame-open" not in said


def test_a_key_of_tls_is_not_logged_of_a_trigger_that_is_right_either(logged: Logged) -> None:
    """KEDA passes on what a trigger has: such keys are allowed, and their values for nobody."""
    metadata = {**NODES, "scalerAddress": "scaler:6000", "tlsClientKey": "MIIEsesame"}
    ref = TriggerRef.of(namespace="ml", name="so", metadata=metadata)
    decision = logged.see(ref, make_cluster())
    (line,) = logged.lines()
    assert decision.problems == ()
    assert "scalerAddress=scaler:6000" in str(line["trigger"])
    assert str(line["trigger"]).split()[-1] == "tlsClientKey"
    assert "sesame" not in str(line)
