"""Pods and targets."""

import json

import pytest

from scaler.core.model import Kind, Node, PlacedPod, Pod, Target
from scaler.kube.decode import decode
from tests.kube.decoding import one
from tests.kube.documents import GPU, Document, pod


@pytest.mark.parametrize(
    "changes",
    [
        {"requests": {GPU: "1"}},
        {"annotations": {"kueue.x-k8s.io/workload": "w"}},
        {"annotations": {"kueue.x-k8s.io/pod-group-name": "g"}},
        {"labels": {"kueue.x-k8s.io/pod-group-name": "g"}},
        {"labels": {"kueue.x-k8s.io/queue-name": "lq"}},
        {"labels": {"kueue.x-k8s.io/managed": "true"}},
    ],
)
def test_a_pod_with_a_device_or_under_kueue_is_kept_whole(changes: Document) -> None:
    """The decisions look at each of them."""
    assert isinstance(one(Kind.PODS, pod(**changes)), Pod)


def test_any_other_pod_is_its_claim_on_a_node() -> None:
    """And equal claims are shared."""
    first, second = one(Kind.PODS, pod()), one(Kind.PODS, pod(labels={"app": "x"}))
    assert first == PlacedPod(namespace="ml", name="p", node="n1", requests=(("cpu", 1000),))
    assert isinstance(first, PlacedPod)
    assert isinstance(second, PlacedPod)
    assert first.requests is second.requests


@pytest.mark.parametrize(
    "changes",
    [
        {"phase": "Succeeded"},
        {"phase": "Failed"},
        {"spec": {"nodeName": ""}},
        {"spec": {"priority": -10}},
        {"labels": {"kueue-gpu-scaler.dev/placeholder": "true"}},
    ],
)
def test_a_pod_that_holds_nothing_has_no_node(changes: Document) -> None:
    """Finished, not bound, or a placeholder."""
    record = one(Kind.PODS, pod(**changes))
    assert isinstance(record, PlacedPod)
    assert record.node is None


def test_the_workload_of_a_pod_is_its_annotation_then_its_group() -> None:
    """In Kueue's own order of resolution."""
    group = {"kueue.x-k8s.io/pod-group-name": "label"}
    by_label = one(Kind.PODS, pod(labels=group))
    by_group = one(
        Kind.PODS,
        pod(labels=group, annotations={"kueue.x-k8s.io/pod-group-name": "annotation"}),
    )
    named = {"kueue.x-k8s.io/pod-group-name": "g", "kueue.x-k8s.io/workload": "w"}
    by_name = one(Kind.PODS, pod(annotations=named))
    found = [each.workload for each in (by_label, by_group, by_name) if isinstance(each, Pod)]
    assert found == ["label", "annotation", "w"]


def test_a_targets_selector_keeps_both_sorts_of_requirement() -> None:
    """MatchLabels and matchExpressions; replicas default to one."""
    record = one(
        Kind.DEPLOYMENTS,
        {
            "metadata": {"name": "d", "namespace": "ml"},
            "spec": {
                "selector": {
                    "matchLabels": {"app": "x"},
                    "matchExpressions": [{"key": "tier", "operator": "Exists"}],
                }
            },
        },
    )
    assert isinstance(record, Target)
    assert record.replicas == 1
    assert [(each.key, each.operator) for each in record.selector] == [
        ("app", "In"),
        ("tier", "Exists"),
    ]


@pytest.mark.parametrize(
    ("condition", "want"),
    [
        ({"status": "True", "lastTransitionTime": "2026-03-01T10:00:00Z"}, 1772359200.0),
        ({"status": "True", "lastTransitionTime": None}, None),
        ({"status": "True"}, None),
        ({"status": "Unknown", "lastTransitionTime": "2026-03-01T10:00:00Z"}, None),
    ],
)
def test_a_pod_that_does_not_tell_since_when_it_is_ready_is_not(
    condition: Document, want: float | None
) -> None:
    """K01: it would else have been Ready since 1970, and old enough to be judged."""
    document = pod(requests={GPU: "1"})
    document["status"] = {"phase": "Running", "conditions": [{"type": "Ready", **condition}]}
    found = one(Kind.PODS, document)
    assert isinstance(found, Pod)
    assert found.ready_since == want


@pytest.mark.parametrize(
    ("annotations", "want"),
    [
        ({"machine.openshift.io/machine": "openshift-machine-api/gpu-x7k2p"}, "gpu-x7k2p"),
        ({"cluster.x-k8s.io/machine": "gpu-6d8f9-x7k2p"}, "gpu-6d8f9-x7k2p"),
        ({"machine.openshift.io/machine": ""}, None),
        ({"other": "x"}, None),
        (None, None),
    ],
)
def test_a_node_names_its_machine(annotations: dict[str, str] | None, want: str | None) -> None:
    """OpenShift with the namespace, Cluster API without."""
    document = {"metadata": {"name": "n", "annotations": annotations}, "status": {}}
    (record,) = decode(Kind.NODES, json.dumps(document).encode()).records
    assert isinstance(record, Node)
    assert record.machine == want
