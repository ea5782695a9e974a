"""The contract with KEDA: what one scaler does to all others, and a restarted operator."""

import time
from functools import partial

from tests.e2e.api import condition, is_true
from tests.e2e.bench import SOON, Bench, bench
from tests.e2e.calls import Method
from tests.e2e.scenarios.contract_errors import ERRORS
from tests.e2e.script import Answers, Fault, wants
from tests.e2e.waiting import pause, until
from tests.e2e.world import DISTURBS_KEDA, Scenario, World

WORKERS = 10
"""HPAs that the controller manager reads at once."""
EACH = 4
"""ScaledObjects to each kind of hang, together more than there are workers."""
RECONCILERS = 5
"""ScaledObjects that KEDA's operator reconciles at once."""
HANGS: dict[str, Answers] = {
    "metrics": Answers(is_active=True, metrics=Fault.HANG),
    "active": Answers(is_active=Fault.HANG, metrics=((2, 2.0),)),
    "spec": Answers(is_active=True, metrics=((2, 2.0),), spec=Fault.HANG),
}
READ = 60.0
"""Seconds after which the HPA gives a read up."""


def c32(world: World) -> str:
    """Hung scalers hold silently, and keep the HPAs of everybody else waiting."""
    with bench(world, "c32") as b:
        address = b.listen()
        lots = {kind: [f"{kind}-{number}" for number in range(EACH)] for kind in HANGS}
        hung = [name for names in lots.values() for name in names]
        for name in hung:
            b.target(name, replicas=2, answers=wants(2), address=address)
        b.target("healthy", replicas=2, answers=wants(2))
        b.settled(*hung, "healthy")
        pause(3)
        told = b.tell("healthy", wants(3))
        before = b.sizes.until("healthy", 3, within=SOON) - told
        since = time.monotonic()
        for kind, names in lots.items():
            b.tell_all(names, HANGS[kind])
        until(lambda: _all_workers_wait(b, hung), "every HPA worker waits", within=SOON)
        told = b.tell("healthy", wants(4))
        pause(3)
        _wait_alone(b, hung)
        slow = b.sizes.until("healthy", 4, within=4 * READ) - told
        assert slow > READ / 4, f"a healthy one took {slow:.1f} s only"
        for names in lots.values():
            until(partial(_given_up, b, names), f"a read of {names} given up", within=READ)
        for name in hung:
            b.sizes.held(name, since)
            found = b.scaled(name)
            assert is_true(found, "Ready"), name
            assert is_true(found, "Active"), name
        healed = b.tell_all(hung, wants(3))
        for name in hung:
            b.sizes.until(name, 3, within=SOON)
        took = time.monotonic() - healed
        return (
            f"held, Ready and Active; a healthy HPA took {slow:.0f} s for a step ({before:.1f} s "
            f"before); all right {took:.1f} s after they were let go"
        )


def _unanswered(b: Bench, name: str) -> tuple[int, int]:
    """Count the polls and the HPA reads of a script that wait."""
    calls = [
        call
        for method in (Method.METRICS, Method.IS_ACTIVE, Method.METRIC_SPEC)
        for call in b.pending(name, method)
    ]
    polls = sum(call.deadline is None for call in calls)
    return polls, len(calls) - polls


def _all_workers_wait(b: Bench, names: list[str]) -> bool:
    return sum(_unanswered(b, name)[1] for name in names) >= WORKERS


def _wait_alone(b: Bench, names: list[str]) -> None:
    """Demand that one poll of each waits, and at most one HPA read."""
    for name in names:
        polls, reads = _unanswered(b, name)
        assert polls == 1, f"{name}: {polls} polls wait"
        assert reads <= 1, f"{name}: {reads} reads wait"


def _given_up(b: Bench, names: list[str]) -> bool:
    """Say whether the HPA of one at least has given a read up; the rest may not have begun."""
    says = (condition(b.hpa(name), "ScalingActive").get("reason") for name in names)
    return "FailedGetExternalMetric" in says


def c33(world: World) -> str:
    """New ScaledObjects whose GetMetricSpec hangs keep all other new ones waiting."""
    with bench(world, "c33") as b:
        b.target("running", replicas=2, answers=wants(2))
        b.settled("running")
        hung = b.listen()
        names = [f"hung-{number}" for number in range(RECONCILERS + 1)]
        for name in names:
            b.target(name, replicas=1, answers=HANGS["spec"], address=hung)
        until(
            lambda: sum(bool(b.pending(name, Method.METRIC_SPEC)) for name in names) >= RECONCILERS,
            "all reconcilers wait",
            within=SOON,
        )
        b.target("fresh", replicas=1, answers=wants(2), address=b.listen())
        told = b.tell("running", wants(3))
        b.sizes.until("running", 3, within=SOON)
        pause(max(0.0, 15 - (time.monotonic() - told)))
        assert not b.calls("fresh"), "it was asked"
        assert not is_true(b.scaled("fresh"), "Ready")
        freed = b.tell_all(names, wants(1))
        b.ready("fresh", *names)
        took = time.monotonic() - freed
        b.sizes.until("fresh", 2, within=SOON)
        return f"a fresh one waits 15 s without a call, Ready {took:.1f} s after the hung are freed"


def c34(world: World) -> str:
    """An operator that restarts while scalers fail leaves their targets alone."""
    with bench(world, "c34") as b:
        down = b.listen()
        b.target("erring", replicas=3, answers=wants(3), push=True, address=b.listen())
        b.target("down", replicas=3, answers=wants(3), push=True, address=down)
        b.target("healthy", replicas=3, answers=wants(3))
        names = ("erring", "down", "healthy")
        b.settled(*names)
        pause(3)
        since = b.tell("erring", ERRORS["spec"])
        world.stub.down(down)
        programs, keda = world.stack.programs, world.stack.keda
        programs.stop(keda)
        stopped = time.monotonic()
        programs.again(keda)
        back = b.asked("healthy", since=stopped).at - stopped
        for name in ("erring", "down"):
            b.becomes(name, "Ready", "False", "ScaledObjectCheckFailed", within=60)
        pause(20)
        for name in names:
            b.sizes.held(name, since)
        b.tell("erring", wants(4))
        b.tell("down", wants(4))
        world.stub.up(down)
        healed = time.monotonic()
        streams = [b.streams(name).at - healed for name in ("erring", "down")]
        for name in ("erring", "down"):
            b.sizes.until(name, 4, within=60)
        return (
            f"operator back after {back:.1f} s; held for {healed - since:.0f} s; push streams "
            f"{max(streams):.1f} s after healing"
        )


SCENARIOS: tuple[Scenario, ...] = (
    Scenario(
        id="C32", title="hung scalers hold, and stall every HPA", play=c32, later=DISTURBS_KEDA
    ),
    Scenario(
        id="C33", title="a hung first spec stalls every new one", play=c33, later=DISTURBS_KEDA
    ),
    Scenario(id="C34", title="a restarted operator touches nothing", play=c34, later=DISTURBS_KEDA),
)
