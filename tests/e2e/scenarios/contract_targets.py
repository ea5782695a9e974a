"""The contract with KEDA: targets of metrics, and custom resources as targets."""

import time

from tests.e2e.api import condition
from tests.e2e.bench import SOON, Bench, bench
from tests.e2e.bench_objects import LAB_SCALE
from tests.e2e.calls import Method
from tests.e2e.script import Answers, Pairs, wants
from tests.e2e.waiting import pause
from tests.e2e.world import Scenario, World

TARGETS: tuple[tuple[str, Pairs, str | None], ...] = (
    ("int", ((2, 0.0),), "2"),
    ("float-first", ((1, 2.0),), "2"),
    ("half", ((0, 0.5),), "500m"),
    ("none", ((0, 0.0),), None),
    ("tiny", ((0, 0.0004),), None),
)
"""Name, (int, float) fields of the spec, the HPA's target; None = refused."""
SELECTOR = "app=none"
IDLE = wants(0, active=False)


def c27(world: World) -> str:
    """A target is the float if above zero, else the int; none at all is refused."""
    with bench(world, "c27") as b:
        for name, spec, _ in TARGETS:
            answers = Answers(is_active=True, metrics=((1, 1.0),), spec=spec)
            b.target(name, replicas=1, answers=answers)
        for name, _, wanted in TARGETS:
            if wanted is None:
                b.becomes(name, "Ready", "False", "ScaledObjectCheckFailed")
            else:
                b.ready(name)
        pause(5)
        found = {name: _target(b, name) for name, *_ in TARGETS}
        assert found == {name: wanted for name, _, wanted in TARGETS}
        refused = [name for name, _, wanted in TARGETS if wanted is None]
        assert not [name for name in refused if b.calls(name, Method.IS_ACTIVE)]
        return ", ".join(f"{name} {target or 'refused'}" for name, target in found.items())


def _target(b: Bench, name: str) -> object:
    hpa = b.hpa(name)
    return hpa and hpa["spec"]["metrics"][0]["external"]["target"]["averageValue"]


def c28(world: World) -> str:
    """Without a stream a changed target never reaches the HPA; unsafeSsl alone is plaintext."""
    with bench(world, "c28") as b:
        plain = {"unsafeSsl": "true"}
        b.target("a", replicas=2, answers=wants(2), metadata=plain, pollingInterval=60)
        b.settled("a")
        b.ready("a")
        b.reconciled("a")
        doubled = Answers(is_active=True, metrics=((2, 2.0),), spec=((2, 2.0),))
        told = b.tell("a", doubled)
        pause(10)
        assert b.calls("a", Method.METRIC_SPEC, told)
        assert _target(b, "a") == "1"
        b.sizes.held("a", told)
        return "10 s after the change the HPA's target is the old one"


def c29(world: World) -> str:
    """A custom resource follows with any non-empty selector, whether its status does or not."""
    with bench(world, "c29", LAB_SCALE) as b:
        for name in ("mirrored", "lagging"):
            b.target(name, replicas=0, answers=IDLE)
            b.report(name, replicas=0, selector=SELECTOR)
        b.ready("mirrored", "lagging")
        told = b.tell_all(("mirrored", "lagging"), wants(3))
        for size in (3, 4, 2):
            b.tell_all(("mirrored", "lagging"), wants(size))
            for name in ("mirrored", "lagging"):
                b.sizes.until(name, size, within=SOON)
                b.hpa_says(name, "ValidMetricFound")
            b.report("mirrored", replicas=size)
        idle = b.tell_all(("mirrored", "lagging"), IDLE)
        zero = max(b.sizes.until(name, 0, within=SOON) for name in ("mirrored", "lagging"))
        for name in ("mirrored", "lagging"):
            steps = b.sizes.steps(name, told)
            assert steps[:4] == [1, 3, 4, 2], steps
        return f"0->1->3->4->2 with and without a status that follows; zero {zero - idle:.1f} s on"


def c30(world: World) -> str:
    """Without a selector, or by metricType Value, a custom resource only wakes and sleeps."""
    with bench(world, "c30", LAB_SCALE) as b:
        b.target("bare", replicas=0, answers=IDLE)
        b.target("value", replicas=0, answers=IDLE, trigger={"metricType": "Value"})
        b.report("value", replicas=0, selector=SELECTOR)
        b.ready("bare", "value")
        told = b.tell_all(("bare", "value"), wants(3))
        for name in ("bare", "value"):
            b.sizes.until(name, 1, within=SOON)
        b.report("value", replicas=1)
        b.hpa_says("bare", "InvalidSelector")
        b.hpa_says("value", "FailedGetExternalMetric")
        says = {
            name: str(condition(b.hpa(name), "ScalingActive").get("message"))
            for name in ("bare", "value")
        }
        assert "missing a selector" in says["bare"], says
        assert "unable to calculate ready pods" in says["value"], says
        pause(5)
        b.tell_all(("bare", "value"), IDLE)
        for name in ("bare", "value"):
            b.sizes.until(name, 0, within=SOON)
            assert b.sizes.steps(name, told) == [1, 0]
        return "0->1->0, never 3: InvalidSelector; FailedGetExternalMetric"


def c31(world: World) -> str:
    """A custom resource whose spec.replicas is absent is not accepted."""
    with bench(world, "c31", LAB_SCALE) as b:
        began = time.monotonic()
        b.target("absent", replicas=None, answers=wants(1))
        b.becomes("absent", "Ready", "False")
        says = str(condition(b.scaled("absent"), "Ready").get("message"))
        assert "scale" in says, says
        pause(4)
        assert b.hpa("absent") is None
        assert not b.calls("absent", Method.IS_ACTIVE, began)
        return says


SCENARIOS: tuple[Scenario, ...] = (
    Scenario(id="C27", title="a target is the float if above zero, else the int", play=c27),
    Scenario(id="C28", title="a changed target needs a stream to be noticed", play=c28),
    Scenario(id="C29", title="a custom resource scales by value and selector", play=c29),
    Scenario(id="C30", title="no selector, or metricType Value: only 0 and 1", play=c30),
    Scenario(id="C31", title="absent spec.replicas is not accepted", play=c31),
)
