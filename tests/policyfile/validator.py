"""Judge a value by a JSON Schema, as far as ours goes; an unknown keyword is an error."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from scaler.policyfile.document import Tree

Schema: TypeAlias = Mapping[str, Any]

SPOKEN = {"$schema", "title", "description", "default"}
"""Keywords that refuse nothing."""
KINDS: Mapping[str, type | tuple[type, ...]] = {
    "object": Mapping,
    "array": (list, tuple),
    "string": str,
    "number": (int, float),
    "integer": (int, float),
    "boolean": bool,
    "null": type(None),
}


def fits(schema: Schema, value: Tree) -> bool:
    """Say whether a value fits a schema."""
    keywords = schema.keys() - SPOKEN
    judged = _any_value(schema, value, keywords)
    match value:
        case str():
            # JavaScript's $ is the very end; Python's may stand before a last newline.
            pattern = re.sub(r"\$$", r"\\Z", schema.get("pattern", ""))
            judged &= re.search(pattern, value) is not None
        case int() | float() if not isinstance(value, bool):
            judged &= _in_range(schema, value)
        case Mapping():
            judged &= _mapping_fits(schema, value)
        case Sequence():
            judged &= len(value) >= schema.get("minItems", 0)
            judged &= all(fits(schema.get("items", {}), item) for item in value)
        case _:
            pass
    return judged


def _any_value(schema: Schema, value: Tree, keywords: set[str]) -> bool:
    known = {"type", "enum", "const", "anyOf", "pattern", "items", "minItems", "minProperties"}
    known |= {"minimum", "maximum", "exclusiveMinimum", "properties", "required"}
    assert keywords <= known | {"propertyNames", "additionalProperties"}
    kinds = schema.get("type", list(KINDS))
    return (
        any(_is(kind, value) for kind in ([kinds] if isinstance(kinds, str) else kinds))
        and ("enum" not in schema or value in schema["enum"])
        and ("const" not in schema or (value == schema["const"] and not isinstance(value, bool)))
        and ("anyOf" not in schema or any(fits(option, value) for option in schema["anyOf"]))
    )


def _in_range(schema: Schema, value: float) -> bool:
    least, most = float(schema.get("minimum", value)), float(schema.get("maximum", value))
    return least <= value <= most and value > float(schema.get("exclusiveMinimum", value - 1))


def _mapping_fits(schema: Schema, value: Mapping[str, Tree]) -> bool:
    known: Schema = schema.get("properties", {})
    others = schema.get("additionalProperties", True)
    free = {key: item for key, item in value.items() if key not in known}
    return (
        set(schema.get("required", ())) <= value.keys()
        and len(value) >= schema.get("minProperties", 0)
        and all(fits(schema.get("propertyNames", {}), key) for key in value)
        and all(fits(known[key], item) for key, item in value.items() if key in known)
        and (not free or others is not False)
        and (isinstance(others, bool) or all(fits(others, item) for item in free.values()))
    )


def _is(kind: str, value: Tree) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if isinstance(value, float) and kind == "integer":
        return value.is_integer()
    return isinstance(value, KINDS[kind])
