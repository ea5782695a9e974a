"""The contract with KEDA: what the numbers mean."""

import time

from tests.e2e.bench import SOON, Bench, bench
from tests.e2e.bench_objects import LAB_SCALE, hpa_behavior
from tests.e2e.script import Answers, Pairs, wants
from tests.e2e.waiting import pause
from tests.e2e.world import Scenario, World

FIELDS: tuple[tuple[str, Pairs, int, int], ...] = (
    ("float-zero", ((7, 0.0),), 3, 7),
    ("float-negative", ((4, -1.0),), 3, 4),
    ("float-first", ((9, 2.0),), 3, 2),
    ("float-nan", ((6, float("nan")),), 3, 6),
    ("infinite", ((0, float("inf")),), 3, 1),
    ("both-negative", ((-5, -5.0),), 3, 1),
    ("fraction", ((0, 2.5),), 1, 3),
    ("sum", ((5, 5.0), (5, 5.0)), 3, 10),
)
"""Name, (int, float) fields of the values, size before, size that comes of it."""


def c01(world: World) -> str:
    """Wake by poll: 0 -> 1 within an interval, the rest by the HPA."""
    with bench(world, "c01") as b:
        b.ready(b.target("a", replicas=0, answers=Answers()))
        told = b.tell("a", wants(5))
        one = b.sizes.until("a", 1, within=SOON, since=told)
        five = b.sizes.until("a", 5, within=SOON)
        steps = b.sizes.steps("a", told)
        # Without a behavior an HPA read goes to twice the size at most, or 4.
        assert steps == [1, 4, 5], steps
        return f"0->1 after {one - told:.1f} s (poll 2 s), 1->5 after {five - one:.1f} s more"


def c02(world: World) -> str:
    """Read each pair of fields as KEDA does, and add several values up."""
    with bench(world, "c02") as b:
        for name, values, before, _ in FIELDS:
            answers = Answers(is_active=True, metrics=values)
            b.target(name, replicas=before, answers=answers, minReplicaCount=1)
        for name, _, _, after in FIELDS:
            b.sizes.until(name, after, within=60)
        b.settled(*(name for name, *_ in FIELDS))
        pause(3)
        sizes = {name: b.sizes.of(name) for name, *_ in FIELDS}
        assert sizes == {name: after for name, _, _, after in FIELDS}
        return ", ".join(f"{name} {size}" for name, size in sizes.items())


def c03(world: World) -> str:
    """Act on a step of 10 % only where the HPA's tolerance is set to zero."""
    with bench(world, "c03", LAB_SCALE) as b:
        _at_twenty(b)
        passed = ((b.hpa("strict") or {})["spec"])["behavior"]["scaleUp"]
        assert passed["tolerance"] == "0"
        above, below = b.tell("above", wants(22)), b.tell("below", wants(18))
        took = [_step(b, "strict", size) for size in (21, 22, 23, 22, 21)]
        b.read("above", since=above)
        # Longer than the HPA waits before it goes down.
        b.read("below", since=below + 8)
        pause(2)
        b.sizes.held("above", above)
        b.sizes.held("below", below)
        b.tell("below", wants(17))
        _step(b, "above", 23)
        b.sizes.until("below", 17, within=SOON)
        return (
            f"tolerance 0: steps of one in at most {max(took):.1f} s; by default 18 and 22 hold "
            "20, 17 and 23 do not"
        )


def _at_twenty(b: Bench) -> None:
    """Set up a target without tolerance, and two with the usual one, at size 20."""
    none = {"tolerance": "0"}
    strict = hpa_behavior(scaleUp=none, scaleDown=none | {"stabilizationWindowSeconds": 0})
    advanced = {"strict": strict, "above": {}, "below": {}}
    for name, one in advanced.items():
        b.target(
            name,
            replicas=20,
            answers=wants(20),
            minReplicaCount=1,
            maxReplicaCount=50,
            advanced=one,
        )
        b.report(name, replicas=20, selector="app=none")
    b.settled(*advanced)


def _step(b: Bench, name: str, size: int) -> float:
    """Give the seconds to a size; the status follows, as a controller would do."""
    told = b.tell(name, wants(size))
    took = b.sizes.until(name, size, within=SOON) - told
    b.report(name, replicas=size)
    return took


def c04(world: World) -> str:
    """Round values to three decimals before the ceiling."""
    with bench(world, "c04") as b:
        advanced = hpa_behavior(scaleUp={"tolerance": "0"})
        b.target("strict", replicas=5, answers=wants(5), advanced=advanced)
        b.target("usual", replicas=5, answers=wants(5))
        b.settled("strict", "usual")
        since = b.tell("strict", wants(5.0004))
        b.tell("usual", wants(5.0006))
        for name in ("strict", "usual"):
            b.read(name, since=since)
        pause(2)
        b.sizes.held("strict", since)
        told = b.tell("strict", wants(5.0006))
        six = b.sizes.until("strict", 6, within=SOON)
        b.sizes.held("usual", since)
        return f"5.0004 holds 5, 5.0006 is 6 after {six - told:.1f} s, and 5 within the tolerance"


