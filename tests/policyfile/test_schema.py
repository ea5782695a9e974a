"""Schema, parser and the shipped example speak of the same keys."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.core.policy import Policy, Pool
from scaler.policyfile import parse_policy, schema
from scaler.policyfile.document import Tree, read_documents
from scaler.policyfile.fields import POLICY
from scaler.policyfile.shapes import Leaf, Listing, Section, Shape, Table
from tests.policyfile.validator import fits

EXAMPLE = Path(__file__).parents[2] / "deploy" / "base" / "policy.yaml"
SCHEMA: Mapping[str, object] = json.loads(schema())

SCALARS: st.SearchStrategy[Tree] = (
    st.none()
    | st.booleans()
    | st.integers(-2, 101)
    | st.sampled_from([0.05, 1.5, 2.0, 1e3])
    | st.sampled_from(
        ["30m", "0s", "1h", "", "a", "Mon", "08:00", "24:00", "8Gi", "-1", "0", "x/y", "/f", "q q"]
    )
)


def trees(shape: Shape) -> st.SearchStrategy[Tree]:
    """Draw values that nearly fit a shape."""
    match shape:
        case Leaf():
            return SCALARS
        case Section():
            keys = {field.key: trees(field.shape) for field in shape.fields}
            required = {field.key for field in shape.fields if field.required}
            near = st.fixed_dictionaries(
                {key: keys[key] for key in keys if key in required},
                optional={key: keys[key] for key in keys if key not in required},
            )
            return near | st.dictionaries(st.sampled_from([*keys, "nope"]), SCALARS, max_size=2)
        case Table():
            names = st.sampled_from(["a", "A", "pool", "nvidia.com/gpu", "", "ä"])
            return st.dictionaries(names, trees(shape.value), max_size=2) | st.none()
        case Listing():
            return st.lists(trees(shape.value), max_size=2) | SCALARS


def keys(shape: Shape, path: str = "") -> Iterator[str]:
    """Give the path of every key that the table knows, with * for free names."""
    match shape:
        case Leaf():
            return
        case Section():
            for field in shape.fields:
                yield f"{path}.{field.key}"
                yield from keys(field.shape, f"{path}.{field.key}")
        case Table() | Listing():
            yield from keys(shape.value, f"{path}.*")


def present(tree: Tree, shape: Shape, path: str = "") -> Iterator[str]:
    """Give the path of every known key that a document holds, with * for free names."""
    match shape, tree:
        case Section(), Mapping():
            for field in shape.fields:
                if field.key in tree:
                    yield f"{path}.{field.key}"
                    yield from present(tree[field.key], field.shape, f"{path}.{field.key}")
        case Table(), Mapping():
            for value in tree.values():
                yield from present(value, shape.value, f"{path}.*")
        case Listing(), list() | tuple():
            for value in tree:
                yield from present(value, shape.value, f"{path}.*")
        case _:
            return


def defaults(shape: Section) -> dict[str, Tree]:
    """Give a section's defaults as a file would say them."""
    found: dict[str, Tree] = {}
    for field in shape.fields:
        if field.default is not None:
            found[field.key] = field.default
        elif isinstance(field.shape, Section) and not any(
            inner.required for inner in field.shape.fields
        ):
            found[field.key] = defaults(field.shape)
    return found


def section(*path: str) -> Section:
    """Find the section under a path of keys and tables."""
    shape: Shape = POLICY
    for part in path:
        if isinstance(shape, Table):
            shape = shape.value
        assert isinstance(shape, Section)
        shape = next(field.shape for field in shape.fields if field.key == part)
    found = shape.value if isinstance(shape, Table) else shape
    assert isinstance(found, Section)
    return found


def test_example_fits_the_schema() -> None:
    """The shipped example fits the schema."""
    documents, problems = read_documents(EXAMPLE.read_text())
    assert not problems
    assert fits(SCHEMA, documents[0])


def test_example_has_every_key() -> None:
    """The shipped example shows every key, at one level at least for thresholds."""
    (tree,), _ = read_documents(EXAMPLE.read_text())
    levels = (".kinds.*.", ".clusterQueues.*.", ".namespaces.*.")
    shown = set(present(tree, POLICY))
    for level in levels:
        shown |= {
            f".defaults.{path.removeprefix(level)}" for path in shown if path[: len(level)] == level
        }
    wanted = {path for path in keys(POLICY) if not path.startswith(levels)}
    assert wanted <= shown


def test_spoken_defaults_are_the_built_in_ones() -> None:
    """What schema and example call built in is what an empty policy has."""
    spoken = defaults(POLICY)
    assert spoken["safety"]
    assert spoken.pop("defaults") == {}
    assert parse_policy(json.dumps(spoken)) == Policy()


def test_spoken_defaults_of_pool_and_custom() -> None:
    """The same for the sections with required keys."""
    pool: dict[str, Tree] = {"nodeSelector": {"a": "b"}, "node": {"cpu": 1}, "maxNodes": 1}
    full = pool | defaults(section("pools"))
    short, long = (parse_policy(json.dumps({"pools": {"a": one}})) for one in (pool, full))
    assert isinstance(short, Policy)
    assert isinstance(short.pools["a"], Pool)
    assert short == long
    custom: dict[str, Tree] = {
        "signals": [{"name": "a", "metric": "b", "maximum": 1}],
        "deviceLabel": "uuid",
        "resources": ["x/y"],
    }
    both = [custom, custom | defaults(section("prometheus", "custom"))]
    first, second = (parse_policy(json.dumps({"prometheus": {"custom": one}})) for one in both)
    assert isinstance(first, Policy)
    assert first == second


@given(trees(POLICY))
def test_parser_and_schema_agree(tree: Tree) -> None:
    """What the schema refuses the parser refuses; what the parser takes fits the schema."""
    parsed = parse_policy(json.dumps(tree))
    assert not isinstance(parsed, Policy) or fits(SCHEMA, tree)


def _leaves(shape: Shape, path: str) -> Iterator[tuple[str, Leaf]]:
    match shape:
        case Leaf():
            yield path, shape
        case Section():
            for field in shape.fields:
                yield from _leaves(field.shape, f"{path}.{field.key}")
        case Table():
            yield f"{path}(key)", shape.key
            yield from _leaves(shape.value, f"{path}.*")
        case Listing():
            yield from _leaves(shape.value, f"{path}.*")


@pytest.mark.parametrize(
    "leaf", [pytest.param(leaf, id=path) for path, leaf in _leaves(POLICY, "")]
)
@given(value=SCALARS | st.text(max_size=12))
def test_each_leaf_agrees_with_its_schema(leaf: Leaf, value: Tree) -> None:
    """A leaf and its schema take the same values, save zones, addresses and the largest ones."""
    assert value is None or isinstance(value, str | int | float)
    try:
        leaf.read(value)
    except ValueError:
        taken = False
    else:
        taken = True
    assert not taken or fits(leaf.schema, value)
    if "time zone" not in leaf.allowed and "address" not in leaf.allowed:
        assert taken or not fits(leaf.schema, value)


def test_schema_speaks_of_each_key() -> None:
    """Each key has a description, and unknown keys are refused."""
    assert fits(SCHEMA, {"defaults": {"idleAfter": "30m"}})
    assert not fits(SCHEMA, {"defaults": {"idle_time": "30m"}})
    assert not fits(SCHEMA, None)
    properties = SCHEMA["properties"]
    assert isinstance(properties, dict)
    assert all(field["description"] for field in properties.values())
