"""When objects came to be, by a watch."""

import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field

import requests

from tests.e2e.api import RefusedError
from tests.e2e.waiting import NeverCameError
from tests.e2e.world import World

PATIENCE = 30.0
"""Seconds for a watch to open."""


@dataclass(slots=True)
class Arrivals:
    """When objects of a kind were first seen in a namespace, on the monotonic clock."""

    world: World
    kind: str
    namespace: str
    _times: dict[str, float] = field(default_factory=dict)
    _opened: threading.Event = field(default_factory=threading.Event)

    def start(self) -> None:
        """Open the watch; it ends with the namespace's run."""
        threading.Thread(target=self._follow, name=f"{self.kind} arrivals", daemon=True).start()
        if not self._opened.wait(PATIENCE):
            raise NeverCameError(f"no watch on {self.kind}")

    def times(self) -> list[float]:
        """Give the times in order."""
        return sorted(self._times.values())

    def _follow(self) -> None:
        with (
            suppress(requests.RequestException, RefusedError, ValueError),
            self.world.api.watch(self.kind, self.namespace) as events,
        ):
            self._opened.set()
            for _, found in events:
                self._times.setdefault(found["metadata"]["uid"], time.monotonic())
