"""The Helm chart takes what it shares with the kustomizations from them.

`python -m tests.peers.run` renders it and compares object by object.
"""

import json
from collections.abc import Iterator

import pytest

import scaler
from tests.kustomized import DEPLOY, Document, documents

CHART = DEPLOY / "chart"
SHARED = {
    "policy.yaml": DEPLOY / "base" / "policy.yaml",
    "policy-openshift.yaml": DEPLOY / "overlays" / "openshift" / "policy.yaml",
    "workerscale.yaml": DEPLOY / "base" / "crds" / "workerscale.yaml",
}


@pytest.mark.parametrize("file", SHARED)
def test_shared_files_are_links(file: str) -> None:
    """A copy would be forgotten; Helm follows links, and packs what they lead to."""
    link = CHART / "files" / file
    assert link.is_symlink()
    assert link.resolve() == SHARED[file].resolve()


def test_version() -> None:
    """The chart and the image are the package's."""
    (chart,) = documents(CHART / "Chart.yaml")
    assert chart["version"] == chart["appVersion"] == scaler.__version__


def test_every_value_is_in_the_schema_and_nothing_else() -> None:
    """`global` is Helm's own, for charts that have this one as a part."""
    schema = json.loads((CHART / "values.schema.json").read_text())
    (values,) = documents(CHART / "values.yaml")
    assert set(schema["properties"]) - {"global"} == set(values)
    for key, value in values.items():
        resolved = resolve(schema, schema["properties"][key])
        if isinstance(value, dict) and "properties" in resolved:
            assert value.keys() <= resolved["properties"].keys(), key


def test_unknown_values_are_refused_at_every_depth() -> None:
    """Each object of the schema says either its keys or what all its values are."""
    schema = json.loads((CHART / "values.schema.json").read_text())
    closed = [each for each in objects(schema) if "properties" in each]
    assert len(closed) > 10
    assert [each for each in closed if each.get("additionalProperties") is not False] == []


def resolve(schema: Document, part: Document) -> Document:
    """Give a part of a schema, followed where it is a reference."""
    if "$ref" not in part:
        return part
    found: Document = schema["$defs"][part["$ref"].rpartition("/")[2]]
    return found


def objects(part: object) -> Iterator[Document]:
    """Give every schema of an object within a schema."""
    match part:
        case dict():
            if part.get("type") == "object":
                yield part
            for each in part.values():
                yield from objects(each)
        case list():
            for each in part:
                yield from objects(each)
        case _:
            pass
