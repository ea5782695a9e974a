"""How long streams were without a server, seen from the replicas."""

import re
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Protocol

import requests

from tests.e2e.replica import PREFIX

EVERY = 0.05
"""Seconds between two looks."""
PATIENCE = 1.0
"""Seconds for an answer; one that ends may take a connection and give none."""
_OPEN = re.compile(rf"^{PREFIX}open_streams (\S+)$", re.MULTILINE)


class Shows(Protocol):
    """A replica, as far as it is looked at here."""

    @property
    def name(self) -> str:
        """Give what no other one is called."""
        ...

    @property
    def answers(self) -> bool:
        """Say whether it runs."""
        ...

    def metrics(self, *, within: float) -> str:
        """Give /metrics, or raise what requests raises."""
        ...


def open_streams(replica: Shows) -> float | None:
    """Give how many streams a replica has: 0 where it is gone, None where it does not answer."""
    try:
        found = _OPEN.search(replica.metrics(within=PATIENCE))
    except requests.Timeout:
        return None
    except requests.RequestException:
        return 0.0
    return float(found[1]) if found else 0.0


def count(replicas: Iterable[Shows]) -> float | None:
    """Add up the streams of those that run; None where one of them is slow to tell."""
    counts = [open_streams(each) for each in replicas if each.answers]
    return None if None in counts else sum(each or 0.0 for each in counts)


@dataclass(slots=True)
class Gaps:
    """From counts of streams, the times in which there were fewer than there should be."""

    wanted: float
    longest: float = 0.0
    """Seconds, of those that are over."""
    since: float | None = None
    """When the one that goes on began."""
    steps: list[tuple[float, float]] = field(default_factory=list)
    """Times and counts, without repetition."""

    def note(self, streams: float, at: float) -> None:
        """Take a count."""
        if not self.steps or self.steps[-1][1] != streams:
            self.steps.append((round(at, 2), streams))
        if streams < self.wanted:
            self.since = at if self.since is None else self.since
        elif self.since is not None:
            self.longest, self.since = max(self.longest, at - self.since), None


@dataclass(slots=True)
class StreamWatch:
    """Counts the open streams of all replicas many times a second, of those that leave too."""

    replicas: Callable[[], Iterable[Shows]]
    wanted: float
    gaps: Gaps = field(init=False)
    _known: dict[str, Shows] = field(default_factory=dict)
    _ending: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread = field(init=False)

    def __post_init__(self) -> None:
        self.gaps = Gaps(self.wanted)
        self._thread = threading.Thread(target=self._look_on, daemon=True)

    def start(self) -> None:
        """Count from now on, whoever of these is replaced the next moment."""
        self._know()
        self._thread.start()

    def stop(self) -> float:
        """Count no more; give the longest gap, with the one that went on."""
        self._ending.set()
        self._thread.join()
        self.gaps.note(self.wanted, time.monotonic())
        return self.gaps.longest

    def _look_on(self) -> None:
        while not self._ending.wait(EVERY):
            self._know()
            found = count(self._known.values())
            if found is not None:
                self.gaps.note(found, time.monotonic())

    def _know(self) -> None:
        """Keep in mind who is there: whoever is replaced goes on with its streams for a while."""
        self._known |= {each.name: each for each in self.replicas()}
