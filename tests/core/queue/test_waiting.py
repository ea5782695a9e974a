"""Waiting: what is summed up for the reason of a queue signal."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from scaler.core.metadata import parse
from scaler.core.queue.nodes import QueueQuestion
from scaler.core.queue.reason import Waiting
from scaler.core.queue.waiting import demand_of, waiting_of
from scaler.core.reasons import WorkloadClass
from scaler.core.size import Size
from scaler.core.snapshot import Snapshot
from scaler.core.trigger import QueueTrigger, TriggerRef
from tests.builders import NOW, make_pod_set, make_shape, make_workload
from tests.core.queue_fixture import GPUS, POLICY, make_cluster, make_jobs


def _waiting(snapshot: Snapshot, *, value: int = 0, size: int | None = 1, **keys: str) -> Waiting:
    metadata: Mapping[str, str] = {**GPUS, **keys}
    trigger = parse(metadata)
    assert isinstance(trigger, QueueTrigger)
    question = QueueQuestion(
        snapshot=snapshot,
        ref=TriggerRef.of(namespace="ml", name="so", metadata=metadata),
        trigger=trigger,
        policy=POLICY,
        now=NOW,
        scaled_object=snapshot.scaled_objects[("ml", "so")],
        size=Size(value=size, running=True, detail=""),
    )
    found = demand_of(question, flavor=trigger.flavor)
    return waiting_of(question, found, value=value, nodes=None)


def test_what_makes_demand_and_what_waits_for_quota() -> None:
    """Of five jobs two find quota, three wait for it."""
    got = _waiting(make_cluster(*make_jobs(5), quota=16))
    assert (got.workloads, got.for_quota, got.delayed) == (2, 3, 0)


def test_a_place_that_quota_is_no_longer_free_for_waits_for_quota() -> None:
    """Kueue last said that it lacks nodes, before another got the quota; that would go unsaid."""
    holds = make_workload(name="holds", gpus=8, admitted=True, reserved=True)
    lacks = make_workload(name="lacks", gpus=8, standing=WorkloadClass.TOPOLOGY)
    snapshot = make_cluster(replace(holds, reserved_at=NOW - 1), lacks, quota=8)
    got = _waiting(snapshot)
    assert (got.workloads, got.for_quota) == (0, 1)


def test_what_is_delayed_makes_no_demand_yet() -> None:
    """A Workload that scaleUpDelay leaves out is told apart."""
    young = make_workload(name="young", created=NOW - 10)
    future = make_workload(name="future", created=NOW + 10)
    snapshot = make_cluster(*make_jobs(1), young, future)
    delayed = _waiting(snapshot, scaleUpDelay="1m")
    assert (delayed.workloads, delayed.delayed) == (1, 2)
    at_once = _waiting(snapshot)
    assert (at_once.workloads, at_once.delayed) == (3, 0)


def test_claims_do_not_wait_for_quota() -> None:
    """A Workload that asks by DRA claims only is left out for that reason, not for quota."""
    shape = make_shape(gpus=0, dra_only=True)
    claims = make_workload(name="c", pod_sets=(make_pod_set(shape=shape),))
    assert _waiting(make_cluster(claims)).for_quota == 0


def test_another_flavor_s_demand_does_not_wait_for_quota() -> None:
    """What another flavor takes found its quota there."""
    got = _waiting(make_cluster(*make_jobs(2)), resourceFlavor="other")
    assert (got.workloads, got.for_quota) == (0, 0)


@pytest.mark.parametrize(
    ("size", "value", "tolerance", "want"),
    [
        pytest.param(20, 22, None, True, id="up to 10 % where none is in force"),
        pytest.param(20, 23, None, False, id="more than 10 %"),
        pytest.param(20, 21, 0.0, False, id="tolerance 0"),
        pytest.param(20, 20, None, False, id="no change"),
        pytest.param(20, 19, None, False, id="no growth"),
        pytest.param(0, 1, None, False, id="from zero"),
        pytest.param(None, 1, None, False, id="size not known"),
    ],
)
def test_what_the_hpa_swallows(
    size: int | None,
    value: int,
    tolerance: float | None,
    want: bool,  # noqa: FBT001 -- a table's column
) -> None:
    """Growth within the HPA's tolerance never happens."""
    snapshot = make_cluster(size=20, nodes=[], tolerance=tolerance)
    assert _waiting(snapshot, value=value, size=size).swallowed is want


def test_classes_that_no_node_helps() -> None:
    """They are summed up by class."""
    got = _waiting(make_cluster(make_workload(standing=WorkloadClass.NO_FLAVOR)))
    assert got.not_helped == ((WorkloadClass.NO_FLAVOR, 1),)
