"""The page of versions says what was played, and nothing else."""

from tests.e2e.play import Line
from tests.e2e.scenarios import SCENARIOS
from tests.e2e.versions import page

FIRST = SCENARIOS[0]


def line(*, ok: bool, said: str = "") -> Line:
    """Give a line of the first scenario."""
    return Line(id=FIRST.id, title=FIRST.title, ok=ok, seconds=1.0, said=said)


def row(text: str) -> str:
    """Give the first scenario's row."""
    return next(each for each in text.splitlines() if each.startswith(f"| {FIRST.id} |"))


def test_each_version_has_its_own_answer() -> None:
    """And what was not played stays empty."""
    text = page({"new": [line(ok=True)], "old": [line(ok=False, said="sizes: 1, 2")], "odd": []})
    assert row(text).endswith("| yes | **no** |  |")


def test_what_was_found_is_told() -> None:
    """One line each, whatever the error looked like."""
    text = page({"old": [line(ok=False, said="first\n  second | third")]})
    assert f"## old\n\n- {FIRST.id}: first second \\| third\n" in text


def test_nothing_wrong_needs_no_words() -> None:
    """Only the table."""
    assert "## " not in page({"new": [line(ok=True)]})


def test_every_scenario_has_a_row_and_an_id_of_its_own() -> None:
    """An id twice would hide a scenario."""
    ids = [each.id for each in SCENARIOS]
    assert len(set(ids)) == len(ids)
    assert all(f"| {each} |" in page({}) for each in ids)
