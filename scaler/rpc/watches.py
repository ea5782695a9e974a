"""Wake the open streams whose Decision changed.

Thousands of streams may be open, so each keeps little: one future while it waits, and the
trigger's name shared with all others that watch the same.
"""

import asyncio
from types import TracebackType
from typing import Self

from scaler.core.trigger import TriggerRef
from scaler.store import State, Store


class Watch:
    """One open stream's bell; good for one `with`, which takes it out of its Watches again."""

    __slots__ = ("_home", "_rung", "_waiter", "ended", "ref")

    def __init__(self, home: "Watches", ref: TriggerRef) -> None:
        self._home = home
        self._waiter: asyncio.Future[None] | None = None
        self._rung = False
        self.ref = ref
        self.ended = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._home.leave(self)

    async def wait(self) -> bool:
        """Wait for news; False once the server stops."""
        if not self._rung:
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        self._rung = False
        return not self.ended

    def ring(self) -> None:
        """Wake the stream."""
        self._rung = True
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def end(self) -> None:
        """Wake the stream for good."""
        self.ended = True
        self.ring()


class Watches:
    """Hold the bells of all open streams; everything in here belongs to the event loop's thread."""

    def __init__(self, store: Store) -> None:
        self._loop = asyncio.get_running_loop()
        self._watches: dict[TriggerRef, set[Watch]] = {}
        self._refs: dict[TriggerRef, TriggerRef] = {}
        """Each key of `_watches` under itself: equal ones are built for every stream."""
        self._ended = False
        self._cancel = store.listen(self._published)

    def watch(self, ref: TriggerRef) -> Watch:
        """Hang up a bell for one stream; its `ref` is shared with the others."""
        watch = Watch(self, self._refs.setdefault(ref, ref))
        if self._ended:
            watch.end()
        self._watches.setdefault(watch.ref, set()).add(watch)
        return watch

    def leave(self, watch: Watch) -> None:
        """Take a bell down."""
        watches = self._watches[watch.ref]
        watches.discard(watch)
        if not watches:
            del self._watches[watch.ref], self._refs[watch.ref]

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
