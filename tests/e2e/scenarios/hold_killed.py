"""The actuator is killed after each of its writes: no target is ever left wrong."""

import json
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Self

from tests.e2e.actuation import Actuation
from tests.e2e.reverse import Write
from tests.e2e.scenarios.crews import SOON, Crew
from tests.e2e.scenarios.own_actuator import PODS, apart, marks, own_crew
from tests.e2e.waiting import NeverCameError, until
from tests.e2e.world import WITHOUT_KEDA, Scenario, World

PATIENT = 420.0
"""Seconds for what is begun anew after each write."""


@dataclass(slots=True)
class Deadly:
    """Kill an actuator after each of its writes, and start it again; look at the targets then.

    A status that says the same state and reason as one before is no step of its own: what changes
    are words, as with each start while it knows little.
    """

    own: Actuation
    look: Callable[[], str]
    """Gives what is wrong; empty where nothing is."""
    writes: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    failed: list[Exception] = field(default_factory=list)
    """Looks that could not be had."""
    _lock: threading.Lock = field(default_factory=threading.Lock)
    """Guards what follows and is held from a kill to its end: writes come from several threads."""
    _seen: set[str] = field(default_factory=set)
    _dead: threading.Event = field(default_factory=threading.Event)
    _over: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread = field(init=False)

    def __enter__(self) -> Self:
        self.own.gate.heard = self._heard
        self._thread = threading.Thread(target=self._revive, name="revive", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.own.gate.heard = lambda _: None
        with self._lock:
            self._over.set()
        self._dead.set()
        self._thread.join()
        if not self.own.replica.program.runs:
            self.own.again()
        # Here and not after the block, which ends by what came late of what is wrong.
        assert not self.wrong, "; ".join(self.wrong)
        for each in self.failed:
            raise each

    def _heard(self, write: Write) -> None:
        """Kill it before it has its answer; what it wrote is there."""
        step = step_of(write)
        with self._lock:
            if self._over.is_set() or self._dead.is_set() or step in self._seen:
                return
            self._seen.add(step)
            self.own.kill()
            self.writes.append(step)
            try:
                if found := self.look():
                    self.wrong.append(f"after write {len(self.writes)} ({step}): {found}")
            except Exception as error:  # noqa: BLE001 - raised at the end, in the scenario's thread
                self.failed.append(error)
            finally:
                self._dead.set()  # last: it is started again from now on

    def _revive(self) -> None:
        while not self._over.is_set():
            self._dead.wait()
            if self._over.is_set():
                return
            self.own.again()
            self._dead.clear()


def step_of(write: Write) -> str:
    """Name what a write does, equal for equal steps.

    Of one object at another version too: else a finalizer that is set and, by the next process
    that knows too little yet, taken off again would be a step of its own each time.
    """
    body = json.loads(write.body)
    if isinstance(body, dict):
        body.get("metadata", {}).pop("resourceVersion", None)
    status = body.get("status") if isinstance(body, dict) else None
    if not status:
        return f"{write.status} {write.path}: {json.dumps(body)}"
    hold = status.get("hold") or {}
    marks = [key for key in ("takenAt", "goneAt", "wakingAt") if hold.get(key)]
    words = [str(status.get("state")), str(status.get("reason")), *marks]
    return f"{write.status} {write.path}: {' '.join(words)}, {'held' if hold else 'no hold'}"


def h8(world: World) -> str:
    """Kill the actuator after each single write of two holds, a release, and their wakes."""
    with ExitStack() as held:
        own = held.enter_context(apart(world, "h8"))  # first: it lets go of all at the end
        crews = [
            own_crew(held, world, kind, "h8", f"h8-{kind.lower()}")
            for kind in ("RayCluster", "JobSet", "Job")
        ]
        look = partial(_wrong, world, crews)
        claims = [each.claim() for each in crews]
        since = time.monotonic()
        with Deadly(own, look) as deadly:
            for each in crews:
                each.handle(mode=_mode(each))
            for each in crews:
                _patiently(each.sized)
                each.zero()
                world.gpus.quiet(each.namespace)
            for each in crews:
                each.runs(0, within=PATIENT)
                each.becomes("Held", "Released", within=PATIENT)
            taken = len(deadly.writes)
            for each in crews:
                world.gpus.busy(each.namespace)
                each.ask(PODS)
            for each in crews:
                each.runs(within=PATIENT)
                each.becomes("Running", within=PATIENT)
            writes = list(deadly.writes)
        until(own.replica.ready, "the actuator is back", within=SOON)
        for each, claim in zip(crews, claims, strict=True):
            assert each.suspended() == (), f"{each.kind}: {each.suspended()}"
            assert not marks(world, each), f"{each.kind}: {marks(world, each)}"
            if _mode(each) == "Hold":
                each.kept(claim, since)
            assert each.claim().uid == claim.uid
        refused = [each for each in writes if not each.startswith("2")]
        return (
            f"killed with -9 after each of {len(writes)} writes ({taken} to take, "
            f"{len(writes) - taken} to wake; {len(refused)} refused): {len(crews)} targets right "
            f"after each, all held, released and back within {time.monotonic() - since:.0f} s"
        )


def _mode(c: Crew) -> str:
    return "Release" if c.kind == "Job" else "Hold"


def _patiently(wait: Callable[[], None]) -> None:
    """Wait for something again and again until it is long overdue."""
    ends = time.monotonic() + PATIENT
    while True:
        try:
            return wait()
        except NeverCameError:
            if time.monotonic() > ends:
                raise


def _wrong(world: World, crews: list[Crew]) -> str:
    """Give what must never be, at whatever moment the actuator dies."""
    said = []
    for each in crews:
        away = [one for one in each.suspended() if "group" in one or "parallelism" in one]
        inactive = each.workload()["spec"].get("active") is False
        marked = bool(marks(world, each))
        if bool(away or inactive) != marked:
            said.append(f"{each.kind}: taken {away or inactive}, marked {marked}")
        scale = each.scale()
        record = (scale.get("status") or {}).get("hold")
        if marked and not record:
            said.append(f"{each.kind}: taken, and nothing recorded")
        if marked and not scale["metadata"].get("finalizers"):
            said.append(f"{each.kind}: taken without a finalizer")
    return "; ".join(said)


SCENARIOS: tuple[Scenario, ...] = (
    Scenario(id="H8", title="the actuator is killed after each write", play=h8, later=WITHOUT_KEDA),
)
