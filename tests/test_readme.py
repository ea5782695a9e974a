"""The README's tables are what the code has."""

import re
from pathlib import Path

from scaler import cli
from scaler.core import metadata

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    """Give a section's text, up to the next title."""
    found = re.search(
        rf"^#+ {re.escape(title)}.*?\n(.*?)(?=^##|\Z)", README, re.DOTALL | re.MULTILINE
    )
    assert found is not None, title
    return found[1]


def first_column(text: str) -> list[str]:
    """Give the code spans that begin the rows of a table."""
    return re.findall(r"^\| `([^`]+)`", text, re.MULTILINE)


def test_queue_keys() -> None:
    """The table of the queue signal has its keys, in their order."""
    assert first_column(section("`signal: queue`")) == list(metadata.QUEUE_KEYS)


def test_idle_keys() -> None:
    """The table of the idle signal has its keys, in their order."""
    assert first_column(section("`signal: idle`")) == list(metadata.IDLE_KEYS)


def test_commands() -> None:
    """The table of commands has those of the command line, in their order."""
    shown = re.findall(r"^ {4}(\w+) ", cli.parser().format_help(), re.MULTILINE)
    assert first_column(section("Commands")) == shown


def test_examples() -> None:
    """Every example is told of."""
    shipped = {path.name for path in (ROOT / "deploy" / "examples").iterdir()}
    assert set(first_column(section("Deploy"))) == shipped


def test_layout() -> None:
    """What the layout names is there."""
    rows = re.findall(r"^\| (`.*?) \|", section("Layout"), re.MULTILINE)
    paths = [path for row in rows for path in re.findall(r"`([^`]+)`", row)]
    assert len(paths) > 10
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_layout_is_complete() -> None:
    """Every package of the service is in it."""
    named = set(re.findall(r"`([^`]+)`", section("Layout")))
    packages = {f"scaler/{path.parent.name}" for path in (ROOT / "scaler").glob("*/__init__.py")}
    assert len(packages) > 10
    assert packages - named == set()


def test_links() -> None:
    """Links into the project lead somewhere."""
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", README)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_make_targets() -> None:
    """The Makefile has every target that the README names."""
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"\bmake (demo|test|peers|bench|setup|\w+)(?=`|    )", README))
    assert {"demo", "test", "peers", "bench", "setup"} <= named <= targets
