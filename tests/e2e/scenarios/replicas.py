"""Two replicas of our service: one lags, KEDA starts anew."""

import itertools
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from tests.e2e.apart import by_passage
from tests.e2e.bench_objects import COOLDOWN
from tests.e2e.busy import Busy, aging, busy
from tests.e2e.passage import Passage
from tests.e2e.policies import pool
from tests.e2e.scenarios.rooms import Room, room
from tests.e2e.service import Installation
from tests.e2e.stack import service_address
from tests.e2e.waiting import pause, though_late, until
from tests.e2e.world import DISTURBS_KEDA, HEAVY, Scenario, World

POOL = "f8"
POOLS = (pool(POOL, provisioningTimeout="10m"),)
LAG = 8.0
"""Seconds that a replica's watches are behind, several polls of KEDA."""
TARGETS = 10
SOON = 60.0


def f8(world: World) -> str:
    """A replica that lags lets no size dip, and answers right when it has caught up."""
    way = Passage(urlsplit(world.stack.way).port or 0)
    there = {"pool": POOL, "scalerAddress": service_address("lagging")}
    with (
        busy(
            world, "f8", installation="lagging", targets=4, pools=POOLS, alter=_second_by(way)
        ) as lot,
        room(
            replace(world, scaler=lot.service), POOL, queues={"jobs": 64}, metadata=there
        ) as pool_room,
    ):
        lot.fine()
        pool_room.job("first", pods=2)
        pool_room.grows_to(2)
        pool_room.runs(2)
        way.late = LAG
        asked, since = lot.answered(), time.monotonic()
        with though_late(lambda: _demand_no_dip(lot, pool_room, since)):
            _replace_pods(lot)
            grown = _grow(pool_room, 3)
            behind = _behind(lot, pool_room, 4)
        answers = [now - then for now, then in zip(lot.answered(), asked, strict=True)]
        assert all(answers), f"KEDA asked one replica alone: {answers}"
        way.late = 0.0
        with though_late(lambda: _demand_no_dip(lot, pool_room, since)):
            caught = _agree(lot, pool_room, 4)
        return (
            f"one of two {behind:.1f} s behind ({answers[1]:.0f} of {sum(answers):.0f} answers): "
            f"a pool grew {grown:.1f} s after a job, never back; 4 Deployments with new pods held; "
            f"both were right {caught:.1f} s after the lag"
        )


def _second_by(way: Passage) -> Callable[[Installation], None]:
    """Let the second replica find the API server behind a passage, and connections grow old."""

    def alter(service: Installation) -> None:
        direct, turns = service.kubeconfig_for, itertools.count()

        def led(user: str) -> Path:
            path = direct(user)
            if next(turns) != 1:
                return path
            other = path.with_name(f"late-{path.name}")
            other.write_text(by_passage(path.read_text(), way.port))
            return other

        service.kubeconfig_for = led
        aging(service)

    return alter


def _replace_pods(lot: Busy) -> None:
    for pod in lot.world.api.list("Pod", lot.namespace):
        lot.world.api.delete("Pod", pod["metadata"]["name"], lot.namespace, grace=0)


def _grow(made: Room, size: int) -> float:
    began = time.monotonic()
    made.job(f"for-{size}")
    return made.grows_to(size) - began


def _behind(lot: Busy, made: Room, size: int) -> float:
    """Queue one more job; give how many seconds the second replica knows of it after the first."""
    made.job(f"for-{size}")
    knew = []
    for number in (0, 1):
        look = partial(_says, lot, made, number, size)
        until(look, f"replica {number} says {size}", within=SOON)
        knew.append(time.monotonic())
    made.grows_to(size)
    assert knew[1] - knew[0] > LAG / 2, "the replica did not lag"
    return knew[1] - knew[0]


def _says(lot: Busy, made: Room, number: int, nodes: int) -> bool:
    return (lot.service.decision(made.name, made.name, number) or {}).get("value") == nodes


def _demand_no_dip(lot: Busy, made: Room, since: float) -> None:
    lot.held(since)
    steps = made.sizes.steps(made.name)
    assert steps == sorted(steps), f"the pool dipped: {steps}"


def _agree(lot: Busy, made: Room, nodes: int) -> float:
    """Wait until all replicas say so many nodes, and Busy; give the seconds."""
    began = time.monotonic()

    for number in range(len(lot.service.replicas)):
        look = partial(_says, lot, made, number, nodes)
        until(look, f"replica {number} says {nodes}", within=SOON)
    lot.all_say("Busy")
    return time.monotonic() - began


def f10(world: World) -> str:
    """KEDA starts anew while our replicas stay."""
    with busy(world, "f10", installation="rolling", targets=TARGETS, alter=aging) as lot:
        lot.fine()
        return _restart_operator(lot)


def _restart_operator(lot: Busy) -> str:
    stack = lot.world.stack
    _all_streams(lot)
    since = time.monotonic()
    with though_late(lambda: lot.held(since)):
        stack.programs.stop(stack.keda)
        pause(5)
        asked, began = sum(lot.answered()), time.monotonic()
        stack.programs.again(stack.keda)
        until(lambda: sum(lot.answered()) > asked, "KEDA asks again", within=SOON)
        first = time.monotonic() - began
        _all_streams(lot)
        streams = time.monotonic() - began
        until(lambda: not lot.unready(), "all ScaledObjects are Ready", within=SOON)
        pause(COOLDOWN)
    return (
        f"KEDA's operator restarted: asks after {first:.1f} s, push streams back after "
        f"{streams:.1f} s, no size changed"
    )


def _all_streams(lot: Busy) -> None:
    """Wait until each push trigger has both its streams, on whichever replica."""

    def look() -> bool:
        streams = [each.sample("open_streams") or 0.0 for each in lot.service.replicas]
        return sum(streams) >= 2 * (len(lot.names) // 2)

    until(look, "the push streams are back", within=SOON)


SCENARIOS: tuple[Scenario, ...] = (
    Scenario(id="F8", title="a replica that lags lets no size dip", play=f8, shares=HEAVY),
    Scenario(id="F10", title="KEDA's operator restarts", play=f10, later=DISTURBS_KEDA),
)
