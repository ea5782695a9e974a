"""Wait for what must come to be, and watch that what must stay stays."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
PAUSE = 0.1
"""Seconds between two looks."""


class NeverCameError(AssertionError):
    """Something did not come to be in time."""


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


def together(*parts: Callable[[], T]) -> list[T]:
    """Play parts of a scenario side by side and give what each gives, in their order.

    Raises:
        BaseException: the gravest of their errors: that something was late hides nothing else.
    """
    with ThreadPoolExecutor(max(1, len(parts))) as pool:
        started = [pool.submit(part) for part in parts]
        errors = [found for each in started for found in (each.exception(),) if found is not None]
    for error in sorted(errors, key=lambda one: isinstance(one, NeverCameError)):
        raise error
    return [each.result() for each in started]


def pause(seconds: float) -> None:
    """Let time pass where time itself is what is tested: a cooldown, a window."""
    threading.Event().wait(seconds)
