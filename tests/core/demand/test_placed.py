"""Workloads with quota: what they hold, and which of their pods have no place."""

from dataclasses import replace

import pytest

from scaler.core.model import Admission, Kind, Pod, SourceState
from scaler.core.reasons import WorkloadClass
from tests.builders import (
    GPU,
    LONG_AGO,
    NOW,
    make_assignment,
    make_controlled,
    make_owner,
    make_pod,
    make_pod_set,
    make_shape,
    make_snapshot,
    make_workload,
)
from tests.core.demand_fixture import ask, classes, unplaced_gpus

BOUND = make_pod(name="bound", workload="wl", phase="Pending", node="node-0")
UNBOUND = make_pod(name="unbound", workload="wl", phase="Pending")
STUCK = make_pod(name="stuck", workload="wl", phase="Pending", unschedulable=True)
RUNS = make_pod(name="runs", workload="wl", node="node-0")
OVER = make_pod(name="over", workload="wl", phase="Succeeded", node="node-0")
FAILED = make_pod(name="failed", workload="wl", phase="Failed", node="node-0")
GOING = make_pod(name="going", workload="wl", node="node-0", deleting=True)


@pytest.mark.parametrize(
    ("pods", "young", "old"),
    [
        pytest.param([], 2, 0, id="no pod yet"),
        pytest.param([RUNS], 1, 0, id="one is missing"),
        pytest.param([RUNS, BOUND], 0, 0, id="all have a node"),
        pytest.param([RUNS, UNBOUND], 1, 0, id="the scheduler did not look yet"),
        pytest.param([RUNS, STUCK], 1, 1, id="one can't be placed"),
        pytest.param([STUCK], 2, 1, id="one can't be placed, one is missing"),
        pytest.param([RUNS, OVER], 0, 0, id="one is done"),
        pytest.param([RUNS, FAILED], 0, 0, id="one failed"),
        pytest.param([RUNS, GOING], 0, 0, id="one is being replaced"),
    ],
)
def test_missing_pods(pods: list[Pod], young: int, old: int) -> None:
    """Unschedulable pods count for ever, missing ones for the provisioning timeout."""
    workload = make_workload(pods=2, admitted=True, admitted_at=NOW)
    snapshot = make_snapshot(workloads=[workload], pods=pods)
    assert unplaced_gpus(ask(snapshot)) == young
    assert unplaced_gpus(ask(snapshot, now=NOW + 900)) == young
    assert unplaced_gpus(ask(snapshot, now=NOW + 901)) == old


def test_pods_unknown() -> None:
    """While pods can't be read, none of them is missing."""
    workload = make_workload(admitted=True, admitted_at=NOW)
    found = ask(make_snapshot(workloads=[workload], sources={Kind.PODS: SourceState(synced=False)}))
    assert not found.needs
    assert found.admitted_workloads == 1


def test_admission_without_time() -> None:
    """Without the time of the admission, pods that were never seen are not waited for."""
    workload = replace(make_workload(admitted=True), admitted_at=None)
    assert not ask(make_snapshot(workloads=[workload])).needs


def test_each_podset_by_itself() -> None:
    """Missing pods are those of their own podset, on the flavor that it was given."""
    head, workers = make_pod_set(name="head", gpus=0), make_pod_set(name="gpu", count=2, gpus=4)
    head = replace(head, shape=make_shape(gpus=0, requests={"cpu": 1000}))
    admission = Admission(
        cluster_queue="gpu-cq",
        assignments=(
            make_assignment(pod_set=head, flavor="cpu"),
            make_assignment(pod_set=workers, flavor="gpu"),
        ),
    )
    workload = make_workload(
        pod_sets=(head, workers), admitted=True, admitted_at=NOW, admission=admission
    )
    pods = [
        make_pod(name="w", workload="wl", pod_set="gpu", gpus=4, node="node-0"),
        make_pod(name="unlabelled", workload="wl", gpus=4, node="node-0"),
    ]
    snapshot = make_snapshot(workloads=[workload], pods=pods)
    (need,) = ask(snapshot).needs
    assert [(one.pod_set, one.count, one.flavors) for one in need.pods] == [("head", 1, ("cpu",))]
    assert not ask(snapshot, flavor="gpu").needs
    assert ask(snapshot, flavor="gpu").admitted_gpus == 8
    assert ask(snapshot, flavor="cpu").admitted_gpus == 0
    assert ask(snapshot, flavor="cpu").admitted_workloads == 1


def test_claims_only() -> None:
    """An unplaced podset that asks by claims alone is reported, not counted."""
    by_claim = make_pod_set(shape=make_shape(gpus=0, dra_only=True), count=3)
    workload = make_workload(pod_sets=(by_claim,), admitted=True, admitted_at=NOW)
    found = ask(make_snapshot(workloads=[workload]))
    assert (found.needs, found.not_counted_dra) == ((), 3)


@pytest.mark.parametrize(
    ("changes", "pods", "want"),
    [
        pytest.param({}, [], 2, id="young: its quota"),
        pytest.param({"admitted_at": LONG_AGO}, [], 0, id="old and without pods"),
        pytest.param({"admitted_at": LONG_AGO}, [RUNS, STUCK, OVER, GOING], 2, id="old: live pods"),
        pytest.param({"evicted": True}, [RUNS], 1, id="evicted: live pods"),
        pytest.param({"deleting": True}, [RUNS], 1, id="deleting: live pods"),
        pytest.param({"active": False}, [RUNS], 1, id="deactivated: live pods"),
        pytest.param({"standing": WorkloadClass.CONTRADICTORY}, [RUNS], 1, id="contradictory"),
        pytest.param({"cluster_name": "far"}, [], 0, id="in another cluster"),
    ],
)
def test_devices_held(changes: dict[str, object], pods: list[Pod], want: int) -> None:
    """Quota counts while pods may still come; later, and on the way out, live pods do."""
    plain = make_workload(pods=2, admitted=True, admitted_at=NOW)
    workload = replace(plain, **changes)  # type: ignore[arg-type]  # a table of fields
    assert ask(make_snapshot(workloads=[workload], pods=pods)).admitted_gpus == want


def test_deleting_with_a_live_pod() -> None:
    """A Workload on its way out is seen while a pod lives, and asks for nothing."""
    workload = make_workload(pods=2, admitted=True, deleting=True, admitted_at=NOW)
    found = ask(make_snapshot(workloads=[workload], pods=[RUNS, STUCK]))
    assert classes(found) == {WorkloadClass.RUNNING: 1}
    assert (found.needs, found.admitted_workloads) == ((), 0)


def test_admitted_duplicates() -> None:
    """Of a RayJob and its RayCluster that are both admitted, one counts."""
    workloads = [
        make_workload(name=name, admitted=True, admitted_at=NOW, owners=(make_owner(uid=uid),))
        for name, uid in (("job", "a"), ("cluster", "b"))
    ]
    owners = [make_controlled(uid="b", controller_uid="a")]
    assert ask(make_snapshot(workloads=workloads, owners=owners)).admitted_gpus == 1
    assert ask(make_snapshot(workloads=workloads)).admitted_gpus == 2


def test_other_resources() -> None:
    """Only the resource that was asked for is counted."""
    shape = make_shape(gpus=0, requests={"nvidia.com/mig-1g.5gb": 3})
    workload = make_workload(pod_sets=(make_pod_set(shape=shape),), admitted=True, admitted_at=NOW)
    snapshot = make_snapshot(workloads=[workload])
    assert ask(snapshot, resource=GPU).admitted_gpus == 0
    assert ask(snapshot, resource="nvidia.com/mig-1g.5gb").admitted_gpus == 3
