"""Mode Release: the quota goes back while the Workload stays, and a wake queues for it."""

from functools import partial

from tests.e2e.queues import QUEUE_LABEL, job, local_queue
from tests.e2e.scenarios.crews import LOOK, SOON, Crew
from tests.e2e.scenarios.places import QUEUE, Place, place
from tests.e2e.scenarios.queued import crew
from tests.e2e.waiting import throughout, together, until
from tests.e2e.world import WITHOUT_KEDA, Scenario, World

PODS, EACH = 2, 4
ALL = PODS * EACH
KINDS = ("Job", "RayCluster", "RayJob", "JobSet", "TrainJob")
QUEUED = 6.0
"""Seconds in which what waits for quota must not run."""


def h12(world: World) -> str:
    """Release five kinds of jobs, let another have the quota, and wake them behind it."""
    found = together(*(partial(_released, world, kind) for kind in KINDS))
    return "; ".join(f"{kind} {each}" for kind, each in zip(KINDS, found, strict=True))


def _released(world: World, kind: str) -> str:
    with (
        place(world, f"h12-{kind.lower()}", gpus=ALL) as there,
        crew(world, kind, namespace=there.name, pods=PODS, gpus=EACH) as c,
    ):
        before = c.note("H12", "before")
        c.handle(mode="Release")
        c.sized()
        world.gpus.quiet(there.name)
        asked = c.zero()
        gone = c.runs(0)
        free = c.uses(0)
        c.becomes("Released")
        c.note("H12", "released")
        assert c.claim().uid == before.claim.uid
        said = _queued(c, there)
        ran = c.runs()
        c.uses(ALL)
        after = c.note("H12", "after")
        assert after.claim.uid == before.claim.uid, f"{after}, was {before}"
        assert after.claim.admitted, str(after)
        assert after.suspended == (), str(after)
        return (
            f"no pod {gone - asked:.1f} s after zero, quota back {free - asked:.1f} s, {said}, "
            f"all run {ran - asked:.0f} s after it"
        )


def _queued(c: Crew, there: Place) -> str:
    """Wake it while a job in another namespace has the quota, and end that job."""
    world = c.world
    rival = world.namespace(f"{there.name}-rival")
    world.api.apply(local_queue(QUEUE, namespace=rival, cluster_queue=there.name))
    wanted = job("rival", namespace=rival, queue=QUEUE, pods=1, gpus=ALL)
    assert wanted["metadata"]["labels"] == {QUEUE_LABEL: QUEUE}
    world.api.create(wanted)
    try:
        c.uses(ALL)
        world.gpus.busy(there.name)
        c.ask(PODS)
        c.becomes("Queued")
        throughout(lambda: not c.running(), "it waits for quota", seconds=QUEUED)
    finally:
        world.api.delete("Job", "rival", rival)
    until(lambda: c.claim().admitted, "admitted again", within=SOON, every=LOOK)
    return f"Queued {QUEUED:.0f} s behind another job"


SCENARIOS: tuple[Scenario, ...] = (
    Scenario(
        id="H12",
        title="released ones give their quota back and queue for it",
        play=h12,
        later=WITHOUT_KEDA,
    ),
)
