"""An installation that may be broken, and patients on which its wrong answers would show.

It has a Prometheus and an exporter of its own, with other names and labels than the main one, and
a way of its own to the API server: its faults are nobody else's.
"""

import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from tests.e2e.apart import PATIENTS, exporter_of, lead, policy_of
from tests.e2e.api import Object, is_true
from tests.e2e.observed import RIGHT, SETTLED, WATCHED, Patients
from tests.e2e.passage import Passage
from tests.e2e.policies import pool
from tests.e2e.sizes import Sizes
from tests.e2e.waiting import until
from tests.e2e.ward import POOL_SIZE, job_of, objects, pool_of
from tests.e2e.world import World

__all__ = ["AILING", "FAULTY", "POOLS", "RIGHT", "SETTLED", "WATCHED", "Patients", "patients"]

FAULTY = "faulty"
"""Its sources fail."""
AILING = "ailing"
"""It is ill itself, or refused."""
POOLS = tuple(pool(pool_of(each)) for each in (FAULTY, AILING))

_made: dict[tuple[Path, str], "Patients"] = {}
_turns: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
"""By installation, held while somebody breaks it; patients are for one at a time."""


@contextmanager
def patients(world: World, installation: str = FAULTY, *, last: bool = False) -> Iterator[Patients]:
    """Give an installation's patients, all well; they are made at the first call of a run.

    The `last` of a row lets them rest: what they cost is missed by whoever plays beside.
    """
    key = (world.stack.folder, installation)
    with _turns[installation]:
        if key not in _made:
            _made[key] = _admit(world, installation)
        made = _made[key]
        made.settle()
        try:
            yield made
        finally:
            if last:
                made.rest()


def _admit(world: World, installation: str) -> Patients:
    """Start sources and service, then create all patients and the job that waits."""
    namespace = world.namespace(f"{PATIENTS}{installation}")
    gpus = exporter_of(world, namespace)
    prometheus = world.stack.prometheus(installation, target=gpus.address, honor_labels=True)
    scaler = world.stack.installation(installation, policy_of(prometheus.url, installation))
    passage = Passage(urlsplit(world.stack.way).port or 0)
    lead(scaler, passage)
    scaler.start()
    made = Patients(
        world=world,
        scaler=scaler,
        prometheus=prometheus,
        gpus=gpus,
        passage=passage,
        namespace=namespace,
        deployments=Sizes(api=world.api, kind="Deployment", namespace=namespace).__enter__(),
        machine_sets=Sizes(api=world.api, kind="MachineSet", namespace=namespace).__enter__(),
    )
    world.api.apply(*objects(installation, namespace))
    until(lambda: len(_admitted(made)) == POOL_SIZE, "both jobs are admitted", within=SETTLED)
    world.api.apply(job_of(namespace, "waiting"))
    return made


def _admitted(made: Patients) -> list[Object]:
    found = made.world.api.list("Workload", made.namespace)
    return [each for each in found if is_true(each, "Admitted")]
