"""Others write, or nobody answers: no target changes for it, and nobody is fought."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass

import requests

from tests.e2e.actuation import Actuation
from tests.e2e.api import RefusedError
from tests.e2e.scenarios.crews import SOON, Crew
from tests.e2e.scenarios.own_actuator import ALL, EACH, PODS, apart, marks, own_crew
from tests.e2e.scenarios.places import place
from tests.e2e.scenarios.queued import crew
from tests.e2e.service import Installation
from tests.e2e.stack import service_address
from tests.e2e.waiting import pause, throughout, until
from tests.e2e.world import DISTURBS_KEDA, WITHOUT_KEDA, Scenario, World

DOWN = 30.0
"""Seconds."""
STAYS = 10.0


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
        assert not marks(world, c), marks(world, c)
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

        def same() -> bool:
            now = self.snapshot()
            changed = {name: (was, now[name]) for name, was in before.items() if now[name] != was}
            assert not changed, f"{what}: {changed}"
            return True

        throughout(same, f"{what}: targets", seconds=seconds)


@contextmanager
def _lot(world: World, ident: str, installation: str) -> Iterator[Lot]:
    """Give a held and a busy crew with either service, KEDA asking about all four."""
    with ExitStack() as held:
        own = held.enter_context(apart(world, ident))  # first: it lets go of all at the end
        crews = {
            f"{state} by {where}": own_crew(
                held, world, kind, ident, f"{ident}-{state}-{where}".lower()
            )
            for state, kind in (("held", "RayCluster"), ("busy", "JobSet"))
            for where in ("main", "other")
        }
        service = world.stack.installation(installation, world.scaler.policy)
        service.size = 1
        held.callback(service.stop)
        service.start()
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
