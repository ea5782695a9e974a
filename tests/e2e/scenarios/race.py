"""KEDA's race: where an error can count as inactive, what we answer instead must not.

A failing HPA read closes the cache of scalers under a poll; past the cooldown that poll alone takes
the target to zero. It is a matter of chance, so many targets are polled often and for long.
"""

import time

from tests.e2e.bench import Bench, bench
from tests.e2e.bench_objects import LAB_SCALE
from tests.e2e.busy import REPLICAS, OperatorLog, aging, busy
from tests.e2e.replica import Replica
from tests.e2e.script import Answers, Fault, wants
from tests.e2e.waiting import pause, until
from tests.e2e.world import HEAVY, Scenario, World

TARGETS = 20
RACE = 110.0
"""Seconds of unknown, twenty cooldowns."""
ERRS = 0.1
"""Seconds that an error of the control takes, as of a server with work to do."""
PATIENCE = 4 * RACE
"""Seconds of the control, until one goes to zero."""


def f0(world: World) -> str:
    """Unknown for long, and each replica killed meanwhile: no target goes to zero."""
    with busy(world, "f0", installation="racing", targets=TARGETS, alter=aging) as lot:
        lot.fine()
        log = OperatorLog(world, lot.namespace)
        lot.prometheus.stop()
        lot.all_say("HOLD")
        since = time.monotonic()
        pause(RACE / 4)
        quiet = len(log.failed_calls())
        for replica in lot.service.replicas:
            _kill(replica)
            pause(RACE / 4)
        pause(RACE - (time.monotonic() - since))
        lot.held(since)
        polls, errors = log.polls(), len(log.failed_calls())
        assert polls >= TARGETS, f"KEDA asked {polls} times"
        return (
            f"{time.monotonic() - since:.0f} s of unknown: 0 of {TARGETS} went to zero; KEDA "
            f"had {quiet} calls fail in {polls} polls, {errors - quiet} more as replicas were "
            "killed in turn"
        )


def _kill(replica: Replica) -> None:
    replica.kill()
    pause(3)
    replica.restart()


def f0c(world: World) -> str:
    """Errors for as long: some go to zero with KEDA 2.21, so the harness can see it."""
    with bench(world, "f0c", LAB_SCALE) as b:
        names = [
            b.target(f"t-{number}", replicas=REPLICAS, answers=wants(REPLICAS), push=number % 2 > 0)
            for number in range(TARGETS)
        ]
        for name in names:
            # No pods need to run for KEDA to err; the HPA wants a selector.
            b.report(name, replicas=REPLICAS, selector=f"app={name}")
        b.settled(*names)
        pause(3)
        b.tell_all(names, Answers(is_active=True, metrics=Fault.ERROR, delay=ERRS))
        since = time.monotonic()
        pause(RACE)
        what = f"one of {TARGETS} goes to zero"
        gone = until(lambda: _gone(b, names, since), what, within=PATIENCE - RACE)
        return (
            f"{time.monotonic() - since:.0f} s of errors: {len(gone)} of {TARGETS} went to zero, "
            f"the first after {min(gone.values()) - since:.0f} s"
        )


def _gone(b: Bench, names: list[str], since: float) -> dict[str, float]:
    """Give the targets that were taken to zero, and when."""
    seen = (each for name in names for each in b.sizes.seen(name, since))
    return {each.name: each.at for each in seen if each.replicas == 0}


SCENARIOS: tuple[Scenario, ...] = (
    Scenario(id="F0", title="the race: unknown takes nothing to zero", play=f0, shares=HEAVY),
    Scenario(id="F0c", title="the race's control: errors do", play=f0c, shares=HEAVY),
)
