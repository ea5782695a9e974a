"""Which scenarios are played side by side."""

from pathlib import Path
from typing import Self, cast

import pytest
import requests

from tests.e2e.play import Play, in_rows
from tests.e2e.waiting import NeverCameError
from tests.e2e.world import Scenario, World
from tests.report import Report


def _played(_: World) -> str:
    return ""


def _scenario(name: str, *, shares: str = "", later: str = "") -> Scenario:
    return Scenario(id=name, title=name, play=_played, shares=shares, later=later)


def test_scenarios_that_share_nothing_have_a_row_each() -> None:
    """Nothing is put behind what it does not depend on."""
    one, two = _scenario("one"), _scenario("two")
    assert in_rows([one, two]) == [[one], [two]]


def test_scenarios_that_share_something_are_one_row_in_their_order_and_begin_first() -> None:
    """The longest row decides how long all of it takes."""
    lone = _scenario("lone")
    first, second = _scenario("first", shares="x"), _scenario("second", shares="x")
    assert in_rows([lone, first, second]) == [[first, second], [lone]]


def test_a_scenario_is_not_in_the_row_of_those_that_share_its_id() -> None:
    """Ids and what is shared are different names."""
    lone, other = _scenario("x"), _scenario("other", shares="x")
    assert in_rows([lone, other]) == [[lone], [other]]


def test_what_comes_later_for_the_same_cause_is_one_row() -> None:
    """Whatever else it shares; what comes later for another cause goes on beside it."""
    first, second = _scenario("1", later="KEDA", shares="x"), _scenario("2", later="KEDA")
    other = _scenario("3", later="Kueue")
    assert in_rows([first, other, second]) == [[first, second], [other]]


class Stage:
    """A world that has nothing to look at."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ended: list[str] = []
        """Programs that ended by themselves."""

    @property
    def stack(self) -> Self:
        """Give the folder of the run."""
        return self

    @property
    def programs(self) -> Self:
        """Give what says who died."""
        return self

    def died(self) -> list[str]:
        """Tell who did."""
        return self.ended


def _play(folder: Path, *scenarios: Scenario, stage: Stage | None = None) -> Play:
    """Play scenarios in a world of nothing."""
    play = Play(world=cast("World", stage or Stage(folder)), report=Report(title="e2e"))
    play.all(scenarios)
    return play


def _acts(name: str, *acts: BaseException | str, alone: bool = False, later: str = "") -> Scenario:
    """Give a scenario that does one thing after the other, once each time it is played."""
    left = list(acts)

    def act(_: World) -> str:
        done = left.pop(0)
        if isinstance(done, BaseException):
            raise done
        return done

    return Scenario(id=name, title=name, play=act, alone=alone, later=later)


@pytest.mark.parametrize(
    "late",
    [NeverCameError("a node"), TimeoutError("read"), requests.ReadTimeout("an API server")],
)
def test_what_came_late_is_played_once_more(tmp_path: Path, late: Exception) -> None:
    """And its line says so; an answer that we wait too long for is late as well."""
    play = _play(tmp_path, _acts("slow", late, "4 nodes"))
    assert [(each["ok"], each["said"]) for each in play.lines] == [(True, "4 nodes (second try)")]
    assert play.report.exit_code() == 0


def test_what_never_comes_fails(tmp_path: Path) -> None:
    """There is no third try."""
    play = _play(tmp_path, _acts("slow", NeverCameError("a node"), NeverCameError("a node")))
    assert [each["ok"] for each in play.lines] == [False]
    assert play.report.exit_code() == 1


def test_what_must_never_happen_is_final(tmp_path: Path) -> None:
    """Once is too often, whether another time it would not."""
    play = _play(tmp_path, _acts("zero", AssertionError("went to zero"), "never asked again"))
    assert [each["said"] for each in play.lines] == ["AssertionError: went to zero"]
    assert (tmp_path / "failed" / "zero" / "trace.txt").exists()


def test_those_that_disturb_others_come_after_them(tmp_path: Path) -> None:
    """Whatever their place in the list."""
    play = _play(
        tmp_path,
        _acts("rough", "1", alone=True),
        _acts("restarts", "2", later="KEDA"),
        _acts("calm", "3"),
    )
    assert [each["id"] for each in play.lines] == ["calm", "restarts", "rough"]


def test_what_must_never_happen_is_final_whatever_happens_while_it_is_cleaned_up(
    tmp_path: Path,
) -> None:
    """Nor may it be hidden by what came too late then."""

    def act(_: World) -> str:
        try:
            raise AssertionError("went to zero")
        finally:
            raise NeverCameError("no ScaledObject")

    play = _play(tmp_path, Scenario(id="zero", title="zero", play=act))
    assert [each["said"] for each in play.lines] == ["AssertionError: went to zero"]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_scenario_that_ends_its_thread_is_missed(tmp_path: Path) -> None:
    """No line is no success."""
    play = _play(tmp_path, _acts("exits", SystemExit(0)))
    assert play.lines == []
    assert play.report.exit_code() == 1


def test_a_full_disk_does_not_hide_what_failed(tmp_path: Path) -> None:
    """There is a line, though nothing can be written down."""
    (tmp_path / "failed").write_text("in the way")
    play = _play(tmp_path, _acts("zero", AssertionError("went to zero")))
    assert [each["said"] for each in play.lines] == ["AssertionError: went to zero"]


def test_nothing_is_waited_for_once_the_stack_is_broken(tmp_path: Path) -> None:
    """What ended is said at once, in place of every scenario's patience and of a second try."""
    stage = Stage(tmp_path)

    def act(_: World) -> str:
        stage.ended.append("kwok ended with -9")
        raise NeverCameError("a node")

    breaks = Scenario(id="breaks", title="breaks", play=act)
    play = _play(tmp_path, breaks, _acts("after", "played", alone=True), stage=stage)
    assert [each["said"] for each in play.lines] == [
        "NeverCameError: a node; kwok ended with -9",
        "DiedError: kwok ended with -9",
    ]
    assert play.report.exit_code() == 1
