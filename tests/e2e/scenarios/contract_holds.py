"""The contract with KEDA: what holds a size, and where it can be read meanwhile."""

import time

from tests.e2e.bench import SOON, Bench, bench
from tests.e2e.scenarios.contract_errors import ERRORS, IDLE, LONGER, LOT, OUTAGE, lot
from tests.e2e.script import Answers, Fault, wants
from tests.e2e.survivors import survivors
from tests.e2e.waiting import NeverCameError, pause, until
from tests.e2e.world import Scenario, World


def c15(world: World) -> str:
    """Active without a value holds surely: no error anywhere, and the cooldown starts anew."""
    with bench(world, "c15") as b:
        names = lot(b, "soft", address=b.address)
        double = Answers(is_active=True, metrics=((6, 6.0),), spec=((2, 2.0),))
        b.target("same", replicas=3, answers=double)
        b.target("asleep", replicas=0, answers=IDLE)
        b.settled(*names, "same")
        b.ready("asleep")
        pause(3)
        soft = Answers(is_active=True, metrics=())
        since = b.tell_all((*names, "asleep"), soft)
        before = b.scaled(names[0])["status"]["lastActiveTime"]
        pause(OUTAGE)
        for name in (*names, "same"):
            b.sizes.held(name, since)
        for name in names:
            b.ready(name)
            b.hpa_says(name, "FailedGetExternalMetric")
        assert b.scaled(names[0])["status"]["lastActiveTime"] > before
        assert b.sizes.steps("asleep", since) == [1]
        told = b.tell_all(names, IDLE)
        zero = min(b.sizes.until(name, 0, within=SOON) for name in names) - told
        # The last active poll may be some seconds ago.
        assert zero >= LONGER / 2, f"gone {zero:.1f} s after the outage"
        return f"all {len(names)} held, Ready; at zero it wakes one; gone {zero:.1f} s after it"


def c16(world: World) -> str:
    """At zero an error starts nothing; a push does all the same, and errors then hold it."""
    with bench(world, "c16") as b:
        address = b.listen()
        names = [f"push-{number}" for number in range(LOT)]
        for name in names:
            b.target(
                name,
                replicas=0,
                answers=IDLE,
                push=True,
                address=address,
                cooldownPeriod=LONGER,
            )
        # It keeps the connection, and with it the streams, while the others' polls fail.
        b.target("healthy", replicas=1, answers=wants(1), push=True, address=address)
        b.ready(*names)
        for name in names:
            b.streams(name)
            b.tell(name, ERRORS["metrics"])
        pause(5)
        assert all(b.sizes.of(name) == 0 for name in names)
        took = []
        for name in names:
            b.streams(name)
            pushed = b.push(name, active=True)
            took.append(b.sizes.until(name, 1, within=SOON, since=pushed) - pushed)
        since = time.monotonic()
        pause(OUTAGE)
        held = survivors(b.sizes, names, since)
        left = [name for name in names if b.sizes.of(name) == 1]
        told = b.tell_all(left, IDLE)
        zero = min(b.sizes.until(name, 0, within=SOON) for name in left) - told
        assert zero < LONGER / 2, f"{zero:.1f} s after healing"
        return f"0->1 in {min(took) * 1000:.0f} ms, {held} by errors; idle: zero in {zero:.1f} s"


def c17(world: World) -> str:
    """The HPA's status shows the target's size, errors or not."""
    with bench(world, "c17") as b:
        b.target("a", replicas=0, answers=IDLE)
        b.ready("a")
        b.hpa_says("a", "ScalingDisabled")
        assert "currentReplicas" not in (b.hpa("a") or {})["status"]
        b.tell("a", Answers(is_active=Fault.ERROR, metrics=Fault.ERROR))
        pause(5)
        for _ in range(LOT):
            scaled = time.monotonic()
            world.api.scale("Deployment", "a", b.namespace, replicas=3)
            try:
                until(lambda: _shown(b) == 3, "currentReplicas 3", within=8)
            except NeverCameError:
                # The race, which at once takes to zero what was never active.
                continue
            b.hpa_says("a", "FailedGetExternalMetric")
            assert not (b.hpa("a") or {})["status"].get("desiredReplicas")
            return (
                f"zero: none, ScalingDisabled; 3 by hand: seen {time.monotonic() - scaled:.1f} s on"
            )
        raise NeverCameError("the HPA never showed the size 3")


def _shown(b: Bench) -> object:
    return ((b.hpa("a") or {}).get("status") or {}).get("currentReplicas")


SCENARIOS: tuple[Scenario, ...] = (
    Scenario(id="C15", title="active without a value is the sure hold", play=c15),
    Scenario(id="C16", title="errors start nothing, a push does", play=c16),
    Scenario(id="C17", title="the HPA's status shows the size", play=c17),
)
