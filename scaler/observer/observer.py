"""The observer's thread: take changes, join, decide what they touch, publish."""

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from queue import Empty
from time import monotonic
from typing import Protocol

import structlog

from scaler.core.decide import decide
from scaler.core.decision import Decision, Status
from scaler.core.idle.starts import idle_starts
from scaler.core.model import Instant, Name, ScaledObject
from scaler.core.reasons import Reason
from scaler.core.scales import default_refs, scale_of
from scaler.core.size import Size, size_of
from scaler.core.snapshot import Part, Partition, Snapshot
from scaler.core.trigger import TriggerRef
from scaler.core.usage import IdleStart
from scaler.observer.changes import Change, Inbox, Wake
from scaler.observer.join import Joiner
from scaler.policyfile import PolicyState
from scaler.store import Store

ASKED_FOR_SECONDS = 900.0
"""A trigger that no ScaledObject holds is decided for so long after KEDA last asked for it."""

SLICE_SECONDS = 0.004
PAUSE_SECONDS = 0.001
"""A tick's decisions are made in slices with pauses between them: a change that comes meanwhile is
decided before the rest, and RPCs get their turn."""

IDLE_SHARE = 9
"""A tick waits for so many times what the last one took: thousands of triggers must not cost a
core for nothing."""

LONGEST_TICK_SECONDS = 30.0
"""Delays, ages and outages are noticed by then all the same."""

log = structlog.get_logger(__name__)


class PolicySource(Protocol):
    """Where the policy comes from."""

    def poll(self) -> PolicyState | None:
        """Give the new state, None while nothing changed."""
        ...


class Observer:
    """Run the loop; everything in here but `stop` and the inbox belongs to its thread.

    Invariant: after each turn the store holds a Decision for every trigger of a ScaledObject and
    for every one that was asked for lately, each no older than the last change it read.
    """

    def __init__(
        self,
        *,
        inbox: Inbox,
        store: Store,
        policy: PolicySource,
        clock: Callable[[], Instant],
        tick_seconds: float,
        policy_poll_seconds: float,
    ) -> None:
        self._inbox = inbox
        self._store = store
        self._policy_source = policy
        self._clock = clock
        self._tick = tick_seconds
        self._poll = policy_poll_seconds
        self._joiner = Joiner()
        self._policy = store.latest().policy
        self._decisions: dict[TriggerRef, Decision] = {}
        self._readers: defaultdict[Partition, set[TriggerRef]] = defaultdict(set)
        self._idle_starts: tuple[IdleStart, ...] | None = None
        self._scaled_objects: Mapping[Name, ScaledObject] = {}
        self._own: frozenset[TriggerRef] = frozenset()
        self._overdue: dict[TriggerRef, None] = {}
        """What a tick has still to decide, in order."""
        self._spent = 0.0
        """Seconds that the newest tick's decisions have taken so far."""
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="observer", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread and wait for it."""
        self._stopping.set()
        self._inbox.wake()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        next_tick = next_poll = monotonic()
        while not self._stopping.is_set():
            pause = monotonic() + PAUSE_SECONDS if self._overdue else next_tick
            changes = self._wait(until=min(pause, next_tick, next_poll))
            self._apply(changes)
            poll, every = monotonic() >= next_poll, monotonic() >= next_tick
            if poll:
                next_poll = monotonic() + self._poll
            if every:
                next_tick = monotonic() + tick_after(self._spent, least=self._tick)
                self._spent = 0.0
            try:
                touched = self._poll_policy() if poll else set()
                if changes or touched or every or self._overdue:
                    self._turn(touched, every=every)
            except Exception:
                # The next tick decides all anew; until one succeeds the store turns stale.
                self._overdue.clear()
                log.exception("turn failed")

    def _wait(self, *, until: float) -> list[Change]:
        """Take all changes that are there, waiting for the first."""
        changes: list[Change] = []
        timeout = max(0.0, until - monotonic())
        try:
            first = self._inbox.queue.get(timeout=timeout) if timeout else None
            while True:
                if first is not None and not isinstance(first, Wake):
                    changes.append(first)
                first = self._inbox.queue.get_nowait()
        except Empty:
            return changes

    def _apply(self, changes: Iterable[Change]) -> None:
        for change in changes:
            try:
                self._joiner.apply(change)
            except Exception:
                # One bad change must not end the only thread that decides.
                log.exception("change could not be applied", kind=getattr(change, "kind", None))

    def _poll_policy(self) -> set[Partition]:
        state = self._policy_source.poll()
        if state is None:
            return set()
        self._policy = state
        if state.problems:
            log.error("policy refused", problems=[str(problem) for problem in state.problems])
        else:
            log.info("policy loaded", path=str(state.path))
        return {(Part.POLICY, "")}

    def _turn(self, touched: set[Partition], *, every: bool) -> None:
        now = self._clock()
        snapshot, changed_parts = self._joiner.snapshot(at=now)
        touched |= changed_parts
        snapshot = self._with_idle_starts(snapshot, touched)
        refs = self._refs(snapshot, now)
        for gone in self._decisions.keys() - refs:
            self._forget(gone)
        if every:
            self._overdue |= dict.fromkeys(refs)
        due = self._affected(touched) & refs | (refs - self._decisions.keys())
        changed = {ref for ref in due if self._decide(snapshot, ref, now)}
        changed |= self._catch_up(snapshot, now)
        self._store.publish(
            snapshot=snapshot,
            policy=self._policy,
            decisions=dict(self._decisions),
            changed=frozenset(changed),
        )

    def _with_idle_starts(self, snapshot: Snapshot, touched: set[Partition]) -> Snapshot:
        """Add the fleet's idle starts: the mass-idle brake looks at all workloads at once."""
        if touched & {(Part.USAGE, ""), (Part.POLICY, "")}:
            self._idle_starts = idle_starts(snapshot=snapshot, policy=self._policy.policy)
        return replace(snapshot, idle_starts=self._idle_starts)

    def _refs(self, snapshot: Snapshot, now: Instant) -> set[TriggerRef]:
        if snapshot.scaled_objects is not self._scaled_objects:
            self._scaled_objects = snapshot.scaled_objects
            self._own = frozenset(_refs_of_scaled_objects(snapshot))
        own = (*self._own, *default_refs(snapshot))
        return {*own, *self._store.asked(since=now - ASKED_FOR_SECONDS)}

    def _affected(self, touched: Iterable[Partition]) -> set[TriggerRef]:
        return set().union(*(self._readers.get(part, set()) for part in touched))

    def _decide(self, snapshot: Snapshot, ref: TriggerRef, now: Instant) -> bool:
        """Decide one trigger anew; say whether what KEDA gets, or why, has changed."""
        self._overdue.pop(ref, None)
        before = self._decisions.get(ref)
        decision = decide_safely(snapshot=snapshot, ref=ref, state=self._policy, now=now)
        for part in (before.read if before else frozenset()) - decision.read:
            self._readers[part].discard(ref)
        for part in decision.read:
            self._readers[part].add(ref)
        self._decisions[ref] = decision
        return differs(before, decision)

    def _catch_up(self, snapshot: Snapshot, now: Instant) -> set[TriggerRef]:
        """Decide one slice of what the tick left; give the triggers whose Decision is news."""
        began = monotonic()
        until = began + SLICE_SECONDS
        changed: set[TriggerRef] = set()
        while self._overdue and monotonic() < until:
            ref = next(iter(self._overdue))
            if self._decide(snapshot, ref, now):
                changed.add(ref)
        self._spent += monotonic() - began
        return changed

    def _forget(self, ref: TriggerRef) -> None:
        self._overdue.pop(ref, None)
        decision = self._decisions.pop(ref)
        for part in decision.read:
            self._readers[part].discard(ref)


