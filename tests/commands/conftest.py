"""A furnished cluster for each test that asks for one."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.commands.furnished import Furnished, furnished


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Furnished]:
    """The demo's cluster over real HTTP."""
    with furnished(tmp_path) as one:
        yield one
