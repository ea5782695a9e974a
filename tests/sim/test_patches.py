"""Patches do what RFC 7386 and RFC 6902 say."""

from typing import Any

import pytest

from scaler.sim.patches import PatchFailedError, json_patched, merged


@pytest.mark.parametrize(
    ("document", "patch", "want"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_merge_patch(document: Any, patch: Any, want: Any) -> None:  # noqa: ANN401 - JSON
    """The RFC's own examples come out right."""
    assert merged(document, patch) == want


@pytest.mark.parametrize(
    ("operation", "want"),
    [
        ({"op": "add", "path": "/b", "value": 1}, {"a": [1, 2], "x/y": 0, "b": 1}),
        ({"op": "add", "path": "/a/-", "value": 3}, {"a": [1, 2, 3], "x/y": 0}),
        ({"op": "add", "path": "/a/0", "value": 0}, {"a": [0, 1, 2], "x/y": 0}),
        ({"op": "replace", "path": "/a/1", "value": 9}, {"a": [1, 9], "x/y": 0}),
        ({"op": "remove", "path": "/a/0"}, {"a": [2], "x/y": 0}),
        ({"op": "remove", "path": "/x~1y"}, {"a": [1, 2]}),
        ({"op": "test", "path": "/a/0", "value": 1}, {"a": [1, 2], "x/y": 0}),
    ],
)
def test_json_patch(operation: dict[str, Any], want: object) -> None:
    """Each operation changes objects and lists, and leaves the original alone."""
    document = {"a": [1, 2], "x/y": 0}
    assert json_patched(document, [operation]) == want
    assert document == {"a": [1, 2], "x/y": 0}


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "replace", "path": "/b", "value": 1},
        {"op": "remove", "path": "/b"},
        {"op": "test", "path": "/a/0", "value": 2},
        {"op": "test", "path": "/b", "value": None},
        {"op": "add", "path": "/b/c", "value": 1},
        {"op": "replace", "path": "/a/7", "value": 1},
        {"op": "fly", "path": "/a", "value": 1},
    ],
)
def test_failing_json_patch(operation: dict[str, Any]) -> None:
    """A path that isn't there, a failed test and an unknown operation are refused."""
    with pytest.raises(PatchFailedError):
        json_patched({"a": [1, 2]}, [operation])
