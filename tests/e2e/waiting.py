"""Wait for what must come to be, and watch that what must stay stays."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import requests
import urllib3

T = TypeVar("T")
PAUSE = 0.1
"""Seconds between two looks."""


class NeverCameError(AssertionError):
    """Something did not come to be in time."""


LATE = (
    NeverCameError,
    TimeoutError,
    requests.Timeout,
    urllib3.exceptions.TimeoutError,
    urllib3.exceptions.MaxRetryError,
)
"""What did not come in time, our own requests among it.

MaxRetryError is what requests makes a ConnectTimeout of; on any other error it tells that one too.
"""


def gravest(error: BaseException) -> BaseException:
    """Give what counts of an error and of all that it came on top of.

    Where what must never happen did, nothing is heard any more of what came late while it was
    cleaned up.
    """
    chain = [error]
    while (before := chain[-1].__cause__ or chain[-1].__context__) is not None:
        if chain[-1].__suppress_context__ and chain[-1].__cause__ is None:
            break
        chain.append(before)
    return next((each for each in reversed(chain) if not isinstance(each, LATE)), error)


def until(look: Callable[[], T | None], what: str, *, within: float, every: float = PAUSE) -> T:
    """Give the first answer that is neither None, False nor empty.

    Args:
        look: asks; what costs much should be asked less often.
        what: is waited for.
        within: seconds.
        every: seconds between two looks.

    Raises:
        NeverCameError: there was none for so many seconds.
    """
    began = time.monotonic()
    while True:
        found = look()
        if found:
            return found
        if time.monotonic() - began > within:
            raise NeverCameError(f"{what}: not within {within:.0f} s")
        pause(every)


def throughout(look: Callable[[], object], what: str, *, seconds: float) -> None:
    """Demand that something holds at every look for a time.

    Raises:
        AssertionError: it did not once.
    """
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        assert look(), f"{what}: no longer true {seconds - (ends - time.monotonic()):.1f} s in"
        pause(PAUSE)


@contextmanager
def though_late(look: Callable[[], object]) -> Iterator[None]:
    """Demand what must hold at the end, also where something did not come in time until then.

    Else what must never happen would pass for lateness, which has a second try.
    """
    try:
        yield
    finally:
        look()


def together(*parts: Callable[[], T]) -> list[T]:
    """Play parts of a scenario side by side and give what each gives, in their order.

    Their threads end with the process: whoever is interrupted does not wait for what they wait for.

    Raises:
        BaseException: the gravest of their errors: that something was late hides nothing else.
    """
    given: dict[int, T] = {}
    errors: list[BaseException] = []

    def play(number: int, part: Callable[[], T]) -> None:
        try:
            given[number] = part()
        except BaseException as error:  # noqa: BLE001  # raised below, in the scenario's thread
            errors.append(error)

    threads = [threading.Thread(target=play, args=each, daemon=True) for each in enumerate(parts)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for error in sorted(errors, key=lambda one: isinstance(gravest(one), LATE)):
        raise error
    return [given[number] for number in range(len(parts))]


def pause(seconds: float) -> None:
    """Let time pass where time itself is what is tested: a cooldown, a window."""
    threading.Event().wait(seconds)
