"""First sync: from before the sources start until the Snapshot holds every Workload."""

import json
import time
import urllib.request
from collections.abc import Iterator

from benchmarks.api import Api
from benchmarks.figures import Figure
from benchmarks.objects import Fleet
from benchmarks.scaling import scaler
from scaler.core.model import Kind
from scaler.kube.resources import RESOURCES


def measure(*, workloads: int = 100_000, queues: int = 1_000) -> Iterator[Figure]:
    """Sync once, then parse the same bytes with the standard library for comparison."""
    with scaler(Fleet(workloads=workloads, queues=queues, idle=True)) as running:
        synced = running.synced
        plain = parsing(running.api)
    with scaler(Fleet(workloads=workloads, queues=queues)) as running:
        decided = running.synced.cpu_decided
    name = f"first sync of {workloads:,} Workloads"
    yield Figure(name=f"{name}: CPU", value=synced.cpu, unit="s", goal=3)
    yield Figure(name=f"{name}: peak RSS", value=synced.rss, unit="MiB", goal=300)
    yield Figure(name=f"{name}: wall clock", value=synced.wall, unit="s")
    yield Figure(name=f"and {queues:,} triggers decided: CPU", value=decided, unit="s")
    yield Figure(name="json.loads of the same bytes: CPU", value=plain, unit="s")
    yield Figure(name="sync over json.loads", value=synced.cpu / plain, unit="x")


def parsing(server: Api) -> float:
    """Give the CPU seconds that `json.loads` takes for all pages of Workloads."""
    resource = RESOURCES[Kind.WORKLOADS]
    path = f"/apis/{resource.group}/{resource.versions[0]}/{resource.plural}"
    spent, following = 0.0, "0"
    while following:
        url = f"http://127.0.0.1:{server.port}{path}?continue={following}"
        with urllib.request.urlopen(url) as answer:
            raw = answer.read()
        began = time.process_time()
        page = json.loads(raw)
        spent += time.process_time() - began
        following = page["metadata"].get("continue", "")
    return spent
