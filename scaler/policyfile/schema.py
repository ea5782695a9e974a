"""Write the table of fields as a JSON Schema, for editors and for CI."""

import json

from scaler.policyfile.fields import POLICY
from scaler.policyfile.shapes import Leaf, Listing, Section, Shape, Table


def schema() -> str:
    """Give the JSON Schema (draft 2020-12) of a policy file, as text.

    What it refuses, `parse_policy` refuses; the parser also holds keys against each other.
    """
    whole = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Policy of kueue-gpu-scaler",
        **_of(POLICY),
        "type": "object",
    }
    return json.dumps(whole, indent=2) + "\n"


def _of(shape: Shape) -> dict[str, object]:
    match shape:
        case Leaf():
            return dict(shape.schema)
        case Section():
            return _section(shape)
        case Table():
            least = {"minProperties": shape.least} if shape.least else {}
            return {
                "type": ["object", "null"] if not shape.least else "object",
                "propertyNames": dict(shape.key.schema),
                "additionalProperties": _of(shape.value),
                **least,
            }
        case Listing():
            least = {"minItems": shape.least} if shape.least else {}
            return {"type": "array", "items": _of(shape.value), **least}


def _section(shape: Section) -> dict[str, object]:
    properties: dict[str, object] = {}
    for field in shape.fields:
        default = {} if field.default is None else {"default": field.default}
        properties[field.key] = {**_of(field.shape), "description": field.about, **default}
    required = [field.key for field in shape.fields if field.required]
    return {
        "type": "object" if required else ["object", "null"],
        "properties": properties,
        "additionalProperties": False,
        **({"required": required} if required else {}),
    }
