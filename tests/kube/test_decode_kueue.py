"""Workloads, as Kueue writes them."""

import copy

import pytest

from scaler.core.model import TopologyRequest
from scaler.core.reasons import WorkloadClass
from tests.kube.decoding import a_workload
from tests.kube.documents import FULL_WORKLOAD, GPU, Document, workload


@pytest.mark.parametrize(
    ("requests", "limits", "want"),
    [
        ({}, {GPU: "2"}, 2),
        ({"cpu": "1"}, {GPU: "2"}, 2),
        ({GPU: "1"}, {GPU: "2"}, 1),
    ],
)
def test_q10_limits_count_where_requests_are_empty(
    requests: dict[str, str], limits: dict[str, str], want: int
) -> None:
    """Q10: four pods of two GPUs each, named in limits alone; a request wins."""
    document = workload(count=4)
    container = document["spec"]["podSets"][0]["template"]["spec"]["containers"][0]
    container["resources"] = {"requests": requests, "limits": limits}
    (pod_set,) = a_workload(document).pod_sets
    assert pod_set.count == 4
    assert dict(pod_set.shape.requests)[GPU] == want


def test_q20_sidecars_are_told_from_init_containers() -> None:
    """Q20: a sidecar of 1, an init container of 2, a container of 1: 3 GPUs."""
    document = workload(gpus=1)
    asks = [{"resources": {"requests": {GPU: count}}} for count in ("1", "2")]
    spec = document["spec"]["podSets"][0]["template"]["spec"]
    spec["initContainers"] = [{**asks[0], "restartPolicy": "Always"}, asks[1]]
    assert dict(a_workload(document).pod_sets[0].shape.requests)[GPU] == 3


