"""Faults of Prometheus and of the exporter: what is measured is not to be had, or not true."""

import time
from collections.abc import Sequence

from tests.e2e.gpus import Fault
from tests.e2e.scenarios.patients import FAULTY, WATCHED, Patients, patients
from tests.e2e.waiting import though_late
from tests.e2e.ward import IDLE, IDLE_AFTER, POOL, RUNNING
from tests.e2e.world import Scenario, World

LOOK = 2.0
"""Seconds from a decision's change to its being shown, on a busy machine."""
FAILED = ("PrometheusFailed",)
BLIND = ("NoSamples", "LowCoverage", "StaleSamples", "DeviceMismatch")
SLOW = (*BLIND, *FAILED)
"""What a machine makes of samples and answers that lags behind: HOLD as well."""


def f1(world: World) -> str:
    """Prometheus is stopped: whatever is asked of it is unknown, also what would wake."""
    with patients(world) as p:
        since = time.monotonic()
        p.prometheus.stop()
        try:
            told = _endured(p, IDLE, FAILED, since)
        finally:
            healed = time.monotonic()
            p.prometheus.start()
        return f"{told}; {_recovered(p, IDLE, since, healed)}"


def f2(world: World) -> str:
    """Prometheus comes back with nothing: an empty answer is no idle GPU, a young one neither."""
    with patients(world) as p:
        since = time.monotonic()
        p.prometheus.stop()
        p.gpus.inject(Fault.UNAVAILABLE)
        try:
            p.prometheus.start(empty=True)
            told = _endured(p, RUNNING, BLIND, since)
            assert p.told("asleep") == ("OK", "AtZero"), "the gateway is still to be seen"
        finally:
            healed = time.monotonic()
            p.gpus.heal()
        return f"{told}; {_recovered(p, RUNNING, since, healed)}"


def f3(world: World) -> str:
    """Pod labels are lost: GPUs of nobody are not idle GPUs."""
    with patients(world) as p:
        since = time.monotonic()
        with p.gpus.broken(Fault.POD_LABELS_LOST):
            told = _endured(p, RUNNING, BLIND, since)
            healed = time.monotonic()
        return f"{told}; {_recovered(p, RUNNING, since, healed)}"


def f4(world: World) -> str:
    """Every GPU of the fleet reads 0 at once: that is doubted before it is believed."""
    with patients(world) as p:
        since = time.monotonic()
        with p.gpus.broken(Fault.ALL_ZERO):
            told = _endured(p, RUNNING, ("MassIdle",), since)
            healed = time.monotonic()
        return f"{told}; {_recovered(p, RUNNING, since, healed)}"


def _endured(p: Patients, names: Sequence[str], reasons: Sequence[str], since: float) -> str:
    """Demand that a fault makes HOLD for these, changes no size, and leaves the queue alone."""
    held = p.holds(names, reasons, since, within=IDLE_AFTER + 12)
    p.stays(WATCHED, since, lambda: p.held(names, (*reasons, *SLOW)))
    assert p.told(POOL) == ("OK", "QuotaExhausted"), f"the queue needs no GPU's word: {p.answers()}"
    p.shown(names, (*reasons, *SLOW), since)
    why = "/".join(sorted({p.told(name)[1] for name in names}))
    return f"HOLD ({why}) for {len(names)} after {held:.1f} s, no size changed in {_ago(since)}"


def _recovered(p: Patients, names: Sequence[str], since: float, healed: float) -> str:
    """Demand that all answers become right by themselves; say how soon."""
    with though_late(lambda: p.unchanged(since)):
        right = p.right(healed)
        p.ended(names)
    return f"right {right:.1f} s after it healed"


def _ago(since: float) -> str:
    return f"{time.monotonic() - since:.0f} s"


SCENARIOS: tuple[Scenario, ...] = (
    Scenario(id="F1", title="Prometheus is stopped", play=f1, shares=FAULTY),
    Scenario(id="F2", title="Prometheus is empty after its restart", play=f2, shares=FAULTY),
    Scenario(id="F3", title="the exporter loses the pods' labels", play=f3, shares=FAULTY),
    Scenario(id="F4", title="the exporter reads 0 for the whole fleet", play=f4, shares=FAULTY),
)
