"""Wake the open streams whose Decision changed."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from scaler.core.trigger import TriggerRef
from scaler.store import State, Store


class Watch:
    """One open stream's bell."""

    __slots__ = ("_bell", "ended")

    def __init__(self) -> None:
        self._bell = asyncio.Event()
        self.ended = False

    async def wait(self) -> bool:
        """Wait for news; False once the server stops."""
        await self._bell.wait()
        self._bell.clear()
        return not self.ended

    def ring(self) -> None:
        """Wake the stream."""
        self._bell.set()

    def end(self) -> None:
        """Wake the stream for good."""
        self.ended = True
        self._bell.set()


class Watches:
    """Hold the bells of all open streams; everything in here belongs to the event loop's thread."""

    def __init__(self, store: Store) -> None:
        self._loop = asyncio.get_running_loop()
        self._watches: dict[TriggerRef, set[Watch]] = {}
        self._ended = False
        self._cancel = store.listen(self._published)

    @contextmanager
    def watch(self, ref: TriggerRef) -> Iterator[Watch]:
        """Hold a bell for one stream."""
        watch = Watch()
        if self._ended:
            watch.end()
        self._watches.setdefault(ref, set()).add(watch)
        try:
            yield watch
        finally:
            watches = self._watches[ref]
            watches.discard(watch)
            if not watches:
                del self._watches[ref]

    def __len__(self) -> int:
        return sum(len(watches) for watches in self._watches.values())

    def end(self) -> None:
        """End every stream, also those that open from now on."""
        self._ended = True
        self._cancel()
        for watch in [watch for watches in self._watches.values() for watch in watches]:
            watch.end()

    def _published(self, _state: State, changed: frozenset[TriggerRef]) -> None:
        """Hand the change over from the observer's thread to the loop's."""
        if changed and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._ring, changed)

    def _ring(self, changed: frozenset[TriggerRef]) -> None:
        for ref in changed & self._watches.keys():
            for watch in self._watches[ref]:
                watch.ring()
