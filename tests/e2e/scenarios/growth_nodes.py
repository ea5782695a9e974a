"""Nodes that come late, break, drain or belong to another set."""

import time

from tests.e2e.policies import pool
from tests.e2e.queues import job
from tests.e2e.scenarios.rooms import GROWN, LOOK, SOON, Room, machine_set, patient, room
from tests.e2e.waiting import until
from tests.e2e.world import Scenario, World

POOLS = (
    patient("g7"),
    pool("g8", provisioningTimeout="40s"),  # a younger Node that is not Ready is on its way
)
LATE = 6.0
"""Seconds: longer than a poll of KEDA and a sync of the HPA, shorter than provisioningTimeout."""
SHORT = 4.0
"""Seconds: a poll and a sync, where there are several such waits in one scenario."""


def g7(world: World) -> str:
    """Machines without a Node and Nodes without GPUs are waited for, not bought again."""
    with room(world, "g7", queues={"jobs": 200}, node_delay=LATE, gpu_delay=LATE) as made:
        began = time.monotonic()
        made.job("first", pods=3)
        made.grows_to(3)
        until(made.nodes, "a Node", within=SOON, every=LOOK)
        made.job("second")
        made.grows_to(4)
        made.runs(4, within=GROWN)
        ran = time.monotonic()
        made.stays(4)
        steps = made.sizes.steps(made.name)
        return (
            f"Nodes {LATE:.0f} s after Machines, GPUs {LATE:.0f} s after Nodes: {steps}, all run"
            f" after {ran - began:.1f} s"
        )


def g8(world: World) -> str:
    """Nodes of another set don't run the size away; broken and drained ones are made up for."""
    with room(world, "g8", queues={"jobs": 200}, aware=False, node_delay=SHORT, replicas=3) as made:
        world.api.create(machine_set("foreign", made.name, pool="g8", replicas=2))
        until(lambda: len(made.nodes()) == 5, "the foreign nodes", within=SOON, every=LOOK)
        for number in range(5):
            _flexible(made, f"job-{number}")
        made.runs(5)
        made.stays(3, seconds=SHORT)
        _flexible(made, "one-more")
        made.runs(6)
        made.stays(4, seconds=SHORT)
        broke = time.monotonic()
        own = _node_of(made, made.name)
        label = {"metadata": {"labels": {"node-not-ready.stage.kwok.x-k8s.io": "true"}}}
        world.api.patch("Node", own, change=label)
        mended = made.grows_to(5) - broke
        until(
            lambda: _elsewhere(made, own) == 6,
            "6 pods run on other nodes",
            within=GROWN,
            every=LOOK,
        )
        made.stays(5, seconds=SHORT)
        drained = time.monotonic()
        foreign = _node_of(made, "foreign")
        _drain(made, foreign)
        replaced = made.grows_to(6) - drained
        until(
            lambda: _elsewhere(made, own, foreign) == 6,
            "6 pods run elsewhere",
            within=GROWN,
            every=LOOK,
        )
        made.stays(6, seconds=SHORT)
        return (
            f"2 foreign nodes: 3 stay 3, then 4; a NotReady one made up for after {mended:.1f} s,"
            f" a drained one after {replaced:.1f} s; 6 in all"
        )


def _flexible(made: Room, name: str) -> None:
    """Queue a Job whose pod leaves a node that is not ready at once and is made again."""
    key = "node.kubernetes.io/not-ready"
    toleration = {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 1}
    wanted = job(
        name,
        namespace=made.name,
        queue="jobs",
        pods=1,
        gpus=8,
        more={"tolerations": [toleration]},
    )
    wanted["spec"]["backoffLimit"] = 6
    made.world.api.create(wanted)


def _node_of(made: Room, owner: str) -> str:
    """Give the oldest Node of a set; a pod runs on each."""
    nodes = sorted(made.nodes(), key=lambda each: str(each["metadata"]["creationTimestamp"]))
    names = [str(each["metadata"]["name"]) for each in nodes]
    return next(name for name in names if name.startswith(f"{owner}-"))


def _elsewhere(made: Room, *nodes: str) -> int:
    return sum(each["spec"]["nodeName"] not in nodes for each in made.running())


def _drain(made: Room, node: str) -> None:
    """Cordon a Node and evict its pods, as kubectl drain does."""
    api = made.world.api
    api.patch("Node", node, change={"spec": {"unschedulable": True}})
    for pod in made.running():
        if pod["spec"]["nodeName"] == node:
            name = pod["metadata"]["name"]
            body = {
                "apiVersion": "policy/v1",
                "kind": "Eviction",
                "metadata": {"name": name, "namespace": made.name},
            }
            path = f"/api/v1/namespaces/{made.name}/pods/{name}/eviction"
            api.call("POST", path, body=body)


SCENARIOS = (
    Scenario(id="G7", title="late Nodes and late GPUs are not bought twice", play=g7),
    Scenario(id="G8", title="foreign, broken and draining nodes: no runaway", play=g8),
)
