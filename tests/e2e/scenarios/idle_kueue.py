"""An idle StatefulSet under Kueue gives its quota back, and queues for it again."""

import time

from tests.e2e.api import Object, is_true
from tests.e2e.policies import GPUS
from tests.e2e.queues import cluster_queue, flavor, job, local_queue
from tests.e2e.scenarios.serving import COOLDOWN, IDLE_AFTER, POLL, SOON, Server, server
from tests.e2e.waiting import throughout, until
from tests.e2e.world import Scenario, World

REPLICAS = 4
"""As in the example."""
EACH = 2
"""GPUs of a pod."""
ALL = REPLICAS * EACH
"""All the quota there is, and all the GPUs of its node."""
QUEUE = "team"


def i6(world: World) -> str:
    """Take a StatefulSet to zero, let a Job have its quota, and wake it to queue behind that."""
    where = world.namespace("i6")
    _queues(world, where)
    with server(
        world,
        "i6",
        replicas=REPLICAS,
        gpus=EACH,
        kind="StatefulSet",
        queue=QUEUE,
        namespace=where,
    ) as s:
        try:
            return _given_back(s)
        finally:
            world.api.delete("Job", "taker", where)


def _queues(world: World, where: str) -> None:
    world.api.apply(
        flavor("i6", pool=where),
        cluster_queue("i6", flavor="i6", gpus=ALL),
        local_queue(QUEUE, namespace=where, cluster_queue="i6"),
    )


def _given_back(s: Server) -> str:
    world = s.world
    world.gpus.busy(s.namespace)
    s.runs(REPLICAS)
    _uses(s, ALL)
    s.scaled("statefulset-kueue.yaml")
    s.says("Busy")
    s.polled()
    last = s.burst(pod=3, gpu=1, percent=60)
    world.gpus.quiet(s.namespace)
    took = s.zero(last, after=IDLE_AFTER)
    free = _uses(s, 0) - last - took.zero
    s.went_once(last)
    # Whoever waits may have it now.
    world.api.create(job("taker", namespace=s.namespace, queue=QUEUE, pods=REPLICAS, gpus=EACH))
    until(lambda: _admitted(s) == ["taker"], "the Job is admitted", within=SOON)
    return (
        f"from the last busy sample: {took} ({REPLICAS}->0 in one step; idleAfter "
        f"{IDLE_AFTER:.0f} s + cooldown {COOLDOWN} s), quota back {free:.1f} s later and another "
        f"Job's; {_queued_again(s)}"
    )


def _queued_again(s: Server) -> str:
    """Wake it while the Job has the quota; it waits its turn, and is not taken back meanwhile."""
    asked = time.monotonic()
    s.world.gpus.request(s.namespace)
    raised = s.sizes.until(s.name, REPLICAS, within=SOON, since=asked)
    assert s.sizes.steps(s.name, asked) == [REPLICAS], s.sizes.steps(s.name, asked)
    until(lambda: _waiting(s), "its Workload waits for quota", within=SOON)
    s.says("Starting")
    wait = IDLE_AFTER + COOLDOWN + 3 * POLL
    throughout(lambda: not s.running(), "it waits for quota", seconds=wait)
    s.sizes.never_below(s.name, REPLICAS, raised)
    s.world.api.delete("Job", "taker", s.namespace)
    freed = time.monotonic()
    ran = s.runs(REPLICAS)
    _uses(s, ALL)
    return (
        f"a request: 0->{REPLICAS} after {raised - asked:.1f} s, {freed - raised:.0f} s in the "
        f"queue, all run {ran - freed:.1f} s after the Job ended"
    )


def _uses(s: Server, gpus: int) -> float:
    """Wait until the ClusterQueue uses so many GPUs; give the time."""
    what = f"ClusterQueue i6 uses {gpus} GPUs"
    until(lambda: _usage(s) == gpus, what, within=SOON)
    return time.monotonic()


def _usage(s: Server) -> int | None:
    found = s.world.api.get("ClusterQueue", "i6") or {}
    flavors = (found.get("status") or {}).get("flavorsUsage") or []
    totals = [
        int(each["total"]) for one in flavors for each in one["resources"] if each["name"] == GPUS
    ]
    return sum(totals) if totals else None


def _workloads(s: Server) -> list[Object]:
    return s.world.api.list("Workload", s.namespace)


def _admitted(s: Server) -> list[str]:
    """Name what the admitted Workloads belong to."""
    return [
        owner["name"]
        for each in _workloads(s)
        if is_true(each, "Admitted")
        for owner in each["metadata"].get("ownerReferences", ())
    ]


def _waiting(s: Server) -> bool:
    """Say whether a Workload without quota waits beside the Job's."""
    return any(not is_true(each, "QuotaReserved") for each in _workloads(s))


SCENARIOS: tuple[Scenario, ...] = (
    Scenario(
        id="I6", title="a StatefulSet under Kueue goes to zero and queues to come back", play=i6
    ),
)