def tick_after(spent: float, *, least: float) -> float:
    """Give the seconds until the next tick, from what the last one's decisions took."""
    return max(least, min(IDLE_SHARE * spent, LONGEST_TICK_SECONDS))


def refs_of(snapshot: Snapshot) -> Iterator[TriggerRef]:
    """Give the triggers that are ours, and one for each WorkerScale which none of them speaks of.

    Ours are those of ScaledObjects: `external*` with the key `signal`.
    """
    yield from _refs_of_scaled_objects(snapshot)
    yield from default_refs(snapshot)


def _refs_of_scaled_objects(snapshot: Snapshot) -> Iterator[TriggerRef]:
    for scaled_object in snapshot.scaled_objects.values():
        for trigger in scaled_object.triggers:
            if trigger.signal is not None:
                yield TriggerRef.of(
                    namespace=scaled_object.namespace,
                    name=scaled_object.name,
                    metadata=dict(trigger.metadata),
                )


def differs(before: Decision | None, after: Decision) -> bool:
    """Say whether a Decision is news: what KEDA gets, or the reason for it."""
    return before is None or (
        (before.status, before.active, before.value, before.reason, before.running)
        != (after.status, after.active, after.value, after.reason, after.running)
    )


def decide_safely(
    *, snapshot: Snapshot, ref: TriggerRef, state: PolicyState, now: Instant
) -> Decision:
    """Decide; a defect of ours makes HOLD, as missing data does."""
    try:
        return decide(snapshot=snapshot, ref=ref, policy=state.policy, now=now)
    except Exception as error:
        log.exception("decision failed", namespace=ref.namespace, scaled_object=ref.name)
        size = _size_safely(snapshot=snapshot, ref=ref, state=state, now=now)
        return Decision(
            namespace=ref.namespace,
            name=ref.name,
            metric="",
            status=Status.HOLD,
            active=None,
            value=None,
            reason=Reason.INTERNAL,
            detail=f"the decision failed: {type(error).__name__}; the log has the traceback",
            at=now,
            size=size.value,
            running=size.running,
        )


def _size_safely(*, snapshot: Snapshot, ref: TriggerRef, state: PolicyState, now: Instant) -> Size:
    """Read the size apart from the decision that failed; where that fails too, something runs."""
    try:
        return size_of(
            snapshot=snapshot,
            scaled_object=snapshot.scaled_objects.get(ref.key),
            policy=state.policy,
            trigger=None,
            now=now,
            namespace=ref.namespace,
            scale=scale_of(snapshot, ref),
        )
    except Exception:
        log.exception("size can't be read", namespace=ref.namespace, scaled_object=ref.name)
        return Size(value=None, running=True, detail="")
