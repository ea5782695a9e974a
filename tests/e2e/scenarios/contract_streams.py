"""The contract with KEDA: its streams."""

import time

from tests.e2e.bench import SOON, Bench, bench
from tests.e2e.bench_objects import POLL
from tests.e2e.calls import Call, Method, Outcome
from tests.e2e.script import Answers, Ending, Fault, wants
from tests.e2e.waiting import pause, until
from tests.e2e.world import Scenario, World

IDLE = wants(0, active=False)
LONGEST = 70.0
"""Seconds: gRPC's doubling ends at 60."""
SOME = 4
"""Errors, after the first of which a lone stream was cut already."""
SLACK = 2.5
"""Seconds that a stream may come later than KEDA means it to."""


def c18(world: World) -> str:
    """Start by push at once and without a call; the HPA does the rest."""
    with bench(world, "c18") as b:
        b.target("a", replicas=0, answers=IDLE, push=True, pollingInterval=60)
        b.ready("a")
        b.streams("a")
        b.asked("a", Method.IS_ACTIVE, since=0.0)
        b.reconciled("a")
        told = b.tell("a", wants(5))
        pushed = b.push("a", active=True)
        one = b.sizes.until("a", 1, within=SOON, since=pushed)
        # What has a deadline is the HPA's, which may already see the replica.
        early = [call for call in b.calls("a", since=told) if call.at < one]
        assert all(call.deadline is not None for call in early), early
        five = b.sizes.until("a", 5, within=SOON)
        steps = b.sizes.steps("a", pushed)
        assert steps == [1, 4, 5], steps
        took = (one - pushed) * 1000
        return f"0->1 {took:.0f} ms after the message, 1->5 {five - one:.1f} s later; no poll"


def c19(world: World) -> str:
    """Each push of true begins the cooldown anew; a push of false does nothing."""
    with bench(world, "c19") as b:
        for name in ("true", "false"):
            b.target(name, replicas=2, answers=wants(2), push=True, cooldownPeriod=8)
        b.settled("true", "false")
        for name in ("true", "false"):
            b.streams(name)
        # A poll that waits for a push to end may read the last active moment before it. So there
        # must be one, and pushes must come often.
        began = b.tell("true", wants(2, active=False))
        for _ in range(6):
            last = b.push("true", active=True)
            b.push("false", active=False)
            pause(2.5)
        b.sizes.held("true", began)
        b.becomes("true", "Active", "False", "ScalerCooldown", within=5)
        b.sizes.held("false", began)
        told = b.tell("false", wants(2, active=False))
        b.push("false", active=False)
        kept = b.sizes.until("true", 0, within=SOON) - last
        gone = b.sizes.until("false", 0, within=SOON) - told
        assert kept >= 6
        assert gone >= 5
        return (
            f"true every 2.5 s keeps an inactive one, zero {kept:.1f} s after the last; false "
            f"changes nothing: zero {gone:.1f} s after inactive (cooldown 8 s)"
        )


def c20(world: World) -> str:
    """A stream that ended comes back: 2 s after OK, ever later after UNAVAILABLE."""
    with bench(world, "c20") as b:
        b.target("a", replicas=1, answers=wants(1), push=True)
        b.settled("a")
        ends = (Ending.OK, Ending.OK, Ending.UNAVAILABLE, Ending.UNAVAILABLE, Ending.OK)
        gaps = [_gap(b, "a", ending, health=8 if at == 3 else 0) for at, ending in enumerate(ends)]
        expected = (2, 2, 4, 8, 2)
        text = ", ".join(f"{ending} {gap:.1f} s" for ending, gap in zip(ends, gaps, strict=True))
        for gap, seconds in zip(gaps, expected, strict=True):
            assert seconds - 1 <= gap <= seconds + SLACK, text
        return f"back after {text}, with 8 s of health before the second UNAVAILABLE"


def _gap(b: Bench, name: str, ending: Ending, *, health: float) -> float:
    """End a stream, and give the seconds to the next."""
    before = b.streams(name)
    pause(health)
    b.world.stub.end(b.namespace, name, ending)
    return _next(b, name, before).at - _ended(before)


def _ended(call: Call) -> float:
    until(lambda: call.ended, "the end of the stream", within=SOON)
    assert call.ended
    return call.ended


def _next(b: Bench, name: str, before: Call) -> Call:
    """Wait for the call after another of the same kind."""
    later = until(
        lambda: [call for call in b.calls(name, before.method) if call.at > before.at],
        f"{name}: a further {before.method}",
        within=LONGEST,
    )
    return later[0]


