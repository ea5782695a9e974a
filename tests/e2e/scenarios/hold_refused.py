"""What is not taken: kinds that would lose their quota, and workers that are not known to rest."""

import time
from functools import partial

import requests

from tests.e2e import builds
from tests.e2e.api import Object, RefusedError
from tests.e2e.operators import with_build
from tests.e2e.queues import QUEUE_LABEL, job, pod_spec
from tests.e2e.scenarios.crews import IDLE_AFTER, LOOK, OTHER, SOON, Crew, moment
from tests.e2e.scenarios.places import QUEUE, place
from tests.e2e.scenarios.queued import crew
from tests.e2e.waiting import pause, throughout, together, until
from tests.e2e.worker_objects import two_groups, worker_scale
from tests.e2e.world import WITHOUT_KEDA, Scenario, World

PODS, EACH = 2, 4
ALL = PODS * EACH
STAYS = 8.0
"""Seconds in which what is not left alone would be taken."""


def h11(world: World) -> str:
    """Refuse in mode Hold what would lose its quota, and write nothing to it."""
    with (
        place(world, "h11", gpus=2 * ALL, nodes=2) as there,
        crew(world, "RayCluster", namespace=there.name, pods=PODS, gpus=EACH) as c,
    ):
        strangers = _strangers(there.name)
        for each in strangers:
            world.api.create(each)
        missing = {**c.target, "metadata": {**c.target["metadata"], "name": "nowhere"}}
        asked = [
            *((each, "main") for each in strangers),
            (c.target, "head"),
            (c.target, "nothing"),
            (missing, "gpu"),
        ]
        said = [_refused(world, each, component) for each, component in asked]
        pause(STAYS)
        for each in (*strangers, c.target):
            _untouched(world, each)
        assert len(c.running()) == PODS
        return "; ".join(said)


def _strangers(namespace: str) -> list[Object]:
    """Give objects whose Workload would not outlive it; for some no controller is here."""
    template = {"spec": pod_spec(gpus=EACH)}
    metadata: Object = {"namespace": namespace, "labels": {QUEUE_LABEL: QUEUE}}
    group = "kueue.x-k8s.io/pod-group-name"
    return [
        job(f"{OTHER}-job", namespace=namespace, queue=QUEUE, pods=1, gpus=EACH),
        {
            "apiVersion": "kubeflow.org/v1",
            "kind": "PyTorchJob",
            "metadata": {**metadata, "name": "pytorch"},
            "spec": {
                "pytorchReplicaSpecs": {
                    "Worker": {"replicas": PODS, "template": _named(template, "pytorch")}
                }
            },
        },
        {
            "apiVersion": "ray.io/v1",
            "kind": "RayService",
            "metadata": {"name": "service", "namespace": namespace},
            "spec": {
                "rayClusterConfig": {
                    "headGroupSpec": {
                        "rayStartParams": {},
                        "template": {"spec": pod_spec(gpus=0)},
                    },
                    "workerGroupSpecs": [],
                }
            },
        },
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": f"{OTHER}-member",
                "namespace": namespace,
                "labels": {QUEUE_LABEL: QUEUE, group: "group"},
                "annotations": {"kueue.x-k8s.io/pod-group-total-count": "1"},
            },
            "spec": pod_spec(gpus=EACH),
        },
    ]


def _named(template: Object, container: str) -> Object:
    (first,) = template["spec"]["containers"]
    return {"spec": {**template["spec"], "containers": [{**first, "name": container}]}}


REFUSED = ("Refused", "Unread")
"""The latter where what it speaks of is not there: it may come yet."""


def _refused(world: World, target: Object, component: str) -> str:
    """Give who refuses it: the definition itself, or the actuator with its reason."""
    kind, namespace = target["kind"], target["metadata"]["namespace"]
    name = f"of-{kind.lower()}-{component}"
    wanted = worker_scale(name, namespace=namespace, target=target, component=component)
    try:
        world.api.create(wanted)
    except RefusedError as error:
        if error.status != requests.codes.unprocessable_entity:
            raise
        return f"{kind}: not even created"

    def look() -> Object | None:
        status: Object = (world.api.get("WorkerScale", name, namespace) or {}).get("status") or {}
        return status if status.get("state") in REFUSED else None

    world.api.scale("WorkerScale", name, namespace, replicas=0)
    found = until(look, f"{kind} is refused", within=SOON, every=LOOK)
    assert found["message"], found
    return f"{kind} {component}: {found['reason']}"


def _untouched(world: World, target: Object) -> None:
    """Demand that the actuator wrote nothing to an object."""
    meta = target["metadata"]
    plural = {"Job": "jobs", "PyTorchJob": "pytorchjobs", "RayService": "rayservices"}
    path = f"/{plural.get(target['kind'], 'pods')}/"
    written = world.actuator.gate.writes(f"/namespaces/{meta['namespace']}/", path)
    assert not written, f"written to: {written}"


