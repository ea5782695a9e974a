"""The contract with KEDA: errors and missing values while a target runs."""

import time
from functools import partial

from tests.e2e.api import condition
from tests.e2e.bench import SOON, Bench, bench
from tests.e2e.bench_objects import external
from tests.e2e.calls import Method
from tests.e2e.script import Answers, Fault, wants
from tests.e2e.survivors import survivors
from tests.e2e.waiting import pause, until
from tests.e2e.world import Scenario, World

ERRORS: dict[str, Answers] = {
    "metrics": Answers(is_active=True, metrics=Fault.ERROR),
    "active": Answers(is_active=Fault.ERROR, metrics=((3, 3.0),)),
    "spec": Answers(is_active=True, metrics=((3, 3.0),), spec=Fault.ERROR),
}
OUTAGE = 15
"""Seconds, longer than the cooldown."""
LONGER = 10
"""Seconds of cooldown, so that its beginning can be told from its end."""
LOT = 3
"""ScaledObjects to each kind of error: the race may take one."""
IDLE = wants(0, active=False)


def lot(b: Bench, name: str, *, address: str) -> list[str]:
    """Create some ScaledObjects alike, at a size of 3."""
    names = [f"{name}-{number}" for number in range(LOT)]
    for each in names:
        b.target(each, replicas=3, answers=wants(3), address=address, cooldownPeriod=LONGER)
    return names


def c09(world: World) -> str:
    """Errors of any RPC hold, say so, and take no part in the cooldown."""
    with bench(world, "c09") as b:
        lots = {kind: lot(b, kind, address=b.listen()) for kind in ERRORS}
        every = [name for names in lots.values() for name in names]
        b.settled(*every)
        pause(3)
        since = time.monotonic()
        for kind, names in lots.items():
            b.tell_all(names, ERRORS[kind])
        pause(OUTAGE)
        held = {kind: survivors(b.sizes, names, since) for kind, names in lots.items()}
        asked = len(b.calls(lots["metrics"][0], Method.METRICS, since)) / OUTAGE * 2
        for name in every:
            what = f"{name}: conditions of an error"
            until(partial(_errs_or_gone, b, name, since), what, within=SOON)
        left = [name for name in every if not b.sizes.seen(name, since)]
        healed = b.tell_all(left, IDLE)
        zero = min(b.sizes.until(name, 0, within=SOON) for name in left) - healed
        assert zero < LONGER / 2, f"{zero:.1f} s after healing"
        text = ", ".join(f"{kind} {how}" for kind, how in held.items())
        return (
            f"{OUTAGE} s of errors: {text}; {asked:.1f} GetMetrics in 2 s; the first inactive "
            f"answer takes to zero in {zero:.1f} s"
        )


def _errs_or_gone(b: Bench, name: str, since: float) -> bool:
    """Say whether the conditions are those of a trigger that errs, or the race took it yet."""
    found = b.scaled(name)
    ready, active, hpa = (condition(found, kind) for kind in ("Ready", "Active", "HPAActive"))
    reasons = ready.get("reason"), hpa.get("reason")
    states = {each.get("status") for each in (ready, active, hpa)}
    errs = reasons == ("TriggerError", "FailedGetExternalMetric") and states == {"False"}
    return errs or bool(b.sizes.seen(name, since))


def c10(world: World) -> str:
    """With a streamed spec GetMetricSpec is not asked, so its errors do nothing."""
    with bench(world, "c10") as b:
        answers = Answers(is_active=True, metrics=((3, 3.0),), streamed=((1, 1.0),))
        b.target("a", replicas=3, answers=answers, push=True)
        b.settled("a")
        b.streams("a", Method.STREAM_METRIC_SPEC)
        pause(2)
        broken = Answers(
            is_active=True, metrics=((4, 4.0),), streamed=((1, 1.0),), spec=Fault.ERROR
        )
        told = b.tell("a", broken)
        four = b.sizes.until("a", 4, within=SOON) - told
        pause(5)
        assert not b.calls("a", Method.METRIC_SPEC, told)
        b.ready("a")
        return f"no GetMetricSpec; 3->4 after {four:.1f} s, Ready"


def c11(world: World) -> str:
    """A ScaledObject whose first GetMetricSpec fails has no HPA and no polls until it heals."""
    with bench(world, "c11") as b:
        b.target("a", replicas=3, answers=ERRORS["spec"])
        b.becomes("a", "Ready", "False", "ScaledObjectCheckFailed")
        pause(6)
        assert b.hpa("a") is None
        assert not b.calls("a", Method.IS_ACTIVE)
        assert b.sizes.steps("a") == [3]
        asked = len(b.calls("a", Method.METRIC_SPEC))
        told = b.tell("a", wants(4))
        b.ready("a", within=60)
        healed = time.monotonic() - told
        b.sizes.until("a", 4, within=SOON)
        return (
            f"no HPA, no poll, untouched, asked {asked} times; Ready {healed:.1f} s after healing"
        )


