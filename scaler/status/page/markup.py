"""Build HTML and SVG out of elements, so that no text can ever become markup.

Strings are escaped by the one function that joins them; only `Markup` is taken as it is, and
nothing outside of this module makes one from text.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from typing import TypeAlias

_VOID = frozenset({"br", "hr", "img", "input", "link", "meta"})
"""Elements of HTML without an end tag."""


@dataclass(frozen=True, slots=True)
class Markup:
    """Text that is markup already."""

    text: str

    def __str__(self) -> str:
        return self.text


Child: TypeAlias = "Markup | str | int | Iterable[Child] | None"
"""What an element may hold; None is nothing."""

Attribute: TypeAlias = str | int | bool | None
"""True writes the name alone; None and False leave it out."""


def el(tag: str, *children: Child, **attributes: Attribute) -> Markup:
    """Build an element; `class_` is written `class`, `data_key` is written `data-key`."""
    written = "".join(_attribute(name, value) for name, value in attributes.items())
    if tag in _VOID:
        return Markup(f"<{tag}{written}>")
    return Markup(f"<{tag}{written}>{_joined(children)}</{tag}>")


def join(*children: Child) -> Markup:
    """Put children one after another."""
    return Markup(_joined(children))


def document(*children: Child) -> str:
    """Write a whole page."""
    return f"<!doctype html>\n{_joined(children)}\n"


def _attribute(name: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    name = name.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{_escaped(str(value))}"'


def _joined(children: Iterable[Child]) -> str:
    return "".join(map(_written, children))


def _written(child: Child) -> str:
    match child:
        case None:
            return ""
        case Markup():
            return child.text
        case str():
            return _escaped(child)
        case int():
            return str(child)
        case _:
            return _joined(child)


def _escaped(text: str) -> str:
    """Escape, and show characters that HTML can't hold as what they are: not to be read."""
    clean = "".join(
        one if one.isprintable() or one in " \n" else "\N{REPLACEMENT CHARACTER}" for one in text
    )
    return escape(clean if not text.isprintable() else text)
