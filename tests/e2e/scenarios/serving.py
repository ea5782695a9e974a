"""Inference servers on GPU nodes of their own, and the ScaledObject that may take them to zero."""

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from tests.e2e.api import Object, condition, is_true
from tests.e2e.deployed import adapted, example, one
from tests.e2e.machines import node
from tests.e2e.policies import POOL_LABEL
from tests.e2e.queues import deployment
from tests.e2e.serving import VLLM
from tests.e2e.sizes import Sizes
from tests.e2e.waiting import NeverCameError, pause, throughout, until
from tests.e2e.world import World

IDLE_AFTER = 6.0
"""Seconds; what triggers ask for, unless the policy decides."""
COOLDOWN = 5
POLL = 2
SOON = 30.0
"""Seconds for what takes one or two intervals, on a busy machine."""
LATE = 40.0
"""Seconds for a cooldown and for all that is late on a busy machine, where HOLD begins it anew."""
EARLY = 0.5
"""Seconds from the time that a sample has to when it is known to have been taken, at most."""
LOOK = 0.2
"""Seconds before a look at all decisions."""
GPUS_OF_NODE = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Zero:
    """How long it took to zero, in seconds from when what keeps it was seen last."""

    verdict: float
    """To our decision."""
    zero: float

    def __str__(self) -> str:
        return f"idle after {self.verdict:.1f} s, zero after {self.zero:.1f} s"


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """One Deployment or StatefulSet whose pods hold GPUs."""

    world: World
    namespace: str
    name: str
    kind: str
    sizes: Sizes
    """Of its kind in its namespace."""

    def node(self, number: int = 0) -> None:
        """Give its pods a node; no other pods run there."""
        name = f"{self.namespace}-gpu-{number}"
        wanted = node(name, {POOL_LABEL: self.namespace}, gpus=GPUS_OF_NODE)
        self.world.api.apply(wanted)
        self.world.api.patch("Node", name, change={"status": wanted["status"]}, sub="status")

    def scaled(
        self,
        file: str = "inference-deployment.yaml",
        *,
        metadata: Mapping[str, str] | None = None,
        forget: Iterable[str] = (),
        cooldown: int = COOLDOWN,
        minimum: int | None = None,
        maximum: int | None = None,
    ) -> None:
        """Create the ScaledObject of an example for it.

        `metadata` are the trigger's values that differ; what it forgets is left to the policy.
        """
        wanted = adapted(
            one(example(file), "ScaledObject"),
            namespace=self.namespace,
            name=self.name,
            target=self.name,
            polling=POLL,
            cooldown=cooldown,
            metadata={"idleAfter": f"{IDLE_AFTER:.0f}s", **(metadata or {})},
            minimum=minimum,
            maximum=maximum,
        )
        wanted["spec"]["scaleTargetRef"] |= {"apiVersion": "apps/v1", "kind": self.kind}
        for trigger in wanted["spec"]["triggers"]:
            for key in forget:
                del trigger["metadata"][key]
        self.world.api.apply(wanted)

    def pods(self) -> list[Object]:
        """Give its pods, those that are going too."""
        found = self.world.api.list("Pod", self.namespace, labels=f"app={self.name}")
        return sorted(found, key=lambda pod: str(pod["metadata"]["name"]))

    def running(self) -> list[Object]:
        """Give its pods that are Ready and stay."""
        return [
            pod
            for pod in self.pods()
            if is_true(pod, "Ready") and "deletionTimestamp" not in pod["metadata"]
        ]

    def runs(self, count: int, *, within: float = SOON) -> float:
        """Wait until so many of its pods are Ready and no others there; give the time."""
        what = f"{count} pods of {self.name} run"
        until(lambda: len(self.pods()) == len(self.running()) == count, what, within=within)
        return time.monotonic()

    def decision(self) -> Object:
        """Give our service's decision on it; {} where there is none yet."""
        pause(LOOK)
        return self.world.scaler.decision(self.namespace, self.name) or {}

    def says(self, reason: str, *, within: float = SOON) -> Object:
        """Wait for a decision with a reason, and give it."""
        last: Object = {}

        def look() -> Object | None:
            nonlocal last
            last = self.decision()
            return last if last.get("reason") == reason else None

        try:
            return until(look, f"{self.name} is {reason}", within=within)
        except NeverCameError as error:
            raise NeverCameError(
                f"{error}; {last.get('reason')}: {last.get('evidence')}"
            ) from error

    def polled(self) -> None:
        """Wait until KEDA has found it active; before that no cooldown keeps it."""

        def look() -> object:
            found = self.world.api.get("ScaledObject", self.name, self.namespace) or {}
            return (found.get("status") or {}).get("lastActiveTime")

        until(look, f"KEDA finds {self.name} active", within=SOON)

    def stays_active(self, seconds: float) -> None:
        """Demand that no decision lets it go for a time; one that holds does not."""

        def look() -> bool:
            found = self.decision()
            assert found["active"] is not False, f"{found['reason']}: {found['evidence']}"
            return True

        throughout(look, f"{self.name} is kept", seconds=seconds)

    def burst(self, pod: int, gpu: int, percent: float) -> float:
        """Let one GPU of one pod be busy in one sample; give the monotonic time of it."""
        name = self.running()[pod]["metadata"]["name"]
        seen = self.world.gpus.burst(self.namespace, name, gpu, percent)
        assert seen.wait(SOON), f"no scrape saw GPU {gpu} of {name}"
        return time.monotonic()

    def youngest(self) -> float:
        """Give the monotonic time at which the last of its pods became Ready.

        The API server keeps whole seconds, so it may have been up to one later.
        """
        ready = (condition(pod, "Ready")["lastTransitionTime"] for pod in self.running())
        latest = max(datetime.fromisoformat(each) for each in ready)
        return time.monotonic() - (datetime.now(UTC) - latest).total_seconds()

    def zero(self, since: float, *, after: float) -> Zero:
        """Wait for zero in one step, `after` seconds or more from what kept it last.

        Raises:
            AssertionError: the verdict or zero came too soon, or zero came in steps.
            NeverCameError: it did not come.
        """
        within = after + LATE
        until(lambda: self.decision()["active"] is False, f"{self.name} may go", within=within)
        verdict = time.monotonic() - since
        zero = self.sizes.until(self.name, 0, within=within, since=since) - since
        found = Zero(verdict=verdict, zero=zero)
        assert min(verdict, zero) >= after - EARLY, f"{self.name}: {found}, {after:.0f} s are due"
        self.went_once(since)
        return found

    def went_once(self, since: float) -> None:
        """Demand that to zero was the only step: its going must not wake it either."""
        steps = self.sizes.steps(self.name, since)
        assert steps == [0], f"{self.name} went by {steps}"


