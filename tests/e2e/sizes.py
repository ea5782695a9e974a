"""Every size that targets are given, in order, without a gap between two looks."""

import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Protocol, Self

import requests

from tests.e2e.api import Object, RefusedError
from tests.e2e.waiting import NeverCameError

PATIENCE = 10.0
"""Seconds for a watch to open."""
AGAIN = 0.2
"""Seconds before a watch is opened that broke."""


class Watched(Protocol):
    """What is needed of the API."""

    def watch(
        self, kind: str, namespace: str = ""
    ) -> AbstractContextManager[Iterator[tuple[str, Object]]]:
        """Give what is there and then every change."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """A size that an object was seen to be given."""

    at: float
    """On the monotonic clock."""
    name: str
    replicas: int


@dataclass(slots=True)
class Sizes:
    """The sizes of all objects of a kind in a namespace, as long as it is in use.

    Only changes are kept. Where the watch breaks it is opened again; what came and went in that
    moment is lost.
    """

    api: Watched
    kind: str
    namespace: str
    _seen: list[Size] = field(default_factory=list)
    _latest: dict[str, int] = field(default_factory=dict)
    _news: threading.Condition = field(default_factory=threading.Condition)
    _opened: threading.Event = field(default_factory=threading.Event)
    _left: threading.Event = field(default_factory=threading.Event)
    _broken: Exception | None = None
    """What ended the watch for good: nothing is seen after it, so nothing is known."""

    def __enter__(self) -> Self:
        name = f"sizes of {self.kind} in {self.namespace}"
        # The API server ends an idle watch in its own time; nothing waits for that.
        threading.Thread(target=self._run, name=name, daemon=True).start()
        if not self._opened.wait(PATIENCE):
            self._left.set()
            raise NeverCameError(f"no watch on {name}")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._left.set()

    def of(self, name: str) -> int | None:
        """Give the latest size of an object, or None where it was not seen yet."""
        with self._news:
            self._check()
            return self._latest.get(name)

    def seen(self, name: str, since: float = 0.0) -> tuple[Size, ...]:
        """Give the sizes that an object was given since a monotonic time, in order."""
        with self._news:
            self._check()
            return tuple(each for each in self._seen if each.name == name and each.at >= since)

    def steps(self, name: str, since: float = 0.0) -> list[int]:
        """Give the bare numbers of what was seen."""
        return [each.replicas for each in self.seen(name, since)]

    def until(
        self, name: str, replicas: int, *, within: float, since: float | None = None
    ) -> float:
        """Wait until an object has a size, and give the monotonic time at which it got it.

        With a time, having got that size at any moment since is enough, whatever came next.

        Raises:
            NeverCameError: it did not get there; all that was seen is in the message.
        """
        with self._news:
            if not self._news.wait_for(lambda: self._reached(name, replicas, since), within):
                steps = [each.replicas for each in self._seen if each.name == name]
                raise NeverCameError(f"{name} at {replicas}: not within {within:.0f} s, {steps}")
            found = self._reached(name, replicas, since)
            assert found
            return found.at

    def _reached(self, name: str, replicas: int, since: float | None) -> Size | None:
        mine = [each for each in self._seen if each.name == name]
        fitting = mine[-1:] if since is None else [each for each in mine if each.at >= since]
        return next((each for each in fitting if each.replicas == replicas), None)

    def never_below(self, name: str, replicas: int, since: float = 0.0) -> None:
        """Demand that no size since a monotonic time was smaller.

        Raises:
            AssertionError: one was, or the object was never seen.
        """
        assert self.of(name) is not None, f"{name} was not seen"
        steps = self.steps(name, since)
        assert all(each >= replicas for each in steps), f"{name} below {replicas}: {steps}"

    def held(self, name: str, since: float) -> None:
        """Demand that no other size was seen since a monotonic time.

        Raises:
            AssertionError: one was, or the object was never seen.
        """
        assert self.of(name) is not None, f"{name} was not seen"
        assert not self.seen(name, since), f"{name} became {self.steps(name, since)}"

    def _check(self) -> None:
        if self._broken is not None:
            raise AssertionError(f"the watch of sizes ended: {self._broken!r}") from self._broken

    def _run(self) -> None:
        try:
            while not self._left.is_set():
                # Refused or broken off, even within a line: the API server is not there.
                with suppress(requests.RequestException, RefusedError, ValueError):
                    self._follow()
                self._left.wait(AGAIN)
        except Exception as error:  # noqa: BLE001  # told to whoever asks for sizes
            with self._news:
                self._broken = error

    def _follow(self) -> None:
        with self.api.watch(self.kind, self.namespace) as events:
            self._opened.set()
            for event, found in events:
                if self._left.is_set():
                    return
                if event in {"ADDED", "MODIFIED"}:
                    self._take(found["metadata"]["name"], found["spec"].get("replicas"))

    def _take(self, name: str, replicas: int | None) -> None:
        with self._news:
            if replicas is None or self._latest.get(name) == replicas:
                return
            self._latest[name] = replicas
            self._seen.append(Size(at=time.monotonic(), name=name, replicas=replicas))
            self._news.notify_all()
