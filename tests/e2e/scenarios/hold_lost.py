"""A hold that Kueue ends: preempted, out of time, or its nodes gone; nothing is left suspended."""

import time
from functools import partial

from tests.e2e.api import Object, is_true
from tests.e2e.ledger import Ledger
from tests.e2e.operators import with_settings
from tests.e2e.queues import job, local_queue
from tests.e2e.scenarios.crews import LOOK, SOON, Crew, moment
from tests.e2e.scenarios.places import GPUS_OF_NODE, QUEUE, Place, place
from tests.e2e.scenarios.queued import crew
from tests.e2e.waiting import pause, throughout, together, until
from tests.e2e.world import WITHOUT_KEDA, Scenario, World

PODS, EACH = 2, 4
ALL = PODS * EACH
PRIORITY = "h5-high"
TIMEOUT, RECOVERY = 30, 8
"""Seconds for pods to be ready at first, and again."""
PAST_RECOVERY = RECOVERY + 4.0


def h5(world: World) -> str:
    """Preempt what is held: it comes back with all its pods, nothing left suspended."""
    world.api.apply(
        {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "WorkloadPriorityClass",
            "metadata": {"name": PRIORITY},
            "value": 1000,
        }
    )
    kinds = ("RayCluster", "JobSet", "RayJob")
    found = together(*(partial(_preempted, world, kind) for kind in kinds))
    return "; ".join(f"{kind}: {each}" for kind, each in zip(kinds, found, strict=True))


def _preempted(world: World, kind: str) -> str:
    with (
        place(world, f"h5-{kind.lower()}", gpus=ALL) as there,
        crew(world, kind, namespace=there.name, pods=PODS, gpus=EACH) as c,
    ):
        c.hold()
        before = c.note("H5", "held")
        rival = world.namespace(f"{there.name}-rival")
        world.api.apply(local_queue(QUEUE, namespace=rival, cluster_queue=there.name))
        since = time.monotonic()
        world.gpus.busy(there.name)
        world.api.create(_rival(rival))
        try:
            until(lambda: _evicted(c, before), f"{kind} is preempted", within=SOON, every=LOOK)
            cleared = until(lambda: _cleared(c), "the hold is cleared", within=SOON, every=LOOK)
            assert cleared
            took = time.monotonic() - since
            until(lambda: _job_runs(world, rival), "the rival runs", within=SOON, every=LOOK)
            assert not c.running(), "workers run beside the rival"
            c.note("H5", "preempted")
        finally:
            world.api.delete("Job", "rival", rival)
        freed = time.monotonic()
        ran = c.runs() - freed
        c.uses(ALL)
        after = c.note("H5", "after")
        assert after.claim.uid == before.claim.uid, f"another Workload: {after}, was {before}"
        assert after.claim.admitted, str(after)
        assert after.suspended == (), f"left suspended: {after}"
        return f"hold cleared {took:.1f} s after the rival came, all pods {ran:.1f} s after it left"


