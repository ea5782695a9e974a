"""An actuator of a scenario's own, and the jobs whose WorkerScales it alone sees."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from tests.e2e.actuation import Actuation
from tests.e2e.api import Object
from tests.e2e.scenarios.crews import Crew
from tests.e2e.scenarios.places import place
from tests.e2e.scenarios.queued import crew
from tests.e2e.world import World

PODS, EACH = 2, 4
ALL = PODS * EACH
MARK = "held.kueue-gpu-scaler.dev/"
RELEASED = "kueue-gpu-scaler.dev/released-by"


@contextmanager
def apart(world: World, label: str) -> Iterator[Actuation]:
    """Run an actuator that only sees WorkerScales with a label, in a namespace of that name."""
    namespace = f"{label}-actuator"
    own = world.stack.actuation(namespace, world.scaler.policy, label=label)
    try:
        own.start()
        yield own
    finally:
        own.stop()


def own_crew(held: ExitStack, world: World, kind: str, label: str, ident: str) -> Crew:
    """Give a job with a place of its own, both until the block ends."""
    there = held.enter_context(place(world, ident, gpus=ALL))
    return held.enter_context(
        crew(world, kind, namespace=there.name, pods=PODS, gpus=EACH, actuator=label)
    )


def marks(world: World, c: Crew) -> list[str]:
    """Give what says in the targets that we changed them."""
    found: list[Object] = []
    for kind in ("RayCluster", "Job", "Workload"):
        found += world.api.list(kind, c.namespace)
    return [
        f"{each.get('kind', '')} {each['metadata']['name']}: {key}"
        for each in found
        for key in each["metadata"].get("annotations") or {}
        if key.startswith(MARK) or key == RELEASED
    ]