def h13(world: World) -> str:
    """Roll back where KubeRay is too old to follow: its gate is off."""
    kuberay = world.stack.controllers.kuberay
    with (
        place(world, "h13", gpus=ALL) as there,
        with_build(world.stack.plane, kuberay, builds.OLDER_KUBERAY),
        crew(world, "RayCluster", namespace=there.name, pods=PODS, gpus=EACH) as c,
    ):
        before = c.note("H13", "before")
        since = time.monotonic()
        c.handle()
        c.sized()
        c.zero()
        c.annotate(hold_now=moment())
        until(c.suspended, "the patch", within=SOON, every=0.05)
        taken = time.monotonic()
        until(lambda: not c.suspended(), "rolled back", within=SOON, every=LOOK)
        back = time.monotonic()
        status = c.becomes("Refused", "Conflict", "NotIdle", reason="NotTaken")
        assert "RayJobDeletionPolicy" in status["message"], status
        throughout(lambda: not c.suspended(), "it is not tried again", seconds=STAYS)
        assert len(c.running()) == PODS, "workers went"
        _lose_one(c)
        c.kept(before.claim, since)
        c.note("H13", "after")
        return (
            f"KubeRay 1.5 left the patch alone; taken back {back - taken:.1f} s later, "
            f"{PODS} workers ran throughout; {status['state']}/{status['reason']}"
        )


def _lose_one(c: Crew) -> None:
    """Delete a worker: KubeRay, which follows again, makes another.

    Its observedGeneration is no sign: version 1.5 writes it only together with another change.
    """
    lost = c.running()[0]["metadata"]
    c.world.api.delete("Pod", lost["name"], c.namespace, grace=0)

    def replaced() -> bool:
        there = {pod["metadata"]["uid"] for pod in c.running()}
        return len(there) == PODS and lost["uid"] not in there

    until(replaced, "KubeRay makes up for a lost worker", within=SOON, every=LOOK)


def h14(world: World) -> str:
    """Write zero by hand while workers are busy or unknown: nothing goes before they rest."""
    return "; ".join(together(partial(_by_hand, world), partial(_one_of_two, world)))


def _by_hand(world: World) -> str:
    with (
        place(world, "h14", gpus=ALL) as there,
        crew(world, "RayCluster", namespace=there.name, pods=PODS, gpus=EACH) as c,
    ):
        c.handle()
        c.sized()
        c.scaled()
        c.polled()
        # KEDA would undo what a hand writes.
        pausing = {"autoscaling.keda.sh/paused": "true"}
        change = {"metadata": {"annotations": pausing}}
        world.api.patch("ScaledObject", c.name, c.namespace, change=change)
        c.zero()
        _stays(c, "Busy")
        world.gpus.drop_pod(there.name, "")
        c.becomes("NotIdle")
        unknown = _stays(c, "NoSamples", "StaleSamples", "LowCoverage")
        world.api.delete("ScaledObject", c.name, c.namespace)
        _stays(c)
        world.gpus.heal()
        _stays(c, "Busy")
        world.gpus.quiet(there.name)
        quiet = time.monotonic()
        gone = c.runs(0) - quiet
        c.becomes("Held")
        assert gone >= IDLE_AFTER - 1, f"gone {gone:.1f} s after the last work"
        return (
            f"zero by hand: busy kept {STAYS:.0f} s, unknown ({unknown}) kept, without the "
            f"ScaledObject too; all NotIdle; once at rest gone after {gone:.1f} s"
        )


def _stays(c: Crew, *reasons: str) -> str:
    """Demand that zero takes nothing for a time, once it is decided so; give the reason."""
    c.becomes("NotIdle")
    why = until(lambda: _decided(c, reasons), f"decided {reasons}", within=SOON, every=LOOK)
    throughout(
        lambda: len(c.running()) == PODS and c.status().get("state") == "NotIdle",
        f"{c.name} is left alone",
        seconds=STAYS,
    )
    assert c.scales.of(c.name) == 0
    assert c.status()["reason"] == "NotIdle", c.status()
    return why


def _decided(c: Crew, reasons: tuple[str, ...]) -> str:
    """Give the actuator's own reason, if it is one of these; any where none is told."""
    names = (c.name, f"workerscale/{c.name}")
    for each in c.world.actuator.replica.decisions()["decisions"]:
        if each["namespace"] == c.namespace and each["name"] in names:
            why: str = each["reason"]
            return why if not reasons or why in reasons else ""
    return ""


def _one_of_two(world: World) -> str:
    """Release needs every group at rest: one trains on."""
    with (
        place(world, "h14-two", gpus=ALL) as there,
        crew(
            world,
            "RayCluster",
            namespace=there.name,
            pods=2,
            gpus=EACH,
            alter=lambda cluster: two_groups(_one_pod(cluster), "rests", "trains"),
        ) as c,
    ):
        c.handle(mode="Release")
        c.sized()
        for each in c.running():
            if "rests" in each["metadata"]["name"]:
                world.gpus.quiet(there.name, each["metadata"]["name"])
        c.zero()
        pause(3 * IDLE_AFTER)
        _stays(c)
        assert c.claim().admitted
        world.gpus.quiet(there.name)
        c.runs(0)
        c.becomes("Released")
        return "Release: one group at rest and one training kept both, then both went"


def _one_pod(cluster: Object) -> Object:
    for group in cluster["spec"]["workerGroupSpecs"]:
        group |= {"replicas": 1, "minReplicas": 1, "maxReplicas": 1}
    return cluster


SCENARIOS: tuple[Scenario, ...] = (
    Scenario(
        id="H11",
        title="kinds that would lose their quota are refused",
        play=h11,
        later=WITHOUT_KEDA,
    ),
    Scenario(
        id="H13",
        title="a KubeRay that does not follow: rolled back",
        play=h13,
        alone=True,  # the KubeRay of all
    ),
    Scenario(id="H14", title="zero is a request: busy or unknown, nothing goes", play=h14),
)
