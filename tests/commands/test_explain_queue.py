"""`explain clusterqueue/NAME` says what quota there is, who waits, and what would let them in."""

import json
from pathlib import Path
from typing import Any

import pytest

from scaler.core.model import Kind
from scaler.sim.patches import Document
from scaler.sim.scenario import POOL_SCALER, VISION
from tests.commands.furnished import Furnished
from tests.commands.situations import beyond_quota, queued

QUEUE = f"clusterqueue/{VISION}"


def rows(cluster: Furnished) -> list[dict[str, Any]]:
    """Explain it as JSON, and give those that wait."""
    code, told = cluster.run("explain", QUEUE, "-o", "json")
    assert code == 0
    waiting: list[dict[str, Any]] = json.loads(told)["waiting"]
    return waiting


def test_quota_waiters_and_readers_are_told(cluster: Furnished) -> None:
    """One page for a platform engineer."""
    beyond_quota(cluster)
    code, told = cluster.run("explain", QUEUE)
    lines = told.splitlines()
    assert code == 0
    assert lines[0].startswith(f"ClusterQueue {VISION}")
    assert any(line.startswith("  quota     ") and "GPUs nominal" in line for line in lines)
    assert any(line.startswith("  waits     ") for line in lines)
    assert any(line.startswith("  to change ") and "more of quota" in line for line in lines)
    assert any(f"ScaledObject {'/'.join(POOL_SCALER)} (nodes of pool" in line for line in lines)


def test_the_quota_that_is_told_lets_the_first_in(cluster: Furnished) -> None:
    """Law on a cluster: raised by that it waits for nodes alone, by one less it still waits."""
    beyond_quota(cluster)
    waiting = next(row for row in rows(cluster) if row.get("changes"))
    more = waiting["changes"][0]["more"]
    assert set(more) >= {"nvidia.com/gpu"}
    _raise(cluster, {**more, "nvidia.com/gpu": more["nvidia.com/gpu"] - 1})
    assert not _by_name(cluster, waiting["workload"])["quotaFree"]
    _raise(cluster, {"nvidia.com/gpu": 1})
    assert _by_name(cluster, waiting["workload"])["quotaFree"]


def _by_name(cluster: Furnished, name: str) -> dict[str, Any]:
    return next(row for row in rows(cluster) if row["workload"] == name)


def _raise(cluster: Furnished, more: dict[str, int]) -> None:
    def change(document: Document) -> None:
        for group in document["spec"]["resourceGroups"]:
            for resource in group["flavors"][0]["resources"]:
                amount = more.get(resource["name"], 0)
                if resource["name"] == "cpu":
                    amount //= 1000
                resource["nominalQuota"] = int(resource["nominalQuota"]) + amount

    cluster.cluster.objects.modify(Kind.CLUSTER_QUEUES, ("", VISION), change)


def test_a_name_that_is_not_there_is_told_with_the_close_one(
    cluster: Furnished, capsys: pytest.CaptureFixture[str]
) -> None:
    """A typing error is seen at once."""
    assert cluster.run("explain", "cq/team-vison") == (2, "")
    said = capsys.readouterr().err
    assert f"ClusterQueue team-vison does not exist; do you mean {VISION}?" in said


def test_what_can_not_be_read_makes_it_a_guess(cluster: Furnished) -> None:
    """The exit code says so too."""
    queued(cluster)
    cluster.cluster.api.faults.forbidden.add(Kind.WORKLOADS)
    code, told = cluster.run("explain", QUEUE)
    assert code == 3
    assert "  unknown   workloads can't be read: 403" in told


def test_cluster_queues_that_can_not_be_read_are_one_sentence(
    cluster: Furnished, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is not known is not called missing."""
    cluster.cluster.api.faults.forbidden.add(Kind.CLUSTER_QUEUES)
    assert cluster.run("explain", QUEUE) == (2, "")
    assert f"ClusterQueue {VISION} is not known: they can't be read: 403" in capsys.readouterr().err


def test_a_bundle_tells_the_same(cluster: Furnished, tmp_path: Path) -> None:
    """Captured by its own name, and explained without the cluster."""
    beyond_quota(cluster)
    folder = tmp_path / "bundle"
    code, told = cluster.run("capture", str(folder), QUEUE)
    assert (code, "Decides as the cluster did" in told) == (0, True)
    live = cluster.run("explain", QUEUE)
    assert cluster.run("explain", QUEUE, "--bundle", str(folder)) == live
