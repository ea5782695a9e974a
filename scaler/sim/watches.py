"""Watch streams of the embedded Kubernetes API."""

import time
from collections.abc import Iterable, Iterator

from scaler.sim.faults import Faults, Gone
from scaler.sim.objects import Change, Objects
from scaler.sim.patches import Document
from scaler.sim.requests import Request

TOO_OLD = "too old resource version"


def failure(code: int, reason: str, message: str) -> Document:
    """Write a Status as the API server answers errors."""
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code,
    }


class Watches:
    """Follow the history of a kind for one client after another.

    Time here is the wall's: time-outs and bookmarks belong to the connection, not to the cluster.
    """

    def __init__(self, *, objects: Objects, faults: Faults, bookmark_every: float) -> None:
        self._objects = objects
        self._faults = faults
        self._bookmark_every = bookmark_every
        self._closing = False

    def close(self) -> None:
        """End every stream."""
        with self._objects.changed:
            self._closing = True
            self._objects.changed.notify_all()

    def refused(self, request: Request) -> bool:
        """Say whether the watch is to be answered with HTTP 410."""
        return self._faults.gone is Gone.AS_STATUS and "resourceVersion" in request.query

    def stream(self, request: Request) -> Iterator[Document | None]:
        """Yield watch events until the time-out; None says that nothing came for a moment.

        The caller learns from None that it should see whether its client is still there.
        """
        version = int(request.query.get("resourceVersion") or 0)
        ends = time.monotonic() + float(request.query.get("timeoutSeconds") or 3600)
        if version and self._faults.gone is Gone.IN_STREAM:
            yield {"type": "ERROR", "object": failure(410, "Expired", TOO_OLD)}
            return
        if not version:
            version, present = self._objects.listed(request.resource.plural)
            added = (Change(version=version, type="ADDED", document=d) for d in present)
            yield from self._events(request, added)
        yield from self._follow(request, version=version, ends=ends)

    def _follow(self, request: Request, *, version: int, ends: float) -> Iterator[Document | None]:
        bookmarks = request.query.get("allowWatchBookmarks") == "true"
        bookmark_at = time.monotonic() + self._bookmark_every
        while not self._over(ends):
            news = self._objects.since(request.resource.plural, version)
            if news is None:
                yield {"type": "ERROR", "object": failure(410, "Expired", TOO_OLD)}
                return
            if self._faults.silent:
                yield None
            else:
                version, changes = news
                yield from self._events(request, changes)
                if bookmarks and time.monotonic() >= bookmark_at:
                    yield self._bookmark(request, version)
                    bookmark_at = time.monotonic() + self._bookmark_every
            self._wait(until=min(ends, bookmark_at), after=version)
            yield None

    def _over(self, ends: float) -> bool:
        return self._closing or self._faults.down or time.monotonic() >= ends

    def _wait(self, *, until: float, after: int) -> None:
        def news() -> bool:
            return self._closing or self._objects.version() > after

        with self._objects.changed:
            self._objects.changed.wait_for(news, timeout=min(0.25, until - time.monotonic()))

    def _events(self, request: Request, changes: Iterable[Change]) -> Iterator[Document]:
        for change in changes:
            if request.selects(change.document):
                yield {"type": change.type, "object": request.served(change.document)}

    def _bookmark(self, request: Request, version: int) -> Document:
        blank = {"metadata": {"resourceVersion": str(version), "creationTimestamp": None}}
        kind = {"kind": request.resource.kind}
        return {"type": "BOOKMARK", "object": request.served(kind | blank)}
