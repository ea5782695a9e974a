"""The table of cases names each of them, and tests that are there."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).parent
AREAS = {"K": 15, "Q": 20, "D": 14, "C": 8, "N": 8, "A": 11, "P": 9}
IDS = [f"{area}{number:02}" for area, last in AREAS.items() for number in range(1, last + 1)]


def rows() -> Iterator[tuple[str, str]]:
    """Give id and tests of each row."""
    for line in (HERE / "README.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if re.fullmatch(r"[A-Z]\d\d", cells[0]):
            yield cells[0], cells[-1]


ROWS = dict(rows())


def names(path: Path) -> set[str]:
    """Give the names of a module's tests."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_every_case_has_one_row() -> None:
    """No case is left out, and none stands there twice."""
    assert sorted(case for case, _ in rows()) == sorted(IDS)


@pytest.mark.parametrize("case", IDS)
def test_the_tests_of_a_row_exist(case: str) -> None:
    """Each file named in a row has tests by the case's id."""
    named = re.findall(r"`([\w./]+\.py)`: `(\w+)\*`", ROWS[case])
    assert named
    for file, prefix in named:
        assert prefix == f"test_{case.lower()}_"
        assert any(name.startswith(prefix) for name in names(HERE / file)), (file, prefix)


def test_every_test_of_a_case_stands_in_its_row() -> None:
    """A module here that holds tests of a case is named in the case's row."""
    for path in sorted(HERE.glob("test_area*.py")):
        for name in names(path):
            found = re.match(r"test_([kqdcnap]\d\d)_", name)
            if found is not None:
                assert f"`{path.name}`" in ROWS[found[1].upper()], name
