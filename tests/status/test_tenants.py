"""The metrics that use, quota and cost are split by."""

from dataclasses import replace

import pytest
from prometheus_client import CollectorRegistry

from scaler.core.decision import Decision, IdleEvidence, Status, Verdict
from scaler.core.policy import Policy, Prices
from scaler.core.reasons import Reason, WorkloadClass
from scaler.core.snapshot import Snapshot
from scaler.core.trigger import TriggerRef
from scaler.policyfile import PolicyState
from scaler.status.metrics import register
from scaler.store import Store
from scaler.telemetry import Telemetry
from tests.builders import (
    GPU,
    NOW,
    make_cluster_queue,
    make_pod,
    make_pod_set,
    make_snapshot,
    make_workload,
)

UNPRICED = Prices()
IDLE = Decision(
    namespace="ml",
    name="so",
    metric="kueue-idle",
    status=Status.OK,
    active=True,
    value=1,
    reason=Reason.DRY_RUN,
    detail="",
    at=NOW,
    idle=IdleEvidence(
        workload="wl",
        component="gpu",
        verdict=Verdict.IDLE,
        gpus_requested=8,
        idle_seconds=1900.0,
        idle_after_seconds=1800.0,
    ),
)


def scraped(
    *decisions: Decision, prices: Prices = UNPRICED, shows: bool = True, snapshot: Snapshot
) -> CollectorRegistry:
    """Publish, and give what a scrape reads."""
    policy = PolicyState(policy=replace(Policy(), prices=prices))
    store = Store(policy=policy, at=NOW)
    store.publish(
        snapshot=snapshot,
        policy=policy,
        decisions={TriggerRef.of(namespace="ml", name="so", metadata={}): d for d in decisions},
        changed=frozenset(),
    )
    return register(telemetry=Telemetry(), store=store, clock=lambda: NOW, decisions=shows)


def value(registry: CollectorRegistry, name: str, **labels: str) -> float | None:
    """Read one sample."""
    return registry.get_sample_value(f"kueue_gpu_scaler_{name}", labels)


SNAPSHOT = make_snapshot(
    cluster_queues=[make_cluster_queue(quota=6, cohort="all")],
    workloads=[
        make_workload(pod_sets=(make_pod_set(gpus=8),), admitted=True),
        make_workload(name="next", standing=WorkloadClass.QUOTA, waiting_since=NOW - 90),
    ],
    pods=[make_pod(name="w-0", gpus=8, node="n1", workload="wl", pod_set="main")],
)


def test_a_pods_gpus_carry_all_that_they_are_split_by() -> None:
    """DCGM knows a pod's name and no more; this joins the rest to it."""
    assert value(
        scraped(snapshot=SNAPSHOT),
        "pod_gpus",
        namespace="ml",
        pod="w-0",
        node="n1",
        workload="wl",
        owner="",
        cluster_queue="gpu-cq",
        cohort="all",
        flavor="gpu",
    ) == pytest.approx(8)


def test_quota_is_charted_in_its_four_parts() -> None:
    """Of each ClusterQueue, flavor and extended resource."""
    found = scraped(snapshot=SNAPSHOT)
    labels = {"cluster_queue": "gpu-cq", "cohort": "all", "flavor": "gpu", "resource": GPU}
    parts = ("nominal", "used", "borrowed", "held")
    assert [value(found, f"quota_{part}", **labels) for part in parts] == [6, 8, 2, 0]


def test_the_longest_wait_is_in_seconds() -> None:
    """As of the scrape."""
    found = scraped(snapshot=SNAPSHOT)
    assert value(found, "oldest_wait_seconds", cluster_queue="gpu-cq", **{"class": "D"}) == 90


def test_prices_are_those_of_the_policy() -> None:
    """A price by flavor has no model, one by model no flavor, and that of any GPU has neither."""
    prices = Prices(
        currency="EUR", gpu_hour=1.0, resource_flavors={"a100": 2.5}, models={"NVIDIA H100": 4.0}
    )
    found = scraped(prices=prices, snapshot=SNAPSHOT)
    for flavor, model, price in (("a100", "", 2.5), ("", "NVIDIA H100", 4.0), ("", "", 1.0)):
        labels = {"flavor": flavor, "model": model, "currency": "EUR"}
        assert value(found, "price_per_gpu_hour", **labels) == price


def test_without_prices_there_is_no_price() -> None:
    """Not one of 0: cost is then not shown at all."""
    found = scraped(snapshot=SNAPSHOT)
    assert value(found, "price_per_gpu_hour", flavor="", model="", currency="") is None


def test_an_idle_verdict_is_told_with_its_gpus_and_its_limit() -> None:
    """So that what a dry run would have freed can be added up."""
    found = scraped(IDLE, snapshot=SNAPSHOT)
    labels = {"namespace": "ml", "scaled_object": "so", "workload": "wl", "component": "gpu"}
    told = [value(found, name, **labels) for name in ("judged_gpus", "idle_after_seconds")]
    assert told == [8, 1800]
    assert value(found, "dry_run_would_be_idle", **labels) == 1


def test_a_process_that_shares_its_decisions_with_others_shows_no_tenants() -> None:
    """Sums over all processes would count them twice."""
    names = {metric.name for metric in scraped(snapshot=SNAPSHOT, shows=False).collect()}
    assert "kueue_gpu_scaler_pod_gpus" not in names
    assert "kueue_gpu_scaler_policy_reload_ok" in names
