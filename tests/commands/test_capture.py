"""A captured bundle decides as the cluster did, and holds nothing that nobody reads."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from scaler.core.model import Kind
from scaler.core.policy import Policy
from scaler.policyfile import parse_policy
from scaler.sim.patches import Document
from scaler.sim.scenario import LLM, POOL_SCALER
from tests.commands.furnished import Furnished, explained
from tests.commands.situations import (
    at_zero,
    beyond_quota,
    busy,
    cohorts_not_installed,
    dry_run,
    growing,
    idle,
    kept_alive,
    malformed,
    not_installed,
    nothing_queued,
    queued,
    queued_without,
    queued_without_prometheus,
    size_unknown,
    with_a_gap,
    with_a_heavy_query,
    with_warnings,
    without_pods,
    without_prometheus,
    woken,
)

IDLE, POOL = "/".join(LLM), "/".join(POOL_SCALER)
SECRET = "hunter2"
FOUR = ("status", "active", "value", "reason")


IDLE_CASES: tuple[tuple[Callable[[Furnished], None], str, str], ...] = (
    (busy, "OK", "Busy"),
    (idle, "OK", "Idle"),
    (kept_alive, "OK", "Busy"),
    (dry_run, "OK", "DryRun"),
    (at_zero, "OK", "AtZero"),
    (woken, "OK", "Wake"),
    (without_prometheus, "HOLD", "PrometheusFailed"),
    (with_warnings, "HOLD", "PrometheusFailed"),
    (with_a_heavy_query, "HOLD", "PrometheusFailed"),
    (with_a_gap, "HOLD", "StaleSamples"),
    (without_pods, "HOLD", "NotSynced"),
    (malformed, "INVALID_ARGUMENT", "BadMetadata"),
)


@pytest.mark.parametrize(
    ("prepare", "status", "reason"), IDLE_CASES, ids=[one.__name__ for one, *_ in IDLE_CASES]
)
def test_an_idle_triggers_bundle_decides_as_the_cluster_did(
    prepare: Callable[[Furnished], None], status: str, reason: str, cluster: Furnished
) -> None:
    """Law: the same status, activity, value and reason, whatever is down."""
    prepare(cluster)
    _holds(cluster, IDLE, status=status, reason=reason)


QUEUE_CASES: tuple[tuple[Callable[[Furnished], None], str], ...] = (
    (nothing_queued, "OK"),
    (queued, "OK"),
    (growing, "OK"),
    (beyond_quota, "OK"),
    (size_unknown, "HOLD"),
    (queued_without_prometheus, "OK"),
    *(
        (queued_without(kind), "HOLD")
        for kind in (Kind.PODS, Kind.WORKLOADS, Kind.CLUSTER_QUEUES, Kind.NODES, Kind.HPAS)
    ),
    (queued_without(Kind.JOBS), "OK"),
    *((not_installed(kind), "OK") for kind in (Kind.RAY_CLUSTERS, Kind.JOBS)),
    (cohorts_not_installed, "OK"),
    (not_installed(Kind.WORKLOADS), "HOLD"),
)


@pytest.mark.parametrize(
    ("prepare", "status"), QUEUE_CASES, ids=[one.__name__ for one, _ in QUEUE_CASES]
)
def test_a_queue_triggers_bundle_decides_as_the_cluster_did(
    prepare: Callable[[Furnished], None], status: str, cluster: Furnished
) -> None:
    """Law: the same status, activity, value and reason, whatever can't be read."""
    prepare(cluster)
    _holds(cluster, POOL, status=status)


def _holds(cluster: Furnished, name: str, *, status: str, reason: str | None = None) -> None:
    """Compare the decision of the cluster with that of what was captured of it."""
    code, text = cluster.run("explain", name, "-o", "json")
    live = json.loads(text)
    folder = cluster.folder / "report"
    captured, told = cluster.run("capture", str(folder), name)
    assert captured == 0
    again, bundled = explained(folder)
    assert again == code
    assert {key: bundled[key] for key in FOUR} == {key: live[key] for key in FOUR}
    assert live["status"] == status
    assert reason is None or live["reason"] == reason
    if status == "OK":
        assert bundled == live
    assert "Decides as the cluster did: " in told
    assert f"Read it: kueue-gpu-scaler explain --bundle {folder}" in told


