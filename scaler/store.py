"""The one object that threads share: what was decided last, and who wants to know.

Sources and the observer run in threads, RPCs in an event loop, the status port in threads of its
own. They meet here and nowhere else.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from scaler.core.decision import Decision
from scaler.core.model import Instant
from scaler.core.snapshot import Snapshot
from scaler.core.trigger import TriggerRef
from scaler.policyfile import PolicyState

MAX_ASKED = 2_000
"""Triggers remembered because somebody asked; the longest unasked goes first.

It bounds what clients can make the observer do. Those of ScaledObjects are decided in any case, and
one that was forgotten is decided when it is asked for."""

STALE_SECONDS = 60.0
"""A State this old is none any more: the observer publishes at every tick, a few seconds apart."""

Listener: TypeAlias = Callable[["State", frozenset[TriggerRef]], None]
"""Called in the publisher's thread with the new State and the triggers whose Decision changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """Everything published at one moment; never changed afterwards."""

    sequence: int
    snapshot: Snapshot
    policy: PolicyState
    decisions: Mapping[TriggerRef, Decision] = field(default_factory=dict)


class Store:
    """Hold the newest State, the triggers asked for, and the listeners.

    `_lock` guards `_asked` and `_listeners` and orders publications. `_state` and `_published` are
    replaced whole under it and read without it: a State never changes, and binding a name is
    atomic.
    """

    def __init__(
        self,
        *,
        policy: PolicyState,
        at: Instant,
        elapsed: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin with nothing known; `elapsed` gives seconds that no change of the clock moves."""
        self._lock = threading.Lock()
        self._elapsed = elapsed
        self._published = elapsed()
        self._state = State(sequence=0, snapshot=Snapshot(at=at), policy=policy)
        self._asked: OrderedDict[TriggerRef, Instant] = OrderedDict()
        self._listeners: list[Listener] = []

    def latest(self) -> State:
        """Give the newest State."""
        return self._state

    @property
    def stale(self) -> bool:
        """Say whether nothing was published for so long that whoever decides must have stopped."""
        return self._elapsed() - self._published > STALE_SECONDS

    def publish(
        self,
        *,
        snapshot: Snapshot,
        policy: PolicyState,
        decisions: Mapping[TriggerRef, Decision],
        changed: frozenset[TriggerRef],
    ) -> State:
        """Replace the State and tell the listeners; called by the observer alone."""
        with self._lock:
            state = State(
                sequence=self._state.sequence + 1,
                snapshot=snapshot,
                policy=policy,
                decisions=decisions,
            )
            self._state = state
            self._published = self._elapsed()
            listeners = tuple(self._listeners)
        for listener in listeners:
            listener(state, changed)
        return state

    def ask(self, ref: TriggerRef, *, now: Instant) -> Decision | None:
        """Give the cached Decision, None before there is one, and note that it was asked for."""
        with self._lock:
            self._asked[ref] = now
            self._asked.move_to_end(ref)
            if len(self._asked) > MAX_ASKED:
                self._asked.popitem(last=False)
        return self._state.decisions.get(ref)

    def asked(self, *, since: Instant) -> tuple[TriggerRef, ...]:
        """Give the triggers asked for since then, and forget the others."""
        with self._lock:
            while self._asked:
                ref, at = next(iter(self._asked.items()))
                if at >= since:
                    break
                del self._asked[ref]
            return tuple(self._asked)

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Register a listener; the call that comes back ends it."""
        with self._lock:
            self._listeners.append(listener)

        def cancel() -> None:
            with self._lock:
                if listener in self._listeners:
                    self._listeners.remove(listener)

        return cancel
