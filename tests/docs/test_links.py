"""Links within the project lead somewhere, to titles too."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT, pages

_LINK = re.compile(r"\[[^\]]*\]\((?!https?:|mailto:)([^)\s]+)\)")
_TITLE = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)
_FENCED = re.compile(r"^( *)(`{3,}).*?^\1\2 *$", re.DOTALL | re.MULTILINE)


def prose(page: Path) -> str:
    """Give a page without its blocks, where # is a comment and no title."""
    return _FENCED.sub("", page.read_text(encoding="utf-8"))


def anchors(page: Path) -> set[str]:
    """Give the names that a forge gives a page's titles."""
    plain = (re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", each) for each in _titles(page))
    return {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in plain}


def _titles(page: Path) -> list[str]:
    return _TITLE.findall(prose(page))


def broken(page: str) -> Iterator[str]:
    """Give the links that lead nowhere."""
    file = ROOT / page
    for link in _LINK.findall(prose(file)):
        path, _, anchor = link.partition("#")
        target = (file.parent / path).resolve() if path else file
        titled = not anchor or target.suffix != ".md"
        if not target.exists() or not (titled or anchor in anchors(target)):
            yield link


@pytest.mark.parametrize("page", pages())
def test_links(page: str) -> None:
    """A link leads to a file or folder of the project, and to a title that the page has."""
    assert list(broken(page)) == []


def test_a_link_that_leads_nowhere_is_seen() -> None:
    """The README's own links are among those that are looked at."""
    assert len(_LINK.findall(prose(ROOT / "README.md"))) > 5
    assert "when-data-is-missing" in anchors(ROOT / "README.md")


@pytest.mark.parametrize("page", [each for each in pages() if each.startswith("docs/")])
def test_reachable(page: str) -> None:
    """Every page under docs/ is named by another page, so that a reader finds it."""
    others = (ROOT / each for each in pages() if each != page)
    wanted = (ROOT / page).resolve()
    assert any(wanted in _linked(each) for each in others), "link to it from docs/README.md"


def _linked(file: Path) -> set[Path]:
    return {
        (file.parent / link.partition("#")[0]).resolve()
        for link in _LINK.findall(prose(file))
        if link.partition("#")[0]
    }
