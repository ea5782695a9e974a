"""The commands of the documents run, or say why they are not run."""

from pathlib import Path

import pytest

from tests.docs.blocks import blocks_of, pages
from tests.docs.commands import Where, command_blocks, run_all, where, workplace

HERE = [page for page in pages() if command_blocks(page, Where.HERE)]


@pytest.mark.parametrize("page", pages())
def test_marks(page: str) -> None:
    """Each block has a language and marks that docs/README.md tells of."""
    problems = [f"{block.place}: {one}" for block in blocks_of(page) for one in block.problems]
    assert problems == []


@pytest.mark.parametrize("page", HERE)
def test_commands(page: str, tmp_path: Path) -> None:
    """What needs no cluster runs, block after block, in a folder with the page's files."""
    with workplace(page, tmp_path) as place:
        run_all(place, command_blocks(page, Where.HERE))


def test_some_are_run_at_each_place() -> None:
    """No place is left without a command by a mistake in the marks."""
    places = [where(block) for page in pages() for block in blocks_of(page)]
    assert set(Where) <= set(places)
