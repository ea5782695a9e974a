"""The workers of one job under Kueue, on nodes of their own, and the handle that takes them."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from tests.e2e.actuation import LABEL
from tests.e2e.api import Object, is_true
from tests.e2e.chronicle import Chronicle
from tests.e2e.deployed import adapted, example, one
from tests.e2e.ledger import Claim, Ledger, claim_of, ledger_of, owned, quota, suspended
from tests.e2e.machines import node
from tests.e2e.policies import GPUS, POOL_LABEL
from tests.e2e.queues import cluster_queue, flavor, job, job_set, local_queue, ray_cluster, topology
from tests.e2e.sizes import Sizes
from tests.e2e.waiting import NeverCameError, until
from tests.e2e.worker_objects import ray_job, train_job, training_runtime, worker_scale
from tests.e2e.world import World
from tests.report import say

IDLE_AFTER = 6.0
"""Seconds; what triggers ask for."""
COOLDOWN = 5
SOON = 60.0
"""Seconds for one thing to happen while other scenarios share the machine."""
LOOK = 0.3
"""Seconds between two looks at the API server."""
CATCHES_UP = 10.0
"""Seconds for a ClusterQueue's status, which trails its Workloads."""
QUEUE = "team"
OTHER = "other"
"""Begins the names of jobs in the namespace that are none of the crew's."""
GPUS_OF_NODE = 8
COMPONENTS = {"RayCluster": "gpu", "RayJob": "gpu", "JobSet": "workers", "TrainJob": "node"}
EXAMPLES = {
    "RayCluster": "raycluster.yaml",
    "RayJob": "rayjob.yaml",
    "JobSet": "jobset.yaml",
    "TrainJob": "trainjob.yaml",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Crew:
    """One job; its WorkerScale has its name."""

    world: World
    namespace: str
    kind: str
    name: str
    pods: int
    """With GPUs, at full size."""
    cluster_queue: str
    chronicle: Chronicle
    scales: Sizes
    """Of the namespace's WorkerScales."""
    target: Object
    """As it was created."""
    actuator: str = ""
    """The label of the one that sees its WorkerScale; empty: that of all scenarios."""

    def workload(self) -> Object:
        """Give its Workload.

        Raises:
            NeverCameError: there is none.
        """

        def look() -> Object | None:
            found = self.world.api.list("Workload", self.namespace)
            return next((each for each in found if owned(each, self.kind, self.name)), None)

        return until(look, f"a Workload of {self.kind}/{self.name}", within=SOON, every=LOOK)

    def claim(self) -> Claim:
        """Give what its Workload has."""
        return claim_of(self.workload())

    def usage(self) -> int:
        """Give the GPUs that its ClusterQueue says are used."""
        return quota(self.world.api.get("ClusterQueue", self.cluster_queue) or {}, "flavorsUsage")

    def uses(self, gpus: int, *, within: float = SOON) -> float:
        """Wait until its ClusterQueue says so; give the time."""
        what = f"ClusterQueue {self.cluster_queue} uses {gpus} GPUs"
        until(lambda: self.usage() == gpus, what, within=within, every=LOOK)
        return time.monotonic()

    def ledger(self) -> Ledger:
        """Read everything of this moment."""
        return ledger_of(self.world.api, self.workload(), self.cluster_queue)

    def note(self, scenario: str, moment: str) -> Ledger:
        """Print everything of this moment, and give it."""
        found = self.ledger()
        say(f"     {scenario} {self.kind} {moment}: {found}")
        return found

    def workers(self) -> list[Object]:
        """Give its pods with GPUs that are there, those that are going too."""
        found = self.world.api.list("Pod", self.namespace)
        return [each for each in found if self._works(each)]

    def running(self) -> list[Object]:
        """Give those that are Ready and stay."""
        return [
            each
            for each in self.workers()
            if is_true(each, "Ready") and "deletionTimestamp" not in each["metadata"]
        ]

    def runs(self, pods: int | None = None, *, within: float = SOON) -> float:
        """Wait until so many workers are Ready and no other is there; all where none is told."""
        wanted = self.pods if pods is None else pods

        def look() -> bool:
            return len(self.workers()) == len(self.running()) == wanted

        until(look, f"{wanted} workers of {self.kind}/{self.name}", within=within, every=LOOK)
        return time.monotonic()

    def scale(self) -> Object:
        """Give the WorkerScale."""
        return self.world.api.get("WorkerScale", self.name, self.namespace) or {}

    def status(self) -> Object:
        """Give its status."""
        found: Object = self.scale().get("status") or {}
        return found

    def becomes(self, *states: str, reason: str = "", within: float = SOON) -> Object:
        """Wait until its state is one of these, for a reason where one is told; give its status."""
        last: Object = {}

        def look() -> Object | None:
            nonlocal last
            last = self.status()
            fits = last.get("state") in states and reason in {"", last.get("reason")}
            return last if fits else None

        what = f"{self.kind}/{self.name} is {' or '.join(states)} {reason}".rstrip()
        try:
            return until(look, what, within=within, every=LOOK)
        except NeverCameError as error:
            told = {key: last.get(key) for key in ("state", "reason", "message")}
            raise NeverCameError(f"{error}; {told}") from error

    def zero(self) -> float:
        """Ask for zero through /scale, as KEDA does; give the time."""
        return self.ask(0)

    def ask(self, replicas: int) -> float:
        """Ask for a size through /scale; give the time."""
        self.world.api.scale("WorkerScale", self.name, self.namespace, replicas=replicas)
        return time.monotonic()

    def hold(self, *, mode: str = "Hold", state: str = "Held") -> None:
        """Create the WorkerScale, and take its workers by a person's word, which none delays.

        The word is taken back once it was followed, for a zero that keeps them away.
        """
        self.handle(mode=mode)
        self.sized()
        self.annotate(hold_now=moment())
        self.runs(0)
        self.becomes(state)
        self.zero()
        self.annotate(hold_now=None)

    def annotate(self, **values: str | None) -> None:
        """Set or remove annotations of ours; an underscore is written for a hyphen."""
        texts = {
            f"kueue-gpu-scaler.dev/{key.replace('_', '-')}": text for key, text in values.items()
        }
        self.world.api.patch(
            "WorkerScale", self.name, self.namespace, change={"metadata": {"annotations": texts}}
        )

    def handle(self, *, mode: str = "Hold", component: str | None = None, **more: object) -> None:
        """Create the WorkerScale, and wait until it has read the present size.

        Args:
            mode: Hold or Release.
            component: the usual one of the kind in mode Hold.
            more: of its spec.
        """
        usual = COMPONENTS.get(self.kind, "") if mode == "Hold" else ""
        self.world.api.create(
            worker_scale(
                self.name,
                namespace=self.namespace,
                target=self.target,
                component=usual if component is None else component,
                mode=mode,
                labels={LABEL: self.actuator} if self.actuator else {},
                **more,
            )
        )

    def sized(self) -> None:
        """Wait until the WorkerScale has read how many workers there are, and says so."""
        what = f"the size of {self.name}"
        until(lambda: self.status().get("size") == self.pods, what, within=SOON, every=LOOK)
        until(lambda: self.scales.of(self.name) == self.pods, what, within=SOON)

    def scaled(
        self, *, address: str | None = None, metadata: Mapping[str, str] | None = None
    ) -> None:
        """Create the ScaledObject of the kind's example for it, with short times."""
        wanted = adapted(
            one(example(EXAMPLES[self.kind]), "ScaledObject"),
            namespace=self.namespace,
            name=self.name,
            target=self.name,
            address=address,
            cooldown=COOLDOWN,
            maximum=self.pods,
            metadata={"idleAfter": f"{IDLE_AFTER:.0f}s", **(metadata or {})},
        )
        self.world.api.apply(wanted)

    def polled(self) -> None:
        """Wait until KEDA has found it active; before that no cooldown keeps it."""

        def look() -> object:
            found = self.world.api.get("ScaledObject", self.name, self.namespace) or {}
            return (found.get("status") or {}).get("lastActiveTime")

        until(look, f"KEDA finds {self.name} active", within=SOON, every=LOOK)

    def suspended(self) -> tuple[str, ...]:
        """Name every field that keeps its pods away."""
        return suspended(self.world.api, self.namespace)

    def kept(self, claim: Claim, since: float) -> None:
        """Demand that its Workload has what it had, at every moment since, and the queue too."""
        self.chronicle.kept(claim, since)
        assert self.claim() == claim, f"{self.claim()} in place of {claim}"
        self.uses(claim.assigned, within=CATCHES_UP)

    def _works(self, pod: Object) -> bool:
        asked = (each.get("resources", {}) for each in pod["spec"]["containers"])
        strange = pod["metadata"]["name"].startswith(OTHER)
        return not strange and any(GPUS in each.get("limits", {}) for each in asked)


def moment() -> str:
    """Give this moment as annotations have it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A namespace with a ClusterQueue, a flavor and nodes, all of its name."""

    world: World
    name: str

    def node(self, number: int = 0) -> str:
        """Create a node with GPUs; give its name."""
        name = f"{self.name}-gpu-{number}"
        wanted = node(name, {POOL_LABEL: self.name}, gpus=GPUS_OF_NODE)
        self.world.api.apply(wanted)
        self.world.api.patch("Node", name, change={"status": wanted["status"]}, sub="status")
        return name

    def nodes(self) -> list[str]:
        """Name its nodes."""
        found = self.world.api.list("Node", labels=f"{POOL_LABEL}={self.name}")
        return [each["metadata"]["name"] for each in found]

    def lose_nodes(self, *names: str) -> None:
        """Delete nodes, all where none is told, and the pods that were on them."""
        for name in names or self.nodes():
            self.world.api.delete("Node", name)
        for each in self.world.api.list("Pod", self.name):
            if each["spec"].get("nodeName") in (names or self.nodes()):
                self.world.api.delete("Pod", each["metadata"]["name"], self.name, grace=0)


@contextmanager
def place(
    world: World,
    ident: str,
    *,
    gpus: int,
    nodes: int = 1,
    aware: bool = False,
    namespace: str = "",
) -> Iterator[Place]:
    """Set up a namespace in which jobs find quota and nodes; higher priorities preempt.

    Args:
        world: the stack.
        ident: begins its name.
        gpus: nominal quota.
        nodes: of 8 GPUs each.
        aware: whether the flavor is topology-aware.
        namespace: its whole name, in place of a fresh one.
    """
    if namespace:
        wanted = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
        world.api.apply(wanted)
    where = namespace or world.namespace(ident)
    made = Place(world=world, name=where)
    preemption = {"withinClusterQueue": "LowerPriority"}
    if aware:
        world.api.apply(topology(where))
    world.api.apply(
        flavor(where, pool=where, topology=where if aware else ""),
        cluster_queue(where, flavor=where, gpus=gpus, preemption=preemption),
        local_queue(QUEUE, namespace=where, cluster_queue=where),
    )
    try:
        for number in range(nodes):
            made.node(number)
        yield made
    finally:
        _clear(made)


def _clear(made: Place) -> None:
    api, where = made.world.api, made.name
    for kind in ("RayJob", "RayCluster", "TrainJob", "JobSet", "Job"):
        for each in api.list(kind, where):
            api.delete(kind, each["metadata"]["name"], where)
    for each in api.list("Pod", where):
        api.delete("Pod", each["metadata"]["name"], where, grace=0)
    for kind, name in (("ClusterQueue", where), ("ResourceFlavor", where), ("Topology", where)):
        api.delete(kind, name)
    for name in made.nodes():
        api.delete("Node", name)


@contextmanager
def crew(
    world: World,
    kind: str,
    *,
    namespace: str,
    cluster_queue: str = "",
    queue: str = QUEUE,
    name: str = "",
    pods: int = 2,
    gpus: int = 4,
    actuator: str = "",
    alter: Callable[[Object], Object] = lambda each: each,
) -> Iterator[Crew]:
    """Queue a job and wait until its workers run, all of them busy; take both away again.

    Args:
        world: the stack.
        kind: of the job.
        namespace: it lives in.
        cluster_queue: whose quota it takes; the namespace's name where none is told.
        queue: the LocalQueue.
        name: of the job and the WorkerScale.
        pods: with GPUs.
        gpus: of each.
        actuator: the label of an actuator of its own.
        alter: changes the job before it is created.
    """
    own = name or kind.lower()
    if kind == "TrainJob":
        world.api.apply(training_runtime(namespace))
    target = alter(BUILDERS[kind](own, namespace, queue, pods, gpus))
    with ExitStack() as held:
        made = Crew(
            world=world,
            namespace=namespace,
            kind=kind,
            name=own,
            pods=pods,
            cluster_queue=cluster_queue or namespace,
            chronicle=held.enter_context(Chronicle(world.api, namespace, (kind, own))),
            scales=held.enter_context(Sizes(world.api, "WorkerScale", namespace)),
            target=target,
            actuator=actuator,
        )
        world.gpus.busy(namespace)
        held.callback(_leave, made)
        world.api.create(target)
        made.runs()
        yield made
        _let_go(made)


def _let_go(made: Crew) -> None:
    """Demand that a WorkerScale that is deleted goes, its target as it was."""
    api = made.world.api
    api.delete("ScaledObject", made.name, made.namespace)
    api.delete("WorkerScale", made.name, made.namespace)
    until(lambda: not made.scale(), f"{made.name} is let go", within=SOON, every=LOOK)


def _leave(made: Crew) -> None:
    """Take away what would cost the scenarios that come after, whatever became of it."""
    api = made.world.api
    for kind in ("ScaledObject", made.kind, "WorkerScale"):
        api.delete(kind, made.name, made.namespace)
    if made.scale():
        free = {"metadata": {"finalizers": None}}
        api.patch("WorkerScale", made.name, made.namespace, change=free)


def _job(name: str, namespace: str, queue: str, pods: int, gpus: int) -> Object:
    return job(name, namespace=namespace, queue=queue, pods=pods, gpus=gpus)


def _job_set(name: str, namespace: str, queue: str, pods: int, gpus: int) -> Object:
    return job_set(name, namespace=namespace, queue=queue, pods=pods, gpus=gpus)


def _ray(
    build: Callable[..., Object], name: str, namespace: str, queue: str, pods: int, gpus: int
) -> Object:
    return build(name, namespace=namespace, queue=queue, workers=pods, gpus=gpus)


def _train_job(name: str, namespace: str, queue: str, pods: int, gpus: int) -> Object:
    return train_job(name, namespace=namespace, queue=queue, nodes=pods, gpus=gpus)


BUILDERS: Mapping[str, Callable[[str, str, str, int, int], Object]] = {
    "Job": _job,
    "JobSet": _job_set,
    "RayCluster": partial(_ray, ray_cluster),
    "RayJob": partial(_ray, ray_job),
    "TrainJob": _train_job,
}
