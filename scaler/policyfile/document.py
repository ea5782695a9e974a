"""Read YAML into plain values, without the surprises of YAML 1.1.

Only `true`, `false`, `null` and decimal numbers are not text: `08:30`, `on` and `1_000` are what
they look like. A key that stands twice in one mapping is a problem, not a winner.
"""

import math
import re
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import yaml

from scaler.core.trigger import Problem

Scalar: TypeAlias = str | int | float | bool | None
Tree: TypeAlias = "Scalar | Sequence[Tree] | Mapping[str, Tree]"
Path: TypeAlias = tuple[str | int, ...]

LARGEST_TEXT = 1024 * 1024
"""Bytes; a ConfigMap holds no more."""

_TAG = "tag:yaml.org,2002:"
_PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]+")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_LONGEST_NUMBER = 40
_SHOWN = 80


class _Loader(yaml.SafeLoader):
    """Compose nodes; resolve plain scalars as JSON would."""


_Loader.yaml_implicit_resolvers = {}  # those of YAML 1.1 are inherited otherwise
_Loader.add_implicit_resolver(f"{_TAG}null", re.compile(r"^(?:null|~|)$"), ["n", "~", ""])
_Loader.add_implicit_resolver(f"{_TAG}bool", re.compile(r"^(?:true|false)$"), ["t", "f"])
_Loader.add_implicit_resolver(
    f"{_TAG}int", re.compile(r"^[-+]?(?:0|[1-9][0-9]*)$"), list("-+0123456789")
)
_Loader.add_implicit_resolver(
    f"{_TAG}float",
    re.compile(r"^[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?$"),
    list("-+.0123456789"),
)


def read_documents(text: str) -> tuple[tuple[Tree, ...], tuple[Problem, ...]]:
    """Read every document of a YAML text; problems name the place where reading ended."""
    if len(text) > LARGEST_TEXT:
        return (), (_problem((), "a longer text", f"allowed are {LARGEST_TEXT} characters"),)
    reading = _Reading()
    try:
        nodes = tuple(yaml.compose_all(text, Loader=_Loader))
        documents = tuple(reading.tree(node, ()) for node in nodes)
    except yaml.MarkedYAMLError as error:
        return (), (_syntax(error),)
    except (yaml.YAMLError, ValueError, OverflowError):
        return (), (_problem((), "", "it is not YAML: a character is not allowed there"),)
    except RecursionError:
        return (), (_problem((), "", "it is nested too deeply, or contains itself"),)
    return documents, tuple(reading.problems)


def written(path: Path) -> str:
    """Write a path: `pools.a100.node["nvidia.com/gpu"]`, `schedules.office.days[0]`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif _PLAIN_KEY.fullmatch(part):
            text += f".{part}" if text else part
        else:
            text += f'["{part[:_SHOWN]}"]'
    return text or "(document)"


def shown(tree: Tree) -> str:
    """Show a value in a Problem: as YAML writes it, in part; containers by their sort alone."""
    match tree:
        case None:
            return "null"
        case bool():
            return str(tree).lower()
        case str() | int() | float():
            return str(tree)[:_SHOWN]
        case Mapping():
            return "a mapping"
        case _:
            return "a list"


def _problem(path: Path, value: str, allowed: str) -> Problem:
    return Problem(path=written(path), value=value, allowed=allowed)


def _syntax(error: yaml.MarkedYAMLError) -> Problem:
    """Name the place, and never quote the line: it may hold a secret."""
    mark = error.problem_mark or error.context_mark
    where = f"line {mark.line + 1}, column {mark.column + 1}" if mark else "(document)"
    said = _QUOTED.sub(_hidden, error.problem or "it can't be read")
    return Problem(path=where, value="", allowed=f"it is not YAML: {said}")


def _hidden(quoted: re.Match[str]) -> str:
    """Keep what YAML itself says: single characters, `<stream end>`."""
    inside = quoted[0][1:-1]
    return quoted[0] if len(inside) <= 1 or inside.startswith("<") else "there"


def _number(text: str, *, whole: bool) -> Scalar:
    """Give a number; what is beyond all numbers that mean anything stays text."""
    if len(text) > _LONGEST_NUMBER:
        return text
    if whole:
        return int(text)
    return float(text) if math.isfinite(float(text)) else text


class _Reading:
    """Nodes being turned into plain values; the same node (an alias) is turned once."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self._known: dict[int, Tree] = {}

    def tree(self, node: yaml.Node | None, path: Path) -> Tree:
        if node is None:
            return None
        if id(node) not in self._known:
            self._known[id(node)] = self._turned(node, path)
        return self._known[id(node)]

    def _turned(self, node: yaml.Node, path: Path) -> Tree:
        match node:
            case yaml.ScalarNode():
                return self._scalar(node, path)
            case yaml.SequenceNode():
                return tuple(
                    self.tree(item, (*path, place)) for place, item in enumerate(node.value)
                )
            case yaml.MappingNode():
                return self._mapping(node, path)
            case _:
                raise AssertionError("YAML has no other nodes")

    def _scalar(self, node: yaml.ScalarNode, path: Path) -> Scalar:
        text = str(node.value)
        match node.tag.removeprefix(_TAG):
            case "str":
                return text
            case "null":
                return None
            case "bool":
                return text == "true"
            case "int" | "float" as sort:
                return _number(text, whole=sort == "int")
            case _:
                self.problems.append(_problem(path, "", "tags like !this have no meaning here"))
                return text

    def _mapping(self, node: yaml.MappingNode, path: Path) -> Mapping[str, Tree]:
        found: dict[str, Tree] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                self.problems.append(_problem(path, "a key", "a key must be a plain text"))
                continue
            key = str(key_node.value)
            if key in found:
                self.problems.append(_problem((*path, key), "", "the key stands here twice"))
                continue
            found[key] = self.tree(value_node, (*path, key))
        return found
