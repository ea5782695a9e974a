"""Deployments whose GPUs are busy, and an installation of our service that says so to KEDA."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

from tests.e2e.api import Object, is_true
from tests.e2e.bench_objects import COOLDOWN
from tests.e2e.deployed import adapted, example, one
from tests.e2e.machines import node
from tests.e2e.policies import POOL_LABEL, policy
from tests.e2e.prometheus import Prometheus
from tests.e2e.queues import deployment
from tests.e2e.service import Installation
from tests.e2e.sizes import Sizes
from tests.e2e.stack import service_address
from tests.e2e.waiting import until
from tests.e2e.world import World

REPLICAS = 3
GPUS_A_NODE = 64
DRAIN = 5.0
"""Seconds; KEDA's connections then grow no older than that, as with what is shipped."""
POLL = "Getting metrics and activity from scaler"
SOON = 90.0
"""Seconds for what takes a few polls and refreshes, on a busy machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Busy:
    """Targets at a size that nothing may change, whatever becomes of the service or its sources."""

    world: World
    service: Installation
    prometheus: Prometheus
    """The service's own; it can be stopped."""
    namespace: str
    sizes: Sizes
    names: list[str] = field(default_factory=list)

    def fine(self) -> None:
        """Wait until every HPA has read a value and all replicas call every target busy."""
        self.scaled(self.names)
        self.all_say("Busy")

    def scaled(self, names: Iterable[str]) -> None:
        """Wait until the HPA of each target has read a value."""
        for name in names:
            until(partial(self._scaled, name), f"{name} has a value", within=SOON)

    def all_say(self, word: str) -> None:
        """Wait until each replica that answers has had a decision on each target with a word in it.

        On a busy machine samples are late now and then, so it need not be in one moment.
        """
        for number, replica in enumerate(self.service.replicas):
            if replica.answers:
                heard: set[str] = set()
                look = partial(self._hear, word, number, heard)
                until(look, f"{replica.name} says {word}", within=SOON)

    def answered(self) -> list[float]:
        """Give how many answers each replica has given."""
        return [each.sample("answers_total") or 0.0 for each in self.service.replicas]

    def add_paused(self, name: str, idle_after: str) -> None:
        """Create one more target: decided like the others, but KEDA neither asks nor acts."""
        api, pool = self.world.api, self.namespace
        self.names.append(name)
        api.create(deployment(name, namespace=pool, replicas=REPLICAS, gpus=1, pool=pool))
        wanted = _scaled_object(self.namespace, name, self.service.namespace, push=False)
        wanted["metadata"].setdefault("annotations", {})["autoscaling.keda.sh/paused"] = "true"
        wanted["spec"]["triggers"][0]["metadata"]["idleAfter"] = idle_after
        api.create(wanted)

    def held(self, since: float) -> None:
        """Demand that no target's size changed since a monotonic time."""
        for name in self.names:
            self.sizes.held(name, since)

    def changed(self, since: float) -> list[str]:
        """Give the targets whose size changed since a monotonic time."""
        return [name for name in self.names if self.sizes.seen(name, since)]

    def unready(self) -> list[str]:
        """Give the ScaledObjects that KEDA does not call Ready."""
        found = self.world.api.list("ScaledObject", self.namespace)
        return [each["metadata"]["name"] for each in found if not is_true(each, "Ready")]

    def _scaled(self, name: str) -> bool:
        found = self.world.api.get("HorizontalPodAutoscaler", f"keda-hpa-{name}", self.namespace)
        return is_true(found, "ScalingActive")

    def _hear(self, word: str, number: int, heard: set[str]) -> bool:
        """Add the targets on which a replica's decision has a word; say whether it is all."""
        decisions: Sequence[Object] = self.service.decisions(number)["decisions"]
        mine = (each for each in decisions if each["namespace"] == self.namespace)
        heard |= {each["name"] for each in mine if word in each.values()}
        return heard >= set(self.names)


def aging(service: Installation) -> None:
    """Let KEDA connect anew every few seconds, to each replica in turn."""
    service.drain = DRAIN


