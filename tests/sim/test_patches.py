"""Patches do what RFC 7386 and RFC 6902 say, and where the API server differs, what it does."""

from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
        ({"op": "test", "path": "/a", "value": [1, 2]}, {"a": [1, 2], "x/y": 0}),
        ({"op": "move", "path": "/b", "from": "/a"}, {"b": [1, 2], "x/y": 0}),
        ({"op": "copy", "path": "/b", "from": "/a/0"}, {"a": [1, 2], "x/y": 0, "b": 1}),
        ({"op": "replace", "path": "/b", "value": 1}, {"a": [1, 2], "x/y": 0, "b": 1}),
        ({"op": "test", "path": "/b", "value": None}, {"a": [1, 2], "x/y": 0}),
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
        {"op": "remove", "path": "/b"},
        {"op": "test", "path": "/a/0", "value": 2},
        {"op": "test", "path": "/b", "value": 1},
        {"op": "test", "path": "/a/2", "value": None},
        {"op": "test", "path": "/a/0", "value": True},
        {"op": "add", "path": "/b/c", "value": 1},
        {"op": "add", "path": "/a/3", "value": 1},
        {"op": "move", "path": "/c", "from": "/b"},
        {"op": "add", "path": "/b"},
        {"op": "remove", "path": ""},
        {"op": "replace", "path": "/a/7", "value": 1},
        {"op": "fly", "path": "/a", "value": 1},
    ],
)
def test_failing_json_patch(operation: dict[str, Any]) -> None:
    """A path that isn't there, a failed test and an unknown operation are refused."""
    with pytest.raises(PatchFailedError):
        json_patched({"a": [1, 2]}, [operation])


def test_earlier_operations_of_a_failing_patch_are_not_kept() -> None:
    """A patch is done as a whole or not at all."""
    document = {"a": 1}
    with pytest.raises(PatchFailedError):
        json_patched(
            document,
            [{"op": "add", "path": "/b", "value": 1}, {"op": "test", "path": "/a", "value": 2}],
        )
    assert document == {"a": 1}


Json: TypeAlias = Any
KEYS = st.text(alphabet="ab/~01", min_size=1, max_size=3)
VALUES: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=4)


def _pointer(*parts: str) -> str:
    return "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in parts)


def _differences(before: Json, after: Json, *path: str) -> list[dict[str, Json]]:
    """Write the operations that make `after` of `before`, each with a test of what was there."""
    operations: list[dict[str, Json]] = []
    for key in before.keys() | after.keys():
        here = _pointer(*path, key)
        if key in before:
            operations.append({"op": "test", "path": here, "value": before[key]})
        if isinstance(before.get(key), dict) and isinstance(after.get(key), dict):
            operations += _differences(before[key], after[key], *path, key)
        elif key in after:
            operations.append({"op": "add", "path": here, "value": after[key]})
        else:
            operations.append({"op": "remove", "path": here})
    return operations


@given(before=OBJECTS, after=OBJECTS)
def test_differences_applied_give_the_other_document(before: Json, after: Json) -> None:
    """Whatever the keys are called, the differences of two documents turn one into the other."""
    assert json_patched(before, _differences(before, after)) == after


@given(items=st.lists(VALUES, max_size=5), value=VALUES, data=st.data())
def test_what_is_added_to_a_list_can_be_removed(
    items: list[Json], value: Json, data: st.DataObject
) -> None:
    """An item goes where the index says, and the others move on and back."""
    at = data.draw(st.integers(0, len(items)))
    path = f"/l/{at}"
    added = json_patched({"l": items}, [{"op": "add", "path": path, "value": value}])
    assert added["l"] == [*items[:at], value, *items[at:]]
    assert json_patched(added, [{"op": "remove", "path": path}]) == {"l": items}
