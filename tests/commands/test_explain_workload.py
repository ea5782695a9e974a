"""`explain workload/NAME` says its class, where it counts, and what its GPUs do."""

import json
from pathlib import Path
from typing import Any

import pytest

from scaler.core.model import Kind
from scaler.sim.patches import Document
from scaler.sim.scenario import POOL_SCALER, VISION
from scaler.sim.scenario_ray import SIM, SIM_WORKERS
from tests.commands.furnished import Furnished
from tests.commands.situations import beyond_quota, queued, without_prometheus


def workloads(cluster: Furnished, namespace: str) -> list[str]:
    """Give the names of a namespace's Workloads."""
    found = cluster.cluster.objects.all(Kind.WORKLOADS)
    metadata = [one["metadata"] for one in found]
    return sorted(one["name"] for one in metadata if one["namespace"] == namespace)


def explained(cluster: Furnished, name: str, namespace: str) -> tuple[int, dict[str, Any]]:
    """Explain it as JSON."""
    code, told = cluster.run("explain", f"workload/{name}", "-n", namespace, "-o", "json")
    return code, json.loads(told)


def test_one_that_needs_nodes_is_told_to_count_in_the_pool_s_trigger(cluster: Furnished) -> None:
    """With the pods that have no place."""
    queued(cluster)
    (name,) = workloads(cluster, VISION)
    code, told = cluster.run("explain", f"workload/{name}", "-n", VISION)
    assert code == 0
    counts = next(line for line in told.splitlines() if line.startswith("  counts in "))
    assert f"ScaledObject {'/'.join(POOL_SCALER)}" in counts
    assert counts.endswith("pods that need a place: 4 of main")


def test_one_that_waits_for_quota_is_told_what_lets_it_in(cluster: Furnished) -> None:
    """And that nodes would not."""
    beyond_quota(cluster)
    views = [explained(cluster, name, VISION)[1] for name in workloads(cluster, VISION)]
    (waiting, *_) = [one for one in views if one.get("changes")]
    assert waiting["workloadClass"] in ("B", "D", "J")
    (counting,) = waiting["counting"]
    assert counting["counts"] is False
    assert counting["why"].startswith("no quota is free")


def test_its_gpus_are_read_by_the_trigger_that_speaks_of_it(ray: Furnished) -> None:
    """Each device with its peak, and since when it rests."""
    (name,) = workloads(ray, SIM[0])
    code, told = ray.run("explain", f"kwl/{name}", "-n", SIM[0])
    assert code == 0
    assert "judged by" in told
    assert told.count("    device    GPU-") == 8
    assert "  reason    Idle: " in told


def test_a_hold_of_its_workers_is_told(ray: Furnished) -> None:
    """By which WorkerScale, since when, and why."""
    (name,) = workloads(ray, SIM[0])
    workload = ray.cluster.objects.get(Kind.WORKLOADS, (SIM[0], name))
    assert workload is not None

    def hold(document: Document) -> None:
        document["status"] = {
            "size": 2,
            "hold": {
                "workload": name,
                "workloadUid": workload["metadata"]["uid"],
                "usage": {"nvidia.com/gpu": "8"},
                "podSets": [{"name": "gpu", "pods": 2}],
                "since": "2026-01-01T00:00:00Z",
                "reason": "idle for 45m",
            },
        }

    ray.cluster.objects.modify(Kind.WORKER_SCALES, SIM_WORKERS, hold)
    _, view = explained(ray, name, SIM[0])
    (held,) = view["held"]
    assert held["workerScale"] == "/".join(SIM_WORKERS)
    assert (held["podSets"], held["reason"]) == ({"gpu": 2}, "idle for 45m")


def test_without_a_trigger_it_is_judged_by_the_policy_alone(ray: Furnished) -> None:
    """And that is said: nobody takes its workers."""
    ray.cluster.objects.delete(Kind.WORKER_SCALES, SIM_WORKERS)
    for each in ray.cluster.objects.all(Kind.SCALED_OBJECTS):
        metadata = each["metadata"]
        if metadata["namespace"] == SIM[0]:
            ray.cluster.objects.delete(Kind.SCALED_OBJECTS, (SIM[0], metadata["name"]))
    (name,) = workloads(ray, SIM[0])
    _, told = ray.run("explain", f"workload/{name}", "-n", SIM[0])
    assert "no trigger judges it; by the policy it would be" in told
    assert "  reason    Idle: " in told


def test_without_prometheus_its_rest_is_not_known(ray: Furnished) -> None:
    """Exit 3: what is not known is not idle."""
    without_prometheus(ray)
    (name,) = workloads(ray, SIM[0])
    code, told = ray.run("explain", f"workload/{name}", "-n", SIM[0])
    assert code == 3
    assert "Prometheus has to answer" in told


def test_a_name_that_is_not_there_is_told_with_the_close_one(
    ray: Furnished, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of its namespace."""
    (name,) = workloads(ray, SIM[0])
    assert ray.run("explain", f"workload/{name}x", "-n", SIM[0]) == (2, "")
    said = capsys.readouterr().err
    assert f"does not exist or is Finished; do you mean {SIM[0]}/{name}?" in said


def test_a_bundle_tells_the_same(ray: Furnished, tmp_path: Path) -> None:
    """Captured by its own name, with the samples of its GPUs."""
    (name,) = workloads(ray, SIM[0])
    folder = tmp_path / "bundle"
    what = (f"workload/{name}", "-n", SIM[0])
    assert ray.run("capture", str(folder), *what)[0] == 0
    live = ray.run("explain", *what)
    assert ray.run("explain", *what, "--bundle", str(folder)) == live


def test_a_worker_scale_is_captured_with_all_that_its_plan_reads(
    ray: Furnished, tmp_path: Path
) -> None:
    """The bundle has workerscales and the objects that are changed: the plan is the same."""
    folder = tmp_path / "bundle"
    what = (f"workerscale/{SIM_WORKERS[1]}", "-n", SIM_WORKERS[0])
    code, told = ray.run("capture", str(folder), *what)
    assert (code, "Decides as the cluster did" in told) == (0, True)
    assert (folder / "objects" / "workerscales.json").exists()
    live = ray.run("explain", *what)
    assert live[0] == 0
    assert ray.run("explain", *what, "--bundle", str(folder)) == live