def c12(world: World) -> str:
    """An unreachable scaler holds, fallback or not, and the first idle answer acts at once."""
    with bench(world, "c12") as b:
        address = b.listen()
        names = lot(b, "plain", address=address)
        fallback = {"failureThreshold": 2, "replicas": 6}
        b.target("fallback", replicas=3, answers=wants(3), address=address, fallback=fallback)
        every = [*names, "fallback"]
        b.settled(*every)
        pause(3)
        since = time.monotonic()
        world.stub.down(address)
        pause(20)
        plain = survivors(b.sizes, names, since)
        assert max(b.sizes.steps("fallback", since), default=0) <= 3, "the fallback acted"
        left = [name for name in names if not b.sizes.seen(name, since)]
        b.tell_all(every, IDLE)
        world.stub.up(address)
        up = time.monotonic()
        first = b.asked(left[0], since=up).at - up
        zero = min(b.sizes.until(name, 0, within=SOON) for name in left) - up
        assert zero - first < LONGER / 2, f"{zero - first:.1f} s after the first call"
        return (
            f"20 s down: {plain}, no fallback; first call {first:.1f} s after it was up, "
            f"zero after {zero:.1f} s"
        )


def c13(world: World) -> str:
    """`fallback` acts on errors: up, down, from zero, and to zero where it is 0."""
    with bench(world, "c13") as b:
        cases: dict[str, tuple[int, dict[str, object], list[int]]] = {
            "six": (3, {"replicas": 6}, [6]),
            "one": (3, {"replicas": 1}, [1]),
            "wake": (0, {"replicas": 2}, [1, 2]),
            "keep": (3, {"replicas": 1, "behavior": "currentReplicasIfHigher"}, []),
            "none": (3, {"replicas": 0}, [1]),
        }
        for name, (size, fallback, _) in cases.items():
            answers = wants(size, active=size > 0)
            b.target(
                name,
                replicas=size,
                answers=answers,
                cooldownPeriod=60,
                fallback={"failureThreshold": 3} | fallback,
            )
        # It waits for very many failures, and yet does not hold.
        rare = {"failureThreshold": 1000, "replicas": 0}
        b.target("rare", replicas=3, answers=wants(3), address=b.listen(), fallback=rare)
        b.settled(*(name for name, (size, *_) in cases.items() if size), "rare")
        b.ready("wake")
        pause(3)
        told = b.tell_all((*cases, "rare"), ERRORS["metrics"])
        took = {
            name: b.sizes.until(name, steps[-1], within=SOON) - told
            for name, (_, _, steps) in cases.items()
            if steps
        }
        took["rare"] = b.sizes.until("rare", 0, within=SOON) - told
        pause(4)
        for name, (_, _, steps) in cases.items():
            seen = b.sizes.steps(name, told)
            assert seen[-1:] == steps[-1:], f"{name}: {seen}"
        return ", ".join(f"{name} {seconds:.1f} s" for name, seconds in took.items())


def c14(world: World) -> str:
    """Of two triggers the one that errs forbids to shrink; the other may still grow."""
    with bench(world, "c14") as b:
        one, other = b.listen(), b.listen()
        names = [f"pair-{number}" for number in range(LOT)]
        growing = [f"{name}-a" for name in names]
        for name in (*names, "blind"):
            b.tell(f"{name}-a", wants(4))
            b.tell(f"{name}-b", wants(1))
            triggers = [external(one, script=f"{name}-a"), external(other, script=f"{name}-b")]
            b.target(name, replicas=4, triggers=triggers)
        b.settled(*names, "blind")
        b.tell_all((f"{name}-b" for name in names), ERRORS["metrics"])
        b.tell("blind-b", ERRORS["spec"])
        pause(3)
        grown = b.tell_all((*growing, "blind-a"), wants(6))
        six = max(b.sizes.until(name, 6, within=SOON) for name in names) - grown
        b.becomes(names[0], "Ready", "Unknown", "PartialTriggerError")
        since = b.tell_all(growing, wants(2))
        pause(9)
        for name in names:
            b.sizes.held(name, since)
        b.sizes.held("blind", grown)
        since = b.tell_all(growing, wants(2, active=False))
        pause(12)
        held = survivors(b.sizes, names, since)
        return (
            f"B errs: A grows 4->6 in {six:.1f} s, is not let down to 2; A inactive: {held}; "
            "B without a spec: no growth either"
        )


SCENARIOS: tuple[Scenario, ...] = (
    Scenario(id="C09", title="errors hold, but for KEDA's race", play=c09),
    Scenario(id="C10", title="a streamed spec makes GetMetricSpec needless", play=c10),
    Scenario(id="C11", title="without a first spec there is no HPA and no poll", play=c11),
    Scenario(id="C12", title="an unreachable scaler holds, without fallback", play=c12),
    Scenario(id="C13", title="fallback acts on errors, also downwards", play=c13),
    Scenario(id="C14", title="a trigger that errs forbids to shrink", play=c14),
)
