"""Lists, damage, and that nothing raises."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.core.model import Kind, Workload
from scaler.kube.decode import PageError, decode, decode_page
from tests.kube.documents import FULL_WORKLOAD, GPU, Document, pod, scaled_object, workload


def test_a_malformed_object_costs_the_others_nothing() -> None:
    """It is named with where it is wrong."""
    bad = workload("bad")
    bad["spec"]["podSets"][0]["count"] = "many"
    worse: Document = {"metadata": {"namespace": "ml"}, "spec": {}}
    quantity = workload("quantity")
    template = quantity["spec"]["podSets"][0]["template"]
    template["spec"]["containers"][0]["resources"] = {"requests": {GPU: "eight"}}
    items = [workload("a"), bad, worse, quantity, workload("b")]
    page = {"kind": "WorkloadList", "metadata": {"resourceVersion": "7"}, "items": items}
    raw = json.dumps(page).encode()
    for decoded in (decode_page(Kind.WORKLOADS, raw), decode(Kind.WORKLOADS, raw)):
        names = [each.name for each in decoded.records if isinstance(each, Workload)]
        assert names == ["a", "b"]
        assert decoded.skipped == 3
        assert decoded.malformed == (("ml", "bad"), None, ("ml", "quantity"))
        assert "count" in decoded.problems[0]
        assert GPU in decoded.problems[2]
        assert "eight" in decoded.problems[2]


def test_an_object_of_another_kind_is_named() -> None:
    """A file may hold anything."""
    decoded = decode(Kind.WORKLOADS, json.dumps(pod()).encode())
    assert decoded.problems == ("workloads ml/p: kind 'Pod' is not 'Workload'",)


def test_a_list_without_items_is_not_an_empty_list() -> None:
    """An empty one says so."""
    assert decode(Kind.PODS, b'{"kind": "List"}').skipped == 1
    assert decode(Kind.PODS, b'{"kind": "List", "items": []}').skipped == 0


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"[]",
        b'{"kind":"Status","metadata":{"resourceVersion":"1"}}',
        b'{"kind":"PodList","items":[]}',
        b'{"items":[],"metadata":{"resourceVersion":"1"}}',
        b'{"kind":"PodList","metadata":{"resourceVersion":"1"},"items":{}}',
    ],
)
def test_what_is_no_list_is_an_error_not_an_empty_page(raw: bytes) -> None:
    """Nothing may look like a cluster without pods."""
    with pytest.raises(PageError):
        decode_page(Kind.PODS, raw)


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=6,
)


def _paths(document: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    found = [path] if path else []
    if isinstance(document, dict):
        for key, value in document.items():
            found += _paths(value, (*path, key))
    elif isinstance(document, list):
        for index, value in enumerate(document):
            found += _paths(value, (*path, index))
    return found


SEEDS: list[tuple[Kind, Document]] = [
    (Kind.WORKLOADS, FULL_WORKLOAD),
    (Kind.PODS, pod(requests={GPU: "1"}, labels={"a": "b"})),
    (Kind.SCALED_OBJECTS, scaled_object(paused="true")),
]


@given(data=st.data())
def test_decoding_never_raises_whatever_is_in_an_object(data: st.DataObject) -> None:
    """Law: an object with any part replaced or gone is a record or is skipped; the next counts."""
    kind, seed = data.draw(st.sampled_from(SEEDS))
    document = copy.deepcopy(seed)
    for _ in range(data.draw(st.integers(1, 3))):
        paths = _paths(document)
        if not paths:
            break  # all of it is gone already
        path = data.draw(st.sampled_from(paths))
        place: Any = document
        for step in path[:-1]:
            place = place[step]
        if data.draw(st.booleans()):
            place[path[-1]] = data.draw(JSON_VALUES)
        else:
            del place[path[-1]]
    decoded = decode(kind, json.dumps({"kind": "List", "items": [document, seed]}).encode())
    assert len(decoded.records) + decoded.skipped == 2
    assert decoded.records
    assert len(decoded.problems) == len(decoded.malformed) == decoded.skipped


@given(kind=st.sampled_from(Kind), raw=st.binary(max_size=64) | JSON_VALUES.map(json.dumps))
def test_decoding_never_raises_whatever_the_bytes(kind: Kind, raw: bytes | str) -> None:
    """Law: not even for what is no JSON."""
    decode(kind, raw if isinstance(raw, bytes) else raw.encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize("kind", list(Kind))
def test_nesting_without_end_is_malformed(kind: Kind) -> None:
    """It can't blow the stack."""
    deep = b'{"metadata":{"name":"x"},"spec":' + b'{"a":' * 100_000
    assert decode(kind, deep).skipped == 1
