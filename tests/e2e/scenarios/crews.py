"""The workers of one job under Kueue, on nodes of their own, and the handle that takes them."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from tests.e2e.actuation import LABEL
from tests.e2e.api import Object, is_true
from tests.e2e.chronicle import Chronicle
from tests.e2e.deployed import adapted, example, one
from tests.e2e.ledger import Claim, Ledger, claim_of, ledger_of, owned, quota, suspended
from tests.e2e.policies import GPUS
from tests.e2e.sizes import Sizes
from tests.e2e.waiting import NeverCameError, until
from tests.e2e.worker_objects import worker_scale
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
OTHER = "other"
"""Begins the names of jobs in the namespace that are none of the crew's."""
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
