"""The contract with KEDA: which calls it makes, how often, and when none."""

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from tests.e2e.api import Object
from tests.e2e.bench import SOON, Bench, bench
from tests.e2e.calls import Method
from tests.e2e.script import Answers, wants
from tests.e2e.waiting import NeverCameError, pause, until
from tests.e2e.world import Scenario, World

INTERVAL = 5
"""Seconds between the polls that are counted."""
WINDOW = 20
"""Seconds in which they are counted: four polls and ten HPA reads."""
UNARY = (Method.METRIC_SPEC, Method.METRICS, Method.IS_ACTIVE)
CLIENT = "user-agent"
SILENCE = 6.0
TRIES = 3
CLOSED = 15.0
"""Seconds for a connection to end after its last ScaledObject."""


@dataclass(frozen=True, slots=True)
class Count:
    """Calls of a method: KEDA's own have no deadline, those for the HPA have its request's."""

    polls: int
    reads: int

    def __str__(self) -> str:
        return f"{self.polls}+{self.reads}"


def c24(world: World) -> str:
    """Count polls and HPA reads by the way a ScaledObject is set up."""
    with bench(world, "c24") as b:
        streamed = Answers(is_active=True, metrics=((1, 1.0),), streamed=((1, 1.0),))
        _target(b, "zero", wants(0, active=False), replicas=0)
        _target(b, "running", wants(1))
        _target(b, "cached", wants(1), trigger={"useCachedMetrics": True})
        _target(b, "pushed", streamed, push=True)
        _target(b, "least", wants(1), minimum=1)
        names = ("running", "cached", "pushed", "least")
        b.settled(*names)
        b.ready("zero")
        pause(INTERVAL)
        since = time.monotonic()
        pause(WINDOW)
        counts = {name: _counted(b, name, since) for name in ("zero", *names)}
        _as_known(counts)
        _deadlines(b, since)
        text = "; ".join(
            f"{name} " + " ".join(str(count) for count in by_method.values())
            for name, by_method in counts.items()
        )
        return f"polls+reads of spec, metrics, active in {WINDOW} s: {text}"


def _target(
    b: Bench,
    name: str,
    answers: Answers,
    *,
    replicas: int = 1,
    push: bool = False,
    trigger: Object | None = None,
    minimum: int = 0,
) -> None:
    b.target(
        name,
        replicas=replicas,
        answers=answers,
        push=push,
        trigger=trigger,
        minReplicaCount=minimum,
        pollingInterval=INTERVAL,
    )


def _counted(b: Bench, name: str, since: float) -> dict[Method, Count]:
    counts = {}
    for method in UNARY:
        calls = b.calls(name, method, since)
        polls = sum(call.deadline is None for call in calls)
        counts[method] = Count(polls=polls, reads=len(calls) - polls)
    return counts


def _as_known(counts: dict[str, dict[Method, Count]]) -> None:
    seldom, often = range(3, 7), range(4, 13)
    for method in UNARY:
        zero, running = counts["zero"][method], counts["running"][method]
        assert zero.polls in seldom, f"zero, {method}: {zero}"
        assert zero.reads == 0, f"zero, {method}: {zero}"
        assert running.polls in seldom, f"running, {method}: {running}"
        assert running.reads in often, f"running, {method}: {running}"
    for method in (Method.METRICS, Method.IS_ACTIVE):
        cached, pushed, least = (counts[name][method] for name in ("cached", "pushed", "least"))
        assert (cached.polls in seldom, cached.reads) == (True, 0), f"cached, {method}: {cached}"
        assert (pushed.polls in seldom, pushed.reads in often) == (True, True), f"pushed: {pushed}"
        assert (least.polls, least.reads in often) == (0, True), f"least, {method}: {least}"
    assert counts["cached"][Method.METRIC_SPEC].reads in often
    assert counts["pushed"][Method.METRIC_SPEC] == Count(polls=0, reads=0)


