"""Copies hold what is read of an object, and nothing beside it."""

import copy
import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.core.model import Kind
from scaler.kube.copies import copy_page
from scaler.kube.decode import PageError, decode
from tests.kube.documents import GPU, Document, pod, scaled_object, workload
from tests.kube.test_decode import JSON_VALUES, SEEDS, _paths

KUEUE = "kueue.x-k8s.io/v1beta1"
SECRET = "hunter2"


def page(*items: Document) -> bytes:
    """Give one page of a list."""
    return json.dumps(
        {"kind": "List", "metadata": {"resourceVersion": "7"}, "items": items}
    ).encode()


def as_list(copies: Sequence[bytes]) -> bytes:
    """Put copies into a List."""
    return b'{"kind":"List","items":[' + b",".join(copies) + b"]}"


@pytest.mark.parametrize(("kind", "document"), SEEDS)
def test_a_copy_decodes_alike_and_keeps_no_secret(kind: Kind, document: Document) -> None:
    """Managed fields, foreign annotations and unknown fields are gone."""
    full = copy.deepcopy(document)
    full["metadata"]["managedFields"] = [{"manager": SECRET}]
    full["metadata"].setdefault("annotations", {})["note"] = SECRET
    full["spec"]["unknown"] = SECRET
    (kept,) = copy_page(kind, version="v1", raw=page(full))
    assert SECRET.encode() not in kept
    assert decode(kind, kept).records == decode(kind, json.dumps(document).encode()).records


def test_a_pods_environment_and_arguments_are_not_copied() -> None:
    """A container is its requests."""
    document = pod(requests={GPU: "1"})
    document["spec"]["containers"][0] |= {
        "env": [{"name": "TOKEN", "value": SECRET}],
        "args": [SECRET],
        "image": SECRET,
    }
    document["spec"]["volumes"] = [{"secret": {"secretName": SECRET}}]
    (kept,) = copy_page(Kind.PODS, version="v1", raw=page(document))
    assert SECRET.encode() not in kept
    assert json.loads(kept)["spec"]["containers"][0] == {"resources": {"requests": {GPU: "1"}}}


def test_other_scalers_triggers_keep_their_type_alone() -> None:
    """A connection string may hold a password."""
    document = scaled_object()
    foreign = {"type": "kafka", "metadata": {"password": SECRET}}
    document["spec"]["triggers"].insert(0, foreign)
    before = copy.deepcopy(document["spec"]["triggers"][1])
    (kept,) = copy_page(Kind.SCALED_OBJECTS, version="keda.sh/v1alpha1", raw=page(document))
    assert SECRET.encode() not in kept
    first, second = json.loads(kept)["spec"]["triggers"]
    assert first == {"type": "kafka"}
    assert second == {"type": before["type"], "metadata": before["metadata"]}


def test_a_copy_says_in_which_version_it_was_served() -> None:
    """A file of the copies is one of objects as `kubectl get` prints them."""
    (kept,) = copy_page(Kind.WORKLOADS, version=KUEUE, raw=page(workload()))
    document = json.loads(kept)
    assert (document["apiVersion"], document["kind"]) == (KUEUE, "Workload")


def test_metadata_alone_becomes_an_object_of_its_kind() -> None:
    """Owners are asked for without their spec."""
    owners = [{"kind": "JobSet", "name": "s", "uid": "u", "controller": True}]
    meta = {"name": "j", "namespace": "ml", "ownerReferences": owners}
    partial = {"kind": "PartialObjectMetadata", "metadata": meta}
    (kept,) = copy_page(Kind.JOBS, version="batch/v1", raw=page(partial))
    assert json.loads(kept)["kind"] == "Job"
    assert b"PartialObjectMetadata" not in kept
    assert decode(Kind.JOBS, kept).skipped == 0


def test_objects_of_no_use_are_left_out() -> None:
    """Someone else's HorizontalPodAutoscaler is not read."""
    foreign = {"metadata": {"name": "web", "namespace": "ml"}}
    assert copy_page(Kind.HPAS, version="autoscaling/v2", raw=page(foreign)) == []


@pytest.mark.parametrize("kind", list(Kind))
def test_a_malformed_object_stays_malformed_under_its_name(kind: Kind) -> None:
    """It counts as skipped in the copy as well, and brings nothing else along."""
    bad = {"metadata": {"name": "x", "namespace": "ml", "uid": 7}, "spec": {"env": SECRET}}
    copies = copy_page(kind, version="v1", raw=page(bad))
    decoded = decode(kind, as_list(copies))
    assert (decoded.records, decoded.skipped) == ((), 1)
    assert decoded.malformed != (None,)
    assert SECRET.encode() not in copies[0]


def test_what_is_no_list_is_no_page() -> None:
    """An error's body is not taken for an empty list."""
    with pytest.raises(PageError):
        copy_page(Kind.PODS, version="v1", raw=b'{"kind":"Status"}')


@given(data=st.data())
def test_whatever_is_in_an_object_its_copy_decodes_alike(data: st.DataObject) -> None:
    """Law: records and the number of skipped objects are those of the original."""
    kind, seed = data.draw(st.sampled_from(SEEDS))
    document = copy.deepcopy(seed)
    place: Any = document
    path = data.draw(st.sampled_from([p for p in _paths(document) if p[0] != "kind"]))
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = data.draw(JSON_VALUES)
    whole = page(document, seed)
    original = decode(kind, json.dumps({"kind": "List", "items": [document, seed]}).encode())
    copied = decode(kind, as_list(copy_page(kind, version="v1", raw=whole)))
    if kind is Kind.SCALED_OBJECTS:
        assert len(copied.records) == len(original.records)
    else:
        assert copied.records == original.records
    assert copied.skipped == original.skipped