@pytest.mark.parametrize(
    ("time", "after"),
    [
        ("2026-03-01T10:00:00Z", 0.0),
        ("2026-03-01T19:00:00+09:00", 0.0),
        ("2026-03-01T10:00:00.123456Z", 0.123456),
    ],
)
def test_c05_times_are_instants_whatever_their_offset(
    time: str, after: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C05: the process' own time zone has no say."""
    monkeypatch.setenv("TZ", "America/Los_Angeles")
    document = workload()
    document["status"] = {
        "conditions": [
            {
                "type": "QuotaReserved",
                "status": "False",
                "reason": "Pending",
                "lastTransitionTime": time,
            }
        ]
    }
    assert a_workload(document).waiting_since == pytest.approx(1772359200.0 + after, abs=1e-6)


def test_equal_podsets_are_one_object_however_they_are_written() -> None:
    """100,000 Workloads share them: names, images and the order of keys don't matter."""
    first, second = workload("a", gpus=2), workload("b", gpus=2)
    container = second["spec"]["podSets"][0]["template"]["spec"]["containers"][0]
    container["image"] = "other"
    container["resources"] = {"limits": {}, "requests": {GPU: 2}}
    assert a_workload(first).pod_sets is a_workload(second).pod_sets


def test_marks_of_a_workload_are_read() -> None:
    """Opt-out, wake, elastic slices, variants and allowed flavors."""
    document = workload()
    document["metadata"] |= {
        "labels": {"kueue.x-k8s.io/concurrent-admission-parent": "true"},
        "annotations": {
            "kueue-gpu-scaler.dev/ignore": "TRUE",
            "kueue-gpu-scaler.dev/wake": "2026-03-01T10:00:00Z",
            "kueue.x-k8s.io/workload-slice-replacement-for": "ml/old",
            "kueue.x-k8s.io/workload-allowed-resource-flavors": "a100, h100",
        },
    }
    found = a_workload(document)
    assert found.opted_out
    assert found.wake_at == 1772359200.0
    assert found.replaces == ("ml", "old")
    assert found.variant_parent
    assert found.allowed_flavors == ("a100", "h100")


@pytest.mark.parametrize(
    ("text", "want"),
    [("true", True), ("True", True), ("tRuE", True), ("yes", False), ("1", False), ("", False)],
)
def test_only_true_opts_out(text: str, want: bool) -> None:  # noqa: FBT001  # the expected answer
    """As label or as annotation; any other value is none."""
    for place in ("labels", "annotations"):
        document = workload()
        document["metadata"][place] = {"kueue-gpu-scaler.dev/ignore": text}
        assert a_workload(document).opted_out is want


@pytest.mark.parametrize(("text", "want"), [("now", 0.0), ("NOW", 0.0), ("soon", None)])
def test_wake_is_a_time_or_now(text: str, want: float | None) -> None:
    """`now` is past at any time; nonsense is no wake."""
    document = workload()
    document["metadata"]["annotations"] = {"kueue-gpu-scaler.dev/wake": text}
    assert a_workload(document).wake_at == want


def test_only_some_evictions_send_a_workload_to_the_end_of_the_queue() -> None:
    """Kueue's queue timestamp: PodsReadyTimeout and AdmissionCheck; preemption keeps the place."""
    document = workload()
    condition = {
        "type": "Evicted",
        "status": "True",
        "reason": "PodsReadyTimeout",
        "lastTransitionTime": "2026-03-01T11:00:00Z",
    }
    document["status"] = {"conditions": [condition]}
    assert a_workload(document).queued_at == a_workload(document).created + 3600.0
    condition["reason"] = "Preempted"
    assert a_workload(document).queued_at == a_workload(document).created


def test_an_unconstrained_topology_request_is_one() -> None:
    """It names no level, and asks for flavors with a topology all the same."""
    document = workload(gpus=1)
    pod_set = document["spec"]["podSets"][0]
    pod_set["topologyRequest"] = {"unconstrained": True}
    assert a_workload(document).pod_sets[0].topology == TopologyRequest(unconstrained=True)
    pod_set["topologyRequest"] = {"unconstrained": False}
    assert a_workload(document).pod_sets[0].topology is None


def test_dra_claims_alone_are_marked() -> None:
    """Beside an extended resource the claim adds nothing."""
    document = workload(gpus=1)
    document["spec"]["podSets"][0]["template"]["spec"]["resourceClaims"] = [{"name": "gpu"}]
    assert not a_workload(document).pod_sets[0].shape.dra_only
    container = document["spec"]["podSets"][0]["template"]["spec"]["containers"][0]
    container["resources"] = {"requests": {"cpu": "1"}}
    assert a_workload(document).pod_sets[0].shape.dra_only


def test_an_empty_affinity_term_matches_no_node() -> None:
    """As in Kubernetes; it must not read as no affinity at all."""
    document = workload()
    required: Document = {"nodeSelectorTerms": [{}]}
    document["spec"]["podSets"][0]["template"]["spec"]["affinity"] = {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}
    }
    ((requirement,),) = a_workload(document).pod_sets[0].shape.affinity
    assert (requirement.operator, requirement.values) == ("In", ())


def test_a_status_that_contradicts_itself_is_seen() -> None:
    """Admitted without quota: no growth, but no silence either."""
    document = copy.deepcopy(FULL_WORKLOAD)
    document["status"]["conditions"] = [
        {"type": "Admitted", "status": "True"},
        {"type": "QuotaReserved", "status": "False", "reason": "Pending"},
    ]
    assert a_workload(document).standing is WorkloadClass.CONTRADICTORY


def test_quota_is_reserved_since_its_condition_says_so() -> None:
    """Of a Workload that has none, the condition's time is that of its wait."""
    document = copy.deepcopy(FULL_WORKLOAD)
    reserved = {"type": "QuotaReserved", "lastTransitionTime": "2026-03-01T10:00:00Z"}
    document["status"]["conditions"] = [reserved | {"status": "True"}]
    assert a_workload(document).reserved_at == 1772359200.0
    document["status"]["conditions"] = [reserved | {"status": "False"}]
    assert a_workload(document).reserved_at is None
