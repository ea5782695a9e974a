"""The actuator's thread: look at each new State, plan what may have changed, apply it."""

import threading
from collections.abc import Callable, Mapping, Sequence
from time import monotonic, thread_time
from types import MappingProxyType

import structlog

from scaler.actuator.apply import Applied, Outcome, apply
from scaler.actuator.forbidden import complaint
from scaler.actuator.inputs import Surroundings
from scaler.actuator.orphans import Orphans
from scaler.actuator.parts import Parts, gives, say, takes
from scaler.actuator.watched import Watched
from scaler.core.decision import Decision
from scaler.core.hold.orphans import Orphan
from scaler.core.hold.steps import Plan, Step
from scaler.core.model import Instant, Kind, Name, SourceState, WorkerScale
from scaler.core.trigger import TriggerRef
from scaler.observer.observer import decide_safely
from scaler.store import State

NEEDED = (Kind.WORKER_SCALES, Kind.SCALED_OBJECTS, Kind.WORKLOADS, Kind.PODS)
"""Nothing is done before each of these was listed once, or is known not to be served.

What else a plan needs it asks for.
"""

PACE_SECONDS = 0.25
"""Least time between two looks."""
IDLE_SHARE = 9
"""A look waits for so many times the CPU of the last one, if that found nothing to write."""
BUSY_SHARE = 1
"""If it did: people wait for their workers, and the thread that decides for its turn."""
REST_SECONDS = 2.0
"""Longest time between two looks: leadership comes and goes without a word."""
FULL_SECONDS = 30.0
"""All are planned this often, whether or not anything seems to have changed."""
APPLY_SECONDS = 1.0
"""A look ends its writes after so long: what is left is planned again from a newer State."""
FIRST_BACK_OFF, LONGEST_BACK_OFF = 1.0, 30.0

log = structlog.get_logger(__name__)


