"""Our service is frozen as if it hung: its own targets stay, and what others suffer is told."""

import itertools
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tests.e2e.bench import Bench, bench
from tests.e2e.busy import Busy, busy
from tests.e2e.calls import Method
from tests.e2e.replica import Replica
from tests.e2e.script import wants
from tests.e2e.service import Installation
from tests.e2e.waiting import pause
from tests.e2e.world import Scenario, World

FROZEN = 60.0
TARGETS = 12
"""More than the HPA has workers."""
STEP = 100.0
"""Seconds for a step of the HPA; while its workers wait for us it takes up to 60."""


def f11(world: World) -> str:
    """Our service is frozen for a minute: its targets stay, and what others suffer is measured."""
    with bench(world, "f11") as b:
        b.target("healthy", replicas=2, answers=wants(2))
        b.settled("healthy")
        return "; ".join(_frozen(b, size) for size in (1, 2))


def _frozen(b: Bench, replicas: int) -> str:
    def alter(service: Installation) -> None:
        service.size = replicas

    name = f"f11-of-{replicas}"
    with busy(b.world, name, installation="rolling", targets=TARGETS, alter=alter) as lot:
        lot.fine()
        before, since = _step(b), time.monotonic()
        with _without(_asked(lot)) as thawed:
            during = _step(b)
            thawed.wait()
        end = time.monotonic()
        gap = _longest_gap(b, since)
        after = _step(b)
        lot.fine()
        lot.held(since)
        return (
            f"{replicas} replicas, one frozen for {FROZEN:.0f} s: {len(lot.names)} targets held, "
            f"right {time.monotonic() - end:.1f} s after; a step of another scaler's target took "
            f"{before:.1f}, {during:.1f} and {after:.1f} s before, while and after, the longest "
            f"gap of its polls {gap:.1f} s"
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
        replica.thaw()
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
    Scenario(id="F11", title="our service is frozen for a minute", play=f11, alone=True),
)
