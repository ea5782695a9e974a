"""A job that runs and its crew, both taken away again at the end."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress

from tests.e2e.api import Object, RefusedError
from tests.e2e.chronicle import Chronicle
from tests.e2e.scenarios.crews import LOOK, SOON, Crew
from tests.e2e.scenarios.places import QUEUE
from tests.e2e.sizes import Sizes
from tests.e2e.waiting import until
from tests.e2e.worker_objects import BUILDERS, training_runtime
from tests.e2e.world import World


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
    until(lambda: not made.suspended(), f"{made.kind} runs on", within=SOON, every=LOOK)


def _leave(made: Crew) -> None:
    """Take away what would cost the scenarios that come after, whatever became of it."""
    api = made.world.api
    for kind in ("ScaledObject", made.kind, "WorkerScale"):
        api.delete(kind, made.name, made.namespace)
    if made.scale():
        free = {"metadata": {"finalizers": None}}
        with suppress(RefusedError):  # it went meanwhile
            api.patch("WorkerScale", made.name, made.namespace, change=free)
