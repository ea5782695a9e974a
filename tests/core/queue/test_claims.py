"""Claims: which ScaledObject sizes a pool."""

import pytest

from scaler.core.model import TriggerSpec
from scaler.core.queue.claims import claim_of, owner_of, sizes_pool
from scaler.core.trigger import QueueTrigger, Scope, Unit
from tests.builders import NOW, make_scaled_object, make_snapshot
from tests.core.queue_fixture import NODES, make_sizer


def test_the_oldest_that_is_not_paused_owns_a_pool() -> None:
    """A paused or deleted ScaledObject owns nothing: KEDA does not ask for it."""
    paused = make_sizer(name="paused", created=NOW - 900, paused=True)
    leaving = make_scaled_object(name="leaving", created=NOW - 800, metadata=NODES, deleting=True)
    old, young = make_sizer(name="old", created=NOW - 500), make_sizer(name="a", created=NOW)
    snapshot = make_snapshot(scaled_objects=[young, paused, leaving, old])
    assert owner_of(snapshot, "gpu") == old
    assert owner_of(snapshot, "other") is None


@pytest.mark.parametrize(
    ("type_", "want"), [("external", True), ("external-push", True), ("prometheus", False)]
)
def test_only_external_triggers_are_ours(type_: str, want: bool) -> None:  # noqa: FBT001 -- a table's column
    """A trigger of another scaler may use the same words."""
    spec = TriggerSpec(type=type_, metadata=tuple(NODES.items()))
    other = TriggerSpec(type="cron", metadata=(("timezone", "UTC"),))
    scaled_object = make_scaled_object(triggers=(other, spec))
    assert (claim_of(scaled_object, "gpu") is not None) is want


@pytest.mark.parametrize(
    ("unit", "scope", "want"),
    [
        (Unit.NODES, Scope.TOTAL, True),
        (Unit.NODES, Scope.PENDING, False),
        (Unit.GPUS, Scope.TOTAL, False),
        (Unit.WORKLOADS, Scope.PENDING, False),
    ],
)
def test_only_a_total_of_nodes_sizes_a_pool(unit: Unit, scope: Scope, want: bool) -> None:  # noqa: FBT001 -- a table's column
    """All else may be asked by anybody."""
    trigger = QueueTrigger(cluster_queues=("gpu-cq",), pool="gpu", unit=unit, scope=scope)
    assert sizes_pool(trigger) is want
