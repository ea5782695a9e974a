"""Idle workers go to zero by KEDA while their Workload keeps its quota, and come back unqueued."""

import time
from functools import partial

from tests.e2e.policies import pool
from tests.e2e.scenarios.crews import COOLDOWN, IDLE_AFTER, OTHER, SOON, Crew, moment
from tests.e2e.scenarios.places import place
from tests.e2e.scenarios.queued import crew
from tests.e2e.scenarios.rooms import room
from tests.e2e.waiting import together, until
from tests.e2e.world import Scenario, World

POOL = "h4"
POOLS = (pool(POOL, provisioningTimeout="10m"),)
EARLY = 1.0
"""Seconds; when a sample was taken is known to a scrape's length."""
PODS, EACH = 2, 4
ALL = PODS * EACH


def h1(world: World) -> str:
    """Take a RayCluster's workers to zero and back by KEDA; Ray itself asks for them."""
    return _held_and_woken(world, "H1", "RayCluster")


def h2(world: World) -> str:
    """The same for a RayJob: its child RayCluster is what is changed."""
    return _held_and_woken(world, "H2", "RayJob")


def h3(world: World) -> str:
    """The same for a JobSet and a TrainJob: a child Job is what is changed."""
    kinds = ("JobSet", "TrainJob")
    both = together(*(partial(_held_and_woken, world, "H3", kind) for kind in kinds))
    return "; ".join(f"{kind}: {each}" for kind, each in zip(kinds, both, strict=True))


def _held_and_woken(world: World, scenario: str, kind: str) -> str:
    ident = f"{scenario}-{kind}".lower()
    with (
        place(world, ident, gpus=ALL) as there,
        crew(world, kind, namespace=there.name, pods=PODS, gpus=EACH) as c,
    ):
        c.uses(ALL)
        c.handle()
        c.sized()
        ray = kind.startswith("Ray")
        if ray:
            world.gpus.tasks(there.name, 0)
        c.scaled()
        c.polled()
        since = time.monotonic()
        before = c.note(scenario, "before")
        took = _goes(c)
        c.kept(before.claim, since)
        during = c.note(scenario, "during")
        assert during.usage == before.usage == ALL, f"{during} in place of {before}"
        back = _comes_back(c, by_ray=ray)
        c.kept(before.claim, since)
        after = c.note(scenario, "after")
        assert (after.pods, after.suspended) == (before.pods, ()), f"{after}, was {before}"
        _told(c)
        return f"{took}; {back}; UID, conditions, usage {ALL} GPUs before = during = after"


def _told(c: Crew) -> None:
    """Demand Events of both ends of the hold, on all three objects that people look at."""
    wanted = {
        (kind, reason)
        for kind in ("WorkerScale", "ScaledObject", c.kind)
        for reason in ("Held", "Woken")
    }

    def look() -> bool:
        found = c.world.api.list("Event", c.namespace)
        return wanted <= {(each["involvedObject"]["kind"], each["reason"]) for each in found}

    until(look, f"Events {sorted(wanted)}", within=SOON)


def _goes(c: Crew) -> str:
    """Let the GPUs rest, and give what it took until no worker was left."""
    c.world.gpus.quiet(c.namespace)
    quiet = time.monotonic()
    zero = c.scales.until(c.name, 0, within=SOON + IDLE_AFTER, since=quiet) - quiet
    gone = c.runs(0) - quiet
    status = c.becomes("Held")
    held = time.monotonic() - quiet
    assert zero >= IDLE_AFTER - EARLY, f"zero {zero:.1f} s after the last work"
    assert status.get("replicas", 0) == 0, status
    assert c.scales.steps(c.name, quiet) == [0]
    return (
        f"GPUs rest: KEDA's zero after {zero:.1f} s (idleAfter {IDLE_AFTER:.0f} + cooldown "
        f"{COOLDOWN} s), no worker {gone - zero:.1f} s later, Held {held:.1f} s"
    )


def _comes_back(c: Crew, *, by_ray: bool) -> str:
    """Wake it, by Ray's own tasks or by a person, and give what it took until all ran."""
    c.world.gpus.busy(c.namespace)
    asked = time.monotonic()
    if by_ray:
        c.world.gpus.tasks(c.namespace, 3)
    else:
        c.annotate(wake=moment())
    ran = c.runs() - asked
    if by_ray:
        c.world.gpus.tasks(c.namespace, 0)
    c.becomes("Running")
    how = "3 tasks wait in Ray" if by_ray else "annotation wake"
    return f"{how}: all {c.pods} run {ran:.1f} s later"


def h4(world: World) -> str:
    """Let another team's job have the freed GPUs, and grow the pool for the wake."""
    with (
        room(world, POOL, queues={"ray": ALL, "others": ALL}, aware=False, replicas=1) as there,
        crew(
            world,
            "RayCluster",
            namespace=there.name,
            cluster_queue=f"{there.name}-ray",
            queue="ray",
            pods=PODS,
            gpus=EACH,
        ) as c,
    ):
        there.grows_to(1)
        c.uses(ALL)
        c.handle()
        c.sized()
        c.scaled()
        c.polled()
        since = time.monotonic()
        before = c.note("H4", "before")
        took = _goes(c)
        freed = time.monotonic()
        there.job(f"{OTHER}-team", pods=1, gpus=ALL, queue="others")
        until(lambda: _runs(world, there.name), "the other team's job", within=SOON)
        other = time.monotonic() - freed
        there.stays(1)
        c.kept(before.claim, since)
        c.note("H4", "during")
        world.gpus.busy(there.name)
        asked = time.monotonic()
        c.annotate(wake=moment())
        grown = there.grows_to(2) - asked
        ran = c.runs() - asked
        c.kept(before.claim, since)
        c.note("H4", "after")
        return (
            f"{took}; another queue's job on its GPUs {other:.1f} s later, no node bought; "
            f"wake: second node asked for after {grown:.1f} s, workers run {ran:.1f} s, "
            "Workload kept throughout"
        )


def _runs(world: World, namespace: str) -> bool:
    return any(
        each["metadata"]["name"].startswith(OTHER) and each["status"].get("phase") == "Running"
        for each in world.api.list("Pod", namespace)
    )


SCENARIOS: tuple[Scenario, ...] = (
    Scenario(id="H1", title="a RayCluster's idle workers go and come, its quota stays", play=h1),
    Scenario(id="H2", title="a RayJob's idle workers go and come, its quota stays", play=h2),
    Scenario(id="H3", title="so do a JobSet's and a TrainJob's", play=h3),
    Scenario(id="H4", title="a held one's GPUs serve another queue; a wake buys nodes", play=h4),
)
