"""Inference servers on GPU nodes of their own, and the ScaledObject that may take them to zero."""

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from tests.e2e.api import Object, is_true
from tests.e2e.deployed import adapted, example, one
from tests.e2e.machines import node
from tests.e2e.policies import POOL_LABEL
from tests.e2e.queues import deployment
from tests.e2e.serving import VLLM
from tests.e2e.sizes import Sizes
from tests.e2e.waiting import throughout, until
from tests.e2e.world import World

IDLE_AFTER = 6.0
"""Seconds; what triggers ask for, unless the policy decides."""
COOLDOWN = 5
POLL = 2
SOON = 30.0
"""Seconds for what takes one or two intervals, on a busy machine."""
LATE = 30.0
"""Seconds by which a zero may come later than its time-outs add up to, on a busy machine."""
EARLY = 4.0
"""Seconds from KEDA's last active poll, where the cooldown begins, to the verdict; at most."""
GPUS_OF_NODE = 8


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
        """Create the ScaledObject of an example for it; it is never a first zero that waits.

        Args:
            file: the example.
            metadata: the trigger's values that differ.
            forget: keys of the trigger that are left to the policy.
            cooldown: seconds from the last active poll to zero.
            minimum: minReplicaCount.
            maximum: maxReplicaCount.
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
        except AssertionError as error:
            raise AssertionError(
                f"{error}; {last.get('reason')}: {last.get('evidence')}"
            ) from error

    def stays_active(self, seconds: float) -> None:
        """Demand that no decision lets it go for a time; one that holds does not.

        Raises:
            AssertionError: one did; with its evidence.
        """

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

    def zero(self, since: float, *, after: float, cooldown: int = COOLDOWN) -> float:
        """Wait for zero in one step; give the seconds since a monotonic time.

        Raises:
            AssertionError: it came sooner than the verdict and the cooldown allow, or in steps.
            NeverCameError: it did not come.

        Args:
            since: when what keeps it was seen last.
            after: seconds from then to the verdict.
            cooldown: seconds from the last active poll to zero.
        """
        due = after + cooldown
        left = due + LATE - (time.monotonic() - since)
        took = self.sizes.until(self.name, 0, within=left) - since
        steps = self.sizes.steps(self.name, since)
        assert steps == [0], f"{self.name} went by {steps}"
        assert took >= due - EARLY, f"{self.name} at zero after {took:.1f} s, {due:.1f} s are due"
        return took


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
    api.delete("ScaledObject", made.name, where)
    api.delete(made.kind, made.name, where)
    for pod in made.pods():
        api.delete("Pod", pod["metadata"]["name"], where, grace=0)
    for each in api.list("Node", labels=f"{POOL_LABEL}={where}"):
        api.delete("Node", each["metadata"]["name"])
