"""Parts of a scenario that are played side by side."""

import socket

import pytest
import requests

from tests.e2e.waiting import LATE, NeverCameError, gravest, though_late, together


def late() -> str:
    """Not come in time."""
    raise NeverCameError("late")


def silent() -> str:
    """Wait too long for an answer."""
    raise requests.ReadTimeout("an API server")


def wrong_and_late() -> str:
    """Do what must never happen, and be late while it is cleaned up."""
    try:
        return wrong()
    finally:
        late()


def wrong() -> str:
    """Do what must never happen."""
    raise AssertionError("went to zero")


def test_all_come_in_their_order() -> None:
    """Whichever ended first."""
    assert together(lambda: "a", lambda: "b") == ["a", "b"]


@pytest.mark.parametrize(
    "parts",
    [(late, wrong), (wrong, late), (silent, wrong)],
    ids=["late first", "late last", "silent"],
)
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


def test_what_was_late_in_the_end_is_not_hidden_by_what_was_late_alone() -> None:
    """Nor what it came on top of."""
    with pytest.raises(NeverCameError) as raised:
        together(late, wrong_and_late)
    assert str(gravest(raised.value)) == "went to zero"


def test_an_answer_that_never_comes_is_late_with_all_that_a_client_makes_of_it() -> None:
    """A refused connection is not: somebody ended."""
    with socket.create_server(("127.0.0.1", 0)) as never:
        url = f"http://127.0.0.1:{never.getsockname()[1]}"
        with pytest.raises(requests.ReadTimeout) as raised:
            requests.get(url, timeout=0.05)
    assert isinstance(gravest(raised.value), LATE)
    with pytest.raises(requests.ConnectionError) as refused:
        requests.get(url, timeout=10)
    assert not isinstance(gravest(refused.value), LATE)


@pytest.mark.parametrize("part", [late, str])
def test_what_must_hold_is_looked_at_though_something_was_late(part: object) -> None:
    """It counts for more than lateness, and is demanded where nothing was late too."""
    assert callable(part)

    def play() -> None:
        with though_late(wrong):
            part()

    with pytest.raises(AssertionError, match="went to zero") as raised:
        play()
    assert gravest(raised.value) is raised.value