def c21(world: World) -> str:
    """A streamed spec takes effect at once and replaces polling; who has none is asked once."""
    with bench(world, "c21") as b:
        answers = Answers(is_active=True, metrics=((4, 4.0),), streamed=((1, 1.0),))
        b.target("streams", replicas=4, answers=answers, push=True)
        b.target("has-none", replicas=1, answers=wants(1), push=True)
        b.settled("streams", "has-none")
        first = b.streams("streams", Method.STREAM_METRIC_SPEC)
        pause(1)
        doubled = Answers(is_active=True, metrics=((4, 4.0),), streamed=((2, 2.0),))
        told = b.tell("streams", doubled)
        until(lambda: _target(b, "streams") == "2", "target 2", within=SOON)
        took = time.monotonic() - told
        b.sizes.until("streams", 2, within=SOON)
        since = b.tell(
            "streams", Answers(is_active=True, metrics=((4, 4.0),), streamed=(), spec=((5, 5.0),))
        )
        pause(8)
        b.ready("streams")
        b.sizes.held("streams", since)
        assert _target(b, "streams") == "2"
        assert not b.calls("streams", Method.METRIC_SPEC, told)
        b.tell("streams", doubled)
        gaps = [_spec_gap(b, first, Ending.OK), _spec_gap(b, first, Ending.UNAVAILABLE)]
        asked = b.calls("has-none", Method.STREAM_METRIC_SPEC)
        assert [call.outcome for call in asked] == [Outcome.UNIMPLEMENTED]
        assert all(1 <= gap <= 2 + SLACK for gap in gaps), gaps
        return (
            f"new target in the HPA after {took:.2f} s, an empty list is ignored, GetMetricSpec "
            f"not polled; back {gaps[0]:.1f} s after OK, {gaps[1]:.1f} s after UNAVAILABLE"
        )


def _spec_gap(b: Bench, first: Call, ending: Ending) -> float:
    before = b.streams("streams", first.method)
    # KEDA must have read a message of this stream before it ends.
    pause(1)
    b.world.stub.end(b.namespace, "streams", ending, first.method)
    return _next(b, "streams", before).at - _ended(before)


def _target(b: Bench, name: str) -> object:
    hpa = b.hpa(name)
    return hpa and hpa["spec"]["metrics"][0]["external"]["target"]["averageValue"]


def c22(world: World) -> str:
    """After an outage polls are back within an interval, the stream when its doubling allows."""
    with bench(world, "c22") as b:
        b.target("a", replicas=2, answers=wants(2), push=True, cooldownPeriod=120)
        b.settled("a")
        text = []
        for seconds in (1, 8):
            before = b.streams("a")
            world.stub.down(b.address)
            pause(seconds)
            world.stub.up(b.address)
            up = time.monotonic()
            poll = b.asked("a", Method.METRICS, since=up).at - up
            stream = _next(b, "a", before).at - up
            assert poll <= 3 * POLL
            text.append(f"{seconds} s down: poll after {poll:.1f} s, stream {stream:.1f} s")
        b.sizes.never_below("a", 2)
        return "; ".join(text)


def c23(world: World) -> str:
    """An error answer cuts the push stream, unless another ScaledObject keeps the connection."""
    with bench(world, "c23") as b:
        shared = b.listen()
        long = 120
        b.target("alone", replicas=1, answers=wants(1), push=True, cooldownPeriod=long)
        for name in ("erring", "healthy"):
            b.target(
                name,
                replicas=1,
                answers=wants(1),
                push=True,
                address=shared,
                cooldownPeriod=long,
            )
        b.settled("alone", "erring", "healthy")
        before = {name: b.streams(name) for name in ("alone", "erring", "healthy")}
        error = Answers(is_active=True, metrics=Fault.ERROR)
        told = b.tell_all(("alone", "erring"), error)
        cut = _ended(before["alone"]) - told
        # Each try while the connection is dropped fails, and doubles the time to the next.
        b.tell("alone", wants(1))
        later = _next(b, "alone", before["alone"]).at - told - cut
        until(
            lambda: len(b.calls("erring", Method.METRICS, told)) >= SOME,
            f"{SOME} errors",
            within=SOON,
        )
        assert before["alone"].outcome is Outcome.CANCELLED
        for name in ("erring", "healthy"):
            assert b.pending(name, Method.STREAM_IS_ACTIVE)[-1] is before[name], name
        return (
            f"alone on its address: cut after {cut:.1f} s, next stream {later:.1f} s later; "
            "beside a healthy one: not cut"
        )


SCENARIOS: tuple[Scenario, ...] = (
    Scenario(id="C18", title="a push starts at once, without a call", play=c18),
    Scenario(id="C19", title="true begins the cooldown anew, false is ignored", play=c19),
    Scenario(id="C20", title="ended streams come back, ever later after errors", play=c20),
    Scenario(id="C21", title="a streamed spec takes effect; an empty one does not", play=c21),
    Scenario(id="C22", title="polls come back first after an outage", play=c22),
    Scenario(id="C23", title="an error answer cuts the stream of a lone ScaledObject", play=c23),
)