def _rival(namespace: str) -> Object:
    wanted = job("rival", namespace=namespace, queue=QUEUE, pods=1, gpus=ALL)
    wanted["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = PRIORITY
    return wanted


def _evicted(c: Crew, before: Ledger) -> bool:
    """Say whether it was evicted since, or is at this moment."""
    return c.claim().evictions > before.claim.evictions or is_true(c.workload(), "Evicted")


def _cleared(c: Crew) -> bool:
    """Say whether nothing of ours keeps pods away: Kueue's own suspension does meanwhile."""
    own = [each for each in c.suspended() if "group" in each or "parallelism" in each]
    return not own and not c.status().get("hold")


def _job_runs(world: World, namespace: str) -> bool:
    found = world.api.list("Pod", namespace)
    return any(each["status"].get("phase") == "Running" for each in found)


def h6(world: World) -> str:
    """Hold and wake under waitForPodsReady with short times."""
    waits = {
        "waitForPodsReady": {
            "timeout": f"{TIMEOUT}s",
            "recoveryTimeout": f"{RECOVERY}s",
            "blockAdmission": False,
        }
    }
    kueue = world.stack.controllers.kueue
    with with_settings(world.stack.plane, kueue, **waits):
        kinds = ("RayCluster", "RayJob", "JobSet", "TrainJob")
        found = together(*(partial(_under_a_clock, world, kind) for kind in kinds))
        said = [f"{kind} {each}" for kind, each in zip(kinds, found, strict=True)]
    return f"timeout {TIMEOUT} s, recoveryTimeout {RECOVERY} s: " + "; ".join(said)


def _under_a_clock(world: World, kind: str) -> str:
    with (
        place(world, f"h6-{kind.lower()}", gpus=ALL) as there,
        crew(world, kind, namespace=there.name, pods=PODS, gpus=EACH) as c,
    ):
        until(lambda: is_true(c.workload(), "PodsReady"), "PodsReady", within=SOON, every=LOOK)
        before = c.claim()
        c.hold()
        since = time.monotonic()
        pause(PAST_RECOVERY)
        c.kept(before, since)
        there.lose_nodes()
        nodes_first = kind in {"JobSet", "TrainJob"}
        world.gpus.busy(there.name)
        asked = time.monotonic()
        c.annotate(wake=moment())
        if nodes_first:
            c.becomes("WakePending")
            assert "parallelism 0" in " ".join(c.suspended()), c.suspended()
        throughout(lambda: c.claim() == before, "kept without nodes", seconds=PAST_RECOVERY)
        there.node()
        noded = time.monotonic()
        ran = c.runs() - noded
        assert not c.claim().evictions, f"evicted: {c.claim()}"
        assert c.claim().uid == before.uid
        assert c.suspended() == (), c.suspended()
        waited = "waited for nodes" if nodes_first else "given back at once"
        return (
            f"held {asked - since:.0f} s and kept; woken without nodes {waited}, "
            f"{noded - asked:.0f} s not evicted, all run {ran:.1f} s after the node"
        )


def h7(world: World) -> str:
    """Lose nodes under topology-aware scheduling: one, with room elsewhere, and then all."""
    with (
        place(world, "h7", gpus=PODS * GPUS_OF_NODE, nodes=PODS + 1, aware=True) as there,
        crew(world, "RayCluster", namespace=there.name, pods=PODS, gpus=GPUS_OF_NODE) as c,
    ):
        before = c.note("H7", "before")
        c.hold()
        assert "opology" in str(c.status()), f"topology is not spoken of: {c.status()}"
        world.gpus.busy(there.name)
        one = _one_node_gone(c, there)
        held = c.note("H7", "one node gone")
        gone = time.monotonic()
        there.lose_nodes()
        until(lambda: _evicted(c, held), "evicted", within=SOON, every=LOOK)
        until(lambda: _cleared(c), "the hold is cleared", within=SOON, every=LOOK)
        cleared = time.monotonic() - gone
        c.note("H7", "all gone")
        for number in range(PODS):
            there.node(number)
        back = time.monotonic()
        ran = c.runs() - back
        after = c.note("H7", "after")
        assert after.claim.uid == before.claim.uid, str(after)
        assert after.suspended == (), str(after)
        return (
            f"one node gone: {one}; all gone: evicted and hold cleared after {cleared:.1f} s, all "
            f"run {ran:.1f} s after new nodes"
        )


def _one_node_gone(c: Crew, there: Place) -> str:
    """Lose a worker's node; Kueue moves the assignment, or evicts and admits anew at once.

    In that case all come back by themselves, and are held once more.
    """
    before, lost = c.claim(), _worker_node(c)
    since = time.monotonic()
    there.lose_nodes(lost)
    until(lambda: lost not in _nodes_of(c, "gpu"), "another node", within=SOON, every=LOOK)
    if c.claim().evictions == before.evictions:
        took = time.monotonic() - since
        assert c.claim() == before, f"{c.claim()}, was {before}"
        c.becomes("Held")
        return f"assignment moved after {took:.1f} s, kept"
    there.node()
    took = c.runs() - since
    assert c.claim().uid == before.uid, str(c.claim())
    assert c.suspended() == (), c.suspended()
    c.annotate(hold_now=moment())
    c.runs(0)
    c.becomes("Held")
    return f"evicted and admitted anew, all run again after {took:.1f} s"


def _worker_node(c: Crew) -> str:
    """Name a node that a worker is assigned to, best one without the head."""
    head = _nodes_of(c, "head")
    return min(_nodes_of(c, "gpu"), key=lambda name: name in head)


def _nodes_of(c: Crew, pod_set: str) -> list[str]:
    """Name the nodes that a podset is assigned to."""
    admission = (c.workload().get("status") or {}).get("admission") or {}
    sets: list[Object] = admission.get("podSetAssignments") or []
    slices = [
        one
        for each in sets
        if each["name"] == pod_set
        for one in each["topologyAssignment"]["slices"]
    ]
    return [name for one in slices for name in _values(one["valuesPerLevel"][-1])]


def _values(level: Object) -> list[str]:
    """Give the values of a level, which are written as one, or without what all share."""
    if "universal" in level:
        return [level["universal"]]
    each: Object = level["individual"]
    prefix, suffix = each.get("prefix", ""), each.get("suffix", "")
    return [f"{prefix}{root}{suffix}" for root in each["roots"]]


SCENARIOS: tuple[Scenario, ...] = (
    Scenario(
        id="H5", title="preempted while held: back with all its pods", play=h5, later=WITHOUT_KEDA
    ),
    Scenario(
        id="H6",
        title="waitForPodsReady: held ones stay, a JobSet waits for nodes",
        play=h6,
        alone=True,  # the clock runs for everybody's Workloads, and evicts what others hold
    ),
    Scenario(
        id="H7", title="nodes lost under topology-aware scheduling", play=h7, later=WITHOUT_KEDA
    ),
)
