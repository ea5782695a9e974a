"""Whoever dies, and wherever: no target is left wrong, and none changes for it."""

import json
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Self

import requests

from tests.e2e.actuation import Actuation
from tests.e2e.api import Object, RefusedError
from tests.e2e.reverse import Write
from tests.e2e.scenarios.crews import SOON, Crew, crew, place
from tests.e2e.service import Installation
from tests.e2e.stack import service_address
from tests.e2e.waiting import NeverCameError, pause, throughout, until
from tests.e2e.world import DISTURBS_KEDA, WITHOUT_KEDA, Scenario, World

PODS, EACH = 2, 4
ALL = PODS * EACH
DOWN = 30.0
"""Seconds."""
PATIENT = 240.0
"""Seconds for what is begun anew after each write."""
STAYS = 10.0
MARK = "held.kueue-gpu-scaler.dev/"
RELEASED = "kueue-gpu-scaler.dev/released-by"


@contextmanager
def apart(world: World, label: str) -> Iterator[Actuation]:
    """Run an actuator that only sees WorkerScales with a label, in a namespace of that name."""
    namespace = f"{label}-actuator"
    own = world.stack.actuation(namespace, world.scaler.policy, label=label)
    try:
        own.start()
        yield own
    finally:
        own.stop()


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
        self._over.set()
        self._dead.set()
        self._thread.join()
        if not self.own.replica.program.runs:
            self.own.again()

    def _heard(self, write: Write) -> None:
        """Kill it before it has its answer; what it wrote is there."""
        step = step_of(write)
        if self._over.is_set() or self._dead.is_set() or step in self._seen:
            return
        self._seen.add(step)
        self._dead.set()
        self.own.kill()
        self.writes.append(step)
        if found := self.look():
            self.wrong.append(f"after write {len(self.writes)} ({self.writes[-1]}): {found}")

    def _revive(self) -> None:
        while not self._over.is_set():
            self._dead.wait()
            if self._over.is_set():
                return
            self.own.again()
            self._dead.clear()


def step_of(write: Write) -> str:
    """Name what a write does, equal for equal steps."""
    body = json.loads(write.body)
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
        crews = [
            _own_crew(held, world, kind, "h8", f"h8-{kind.lower()}")
            for kind in ("RayCluster", "JobSet", "Job")
        ]
        own = held.enter_context(apart(world, "h8"))
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
        assert not deadly.wrong, "; ".join(deadly.wrong)
        until(own.replica.ready, "the actuator is back", within=SOON)
        for each, claim in zip(crews, claims, strict=True):
            assert each.suspended() == (), f"{each.kind}: {each.suspended()}"
            assert not _marks(world, each), f"{each.kind}: {_marks(world, each)}"
            if _mode(each) == "Hold":
                each.kept(claim, since)
            assert each.claim().uid == claim.uid
        refused = [each for each in writes if not each.startswith("2")]
        return (
            f"killed with -9 after each of {len(writes)} writes ({taken} to take, "
            f"{len(writes) - taken} to wake; {len(refused)} refused): {len(crews)} targets right "
            f"after each, all held, released and back within {time.monotonic() - since:.0f} s"
        )


