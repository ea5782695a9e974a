"""Validate a document as a CRD's structural schema asks; enough of it for our own CRDs."""

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import yaml

from scaler.core.quantity import instant

Schema: TypeAlias = dict[str, Any]

CRD = Path(__file__).parents[2] / "deploy" / "base" / "crds" / "workerscale.yaml"
_TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
}
_UNDERSTOOD = {
    "type",
    "description",
    "required",
    "properties",
    "additionalProperties",
    "items",
    "anyOf",
    "enum",
    "pattern",
    "minLength",
    "maxLength",
    "minimum",
    "format",
    "default",
    "x-kubernetes-int-or-string",
    "x-kubernetes-validations",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
}
_BOUNDS = {"int32": 2**31, "int64": 2**63}


@lru_cache
def crd() -> Schema:
    """Read the CRD that is shipped."""
    document: Schema = yaml.safe_load(CRD.read_text(encoding="utf-8"))
    return document


def version() -> Schema:
    """Give its only version."""
    only: Schema
    (only,) = crd()["spec"]["versions"]
    return only


def part(*path: str) -> Schema:
    """Give the schema of a field, such as `spec`, `target`."""
    found: Schema = version()["schema"]["openAPIV3Schema"]
    for name in path:
        found = found["properties"][name]
    return found


def problems(schema: Schema, value: object, at: str = "") -> Iterator[str]:
    """Say what is wrong with a value; a field that the schema does not know is wrong too."""
    assert schema.keys() <= _UNDERSTOOD, schema.keys() - _UNDERSTOOD
    kind = schema.get("type")
    if kind is not None and (not isinstance(value, _TYPES[kind]) or isinstance(value, bool)):
        yield f"{at}: {value!r} is no {kind}"
        return
    if "anyOf" in schema and all(any(problems(each, value)) for each in schema["anyOf"]):
        yield f"{at}: {value!r} is none of what is allowed"
    match value:
        case dict():
            yield from _object(schema, value, at)
        case list():
            for index, each in enumerate(value):
                yield from problems(schema["items"], each, f"{at}[{index}]")
            yield from _keys(schema, value, at)
        case str() | int():
            yield from _scalar(schema, value, at)
        case _:
            yield f"{at}: {value!r} is not JSON that a schema knows"


def _object(schema: Schema, value: dict[str, object], at: str) -> Iterator[str]:
    yield from (
        f"{at}.{name} is missing" for name in schema.get("required", ()) if name not in value
    )
    known, rest = schema.get("properties", {}), schema.get("additionalProperties")
    for name, each in value.items():
        inner = known.get(name, rest)
        if inner is None:
            yield f"{at}.{name} is not known"
        else:
            yield from problems(inner, each, f"{at}.{name}")


def _keys(schema: Schema, value: list[Any], at: str) -> Iterator[str]:
    names = schema.get("x-kubernetes-list-map-keys")
    if names is not None:
        keys = [tuple(each[name] for name in names) for each in value]
        if len(set(keys)) < len(keys):
            yield f"{at} has a key twice"


def _scalar(schema: Schema, value: str | int, at: str) -> Iterator[str]:
    if value not in schema.get("enum", (value,)):
        yield f"{at}: {value!r} is not in {schema['enum']}"
    if isinstance(value, int):
        bound = _BOUNDS.get(schema.get("format", "int64"), 2**63)
        if not max(schema.get("minimum", -bound), -bound) <= value < bound:
            yield f"{at}: {value} is out of bounds"
        return
    if not schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", 2**31):
        yield f"{at}: {value!r} is too short or too long"
    if re.search(schema.get("pattern", ""), value) is None:
        yield f"{at}: {value!r} does not match {schema['pattern']}"
    if schema.get("format") == "date-time":
        try:
            instant(value)
        except ValueError as error:
            yield f"{at}: {error}"
