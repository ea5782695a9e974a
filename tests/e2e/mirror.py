"""What the API server has of one kind, kept up by a thread that survives the server's outages."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from typing import Protocol

from tests.e2e.api import Object, RefusedError
from tests.e2e.waiting import pause

RECONNECT = 0.3
"""Seconds between two attempts to list and watch."""
OUTAGE = (OSError, RefusedError, ValueError)
"""What an API server that stops, starts or is cut off in a line makes a client raise."""


class Listing(Protocol):
    """The part of Api that a mirror reads."""

    def list(self, kind: str, namespace: str = "", *, labels: str = "") -> list[Object]:
        """Give all objects of a kind."""

    def watch(
        self, kind: str, namespace: str = ""
    ) -> AbstractContextManager[Iterator[tuple[str, Object]]]:
        """Give (type, object) of what is there and then of every change."""


class Cluster(Listing, Protocol):
    """The part of Api that a controller writes with."""

    def create(self, wanted: Object) -> Object:
        """Create one object."""

    def patch(
        self, kind: str, name: str, namespace: str = "", *, change: Object, sub: str = ""
    ) -> Object:
        """Apply a JSON merge patch."""

    def delete(
        self, kind: str, name: str, namespace: str = "", *, grace: int | None = None
    ) -> None:
        """Delete an object; none is fine."""


class Mirror:
    """All objects of a kind; what was there stays known while the API server is away."""

    def __init__(
        self, source: Listing, kind: str, *, heard: Callable[[Object], None] | None = None
    ) -> None:
        """Mirror a kind.

        Args:
            source: Where the objects are read.
            kind: Their kind.
            heard: Called on the mirror's thread with every new version of an object.
        """
        self._source = source
        self._kind = kind
        self._heard = heard
        self._lock = threading.Lock()
        """Guards _objects: at each name the newest version seen, by its resourceVersion."""
        self._objects: dict[tuple[str, str], Object] = {}
        self._synced = threading.Event()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._keep, name=f"mirror {kind}", daemon=True)

    def start(self) -> None:
        """Begin to mirror."""
        self._thread.start()

    def stop(self) -> None:
        """Begin to end: a watch that nothing comes from ends with the process."""
        self._stopped.set()

    def synced(self, within: float) -> bool:
        """Say whether everything was listed once, and wait so many seconds for it."""
        return self._synced.wait(within)

    def objects(self) -> list[Object]:
        """Give what is there, in the order of its coming."""
        with self._lock:
            return list(self._objects.values())

    def _keep(self) -> None:
        while not self._stopped.is_set():
            with suppress(*OUTAGE):
                self._follow()
            pause(RECONNECT)

    def _follow(self) -> None:
        """Watch and then list, so that nothing goes unnoticed between the two."""
        with self._source.watch(self._kind) as events:
            self._replace(self._source.list(self._kind))
            self._synced.set()
            for change, found in events:
                if change == "ERROR" or self._stopped.is_set():
                    return
                self._change(found, deleted=change == "DELETED")

    def _replace(self, found: Sequence[Object]) -> None:
        ordered = sorted(found, key=_version)
        with self._lock:
            self._objects = {_name(each): each for each in ordered}
        for each in ordered:
            self._tell(each)

    def _change(self, found: Object, *, deleted: bool) -> None:
        name = _name(found)
        with self._lock:
            held = self._objects.get(name)
            if held is not None and _version(held) > _version(found):
                return
            if deleted:
                self._objects.pop(name, None)
                return
            self._objects[name] = found
        self._tell(found)

    def _tell(self, found: Object) -> None:
        if self._heard:
            self._heard(found)


def _name(found: Object) -> tuple[str, str]:
    meta = found["metadata"]
    return meta.get("namespace", ""), meta["name"]


def _version(found: Object) -> int:
    return int(found["metadata"].get("resourceVersion") or 0)