def c05(world: World) -> str:
    """`metricType: Value` multiplies what is Ready, so it never comes to rest."""
    with bench(world, "c05") as b:
        value = {"metricType": "Value"}
        b.target("a", replicas=1, answers=wants(5), trigger=value, maxReplicaCount=16)
        ran = b.sizes.until("a", 16, within=2 * SOON) - b.sizes.seen("a")[0].at
        return f"wants 5, got {b.sizes.steps('a')} within {ran:.0f} s (maximum 16)"


def c06(world: World) -> str:
    """(true, 0) keeps one replica; at zero neither (false, N) nor (false, 0) starts any."""
    with bench(world, "c06") as b:
        b.target("kept", replicas=4, answers=wants(4))
        b.target("off", replicas=0, answers=wants(5, active=False))
        b.target("idle", replicas=0, answers=wants(0, active=False))
        b.settled("kept")
        b.ready("off", "idle")
        told = b.tell("kept", wants(0))
        one = b.sizes.until("kept", 1, within=SOON)
        pause(10)
        for name, size in (("kept", 1), ("off", 0), ("idle", 0)):
            b.sizes.never_below(name, size)
            assert b.sizes.of(name) == size
        return f"4->1 after {one - told:.1f} s and never 0; (false, 5) at 0 stays 0"


def c07(world: World) -> str:
    """(false, 0) is taken to 1 by the HPA and to 0 later; (false, N) goes in one step."""
    with bench(world, "c07") as b:
        at_once = hpa_behavior(scaleDown={"stabilizationWindowSeconds": 0})
        for name in ("zero", "same"):
            b.target(name, replicas=4, answers=wants(4), cooldownPeriod=20, advanced=at_once)
        b.settled("zero", "same")
        # A poll must have been active for the cooldown to begin with it.
        pause(3)
        told = b.tell("zero", wants(0, active=False))
        b.tell("same", wants(4, active=False))
        ends = {name: b.sizes.until(name, 0, within=60) - told for name in ("zero", "same")}
        assert b.sizes.steps("zero", told) == [1, 0]
        assert b.sizes.steps("same", told) == [0]
        # The last active poll may be some seconds before.
        assert all(15 <= seconds <= 45 for seconds in ends.values()), ends
        one = b.sizes.seen("zero", told)[0].at - told
        return (
            f"(false, 0): 4->1 after {one:.1f} s, 0 after {ends['zero']:.1f} s; (false, 4): "
            f"4->0 after {ends['same']:.1f} s (cooldown 20 s from the last active poll)"
        )


def c08(world: World) -> str:
    """A fresh ScaledObject has no cooldown; initialCooldownPeriod saves the last replica only."""
    with bench(world, "c08") as b:
        began = time.monotonic()
        idle = wants(0, active=False)
        long = 10 * SOON
        b.target("plain", replicas=3, answers=idle, cooldownPeriod=long)
        b.target("initial", replicas=3, answers=idle, initialCooldownPeriod=long)
        b.target("last", replicas=1, answers=idle, initialCooldownPeriod=15)
        b.target("by-hand", replicas=0, answers=idle, cooldownPeriod=long)
        plain = b.sizes.until("plain", 0, within=SOON) - began
        b.ready("by-hand")
        scaled = time.monotonic()
        world.api.scale("Deployment", "by-hand", b.namespace, replicas=3)
        b.sizes.until("by-hand", 3, within=SOON, since=scaled)
        back = b.sizes.until("by-hand", 0, within=SOON, since=scaled) - scaled
        initial = b.sizes.until("initial", 1, within=SOON) - began
        last = b.sizes.until("last", 0, within=SOON) - began
        # Creation times are whole seconds.
        assert last >= 14, f"{last:.1f} s"
        assert b.sizes.steps("initial") == [3, 1]
        return (
            f"3 running gone after {plain:.1f} s, 3 by hand after {back:.1f} s (cooldown {long} "
            f"s); initialCooldownPeriod: 3->1 by the HPA after {initial:.1f} s, and 1->0 after "
            f"{last:.1f} s of 15"
        )


SCENARIOS: tuple[Scenario, ...] = (
    Scenario(id="C01", title="a poll wakes, the HPA does the rest", play=c01),
    Scenario(id="C02", title="float if above zero, else int; values are added up", play=c02),
    Scenario(id="C03", title="tolerance of 10 %, unless the behavior says 0", play=c03),
    Scenario(id="C04", title="values count by the thousandth", play=c04),
    Scenario(id="C05", title="metricType Value runs away", play=c05),
    Scenario(id="C06", title="active keeps one; inactive never starts one", play=c06),
    Scenario(id="C07", title="how idle goes to zero depends on the value", play=c07),
    Scenario(id="C08", title="no cooldown before the first active poll", play=c08),
)
