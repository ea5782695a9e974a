"""The one clock of the embedded cluster: faster than the wall's, or moved by hand in tests."""

import threading
import time
from typing import Protocol

from scaler.core.model import Instant


class Clock(Protocol):
    """Tell the cluster's time, and let its threads wait for it."""

    def now(self) -> Instant:
        """Give the cluster's time."""
        ...

    def sleep_until(self, instant: Instant) -> bool:
        """Wait for the instant; False where the clock was stopped first."""
        ...

    def stop(self) -> None:
        """End all waiting, now and later, with False."""
        ...


class FastClock:
    """Run `speed` times as fast as the wall's clock, from `start` on."""

    def __init__(self, *, speed: float, start: Instant | None = None) -> None:
        self.speed = speed
        self._start = time.time() if start is None else start
        self._zero = time.monotonic()
        self._stopped = threading.Event()

    def now(self) -> Instant:
        """Give the cluster's time."""
        return self._start + (time.monotonic() - self._zero) * self.speed

    def sleep_until(self, instant: Instant) -> bool:
        """Wait for the instant; False where the clock was stopped first."""
        return not self._stopped.wait(max(0.0, (instant - self.now()) / self.speed))

    def stop(self) -> None:
        """End all waiting, now and later, with False."""
        self._stopped.set()


class ManualClock:
    """Stand still until a test moves it on."""

    def __init__(self, *, start: Instant = 1_800_000_000.0) -> None:
        self._now = start
        self._stopped = False
        self._moved = threading.Condition()

    def now(self) -> Instant:
        """Give the time that was set last."""
        with self._moved:
            return self._now

    def advance(self, seconds: float) -> None:
        """Move on, and wake whoever waited for it."""
        with self._moved:
            self._now += seconds
            self._moved.notify_all()

    def sleep_until(self, instant: Instant) -> bool:
        """Wait until `advance` has come to the instant; False where the clock was stopped first."""
        with self._moved:
            self._moved.wait_for(lambda: self._stopped or self._now >= instant)
            return not self._stopped

    def stop(self) -> None:
        """End all waiting, now and later, with False."""
        with self._moved:
            self._stopped = True
            self._moved.notify_all()
