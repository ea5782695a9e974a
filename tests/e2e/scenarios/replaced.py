"""Two replicas of our service answer alike, and are replaced under load without a loss."""

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from tests.e2e.alike import NO_VALUE, Comparison, Span, read
from tests.e2e.api import Object
from tests.e2e.asker import Question, asking, question
from tests.e2e.bench_objects import COOLDOWN
from tests.e2e.busy import SOON, Busy, OperatorLog, aging, busy
from tests.e2e.front import LOOPBACK
from tests.e2e.keda import errors_of
from tests.e2e.policies import REFRESH
from tests.e2e.scenarios.rooms import Room, patient, room
from tests.e2e.stack import service_address
from tests.e2e.streams import StreamWatch, count
from tests.e2e.waiting import pause, though_late, until
from tests.e2e.world import DISTURBS_KEDA, Scenario, World

POOL = "u1"
POOLS = (patient(POOL),)
TARGETS = 4
QUIET = "u1-quiet"
"""A target that falls idle, which KEDA is not told."""
IDLE_AFTER = "6s"
CALM = 3.0
"""Seconds."""
WATCHED = 2.0
"""Seconds for which two replicas may differ after a change that both watch."""
MEASURED = 2 * REFRESH + 2.0
"""And after one that each asks Prometheus for in its own time."""
LONGEST_GAP = 2.5
"""Seconds that a stream may be without a server: KEDA itself waits for two."""
LOOKS = 0.3
"""Seconds by which the count of KEDA's streams may be late."""
STREAMS = 2
"""That a push trigger has."""
ACTIVE = 3
"""Times that the load asks about the pool, which is active with Prometheus and without."""
SETTLES = 1.0
"""Seconds from a decision to answers of both, with some to spare."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """What is asked about: targets that are busy, one that falls idle, and a pool."""

    lot: Busy
    pool: Room

    def questions(self) -> list[Question]:
        """Give what KEDA asks about each, the pool last."""
        api = self.lot.world.api
        found = [*api.list("ScaledObject", self.lot.namespace)]
        found += api.list("ScaledObject", self.pool.name)
        return [question(each) for each in found]

    @property
    def namespaces(self) -> tuple[str, str]:
        """Give where they are."""
        return self.lot.namespace, self.pool.name

    def decide(self, about: str, key: str, value: object) -> None:
        """Wait until both have decided so."""
        namespace, name = about.split("/")
        for number in range(len(self.lot.service.replicas)):

            def look(number: int = number) -> bool:
                found = self.lot.service.decision(namespace, name, number) or {}
                return bool(found.get(key) == value)

            until(look, f"replica {number} decides {value} on {name}", within=SOON)

    def held(self, since: float) -> None:
        """Demand that no target's size changed since a monotonic time, and that the pool grew."""
        self.lot.held(since)
        steps = self.pool.sizes.steps(self.pool.name)
        assert steps == sorted(steps), f"the pool dipped: {steps}"

    def all_streams(self, wanted: float) -> None:
        """Wait until there are so many."""
        replicas = self.lot.service.replicas
        until(lambda: count(replicas) == wanted, f"{wanted:.0f} open streams", within=SOON)

    @property
    def of_keda(self) -> int:
        """Give how many KEDA keeps open."""
        return STREAMS * (TARGETS // 2 + 1)


def u1(world: World) -> str:
    """Replicas answer alike, and are replaced without a loss: with Prometheus and without."""
    there = {"pool": POOL, "scalerAddress": service_address("paired")}
    with (
        busy(world, "u1", installation="paired", targets=TARGETS, pools=POOLS, alter=aging) as lot,
        room(replace(world, scaler=lot.service), POOL, queues={"jobs": 64}, metadata=there) as made,
    ):
        pair = Pair(lot=lot, pool=made)
        made.job("first")
        lot.fine()
        lot.add_paused(QUIET, IDLE_AFTER)
        made.grows_to(1)
        lot.all_say("Busy")
        began = time.monotonic()
        with though_late(lambda: pair.held(began)):
            with _without_loss(pair, "up") as up:
                lot.service.replace(0)
                alike = _alike(pair)
                lot.service.replace(1)
            died = _prometheus_dies(pair)
            with _without_loss(pair, "down") as down:
                lot.service.roll()
            pause(COOLDOWN)
        return f"{alike}, {died}; replaced: {up[0]}; without Prometheus: {down[0]}"


# --- alike -------------------------------------------------------------------------------------


@contextmanager
def _compared(pair: Pair, name: str) -> Iterator[list[Comparison]]:
    """Ask both replicas the same all the time; what came of it is there on leaving."""
    stack, found = pair.lot.world.stack, list[Comparison]()
    addresses = [f"{LOOPBACK}:{each.backend.grpc}" for each in pair.lot.service.replicas]
    with asking(
        stack.programs,
        f"{name}-{pair.lot.namespace}",
        "tests.e2e.alike",
        *addresses,
        questions=pair.questions(),
        folder=stack.folder,
    ) as asker:
        yield found
        pause(SETTLES)
        found.append(read(asker.end()))


def _alike(pair: Pair) -> str:
    """Compare an old replica with a new one: in calm, and while a queue and an activity change."""
    pool, quiet = f"{pair.pool.name}/{pair.pool.name}", f"{pair.lot.namespace}/{QUIET}"
    with _compared(pair, "alike") as found:
        calm = time.monotonic()
        pause(CALM)
        changed = time.monotonic()
        pair.lot.world.gpus.quiet(pair.lot.namespace, QUIET)
        pair.pool.job("second")
        pair.decide(pool, "value", 2)
        pair.decide(quiet, "reason", "Idle")
    comparison = found[0]
    still = [each for each in comparison.spans if calm <= each.since < changed]
    assert all(map(_late, still)), f"differed in calm: {still}"
    moved, idle = comparison.agreed[pool], comparison.agreed[quiet]
    assert len(moved) > 1, f"the pool's change was not seen: {moved}"
    assert idle[-1].endswith("inactive"), f"not idle: {idle}"
    watched = _longest([each for each in comparison.spans if each.about == pool], WATCHED)
    measured = _longest([each for each in comparison.spans if each.about != pool], MEASURED)
    return (
        f"an old and a new replica gave {comparison.compared} pairs of answers, alike but for "
        f"{watched:.2f} s after a job was queued and {measured:.2f} s after a target fell idle"
    )


def _late(span: Span) -> bool:
    """Say whether one had no value, for samples that are late where a machine does too much."""
    return sum(NO_VALUE in each for each in span.answers) == 1


def _longest(spans: Sequence[Span], bound: float) -> float:
    """Demand that no span is longer than a bound; give the longest."""
    long = [each for each in spans if each.seconds > bound]
    assert not long, f"differed for more than {bound:g} s: {long}"
    return max((each.seconds for each in spans), default=0.0)


def _prometheus_dies(pair: Pair) -> str:
    """Compare while Prometheus is stopped: both hold, soon after each other."""
    with _compared(pair, "dying") as found:
        pair.lot.prometheus.stop()
        pair.lot.all_say("HOLD")
    (comparison,) = found
    for name in pair.lot.names:
        agreed = comparison.agreed[f"{pair.lot.namespace}/{name}"]
        assert NO_VALUE in agreed[-1], f"{name} does not hold: {agreed}"
    return f"{_longest(comparison.spans, MEASURED):.2f} s after Prometheus died"


# --- replaced ----------------------------------------------------------------------------------


@contextmanager
def _without_loss(pair: Pair, name: str) -> Iterator[list[str]]:
    """Demand that nothing is lost meanwhile, of KEDA's calls and streams and of a load's.

    Both replicas have to be replaced, so that each stream ends once or more. What was measured is
    there on leaving.
    """
    lot, told = pair.lot, list[str]()
    logs = [OperatorLog(lot.world, each) for each in pair.namespaces]
    errors, since = errors_of(lot.world.stack.keda, pair.namespaces), time.monotonic()
    pair.all_streams(pair.of_keda)
    *asked, pool = pair.questions()
    own = len(asked) + STREAMS * ACTIVE
    with asking(
        lot.world.stack.programs,
        f"load-{name}-{lot.namespace}",
        "tests.e2e.load",
        lot.service.address,
        questions={"asked": asked, "active": [pool] * ACTIVE},
        folder=lot.world.stack.folder,
    ) as load:
        pair.all_streams(pair.of_keda + own)
        watch = StreamWatch(lambda: lot.service.replicas, pair.of_keda + own)
        watch.start()
        try:
            yield told
            pair.all_streams(pair.of_keda + own)
        finally:
            gap = watch.stop()
        tally = json.loads(load.end())
    lot.held(since)
    _nothing_lost(tally, own)
    failed = [line for log in logs for line in log.failed_calls()]
    polls = sum(log.polls() for log in logs)
    assert polls, "KEDA asked nothing"
    assert not failed, f"KEDA saw {len(failed)} errors in {polls} polls: {failed[0]}"
    more = errors_of(lot.world.stack.keda, pair.namespaces) - errors
    assert not more, f"KEDA counted {more:.0f} errors"
    assert 0 < gap <= LONGEST_GAP + LOOKS, f"without a server for {gap:.2f} s: {watch.gaps.steps}"
    told.append(
        f"{polls} polls of KEDA and {tally['calls']['OK']} other calls, no error; "
        f"{len(tally['gaps'])} streams ended with OK and were back after {max(tally['gaps']):.2f} s"
        f" at most, KEDA's after {gap:.2f} s"
    )


def _nothing_lost(tally: Object, streams: int) -> None:
    """Demand that the load's calls succeeded, and that its streams ended in order and came back."""
    assert set(tally["calls"]) == {"OK"}, f"calls were lost: {tally['calls']}"
    assert set(tally["streams"]) == {"OK"}, f"streams were cut: {tally['streams']}"
    gaps: list[float] = tally["gaps"]
    assert len(gaps) >= streams, f"{streams} streams, and {len(gaps)} were opened again"
    assert max(gaps) <= LONGEST_GAP, f"a stream was without a server for {max(gaps):.2f} s"


SCENARIOS: tuple[Scenario, ...] = (
    Scenario(
        id="U1",
        title="two replicas answer alike and are replaced without a loss",
        play=u1,
        later=DISTURBS_KEDA,
    ),
)
