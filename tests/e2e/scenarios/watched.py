"""What people watch the cluster with shows something: each query of the dashboards has data."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from tests.e2e.api import Object
from tests.e2e.boards import Answer, Question, ask, questions, rules_at_work
from tests.e2e.policies import pool
from tests.e2e.scenarios.places import place
from tests.e2e.scenarios.queued import crew
from tests.e2e.scenarios.rooms import LOOK, SOON, Room, room
from tests.e2e.scenarios.serving import server
from tests.e2e.waiting import NeverCameError, until
from tests.e2e.world import Scenario, World

POOL = "w1"
POOLS = (pool(POOL, provisioningTimeout="10m"),)
QUOTA = 8
NO_DATA: dict[str, str] = {}
"""Questions that can have no answer here, by their names, each with the reason."""
SHOWN = 60.0
"""Seconds from when something is so until scrapes, rules and a window have shown it."""


def w1(world: World) -> str:
    """Ask all that the shipped dashboards ask, of the Prometheus that scraped the whole run."""
    began = time.monotonic()
    with _everything(world):
        asked = tuple(questions())
        wanted = [each for each in asked if each.name not in NO_DATA]
        unknown = NO_DATA.keys() - {each.name for each in asked}
        assert not unknown, f"no such questions: {sorted(unknown)}"
        answers = _answered(world, wanted)
        rules = rules_at_work(world.prometheus.url)
    series = sum(each.series for each in answers)
    slowest = max(answers, key=lambda each: each.seconds)
    return (
        f"{len(answers)} queries of 4 dashboards, {series} series, the slowest"
        f" {slowest.seconds * 1000:.0f} ms ({slowest.question.name}); {rules};"
        f" after {time.monotonic() - began:.0f} s"
    )


@contextmanager
def _everything(world: World) -> Iterator[None]:
    """Let there be one of each thing that is shown, besides what all other scenarios left."""
    with ExitStack() as held:
        grown = held.enter_context(room(world, POOL, queues={"jobs": QUOTA}))
        grown.job("runs")
        grown.job("waits")
        grown.runs(1)
        world.gpus.busy(grown.name)
        resting = held.enter_context(server(world, "w1-rests", replicas=1, gpus=2))
        resting.scaled(metadata={"dryRun": "true"}, maximum=1)
        resting.runs(1)
        resting.burst(pod=0, gpu=0, percent=60)  # since when it rests is known then
        there = held.enter_context(place(world, "w1-held", gpus=QUOTA))
        workers = held.enter_context(crew(world, "RayCluster", namespace=there.name))
        workers.hold()
        resting.says("DryRun")
        with _unknown(grown):
            # A second admission from the same queue: Kueue's histogram grows by it.
            for pod in grown.running():
                grown.end(pod)
            grown.runs(1)
            yield


@contextmanager
def _unknown(grown: Room) -> Iterator[None]:
    """Let the pool's trigger name a ClusterQueue that is not there."""
    scaled = grown.world.api.get("ScaledObject", grown.name, grown.name) or {}
    before = scaled["spec"]["triggers"][0]["metadata"]
    _say(grown, {**before, "clusterQueue": "nowhere"})
    try:
        until(lambda: _hold(grown), "a HOLD", within=SOON, every=LOOK)
        held = time.monotonic()
        until(lambda: time.monotonic() - held > SHOWN / 4, "some scrapes of it", within=SHOWN)
    finally:
        _say(grown, before)
    yield


def _hold(grown: Room) -> bool:
    """Say whether a trigger of the pool is in HOLD; what was asked for before is decided too."""
    found: list[Object] = grown.world.scaler.decisions()["decisions"]
    own = [each for each in found if each["name"] == grown.name]
    return any(each["reason"] == "ClusterQueueMissing" for each in own)


def _say(grown: Room, metadata: dict[str, str]) -> None:
    api, name = grown.world.api, grown.name
    scaled = api.get("ScaledObject", name, name) or {}
    scaled["spec"]["triggers"][0]["metadata"] = metadata
    change = {"spec": {"triggers": scaled["spec"]["triggers"]}}
    api.patch("ScaledObject", name, name, change=change)


def _answered(world: World, wanted: list[Question]) -> list[Answer]:
    """Ask each question until it has an answer, all of them once where there is data at once.

    Raises:
        AssertionError: some have none; each is named with its query.
    """
    answers: dict[str, Answer] = {}

    def look() -> bool:
        for each in wanted:
            if each.name not in answers:
                found = ask(world.prometheus.url, each)
                if found is not None:
                    answers[each.name] = found
        return len(answers) == len(wanted)

    try:
        until(look, "an answer to each question", within=SHOWN, every=SHOWN / 4)
    except NeverCameError:
        lacking = [f"{each.name}: {each.query}" for each in wanted if each.name not in answers]
        message = f"{len(lacking)} of {len(wanted)} have no data:\n" + "\n".join(lacking)
        raise AssertionError(message) from None
    return list(answers.values())


SCENARIOS: tuple[Scenario, ...] = (
    Scenario(
        id="W1", title="every query of the dashboards and every rule has data", play=w1, alone=True
    ),
)
