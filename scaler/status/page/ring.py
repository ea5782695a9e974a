"""Remember what was decided, as far as memory may: changes only, the oldest go first."""

import threading
from array import array
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic

from scaler.core.decision import Decision
from scaler.core.model import Instant
from scaler.core.trigger import TriggerRef
from scaler.status.page.timeline import Timeline, Told, spans, told_of, without
from scaler.store import STALE_SECONDS, State

MAX_CHANGES = 200_000
"""Of all triggers together; each is 16 bytes, since equal tellings are one object."""
MOST_EACH, LEAST_EACH = 512, 16
"""Changes of one trigger: as many as MAX_CHANGES leaves to each, within these bounds."""
SPARE_TRACKS = 200
"""Triggers that are gone are swept out once there are so many of them."""
MAX_TELLINGS = 10_000
"""Different tellings that are kept once for all; past them each change has its own."""
MAX_PODS = 64
"""Names of a trigger's pods that are remembered, the newest ones."""
MAX_GAPS = 50


@dataclass(slots=True)
class _Track:
    """One trigger's changes, ascending; guarded by the ring's lock."""

    times: "array[float]" = field(default_factory=lambda: array("d"))
    tellings: list[Told] = field(default_factory=list)
    pods: dict[str, None] = field(default_factory=dict)

    def add(self, at: Instant, told: Told, *, most: int) -> None:
        self.times.append(at)
        self.tellings.append(told)
        surplus = len(self.times) - most
        if surplus > 0:
            # A quarter at once, so that a full track is not moved with each change.
            dropped = max(surplus, most // 4)
            del self.times[:dropped], self.tellings[:dropped]

    def first_unknown(self) -> int | None:
        """Find where the run of tellings without a value begins that lasts until now."""
        found: int | None = None
        for at in range(len(self.tellings) - 1, -1, -1):
            if self.tellings[at].known:
                break
            found = at
        return found

    def saw(self, pods: tuple[str, ...]) -> None:
        for pod in pods[-MAX_PODS:]:
            self.pods.pop(pod, None)
            self.pods[pod] = None
        while len(self.pods) > MAX_PODS:
            del self.pods[next(iter(self.pods))]


class Ring:
    """Listen to a store and keep its changes.

    `_lock` guards all; it is held for a few list operations by the publisher's thread, and for a
    copy of one track by a reader.
    """

    def __init__(self, *, elapsed: Callable[[], float] = monotonic) -> None:
        """Begin with nothing; `elapsed` gives seconds that no change of the clock moves."""
        self._elapsed = elapsed
        self._lock = threading.Lock()
        self._tracks: dict[TriggerRef, _Track] = {}
        self._tellings: dict[Told, Told] = {}
        self._gaps: deque[tuple[Instant, Instant]] = deque(maxlen=MAX_GAPS)
        self._last: tuple[float, Instant] | None = None
        """When something was published last, as it elapses and by the clock."""

    def published(self, state: State, changed: frozenset[TriggerRef]) -> None:
        """Take what a publication changed; called in the publisher's thread."""
        at, elapsed = state.snapshot.at, self._elapsed()
        with self._lock:
            if self._last is not None and elapsed - self._last[0] > STALE_SECONDS:
                self._gaps.append((self._last[1], at))
            self._last = (elapsed, at)
            for ref in changed:
                decision = state.decisions.get(ref)
                if decision is not None:
                    self._add(ref, decision)
            if len(self._tracks) > len(state.decisions) + SPARE_TRACKS:
                for gone in self._tracks.keys() - state.decisions.keys():
                    del self._tracks[gone]

    def timeline(self, ref: TriggerRef, *, start: Instant, end: Instant) -> Timeline:
        """Give what was decided for a trigger; unseen before this process saw it."""
        with self._lock:
            track = self._tracks.get(ref)
            points = [] if track is None else list(zip(track.times, track.tellings, strict=True))
            gaps, last = tuple(self._gaps), self._last
        if last is not None and self._elapsed() - last[0] > STALE_SECONDS:
            gaps = (*gaps, (last[1], end))
        return without(spans(points, start=start, end=end), gaps)

    def pods(self, ref: TriggerRef) -> tuple[str, ...]:
        """Give the names of pods that a trigger's Decisions named, the newest last."""
        with self._lock:
            track = self._tracks.get(ref)
            return () if track is None else tuple(track.pods)

    def unknown_since(self, ref: TriggerRef) -> Instant | None:
        """Give since when no value came out, whatever the reasons were; None = not seen."""
        with self._lock:
            track = self._tracks.get(ref)
            first = None if track is None else track.first_unknown()
            return None if track is None or first is None else track.times[first]

    def began_unknown(self, ref: TriggerRef) -> bool:
        """Say whether there was no value from the first on: it may have been so for longer."""
        with self._lock:
            track = self._tracks.get(ref)
            return track is not None and track.first_unknown() == 0

    @property
    def changes(self) -> int:
        """Count the changes that are kept."""
        with self._lock:
            return sum(len(track.times) for track in self._tracks.values())

    def _add(self, ref: TriggerRef, decision: Decision) -> None:
        track = self._tracks.setdefault(ref, _Track())
        told = told_of(decision)
        if len(self._tellings) < MAX_TELLINGS:
            told = self._tellings.setdefault(told, told)
        else:
            told = self._tellings.get(told, told)
        most = max(LEAST_EACH, min(MOST_EACH, MAX_CHANGES // len(self._tracks)))
        track.add(decision.at, told, most=most)
        if decision.idle is not None:
            track.saw(decision.idle.pods)