def _deadlines(b: Bench, since: float) -> None:
    calls = b.calls("running", since=since)
    given = [call.deadline for call in calls if call.deadline is not None]
    assert all(30 < seconds <= 61 for seconds in given), given
    headers = {key for call in calls for key in call.headers}
    assert headers == {CLIENT}, headers
    assert all(call.headers[CLIENT].startswith("grpc-go/") for call in calls)


def c25(world: World) -> str:
    """All ScaledObjects of an address share one connection, which ends with the last.

    Now and then KEDA keeps it: an HPA read that comes as a ScaledObject goes builds its scaler
    once more. So it must end in one of three tries.
    """
    with bench(world, "c25") as b:
        for attempt in range(TRIES):
            address = b.listen()
            names = [f"each-{attempt}-{number}" for number in range(8)]
            _share_one(b, names, address)
            for name in names:
                b.remove(name)
            removed = time.monotonic()
            with suppress(NeverCameError):
                _closes(world, address)
                took = time.monotonic() - removed
                return f"{len(names)} share 1 connection; closed {took:.1f} s after the last went"
        raise NeverCameError(f"a connection that ends with its last ScaledObject, of {TRIES}")


def _closes(world: World, address: str) -> None:
    until(lambda: not world.stub.connections(address), "closed", within=CLOSED)


def _share_one(b: Bench, names: Sequence[str], address: str) -> None:
    """Demand that all calls of these ScaledObjects come by one connection."""
    for at, name in enumerate(names):
        b.target(name, replicas=1, answers=wants(1), push=at % 2 == 0, address=address)
    b.settled(*names)
    streams = [b.streams(name) for name in names[::2]]
    since = time.monotonic()
    pause(5)
    peers = {call.peer for name in names for call in b.calls(name, since=since)}
    peers |= {call.peer for call in streams}
    assert len(peers) == 1, peers
    assert b.world.stub.connections(address) == 1


def c26(world: World) -> str:
    """Paused there is no stream, no HPA and no call; paused in one direction all go on."""
    with bench(world, "c26") as b:
        names = ("at-two", "as-is", "no-in", "no-out")
        for name in names:
            b.target(name, replicas=3, answers=wants(3), push=True)
        b.settled(*names)
        for name in names:
            b.streams(name)
        began = time.monotonic()
        b.annotate("at-two", paused_replicas="2")
        b.annotate("as-is", paused="true")
        b.annotate("no-in", paused_scale_in="true")
        b.annotate("no-out", paused_scale_out="true")
        b.sizes.until("at-two", 2, within=SOON)
        for name in ("at-two", "as-is"):
            _falls_silent(b, name)
        quiet = time.monotonic()
        pause(SILENCE)
        for name in ("at-two", "as-is"):
            assert not b.calls(name, since=quiet)
        for name in ("no-in", "no-out"):
            b.becomes(name, "Paused", "True")
            assert b.calls(name, Method.METRICS, quiet)
            assert b.hpa(name)
        b.sizes.held("as-is", began)
        resumed = time.monotonic()
        b.annotate("at-two", paused_replicas=None)
        b.annotate("as-is", paused=None)
        for name in ("at-two", "as-is"):
            b.asked(name, since=resumed)
            b.streams(name)
        took = min(b.asked(name, since=resumed).at for name in ("at-two", "as-is")) - resumed
        b.sizes.until("at-two", 3, within=SOON)
        return f"silent for {SILENCE:.0f} s, first call {took:.1f} s after it was resumed"


def _falls_silent(b: Bench, name: str) -> None:
    def silent() -> bool:
        return b.hpa(name) is None and not b.pending(name, Method.STREAM_IS_ACTIVE)

    until(silent, f"{name}: no HPA, no stream", within=SOON)


SCENARIOS: tuple[Scenario, ...] = (
    Scenario(id="C24", title="polls have no deadline, HPA reads their request's", play=c24),
    Scenario(id="C25", title="one connection for an address", play=c25),
    Scenario(id="C26", title="paused means no call at all", play=c26),
)