def test_the_pool_needs_four_nodes_in_both(cluster: Furnished) -> None:
    """Four pods of five GPUs fit no two to a node of eight."""
    queued(cluster)
    cluster.run("capture", str(cluster.folder / "report"), POOL)
    code, bundled = explained(cluster.folder / "report")
    assert (code, bundled["active"], bundled["value"]) == (0, True, 4)


def test_kinds_of_the_older_version_are_captured(cluster: Furnished) -> None:
    """A cluster whose Kueue serves v1beta1 alone has its Workloads in the bundle."""
    queued(cluster)
    for kind in (Kind.WORKLOADS, Kind.CLUSTER_QUEUES, Kind.LOCAL_QUEUES):
        cluster.serve_only(kind, "v1beta1")
    _holds(cluster, POOL, status="OK")
    document = _objects(cluster.folder / "report", Kind.WORKLOADS)[0]
    assert document["apiVersion"] == "kueue.x-k8s.io/v1beta1"


def _objects(folder: Path, kind: Kind) -> list[dict[str, str]]:
    document = json.loads((folder / "objects" / f"{kind}.json").read_text(encoding="utf-8"))
    return list(document["items"])


def test_a_malformed_object_counts_as_skipped_in_the_bundle(cluster: Furnished) -> None:
    """Evidence names the same number of them."""
    queued(cluster)
    bad = {"metadata": {"name": "bad", "namespace": "ml"}, "spec": {"podSets": SECRET}}
    cluster.cluster.apply(Kind.WORKLOADS, bad)
    _holds(cluster, POOL, status="OK")
    _, bundled = explained(cluster.folder / "report")
    assert bundled["evidence"]["queue"]["skippedObjects"] == 1


def _leak_from_scaled_object(document: Document) -> None:
    document["metadata"]["annotations"] = {"note": SECRET}
    document["spec"]["triggers"].append({"type": "kafka", "metadata": {"password": SECRET}})


def _leak_from_pod(document: Document) -> None:
    variable = {"name": "TOKEN", "value": SECRET}
    document["spec"]["containers"][0]["env"] = [variable]


def test_nothing_secret_is_in_a_bundle(cluster: Furnished) -> None:
    """Neither of objects, nor of the policy, nor of other scalers' triggers."""
    idle(cluster)
    cluster.change_policy(
        "  profile:",
        f"  tokenFile: ''\n  headers: {{X-Scope-OrgID: {SECRET}}} # once {SECRET}\n  profile:",
    )

    cluster.cluster.objects.modify(Kind.SCALED_OBJECTS, LLM, _leak_from_scaled_object)
    for pod in cluster.cluster.objects.all(Kind.PODS):
        key = (pod["metadata"]["namespace"], pod["metadata"]["name"])
        cluster.cluster.objects.modify(Kind.PODS, key, _leak_from_pod)
    folder = cluster.folder / "report"
    assert cluster.run("capture", str(folder), IDLE)[0] == 0
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert {path.name for path in files} >= {"now", "policy.yaml", "trigger.yaml", "samples.om"}
    assert [path for path in files if SECRET in path.read_text(encoding="utf-8")] == []
    _, bundled = explained(folder)
    assert bundled["reason"] == "Idle"


def test_the_policy_is_the_same_but_for_the_way_to_prometheus(cluster: Furnished) -> None:
    """Every threshold, pool and query is there."""
    idle(cluster)
    cluster.run("capture", str(cluster.folder / "report"), IDLE)
    before = parse_policy(cluster.policy.read_text(encoding="utf-8"))
    after = parse_policy((cluster.folder / "report" / "policy.yaml").read_text(encoding="utf-8"))
    assert isinstance(before, Policy)
    assert after == before