class OperatorLog:
    """What KEDA's operator says of one namespace, from now on."""

    def __init__(self, world: World, namespace: str) -> None:
        self._log = world.stack.keda.log
        self._namespace = f'"{namespace}"'
        self._from = self._log.stat().st_size

    def failed_calls(self) -> list[str]:
        """Give the lines on calls to a scaler that failed, streams among them."""
        return self._lines("rpc error")

    def polls(self) -> int:
        """Count the polls, each of which is a call of GetMetrics and one of IsActive."""
        return len(self._lines(POLL))

    def _lines(self, text: str) -> list[str]:
        with self._log.open("rb") as log:
            log.seek(self._from)
            lines = log.read().decode(errors="replace").splitlines()
        return [each for each in lines if text in each and self._namespace in each]


@contextmanager
def busy(
    world: World,
    name: str,
    *,
    installation: str,
    targets: int,
    pools: Iterable[tuple[str, Object]] = (),
    cooldowns: Sequence[int] = (COOLDOWN,),
    alter: Callable[[Installation], None] = lambda _: None,
    authentication: Callable[[str, int], Object | None] = lambda *_: None,
) -> Iterator[Busy]:
    """Install the service with a Prometheus of its own and create targets; end all on leaving.

    Every second target has an `external` trigger, the others an `external-push` one.

    Args:
        world: it is set up in.
        name: begins the names of the namespace and of the targets.
        installation: where the service is installed.
        targets: how many.
        pools: of the service's policy.
        cooldowns: seconds of each pair of targets in turn.
        alter: changes the installation before it is started.
        authentication: gives, by namespace and number, the authenticationRef of a target's trigger.
    """
    namespace = world.namespace(name)
    prometheus = world.stack.prometheus(f"prometheus-{namespace}", target=world.gpus.address)
    service = world.stack.installation(installation, policy(prometheus.url, pools=pools))
    alter(service)
    world.gpus.busy(namespace)
    with Sizes(world.api, "Deployment", namespace) as sizes:
        made = Busy(
            world=world, service=service, prometheus=prometheus, namespace=namespace, sizes=sizes
        )
        try:
            service.start()
            names = [f"{name}-{number}" for number in range(targets)]
            _create(made, installation, names, cooldowns, authentication)
            yield made
        finally:
            _clear(made)
            service.stop()
            if prometheus.program.runs:
                prometheus.stop()


def _create(
    made: Busy,
    installation: str,
    names: list[str],
    cooldowns: Sequence[int],
    authentication: Callable[[str, int], Object | None],
) -> None:
    api, pool = made.world.api, made.namespace
    for number in range(-(-len(names) * REPLICAS // GPUS_A_NODE)):
        labels = {POOL_LABEL: pool}
        api.apply(node(f"{pool}-{number}", labels, gpus=GPUS_A_NODE, cpu="1000"))
    for number, name in enumerate(names):
        made.names.append(name)
        api.create(deployment(name, namespace=made.namespace, replicas=REPLICAS, gpus=1, pool=pool))
        wanted = _scaled_object(made.namespace, name, installation, push=number % 2 > 0)
        wanted["spec"]["cooldownPeriod"] = cooldowns[number // 2 % len(cooldowns)]
        if (reference := authentication(made.namespace, number)) is not None:
            wanted["spec"]["triggers"][0]["authenticationRef"] = reference
        api.create(wanted)


def _scaled_object(namespace: str, name: str, installation: str, *, push: bool) -> Object:
    """Give the shipped ScaledObject of an inference Deployment, without questions for requests."""
    wanted = adapted(
        one(example("inference-deployment.yaml"), "ScaledObject"),
        namespace=namespace,
        name=name,
        target=name,
        address=service_address(installation),
        maximum=REPLICAS * 2,
        metadata={"idleAfter": "12s", "replicas": str(REPLICAS)},
    )
    (trigger,) = wanted["spec"]["triggers"]
    trigger["type"] = "external-push" if push else "external"
    for key in ("keepAlive", "wake"):
        del trigger["metadata"][key]
    return wanted


def _clear(made: Busy) -> None:
    """Delete the ScaledObjects while the service answers, then what they scaled."""
    api, namespace = made.world.api, made.namespace
    for name in made.names:
        api.delete("ScaledObject", name, namespace)
    until(lambda: not api.list("ScaledObject", namespace), "no ScaledObject", within=SOON)
    for name in made.names:
        api.delete("Deployment", name, namespace)
    for found in api.list("Node", labels=f"{POOL_LABEL}={namespace}"):
        api.delete("Node", found["metadata"]["name"])
