"""Our service is frozen as if it hung: its own targets stay, and what others suffer is told."""

import itertools
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tests.e2e.bench import Bench, bench
from tests.e2e.bench_objects import COOLDOWN
from tests.e2e.busy import Busy, busy
from tests.e2e.calls import Method
from tests.e2e.replica import Replica
from tests.e2e.script import wants
from tests.e2e.service import Installation
from tests.e2e.waiting import pause
from tests.e2e.world import DISTURBS_KEDA, Scenario, World

FROZEN = 60.0
INTO = 10.0
"""Seconds until others are looked at, so that what hangs has had time to block them."""
INSTALLED = {"single": 1, "frozen": 2}
"""Replicas by installation."""
TARGETS = 12
"""More than the HPA has workers."""
LONG = 120
"""Seconds of cooldown, more than the service is frozen for; what is shipped has 600."""
COOLDOWNS = (COOLDOWN, LONG)
"""Of each pair of targets in turn."""
STEP = 100.0
"""Seconds for a step of the HPA; while its workers wait for us it takes up to 60."""


def f11(world: World) -> str:
    """Our service is frozen for a minute: its targets stay, and what others suffer is measured."""
    with bench(world, "f11") as b:
        b.target("healthy", replicas=2, answers=wants(2))
        b.settled("healthy")
        return "; ".join(_frozen(b, name, size) for name, size in INSTALLED.items())


def _frozen(b: Bench, installation: str, replicas: int) -> str:
    def alter(service: Installation) -> None:
        service.size = replicas

    name = f"f11-of-{replicas}"
    with busy(
        b.world, name, installation=installation, targets=TARGETS, cooldowns=COOLDOWNS, alter=alter
    ) as lot:
        lot.fine()
        before, since = _step(b), time.monotonic()
        with _without(_asked(lot)) as thawed:
            pause(INTO)
            during = _step(b)
            thawed.wait()
        end = time.monotonic()
        gap = _longest_gap(b, since)
        after = _step(b)
        lot.scaled(_of(lot, LONG))
        right = time.monotonic() - end
        return (
            f"one of {replicas} frozen for {FROZEN:.0f} s: right {right:.1f} s after, "
            f"{_fate(lot, since)}; a step of another scaler's target took {before:.1f}, "
            f"{during:.1f} and {after:.1f} s before, while and after, the longest gap of its polls "
            f"{gap:.1f} s"
        )


def _of(lot: Busy, cooldown: int) -> list[str]:
    """Give the targets with a cooldown."""
    which = COOLDOWNS.index(cooldown)
    pairs = enumerate(lot.names)
    return [name for number, name in pairs if number // 2 % len(COOLDOWNS) == which]


def _fate(lot: Busy, since: float) -> str:
    """Demand that no target with a long cooldown changed, and count those with a short one.

    Once KEDA's calls have hung until the HPA's deadline, the race takes some to zero.
    """
    for name in _of(lot, LONG):
        lot.sizes.held(name, since)
    short = _of(lot, COOLDOWN)
    gone = set(short) & set(lot.changed(since))
    return (
        f"{len(lot.names) - len(short)} targets held, of {len(short)} with a cooldown of "
        f"{COOLDOWN} s {len(gone)} went to zero"
    )


def _asked(lot: Busy) -> Replica:
    """Give the replica that KEDA asks at the moment."""
    before = lot.answered()
    pause(3)
    grown = [now - then for now, then in zip(lot.answered(), before, strict=True)]
    return lot.service.replicas[grown.index(max(grown))]


@contextmanager
def _without(replica: Replica) -> Iterator[threading.Event]:
    """Freeze a replica; the event tells that it goes on."""
    thawed = threading.Event()

    def thaw() -> None:
        try:
            replica.thaw()
        finally:
            thawed.set()

    replica.freeze()
    timer = threading.Timer(FROZEN, thaw)
    timer.start()
    try:
        yield thawed
    finally:
        timer.cancel()
        if replica.frozen:
            replica.thaw()


def _step(b: Bench) -> float:
    """Let the healthy target grow by one; give the seconds that it took."""
    size = (b.sizes.of("healthy") or 0) + 1
    told = b.tell("healthy", wants(size))
    return b.sizes.until("healthy", size, within=STEP) - told


def _longest_gap(b: Bench, since: float) -> float:
    calls = [call.at for call in b.calls("healthy", Method.IS_ACTIVE, since)]
    return max(later - earlier for earlier, later in itertools.pairwise(calls))


SCENARIOS: tuple[Scenario, ...] = (
    Scenario(id="F11", title="our service is frozen for a minute", play=f11, later=DISTURBS_KEDA),
)
