"""Parts of a scenario that are played side by side."""

import pytest

from tests.e2e.waiting import NeverCameError, together


def late() -> str:
    """Not come in time."""
    raise NeverCameError("late")


def wrong() -> str:
    """Do what must never happen."""
    raise AssertionError("went to zero")


def test_all_come_in_their_order() -> None:
    """Whichever ended first."""
    assert together(lambda: "a", lambda: "b") == ["a", "b"]


@pytest.mark.parametrize("parts", [(late, wrong), (wrong, late)], ids=["late first", "late last"])
def test_lateness_hides_nothing_else(parts: tuple[object, ...]) -> None:
    """What was only late has a second try; what must never happen has none."""
    first, second = parts
    assert callable(first)
    assert callable(second)
    with pytest.raises(AssertionError, match="went to zero"):
        together(first, second)


def test_what_is_only_late_is_late() -> None:
    """And is told as that."""
    with pytest.raises(NeverCameError):
        together(lambda: "a", late)
