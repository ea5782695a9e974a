"""Every version of a job's Workloads, so that nothing happens between two looks."""

import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

import requests

from tests.e2e.api import Object, RefusedError
from tests.e2e.ledger import Claim, claim_of, owned
from tests.e2e.sizes import AGAIN, PATIENCE, Watched
from tests.e2e.waiting import NeverCameError


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One version of a Workload."""

    at: float
    """On the monotonic clock."""
    change: str
    """ADDED, MODIFIED or DELETED."""
    claim: Claim


@dataclass(slots=True)
class Chronicle:
    """What an owner's Workloads had, as long as it is in use."""

    api: Watched
    namespace: str
    owner: tuple[str, str]
    """Kind and name."""
    _entries: list[Entry] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    """Guards _entries."""
    _opened: threading.Event = field(default_factory=threading.Event)
    _left: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Self:
        name = f"chronicle of {self.owner} in {self.namespace}"
        threading.Thread(target=self._run, name=name, daemon=True).start()
        if not self._opened.wait(PATIENCE):
            self._left.set()
            raise NeverCameError(f"no watch: {name}")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._left.set()

    def since(self, began: float) -> tuple[Entry, ...]:
        """Give what came since a monotonic time."""
        with self._lock:
            return tuple(each for each in self._entries if each.at >= began)

    def kept(self, claim: Claim, began: float) -> None:
        """Demand that no version since a monotonic time had anything else of it.

        Raises:
            AssertionError: one had, or the Workload was deleted, or another came.
        """
        for each in self.since(began):
            after = f"{each.at - began:.1f} s after"
            assert each.change != "DELETED", f"the Workload was deleted {after}"
            assert each.claim == claim, f"{each.claim} {after}, in place of {claim}"

    def _run(self) -> None:
        while not self._left.is_set():
            with suppress(requests.RequestException, RefusedError, ValueError):
                self._follow()
            self._left.wait(AGAIN)

    def _follow(self) -> None:
        with self.api.watch("Workload", self.namespace) as events:
            self._opened.set()
            for change, found in events:
                if self._left.is_set():
                    return
                if change in {"ADDED", "MODIFIED", "DELETED"} and owned(found, *self.owner):
                    self._take(change, found)

    def _take(self, change: str, found: Object) -> None:
        entry = Entry(at=time.monotonic(), change=change, claim=claim_of(found))
        with self._lock:
            self._entries.append(entry)