def test_without_a_policy_the_bundle_has_none(cluster: Furnished) -> None:
    """The built-in defaults decide in both."""
    idle(cluster)
    folder = cluster.folder / "report"
    code, told = cluster.run("capture", str(folder), IDLE, with_policy=False)
    assert code == 0
    assert "Decides as the cluster did: " in told
    assert "(no file) the built-in defaults" in told
    assert not (folder / "policy.yaml").exists()
    _, bundled = explained(folder)
    assert {"key": "idleAfter", "value": "30m", "rule": "built-in"} in bundled["effective"]


def test_what_could_not_be_read_is_told_with_its_reason(cluster: Furnished) -> None:
    """A kind without a file says why, and so do samples."""
    without_pods(cluster)
    cluster.cluster.stop_prometheus()
    folder = cluster.folder / "report"
    _, told = cluster.run("capture", str(folder), IDLE)
    assert "(no file) 403 on list pods in all namespaces" in told
    assert not (folder / "objects" / "pods.json").exists()
    assert not (folder / "samples.om").exists()
    assert "samples.om " in told


def test_trigger_yaml_is_a_scaled_object(cluster: Furnished) -> None:
    """It can be read by people, and has only what is read."""
    folder = cluster.folder / "report"
    cluster.run("capture", str(folder), IDLE)
    document = yaml.safe_load((folder / "trigger.yaml").read_text(encoding="utf-8"))
    assert document["kind"] == "ScaledObject"
    assert document["spec"]["triggers"][0]["metadata"]["signal"] == "idle"
    assert "pollingInterval" not in document["spec"]


def test_a_query_that_a_bundle_cannot_answer_is_said(cluster: Furnished) -> None:
    """The embedded PromQL is a part of the real one."""
    cluster.change_policy("  gateway-queue: sum(", "  gateway-queue: topk(1, ")
    at_zero(cluster)
    folder = cluster.folder / "report"
    _, told = cluster.run("capture", str(folder), IDLE)
    assert "query gateway-queue can't be answered from a bundle" in told


@pytest.mark.parametrize("present", ["a file", "a full folder"])
def test_what_is_there_is_never_written_over(present: str, cluster: Furnished) -> None:
    """One sentence, and all stays as it was."""
    folder = cluster.folder / "report"
    if present == "a file":
        folder.write_text("mine", encoding="utf-8")
    else:
        folder.mkdir()
        (folder / "mine").write_text("mine", encoding="utf-8")
    asked = len(cluster.cluster.prometheus.asked)
    code, told = cluster.run("capture", str(folder), IDLE)
    assert (code, told) == (2, "")
    kept = folder if present == "a file" else folder / "mine"
    assert kept.read_text(encoding="utf-8") == "mine"
    assert len(cluster.cluster.prometheus.asked) == asked


def test_an_empty_folder_is_taken(cluster: Furnished) -> None:
    """A folder that was made for it is as good as none."""
    (cluster.folder / "report").mkdir()
    assert cluster.run("capture", str(cluster.folder / "report"), IDLE)[0] == 0


def test_a_folder_that_cannot_be_made_is_one_sentence(
    cluster: Furnished, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file stands where a folder would have to be."""
    (cluster.folder / "file").write_text("", encoding="utf-8")
    assert cluster.run("capture", str(cluster.folder / "file" / "report"), IDLE) == (2, "")
    assert "can't be written: Not a directory" in capsys.readouterr().err


def test_an_unknown_scaled_object_leaves_no_folder(
    cluster: Furnished, capsys: pytest.CaptureFixture[str]
) -> None:
    """Those that could be captured are named."""
    code, told = cluster.run("capture", str(cluster.folder / "report"), "team-chat/none")
    assert (code, told) == (2, "")
    assert f"those that have one: {POOL}, {IDLE}" in capsys.readouterr().err
    assert not (cluster.folder / "report").exists()
