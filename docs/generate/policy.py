"""The page of the policy's fields, from the table that parser and schema come out of."""

import json
from collections.abc import Iterator
from pathlib import Path

from docs.generate.markdown import code, page, table
from scaler.policyfile.fields import POLICY
from scaler.policyfile.shapes import Field, Leaf, Listing, Section, Shape, Table

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = next(
    f"../../{path.relative_to(ROOT)}"
    for path in sorted(ROOT.glob("deploy/**/policy.yaml"), key=lambda path: len(path.parts))
)
HEAD = ("field", "default", "allowed", "meaning")


def policy_page() -> str:
    """Give docs/reference/policy.md."""
    return page(
        "Policy fields",
        "Every field of the policy file, `*` standing for a name that you give. An unknown key is "
        "refused, and a file with a mistake is refused whole. "
        f"[The policy that is shipped]({SHIPPED}) shows all of them in place; "
        "`kueue-gpu-scaler check --schema` gives the same as JSON Schema.",
        table(HEAD, rows()),
    )


def rows() -> Iterator[tuple[str, str, str, str]]:
    """Give a row a field."""
    for path, field in _fields(POLICY, ""):
        yield (code(path), _default(field), _allowed(field.shape), field.about)


def _fields(shape: Shape, path: str) -> Iterator[tuple[str, Field]]:
    match shape:
        case Section():
            for field in shape.fields:
                inner = f"{path}.{field.key}" if path else field.key
                yield inner, field
                yield from _fields(field.shape, inner)
        case Table():
            yield from _fields(shape.value, f"{path}.*")
        case Listing():
            yield from _fields(shape.value, f"{path}[]")
        case Leaf():
            return


def _default(field: Field) -> str:
    if field.required:
        return "required"
    if field.default is None:
        return ""
    return code(json.dumps(field.default, ensure_ascii=False).strip('"'))


def _allowed(shape: Shape) -> str:
    match shape:
        case Leaf():
            return shape.allowed.removeprefix("allowed is ").removeprefix("allowed are ")
        case Section():
            return "a mapping"
        case Table():
            return f"a mapping, by {_allowed(shape.key)}"
        case Listing():
            return f"a list: {_allowed(shape.value)}"
