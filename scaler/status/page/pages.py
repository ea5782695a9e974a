"""Answer for the paths of the page: each is made at most once a second, by one thread at a time."""

import gzip
import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import monotonic

from scaler.core.model import Instant
from scaler.status.page.frame import page
from scaler.status.page.holds import holds
from scaler.status.page.look import Look
from scaler.status.page.markup import Markup
from scaler.status.page.past import Past
from scaler.status.page.policy import policy
from scaler.status.page.pools import pools
from scaler.status.page.ring import Ring
from scaler.status.page.trigger import title as trigger_title
from scaler.status.page.trigger import trigger
from scaler.status.page.triggers import triggers
from scaler.status.page.view import read
from scaler.status.page.workers import workers
from scaler.store import Store

FRESH_SECONDS = 1.0
"""So long one rendering serves everybody who looks at the same."""
MAX_KEPT = 32

Body = Callable[[Look], Iterator[Markup | None]]

_BODIES: dict[str, tuple[Body, str]] = {
    "/": (triggers, "Triggers"),
    "/holds": (holds, "Holds"),
    "/pools": (pools, "Pools"),
    "/workers": (workers, "WorkerScales"),
    "/policy": (policy, "Policy"),
    "/trigger": (trigger, ""),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """A page and what tells whether it is another one than the reader has."""

    body: bytes
    packed: bytes
    """The same in gzip."""
    etag: str
    at: Instant
    """Of what is shown."""
    now: Instant
    """The service's clock when it was made, by which ages run on."""


class Pages:
    """Render; `_lock` lets one thread do so at a time, so that no crowd of readers takes more."""

    def __init__(
        self,
        *,
        store: Store,
        clock: Callable[[], Instant],
        details: Callable[[], tuple[str, ...]],
        past: Past | None = None,
    ) -> None:
        """Listen to the store from now on; `details` are the problems that /readyz tells."""
        self._store = store
        self._clock = clock
        self._details = details
        self.ring = Ring()
        self._past = Past(store=store, clock=clock) if past is None else past
        self._cancel = store.listen(self.ring.published)
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, tuple[float, Rendered]] = OrderedDict()

    @property
    def paths(self) -> tuple[str, ...]:
        """Give the paths that are answered."""
        return tuple(_BODIES)

    def start(self) -> None:
        """Start to ask Prometheus, once somebody looks."""
        self._past.start()

    def stop(self) -> None:
        """Stop listening and asking."""
        self._cancel()
        self._past.stop()

    def render(self, path: str, query: str) -> Rendered:
        """Give a page."""
        key = f"{path}?{query}"
        with self._lock:
            made, rendered = self._kept.get(key, (float("-inf"), None))
            if rendered is None or monotonic() - made > FRESH_SECONDS:
                rendered = self._rendered(path, query)
                self._kept[key] = (monotonic(), rendered)
                self._kept.move_to_end(key)
                if len(self._kept) > MAX_KEPT:
                    self._kept.popitem(last=False)
            return rendered

    def _rendered(self, path: str, query: str) -> Rendered:
        body, title = _BODIES[path]
        state, now = self._store.latest(), self._clock()
        look = Look(
            state=state,
            view=read(path, query),
            now=now,
            ring=self.ring,
            past=self._past,
            details=self._details(),
            stale=self._store.stale,
        )
        text = page(look, *body(look), title=title or trigger_title(look)).encode()
        digest = hashlib.sha256(text).hexdigest()[:20]
        packed = gzip.compress(text, compresslevel=1, mtime=0)
        return Rendered(body=text, packed=packed, etag=f'"{digest}"', at=state.snapshot.at, now=now)
