"""No series is told twice on one page, whatever triggers share a name."""

from dataclasses import replace

from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from scaler.core.decision import Decision, Status
from scaler.core.policy import Policy
from scaler.core.reasons import Reason
from scaler.core.trigger import TriggerRef
from scaler.observer.observer import refs_of
from scaler.policyfile import PolicyState
from scaler.status.metrics import register
from scaler.store import Store
from scaler.telemetry import Telemetry
from tests.builders import NOW, make_scaled_object, make_snapshot


def decision(value: int) -> Decision:
    """Build a Decision of one and the same trigger name."""
    return Decision(
        namespace="ml",
        name="so",
        metric="kueue-queue",
        status=Status.OK,
        active=True,
        value=value,
        reason=Reason.DEMAND,
        detail="",
        at=NOW,
    )


def test_of_two_triggers_with_one_name_the_one_in_force_is_told() -> None:
    """After an edit of scalerAddress the old metadata is decided for a while longer."""
    store = Store(policy=PolicyState(policy=Policy()), at=NOW)
    snapshot = make_snapshot(scaled_objects=[make_scaled_object(metadata={"signal": "queue"})])
    (in_force,) = refs_of(snapshot)
    old = replace(in_force, metadata=frozenset({("signal", "queue"), ("scalerAddress", "old")}))
    strange = TriggerRef.of(namespace='a"b\n', name="\\", metadata={})
    odd = replace(decision(0), namespace='a"b\n', name="\\")
    store.publish(
        snapshot=snapshot,
        policy=store.latest().policy,
        decisions={old: decision(1), strange: odd, in_force: decision(2)},
        changed=frozenset(),
    )
    page = generate_latest(register(telemetry=Telemetry(), store=store, clock=lambda: NOW))
    families = list(text_string_to_metric_families(page.decode()))
    values = [
        (sample.labels["scaled_object"], sample.value)
        for family in families
        for sample in family.samples
        if sample.name == "kueue_gpu_scaler_decision_value"
    ]
    assert sorted(values) == [("\\", 0.0), ("so", 2.0)]