def _own_crew(held: ExitStack, world: World, kind: str, label: str, ident: str) -> Crew:
    there = held.enter_context(place(world, ident, gpus=ALL))
    return held.enter_context(
        crew(world, kind, namespace=there.name, pods=PODS, gpus=EACH, actuator=label)
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


def _marks(world: World, c: Crew) -> list[str]:
    """Give what says in the targets that we changed them."""
    found: list[Object] = []
    for kind in ("RayCluster", "Job", "Workload"):
        found += world.api.list(kind, c.namespace)
    return [
        f"{each.get('kind', '')} {each['metadata']['name']}: {key}"
        for each in found
        for key in each["metadata"].get("annotations") or {}
        if key.startswith(MARK) or key == RELEASED
    ]


def _wrong(world: World, crews: list[Crew]) -> str:
    """Give what must never be, at whatever moment the actuator dies."""
    said = []
    for each in crews:
        away = [one for one in each.suspended() if "group" in one or "parallelism" in one]
        inactive = each.workload()["spec"].get("active") is False
        marked = bool(_marks(world, each))
        if bool(away or inactive) != marked:
            said.append(f"{each.kind}: taken {away or inactive}, marked {marked}")
        scale = each.scale()
        record = (scale.get("status") or {}).get("hold")
        if marked and not record:
            said.append(f"{each.kind}: taken, and nothing recorded")
        if marked and not scale["metadata"].get("finalizers"):
            said.append(f"{each.kind}: taken without a finalizer")
    return "; ".join(said)


def h9(world: World) -> str:
    """Let a second writer set the group back each time: we say Conflict and don't fight."""
    with (
        place(world, "h9", gpus=ALL) as there,
        crew(world, "RayCluster", namespace=there.name, pods=PODS, gpus=EACH) as c,
    ):
        claim, since = c.claim(), time.monotonic()
        c.handle()
        c.sized()
        with _reverting(c) as reverted:
            c.zero()
            world.gpus.quiet(there.name)
            status = c.becomes("Conflict")
            said = time.monotonic() - since
            c.runs()
            pause(STAYS)
            tried = world.actuator.gate.writes(f"/namespaces/{there.name}/rayclusters/")
            writes = [each for each in tried if each.status < requests.codes.bad_request]
            again = c.status()
        assert again.get("state") == "Conflict", again
        assert len(writes) <= MOST_WRITES, f"a fight: {[each.body for each in writes]}"
        assert not _marks(world, c), _marks(world, c)
        c.kept(claim, since)
        return (
            f"set back {reverted[0]} times; Conflict/{status['reason']} after {said:.1f} s, "
            f"{len(writes)} writes of ours to the RayCluster in all, none in the last "
            f"{STAYS:.0f} s; workers run, Workload kept"
        )


MOST_WRITES = 2
"""To take, and to take our mark off."""


@contextmanager
def _reverting(c: Crew) -> Iterator[list[int]]:
    """Set the RayCluster's groups back as often as they differ, as GitOps that heals does."""
    wanted = c.target["spec"]["workerGroupSpecs"]
    count, over = [0], threading.Event()

    def watch() -> None:
        while not over.is_set():
            with suppress(RefusedError, OSError):
                found = c.world.api.get("RayCluster", c.name, c.namespace) or {}
                groups = found["spec"]["workerGroupSpecs"]
                if any(each.get("suspend") for each in groups):
                    healed = [{**each, "suspend": False} for each in groups]
                    change = {"spec": {"workerGroupSpecs": healed}}
                    c.world.api.patch("RayCluster", c.name, c.namespace, change=change)
                    count[0] += 1
            over.wait(0.1)

    assert wanted
    thread = threading.Thread(target=watch, name="second writer", daemon=True)
    thread.start()
    try:
        yield count
    finally:
        over.set()
        thread.join()


@dataclass(frozen=True, slots=True)
class Lot:
    """Held and busy crews, the ones asked about at a service that can be down."""

    crews: dict[str, Crew]
    own: Actuation
    service: Installation

    def snapshot(self) -> dict[str, tuple[object, ...]]:
        """Give all that could change of the targets."""
        return {
            name: (
                each.suspended(),
                sorted(pod["metadata"]["uid"] for pod in each.workers()),
                each.claim(),
            )
            for name, each in self.crews.items()
        }

    def unchanged(self, what: str, seconds: float = DOWN) -> None:
        """Demand that no target changes for a time."""
        before = self.snapshot()
        throughout(lambda: self.snapshot() == before, f"{what}: targets", seconds=seconds)


@contextmanager
def _lot(world: World, ident: str, installation: str) -> Iterator[Lot]:
    """Give a held and a busy crew with either service, KEDA asking about all four."""
    with ExitStack() as held:
        crews = {
            f"{state} by {where}": _own_crew(
                held, world, kind, ident, f"{ident}-{state}-{where}".lower()
            )
            for state, kind in (("held", "RayCluster"), ("busy", "JobSet"))
            for where in ("main", "other")
        }
        service = world.stack.installation(installation, world.scaler.policy)
        service.size = 1
        held.callback(service.stop)
        service.start()
        own = held.enter_context(apart(world, ident))
        for name, each in crews.items():
            each.handle()
            each.sized()
            each.scaled(address=service_address(installation) if "other" in name else None)
        for name, each in crews.items():
            each.polled()
            if name.startswith("held"):
                world.gpus.quiet(each.namespace)
        for name, each in crews.items():
            if name.startswith("held"):
                each.becomes("Held")
        yield Lot(crews, own, service)


def h10(world: World) -> str:
    """Take our service, the actuator, and both away, by SIGKILL and SIGSTOP."""
    with _lot(world, "h10", "holding") as lot:
        serve = lot.service.replicas[0]
        serve.kill()
        lot.unchanged("serve down")
        lot.own.replica.freeze()
        lot.unchanged("the actuator down, with and without serve")
        lot.own.replica.thaw()
        serve.restart()
        _all_as_before(lot)
        return (
            f"serve; the actuator; both: {DOWN:.0f} s each, 2 held and 2 busy targets unchanged, "
            "and so after"
        )


def h10k(world: World) -> str:
    """Take KEDA away besides, in every combination with the other two."""
    with _lot(world, "h10k", "keeping") as lot:
        stack, serve = world.stack, lot.service.replicas[0]
        serve.freeze()
        lot.own.kill()
        stack.programs.stop(stack.keda, signal.SIGKILL)
        try:
            lot.unchanged("KEDA and the actuator down, with and without serve")
            lot.own.again()
            until(lot.own.replica.ready, "the actuator is back", within=SOON)
            lot.unchanged("KEDA down, with and without serve")
        finally:
            serve.thaw()
            stack.programs.again(stack.keda)
        _all_as_before(lot)
        return (
            f"KEDA; with serve; with the actuator; all three: {DOWN:.0f} s each, 2 held and 2 busy "
            "targets unchanged, and so after"
        )


def _all_as_before(lot: Lot) -> None:
    lot.unchanged("after all came back", seconds=STAYS)
    for name, each in lot.crews.items():
        if name.startswith("held"):
            each.becomes("Held")
            lot.own.api.delete("ScaledObject", each.name, each.namespace)
            each.ask(PODS)
            each.world.gpus.busy(each.namespace)
            each.runs()


SCENARIOS: tuple[Scenario, ...] = (
    Scenario(id="H8", title="the actuator is killed after each write", play=h8, later=WITHOUT_KEDA),
    Scenario(
        id="H9",
        title="a second writer sets it back: Conflict, no fight",
        play=h9,
        later=WITHOUT_KEDA,
    ),
    Scenario(id="H10", title="serve and the actuator are down: no target changes", play=h10),
    Scenario(
        id="H10k",
        title="KEDA is down too, in every combination",
        play=h10k,
        later=DISTURBS_KEDA,
    ),
)
