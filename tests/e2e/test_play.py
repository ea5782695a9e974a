"""Which scenarios are played side by side."""

from tests.e2e.play import in_rows
from tests.e2e.world import Scenario, World


def _played(_: World) -> str:
    return ""


def _scenario(name: str, *, shares: str = "") -> Scenario:
    return Scenario(id=name, title=name, play=_played, shares=shares)


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