class Actuator:
    """Plan and apply in a thread of its own; all but `plans` and `stop` belong to it.

    Invariant: nothing is written unless this process leads, the needed kinds were listed, the
    State is fresh, and the WorkerScale is in it.
    """

    def __init__(
        self,
        parts: Parts,
        *,
        clock: Callable[[], Instant],
        elapsed: Callable[[], float] = monotonic,
    ) -> None:
        """Take the parts; `elapsed` gives seconds that no change of the clock moves."""
        self._parts = parts
        self._store = parts.store
        self._clock = clock
        self._elapsed = elapsed
        self._watched: dict[Name, Watched] = {}
        self._orphans = Orphans()
        self._settled: set[Kind] = set()
        self._next_full = float("-inf")
        self._not_before = float("-inf")
        self._failures = 0
        self._outdated = False
        self._plans: Mapping[Name, Plan] = MappingProxyType({})
        self._news = threading.Event()
        self._stopping = threading.Event()
        self._cancel = parts.store.listen(self._published)
        self._thread = threading.Thread(target=self._run, name="actuator", daemon=True)

    @property
    def plans(self) -> Mapping[Name, Plan]:
        """Give the newest plan of each WorkerScale; empty while this process does not lead."""
        return self._plans

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread after the write under way, and wait for it."""
        self._cancel()
        self._stopping.set()
        self._news.set()
        if self._thread.is_alive():
            self._thread.join()

    def _published(self, _state: State, _changed: object) -> None:
        self._news.set()

    def _run(self) -> None:
        pause = 0.0
        while not self._stopping.wait(pause):
            self._news.wait(self._rest())
            self._news.clear()
            began, wrote = thread_time(), False
            try:
                wrote = self.look()
            except Exception:
                # The thread must live on; the next look begins anew.
                self._forget()
                log.exception("look failed")
            pause = pause_after(thread_time() - began, wrote=wrote)

    def _rest(self) -> float:
        """Give the seconds until a plan asked for another look."""
        now = self._clock()
        dues = (watched.due - now for watched in self._watched.values() if watched.due is not None)
        return max(0.0, min(REST_SECONDS, min(dues, default=REST_SECONDS)))

    def look(self) -> bool:
        """Plan what may have changed since the last look and apply it; say if that was anything."""
        state = self._store.latest()
        if not self._may_look(state):
            return False
        if self._elapsed() >= self._next_full:
            self._next_full = self._elapsed() + FULL_SECONDS
            for watched in self._watched.values():
                watched.inputs = None
        around = Surroundings(state, refs_of=self._parts.refs_of)
        scales = state.snapshot.worker_scales
        for gone in self._watched.keys() - scales.keys():
            del self._watched[gone]
        plans = [plan for scale in scales.values() if (plan := self._planned(scale, around))]
        self._plans = MappingProxyType(
            {key: watched.plan for key, watched in self._watched.items() if watched.plan}
        )
        self._apply_all(sorted(plans, key=self._turn), around)
        self._give_orphans_back(state)
        return bool(plans)

    def _turn(self, plan: Plan) -> tuple[int, bool, bool]:
        """Order the writes: what failed waits for the others, and giving back can't wait.

        Not for a fleet that is taken, nor for one whose statuses are to be written.
        """
        return (self._watched[plan.scale.key].failures, takes(plan), not gives(plan))

    def _may_look(self, state: State) -> bool:
        if not self._parts.leadership.leading:
            self._forget()
            return False
        sources = state.snapshot.sources
        self._settled |= {kind for kind in NEEDED if _settled(sources.get(kind))}
        if not self._settled.issuperset(NEEDED) or self._elapsed() < self._not_before:
            return False
        before, self._outdated = self._outdated, self._store.stale
        if self._outdated and not before:
            log.error("nothing is published any more, so nothing is done")
        return not self._outdated

    def _forget(self) -> None:
        """Begin anew: another leader may have changed anything."""
        self._watched.clear()
        self._orphans.forget()
        self._plans = MappingProxyType({})

    def _planned(self, scale: WorkerScale, around: Surroundings) -> Plan | None:
        """Plan a WorkerScale if it has to be; None where nothing is to be done."""
        watched = self._watched.setdefault(scale.key, Watched())
        inputs = around.inputs(scale, stand=watched.plan.state if watched.plan else None)
        now, elapsed = self._clock(), self._elapsed()
        if not watched.wants(inputs, scale=scale, around=around, now=now, elapsed=elapsed):
            return None
        try:
            plan = self._plan(scale, around.state, now)
        except Exception:
            # One odd object must not end the others' looks; it is tried again with all of them.
            log.exception("plan failed", **_about(scale))
            watched.failed(elapsed=elapsed, seconds=FULL_SECONDS)
            return None
        watched.planned(plan, inputs=inputs, now=now)
        for witness in self._parts.witnesses:
            witness.planned(plan, around.state, now)
        plan = watched.worth(plan, elapsed=elapsed)
        return plan if plan.steps else None

    def _plan(self, scale: WorkerScale, state: State, now: Instant) -> Plan:
        """Plan by the Decisions that there are; to take by those of this very moment."""
        refs = tuple(self._parts.refs_of(state.snapshot, scale))
        known = [state.decisions.get(ref) or _decided(ref, state, now) for ref in refs]
        plan = self._with(scale, state, known, now)
        if not takes(plan):
            return plan
        return self._with(scale, state, [_decided(ref, state, now) for ref in refs], now)

    def _with(
        self, scale: WorkerScale, state: State, decisions: Sequence[Decision], now: Instant
    ) -> Plan:
        return self._parts.plan(
            snapshot=state.snapshot,
            scale=scale,
            decisions=decisions,
            policy=state.policy.policy,
            now=now,
        )

    def _apply_all(self, plans: Sequence[Plan], around: Surroundings) -> None:
        """Apply until the time is over, or the API server is out of reach."""
        until = self._elapsed() + APPLY_SECONDS
        for plan in plans:
            watched = self._watched[plan.scale.key]
            elapsed = self._elapsed()
            if self._stopping.is_set() or elapsed >= until or elapsed < self._not_before:
                watched.inputs = None
                continue
            try:
                self._apply(plan, watched, around)
            except Exception:
                # A step that can't be written must not keep the others' workers away.
                log.exception("apply failed", **_about(plan.scale))
                watched.failed(elapsed=self._elapsed(), seconds=FULL_SECONDS)

    def _apply(self, plan: Plan, watched: Watched, around: Surroundings) -> None:
        applied = self._written(plan)
        refused = complaint(applied, now=self._clock())
        if refused is not None:
            self._written(refused)
        elapsed = self._elapsed()
        watched.applied(applied, around=around, elapsed=elapsed)
        self._note(applied, around.state, told=watched.told)

    def _give_orphans_back(self, state: State) -> None:
        """Give back what a WorkerScale that is no more had taken; each by itself."""
        until = self._elapsed() + APPLY_SECONDS
        for orphan in self._orphans_due(state):
            elapsed = self._elapsed()
            if self._stopping.is_set() or elapsed >= until or elapsed < self._not_before:
                return
            try:
                self._give_orphan_back(orphan, state)
            except Exception:
                log.exception("giving back failed", namespace=orphan.namespace, of=orphan.mark.by)
                self._orphans.failed(orphan, elapsed=self._elapsed())

    def _orphans_due(self, state: State) -> tuple[Orphan, ...]:
        try:
            return self._orphans.due(state, now=self._clock(), elapsed=self._elapsed())
        except Exception:
            # One odd object must not make the plans be forgotten.
            log.exception("search for orphans failed")
            return ()

    def _give_orphan_back(self, orphan: Orphan, state: State) -> None:
        plan = self._orphans.plan(orphan, state, now=self._clock())
        applied = self._written(plan)
        told = self._orphans.applied(orphan, applied, elapsed=self._elapsed())
        self._note(applied, state, told=told)

    def _note(
        self, applied: Applied, state: State, *, told: set[tuple[type[Step], Outcome]]
    ) -> None:
        """Say what came of a plan's steps, and whether the API server can be reached."""
        if applied.outcome is Outcome.UNREACHABLE:
            self._failures += 1
            back_off = min(FIRST_BACK_OFF * 2.0 ** min(self._failures - 1, 10), LONGEST_BACK_OFF)
            self._not_before = self._elapsed() + max(back_off, applied.retry_after)
        elif applied.done:
            self._failures = 0
        say(applied, told=told)
        for witness in self._parts.witnesses:
            witness.applied(applied, state)

    def _written(self, plan: Plan) -> Applied:
        return apply(
            plan,
            writer=self._parts.writer,
            leadership=self._parts.leadership,
            wrote=self._wrote,
        )

    def _wrote(self, step: Step, outcome: Outcome) -> None:
        for witness in self._parts.witnesses:
            witness.wrote(step, outcome)


def pause_after(spent: float, *, wrote: bool) -> float:
    """Give the seconds from a look that took so much CPU to the next."""
    return max(PACE_SECONDS, (BUSY_SHARE if wrote else IDLE_SHARE) * spent)


def _decided(ref: TriggerRef, state: State, now: Instant) -> Decision:
    return decide_safely(snapshot=state.snapshot, ref=ref, state=state.policy, now=now)


def _settled(state: SourceState | None) -> bool:
    return state is not None and (state.synced or not state.installed)


def _about(scale: WorkerScale) -> dict[str, str]:
    return {"namespace": scale.namespace, "worker_scale": scale.name}