@contextmanager
def server(
    world: World,
    ident: str,
    *,
    replicas: int,
    gpus: int,
    kind: str = "Deployment",
    queue: str = "",
    nodes: int = 1,
    namespace: str = "",
    known: bool = True,
) -> Iterator[Server]:
    """Give a server whose pods are vLLM's by their label, and what they need.

    Args:
        world: the stack.
        ident: its name and that of its fresh namespace.
        replicas: at first.
        gpus: of each pod.
        kind: Deployment or StatefulSet.
        queue: the LocalQueue in which its pods wait.
        nodes: how many it has.
        namespace: one that is there, in place of a fresh one.
        known: whether the gateway has a counter of it before the first request.
    """
    where = namespace or world.namespace(ident)
    with Sizes(world.api, kind, where) as sizes:
        made = Server(world=world, namespace=where, name=ident, kind=kind, sizes=sizes)
        wanted = deployment(
            ident,
            namespace=where,
            replicas=replicas,
            gpus=gpus,
            labels=dict([VLLM]),
            kind=kind,
            queue=queue,
            pool=where,
        )
        if known:
            world.gpus.gateway(where)
        try:
            for number in range(nodes):
                made.node(number)
            world.api.create(wanted)
            yield made
        finally:
            _leave(made)


def _leave(made: Server) -> None:
    """Take away what would cost the scenarios that come after."""
    api, where = made.world.api, made.namespace
    for kind in ("ScaledObject", made.kind):
        api.delete(kind, made.name, where)
    for pod in made.pods():
        api.delete("Pod", pod["metadata"]["name"], where, grace=0)
    for each in api.list("Node", labels=f"{POOL_LABEL}={where}"):
        api.delete("Node", each["metadata"]["name"])
