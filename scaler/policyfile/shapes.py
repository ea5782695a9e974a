"""The shapes that a table of fields is made of, and the one reader of them all.

A shape says what is allowed, how it is built, and what its JSON Schema is. Reading goes on after
a problem: what is malformed is left out, so that one reading finds every problem.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from types import MappingProxyType
from typing import Final, TypeAlias

from scaler.core.trigger import Problem
from scaler.policyfile.document import Path, Scalar, Tree, shown, written

HIDDEN = "(not shown)"
_SECRET = re.compile(r"token|passw|secret|auth|bearer|credential|key", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """A single value; `read` raises ValueError for what is not allowed."""

    read: Callable[[Scalar], object]
    allowed: str
    """A phrase that follows the value: `allowed is ...`."""
    schema: Mapping[str, object]
    secret: bool = False
    """Its value is never shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One key of a Section."""

    key: str
    attribute: str
    """The record's field."""
    shape: "Shape"
    about: str
    default: Tree = None
    """As the file would say it; None = nothing is set, or it is required."""
    required: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A mapping with known keys; built from those that are given."""

    build: Callable[..., object]
    fields: tuple[Field, ...]
    named: bool = False
    """`build` takes the section's own key as `name`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A mapping from names of one sort to values of one shape."""

    key: Leaf
    value: "Shape"
    build: Callable[[Mapping[str, object]], object] = MappingProxyType
    least: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """A list of values of one shape."""

    value: "Shape"
    build: Callable[[Sequence[object]], object] = tuple
    least: int = 0


def required(key: str, shape: "Shape", *, about: str, attribute: str | None = None) -> Field:
    """Give a Field that must be there; its attribute is the key in snake case unless said."""
    return Field(
        key=key, attribute=attribute or _snake(key), shape=shape, about=about, required=True
    )


def optional(
    key: str, shape: "Shape", *, about: str, default: Tree = None, attribute: str | None = None
) -> Field:
    """Give a Field that may be left out."""
    return Field(
        key=key, attribute=attribute or _snake(key), shape=shape, about=about, default=default
    )


def _snake(key: str) -> str:
    return re.sub(r"[A-Z]", lambda found: f"_{found[0].lower()}", key)


Shape: TypeAlias = Leaf | Section | Table | Listing


class _Bad:
    """What a malformed value is read as."""


BAD: Final = _Bad()


class Reader:
    """Reads trees by their shapes, and gathers what is wrong with them."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def read(self, shape: Shape, tree: Tree, path: Path = ()) -> object:
        """Read a value; give BAD and note a problem where it is malformed itself."""
        match shape:
            case Leaf():
                return self._leaf(shape, tree, path)
            case Section():
                return self._section(shape, tree, path)
            case Table():
                return self._table(shape, tree, path)
            case Listing():
                return self._listing(shape, tree, path)

    def refuse(self, path: Path, value: str, allowed: str) -> _Bad:
        """Note a problem."""
        self.problems.append(Problem(path=written(path), value=value, allowed=allowed))
        return BAD

    def _leaf(self, shape: Leaf, tree: Tree, path: Path) -> object:
        if isinstance(tree, str | int | float):  # bool is an int
            try:
                return shape.read(tree)
            except ValueError:
                pass
        text = shown(tree)
        hidden = shape.secret or "@" in text  # an address may hold a password
        return self.refuse(path, HIDDEN if hidden else text, shape.allowed)

    def _section(self, shape: Section, tree: Tree, path: Path) -> object:
        given = self._given(tree, path, secret=False)
        if given is None:
            return BAD
        known = {field.key: field for field in shape.fields}
        values: dict[str, object] = {"name": path[-1]} if shape.named else {}
        complete = True
        for key, value in given.items():
            if key not in known:
                self._unknown((*path, key), value, tuple(known))
                continue
            found = self.read(known[key].shape, value, (*path, key))
            if found is not BAD:
                values[known[key].attribute] = found
            complete &= found is not BAD or not known[key].required
        for field in shape.fields:
            if field.required and field.key not in given:
                self.refuse((*path, field.key), "", f"it is required: {field.about}")
                complete = False
        return shape.build(**values) if complete else BAD

    def _unknown(self, path: Path, value: Tree, known: tuple[str, ...]) -> None:
        key = str(path[-1])
        near = get_close_matches(key, known, n=1)
        guess = f"did you mean {near[0]}? " if near else ""
        self.refuse(
            path,
            HIDDEN if _SECRET.search(key) else shown(value),
            f"the key is unknown; {guess}allowed are {', '.join(known)}",
        )

    def _table(self, shape: Table, tree: Tree, path: Path) -> object:
        secret = isinstance(shape.value, Leaf) and shape.value.secret
        given = self._given(tree, path, secret=secret)
        if given is None:
            return BAD
        if len(given) < shape.least:
            return self.refuse(path, "{}", "at least one entry is needed")
        found: dict[str, object] = {}
        for key, value in given.items():
            if self._leaf(shape.key, key, (*path, key)) is BAD:
                continue
            entry = self.read(shape.value, value, (*path, key))
            if entry is not BAD:
                found[key] = entry
        return shape.build(found)

    def _listing(self, shape: Listing, tree: Tree, path: Path) -> object:
        if not isinstance(tree, Sequence) or isinstance(tree, str):
            return self.refuse(path, shown(tree), "allowed is a list")
        if len(tree) < shape.least:
            return self.refuse(path, "[]", "at least one entry is needed")
        found = [self.read(shape.value, item, (*path, place)) for place, item in enumerate(tree)]
        return shape.build([item for item in found if item is not BAD])

    def _given(self, tree: Tree, path: Path, *, secret: bool) -> Mapping[str, Tree] | None:
        """Give a mapping's entries; an empty value (`pools:`) has none."""
        if tree is None:
            return {}
        if isinstance(tree, Mapping):
            return tree
        self.refuse(path, HIDDEN if secret else shown(tree), "allowed is a mapping")
        return None
