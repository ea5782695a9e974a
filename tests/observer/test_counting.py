"""What is counted as it passes by."""

from scaler.core.decision import Decision, Status
from scaler.core.model import Kind, SourceState
from scaler.core.policy import Policy
from scaler.core.reasons import Reason
from scaler.core.snapshot import Snapshot
from scaler.core.trigger import Problem, TriggerRef
from scaler.observer.counting import ChangeLog, CountingInbox
from scaler.policyfile import PolicyState
from scaler.store import Store
from scaler.telemetry import Telemetry
from tests.builders import NOW

GOOD = PolicyState(policy=Policy())
BAD = PolicyState(policy=Policy(), problems=(Problem(path="x", value="1", allowed="nothing"),))
OTHER = PolicyState(policy=Policy(), problems=(Problem(path="y", value="2", allowed="nothing"),))


def test_each_refused_policy_is_counted_once_however_often_it_is_published() -> None:
    """A10: five publications, two of them with a new bad content."""
    telemetry = Telemetry()
    store = Store(policy=GOOD, at=NOW)
    store.listen(ChangeLog(telemetry))
    for policy in (GOOD, BAD, BAD, OTHER, GOOD):
        store.publish(snapshot=Snapshot(at=NOW), policy=policy, decisions={}, changed=frozenset())
    assert telemetry.registry.get_sample_value("kueue_gpu_scaler_policy_refused_total") == 2.0


def test_only_a_dry_run_would_have_scaled_to_zero() -> None:
    """An idle workload that does go is no saving missed; one in a dry run is, once per rest."""
    telemetry = Telemetry()
    ref = TriggerRef.of(namespace="ml", name="llm", metadata={"signal": "idle"})
    store = Store(policy=GOOD, at=NOW)
    store.listen(ChangeLog(telemetry))
    for reason in (Reason.IDLE, Reason.DRY_RUN, Reason.DRY_RUN, Reason.BUSY, Reason.DRY_RUN):
        decision = Decision(
            namespace="ml",
            name="llm",
            metric="m",
            status=Status.OK,
            active=reason is not Reason.IDLE,
            value=1,
            reason=reason,
            detail="",
            at=NOW,
        )
        store.publish(
            snapshot=Snapshot(at=NOW),
            policy=GOOD,
            decisions={ref: decision},
            changed=frozenset({ref}),
        )
    count = telemetry.registry.get_sample_value(
        "kueue_gpu_scaler_dry_run_would_have_scaled_to_zero_total",
        {"namespace": "ml", "scaled_object": "llm"},
    )
    assert count == 2.0


def test_a_scaled_object_that_is_gone_leaves_no_series_behind() -> None:
    """One a job would else fill Prometheus; an edited trigger goes on counting."""
    telemetry = Telemetry()
    store = Store(policy=GOOD, at=NOW)
    store.listen(ChangeLog(telemetry))
    before, edited, other = (
        TriggerRef.of(namespace="ml", name=name, metadata={"signal": "idle", "idleAfter": after})
        for name, after in (("llm", "5m"), ("llm", "6m"), ("job", "5m"))
    )
    for refs in ({before, other}, {edited, other}, {edited}):
        decisions = {ref: dry(ref) for ref in refs}
        store.publish(
            snapshot=Snapshot(at=NOW),
            policy=GOOD,
            decisions=decisions,
            changed=frozenset(refs),
        )
    counts = {
        sample.labels["scaled_object"]: sample.value
        for family in telemetry.registry.collect()
        for sample in family.samples
        if sample.name == "kueue_gpu_scaler_dry_run_would_have_scaled_to_zero_total"
    }
    assert counts == {"llm": 2.0}


def dry(ref: TriggerRef) -> Decision:
    """Decide for a dry run of an idle workload."""
    return Decision(
        namespace=ref.namespace,
        name=ref.name,
        metric="m",
        status=Status.OK,
        active=True,
        value=1,
        reason=Reason.DRY_RUN,
        detail="",
        at=NOW,
    )


def test_a_malformed_object_is_counted_once_however_it_comes() -> None:
    """Two in a list, the list again, a third by the watch, one mended, and one more."""
    telemetry = Telemetry()
    inbox = CountingInbox(telemetry)
    for skipped in (2, 2, 3, 2, 3):
        inbox.state(Kind.PODS, SourceState(synced=True, last_alive=NOW, skipped=skipped))
    count = telemetry.registry.get_sample_value(
        "kueue_gpu_scaler_skipped_objects_total", {"kind": "pods"}
    )
    assert count == 4.0
