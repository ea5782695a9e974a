"""Sizes that must come, and sizes that must stay: unschedulable pods, ended jobs, small steps."""

import time
from functools import partial

from tests.e2e.api import Object, is_true
from tests.e2e.policies import POOL_LABEL
from tests.e2e.scenarios.rooms import GROWN, LOOK, SOON, Room, machine_set, patient, room
from tests.e2e.waiting import pause, together, until
from tests.e2e.world import Scenario, World

POOLS = tuple(patient(name) for name in ("g5", "g5-bare", "g6", "g6-loose"))
ANNOTATION = "autoscaling.keda.sh/paused-scale-in"


def g4(world: World) -> str:
    """Admitted pods that no node takes grow a MachineDeployment, beside a full pool of others."""
    metadata = {"resourceFlavor": "{name}", "gpusPerNode": "8", "scaleUpDelay": "2s"}
    with room(
        world,
        "g4",
        queues={"jobs": 200},
        aware=False,
        kind="MachineDeployment",
        node_delay=2,
        metadata=metadata,
    ) as made:
        others = machine_set("others", made.name, pool="g4-others", replicas=2)
        world.api.create(others)
        label = f"{POOL_LABEL}=g4-others"
        until(
            lambda: len(world.api.list("Node", labels=label)) == 2,
            "the others",
            within=SOON,
            every=LOOK,
        )
        began = time.monotonic()
        made.job("whole", pods=2, gpus=8)
        made.job("half", pods=3, gpus=4)
        until(lambda: _unschedulable(made), "a pod waits for a node", within=SOON, every=LOOK)
        grown = made.grows_to(4)
        made.runs(5, within=GROWN)
        made.stays(4)
        return f"5 admitted pods wait: 4 nodes after {grown - began:.1f} s, all run"


def _unschedulable(made: Room) -> list[Object]:
    found = made.world.api.list("Pod", made.name)
    return [
        each
        for each in found
        if not each["spec"].get("nodeName") and not is_true(each, "PodScheduled")
    ]


def g5(world: World) -> str:
    """Jobs end one by one and are deleted: no node goes, with KEDA's guards as without them."""
    shipped, bare = together(
        partial(_ends, world, "g5", guarded=True),
        partial(_ends, world, "g5-bare", guarded=False),
    )
    return f"as shipped {shipped}; without KEDA's and the HPA's guards {bare}"


def _ends(world: World, name: str, *, guarded: bool) -> str:
    alter = _as_shipped if guarded else _unguarded
    with room(world, name, queues={"jobs": 200}, replicas=5, alter=alter) as made:
        for number in range(5):
            made.job(f"job-{number}")
        made.runs(5, within=GROWN)
        full = time.monotonic()
        for number, pod in enumerate(made.runs(5)):
            made.end(pod)
            made.runs(4 - number)
            pause(2)
            if number % 2:
                world.api.delete("Job", pod["metadata"]["labels"]["job-name"], made.name)
        made.stays(5)
        made.sizes.never_below(made.name, 5, since=full)
        gone = [each for each in world.machines.removed if each.namespace == made.name]
        assert not gone, f"went: {gone}"
        assert len(made.nodes()) == 5
        again = time.monotonic()
        made.job("again", pods=5)
        made.runs(5)
        return f"5 of 5 ended, 0 nodes went, {time.monotonic() - again:.1f} s to the next 5"


def _as_shipped(_: Object) -> None:
    pass


def _unguarded(scaled_object: Object) -> None:
    """Let KEDA and the HPA take nodes at once, if only we say less."""
    del scaled_object["metadata"]["annotations"][ANNOTATION]
    behavior = scaled_object["spec"]["advanced"]["horizontalPodAutoscalerConfig"]["behavior"]
    behavior["scaleDown"] = {"stabilizationWindowSeconds": 0, "tolerance": "0"}


def g6(world: World) -> str:
    """One node more than 20 comes, within the tolerance that an HPA has by default."""
    shipped, loose = together(partial(_one_more, world), partial(_swallowed, world))
    return f"{shipped}; {loose}"


def _one_more(world: World) -> str:
    with room(world, "g6", queues={"jobs": 200}, replicas=20) as made:
        made.job("many", pods=20)
        made.runs(20, within=GROWN)
        assert made.size == 20
        began = time.monotonic()
        made.job("one")
        grown = made.grows_to(21)
        made.runs(21)
        made.stays(21)
        return f"20 -> 21 after {grown - began:.1f} s"


def _swallowed(world: World) -> str:
    """Show that a step of 9 % is none to an HPA without the tolerance that is shipped."""
    with room(world, "g6-loose", queues={"jobs": 200}, replicas=11, alter=_tolerant) as made:
        made.job("many", pods=11)
        made.runs(11, within=GROWN)
        made.job("one")
        made.decision("Swallowed")
        made.stays(11)
        return "without tolerance 0: 11 stay 11, said as Swallowed"


def _tolerant(scaled_object: Object) -> None:
    del scaled_object["spec"]["advanced"]["horizontalPodAutoscalerConfig"]["behavior"]["scaleUp"]


SCENARIOS = (
    Scenario(id="G4", title="admitted pods that no node takes grow a MachineDeployment", play=g4),
    Scenario(id="G5", title="jobs end one by one: no node goes", play=g5),
    Scenario(id="G6", title="20 -> 21 nodes, within the HPA's tolerance", play=g6),
)
