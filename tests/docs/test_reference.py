"""The reference is what the code gives, and leaves nothing out."""

import ast
import re
from enum import StrEnum

import pytest

from docs.generate.__main__ import FOLDER, stale
from docs.generate.commands import commands
from docs.generate.docstrings import UntoldError, member_texts, told
from docs.generate.keys import allowed
from docs.generate.markdown import sentence, table
from scaler.commands.arguments import Exit
from scaler.core import metadata
from tests.docs.blocks import ROOT

_METRIC = re.compile(r"\b_?(?:gauge|counter|histogram)\(\s*\"([a-z_]+)\"")


class Colour(StrEnum):
    """Not of the product: for the tests of what is told."""

    RED = "red"
    """Of blood,
    and wine."""
    BLUE = "blue"


def test_pages_are_what_the_code_gives() -> None:
    """A key, metric or reason that is new or changed has its page written anew."""
    assert stale() == [], "make reference"


def test_text_below_a_member() -> None:
    """The text below a member is its meaning, on one line."""
    assert sentence(told(Colour, "RED")) == "Of blood, and wine."
    assert member_texts(Colour)["BLUE"] == ""


def test_a_member_without_a_text() -> None:
    """A new word without a meaning stops the generator."""
    with pytest.raises(UntoldError, match=r"Colour\.BLUE has no text below it"):
        told(Colour, "BLUE")


@pytest.mark.parametrize("key", [*metadata.QUEUE_KEYS, *metadata.IDLE_KEYS])
def test_keys_say_what_is_allowed(key: str) -> None:
    """What the page says is allowed is what the parser says of a bad value."""
    signal = "queue" if key in metadata.QUEUE_KEYS else "idle"
    assert allowed(key, signal)
    assert f"| `{key}` |" in (FOLDER / "metadata.md").read_text(encoding="utf-8")


def test_every_metric() -> None:
    """Every metric that the code names is on the page."""
    page = (FOLDER / "metrics.md").read_text(encoding="utf-8")
    named = {
        name
        for path in (ROOT / "scaler").rglob("*.py")
        for name in _METRIC.findall(path.read_text(encoding="utf-8"))
    }
    assert len(named) > 20
    assert [name for name in sorted(named) if f"`kueue_gpu_scaler_{name}" not in page] == []


def test_exit_codes() -> None:
    """No command ends with a number that is not told of."""
    nodes = [
        node
        for path in (ROOT / "scaler/cli.py", *(ROOT / "scaler/commands").glob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    ]
    used = {
        node.attr
        for node in nodes
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
        if node.value.id == Exit.__name__
    }
    bare = [node.value for node in nodes if isinstance(node, ast.Return)]
    assert used == set(Exit.__members__)
    assert not [one for one in bare if isinstance(one, ast.Constant) and type(one.value) is int]


def test_every_command() -> None:
    """Each command has a section."""
    page = (FOLDER / "commands.md").read_text(encoding="utf-8")
    assert commands()
    assert [name for name in commands() if f"## `kueue-gpu-scaler {name}`" not in page] == []


def test_a_bar_in_a_cell_is_no_border() -> None:
    """A choice like text|json stays in its cell."""
    assert table(("a",), [("x|y",)]).endswith("| x\\|y |")
