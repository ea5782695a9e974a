"""The page of versions says what was played, and nothing else."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.e2e.play import Line
from tests.e2e.scenarios import SCENARIOS
from tests.e2e.versions import CutOffError, Variant, all_ok, forget, lines_of, page

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


OLD = Variant(name="old", arguments=("--keda=old",), left_out=tuple(e.id for e in SCENARIOS[2:]))


class Runs:
    """Stands in for the runner: plays what it is given, up to the first `cut` scenarios."""

    def __init__(self, *, cut: int) -> None:
        self.asked: list[Sequence[str]] = []
        self._cut = cut

    def __call__(self, arguments: Sequence[str]) -> list[Line]:
        """Give a line for each scenario that is still played."""
        self.asked.append(arguments)
        ids = [each for each in arguments if not each.startswith("--")][: self._cut]
        return [Line(id=each, title=each, ok=True, seconds=1.0, said="") for each in ids]


def test_what_was_cut_off_is_gone_on_with(tmp_path: Path) -> None:
    """Only what is missing is played, and nothing of what was is lost."""
    lines_of(OLD, kept=tmp_path, resume=False, ran=Runs(cut=1))
    rest = Runs(cut=9)
    lines = lines_of(OLD, kept=tmp_path, resume=True, ran=rest)
    assert rest.asked == [["--keda=old", SCENARIOS[1].id]]
    assert [each["id"] for each in lines] == [SCENARIOS[0].id, SCENARIOS[1].id]
    lines_of(OLD, kept=tmp_path, resume=True, ran=rest)
    assert len(rest.asked) == 1


def test_a_fresh_run_forgets_the_last_one(tmp_path: Path) -> None:
    """Old lines are of another state of the code."""
    lines_of(OLD, kept=tmp_path, resume=False, ran=Runs(cut=9))
    again = lines_of(OLD, kept=tmp_path, resume=False, ran=Runs(cut=0))
    assert again == []


def test_an_interrupted_run_keeps_what_it_played(tmp_path: Path) -> None:
    """And ends as an interrupted one."""

    def cut_off(_: Sequence[str]) -> list[Line]:
        raise CutOffError(Runs(cut=1)([SCENARIOS[0].id]))

    with pytest.raises(KeyboardInterrupt):
        lines_of(OLD, kept=tmp_path, resume=False, ran=cut_off)
    rest = Runs(cut=9)
    lines_of(OLD, kept=tmp_path, resume=True, ran=rest)
    assert rest.asked == [["--keda=old", SCENARIOS[1].id]]


@pytest.mark.parametrize("text", ["[{", "", "null", "[1]"])
def test_what_was_kept_and_cannot_be_read_is_played_again(tmp_path: Path, text: str) -> None:
    """A disk was full, say."""
    (tmp_path / "old.json").write_text(text)
    rest = Runs(cut=9)
    lines_of(OLD, kept=tmp_path, resume=True, ran=rest)
    assert rest.asked == [["--keda=old", SCENARIOS[0].id, SCENARIOS[1].id]]


def test_a_scenario_that_there_was_once_is_not_told_of(tmp_path: Path) -> None:
    """Its line would count, and stand below a table without it."""
    gone = {**line(ok=False), "id": "Z9"}
    (tmp_path / "old.json").write_text(json.dumps([gone]))
    lines = lines_of(OLD, kept=tmp_path, resume=True, ran=Runs(cut=9))
    assert [each["id"] for each in lines] == [SCENARIOS[0].id, SCENARIOS[1].id]


def test_a_fresh_run_leaves_nothing_older_to_go_on_with(tmp_path: Path) -> None:
    """Nor of the versions that it did not come to before it was cut off."""
    lines_of(OLD, kept=tmp_path, resume=False, ran=Runs(cut=9))
    forget(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_what_was_not_played_is_not_right() -> None:
    """A run that never came up has no wrong line either."""
    fine = line(ok=True)
    assert all_ok([fine], [FIRST.id])
    assert not all_ok([], [FIRST.id])
    assert not all_ok([fine], [FIRST.id, SCENARIOS[1].id])
    assert not all_ok([line(ok=False)], [FIRST.id])


def test_each_scenario_has_an_id_of_its_own() -> None:
    """Two with one id would be one on the command line and in the page."""
    assert len({each.id for each in SCENARIOS}) == len(SCENARIOS)
