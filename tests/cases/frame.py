"""Write a case as a bundle, let the real command explain it, and read what it said."""

import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkdtemp
from typing import TypeAlias

import msgspec

from scaler import cli
from scaler.core.model import Kind
from tests.cases.cluster import cluster_queue, flavor, local_queue
from tests.cases.explained import Ran
from tests.cases.objects import Object, clock
from tests.cases.series import Series, open_metrics

NODES = {"signal": "queue", "clusterQueue": "gpu-cq", "pool": "gpu"}
GPUS = {"signal": "queue", "clusterQueue": "gpu-cq", "unit": "gpus"}
WORKLOADS = {"signal": "queue", "clusterQueue": "gpu-cq", "unit": "workloads"}

NODE = {"nvidia.com/gpu": 8, "cpu": 188, "memory": "1900Gi", "pods": 110}
POLICY: Mapping[str, Mapping[str, object]] = {
    "defaults": {"idleAfter": "30m", "busyFromPercent": 1, "graceAfterStart": "0s"},
    "pools": {"gpu": {"nodeSelector": {"pool": "gpu"}, "node": NODE, "maxNodes": 10}},
    "prometheus": {"scrapeInterval": "30s", "refresh": "30s"},
    "safety": {
        "minCoveragePercent": 90,
        "maxSampleAge": "90s",
        "maxWatchAge": "5m",
        "massIdle": {"workloads": 1_000_000, "percent": 100, "for": "1h"},
    },
}

_PLURAL = {
    "Workload": Kind.WORKLOADS,
    "ClusterQueue": Kind.CLUSTER_QUEUES,
    "LocalQueue": Kind.LOCAL_QUEUES,
    "Cohort": Kind.COHORTS,
    "ResourceFlavor": Kind.RESOURCE_FLAVORS,
    "AdmissionCheck": Kind.ADMISSION_CHECKS,
    "Node": Kind.NODES,
    "Pod": Kind.PODS,
    "Deployment": Kind.DEPLOYMENTS,
    "StatefulSet": Kind.STATEFUL_SETS,
    "ScaledObject": Kind.SCALED_OBJECTS,
    "HorizontalPodAutoscaler": Kind.HPAS,
    "RayCluster": Kind.RAY_CLUSTERS,
    "Job": Kind.JOBS,
    "WorkerScale": Kind.WORKER_SCALES,
}


def idle(workload: str, **more: str) -> dict[str, str]:
    """Build the metadata of an idle trigger."""
    return {"signal": "idle", "workload": workload, **more}


def policy(**sections: Mapping[str, object]) -> dict[str, object]:
    """Build the fixtures' policy, keys of its sections put otherwise."""
    changed = {name: dict(POLICY.get(name, {})) | dict(fields) for name, fields in sections.items()}
    return {**POLICY, **changed}


def pool(name: str = "gpu", *, gpus: int = 8, max_nodes: int = 10) -> dict[str, object]:
    """Build the section `pools` of a policy with one pool."""
    node = NODE | {"nvidia.com/gpu": gpus}
    return {name: {"nodeSelector": {"pool": name}, "node": node, "maxNodes": max_nodes}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """The world at one moment, and the trigger that is asked about."""

    trigger: Mapping[str, str] | None = None
    """Metadata without a ScaledObject around it."""
    scaled_object: Object | None = None
    """The ScaledObject instead, or a WorkerScale."""
    objects: Sequence[Object] = ()
    series: Iterable[Series] | None = ()
    """None: Prometheus is down."""
    queues: Sequence[Object] = field(
        default_factory=lambda: [cluster_queue(), local_queue(), flavor()]
    )
    policy: Mapping[str, object] = field(default_factory=policy)
    t: float = 0
    """Seconds from the start of the clock."""
    unread: frozenset[Kind] = frozenset()
    """Kinds that could not be listed."""


Run: TypeAlias = Callable[[Case], Ran]
"""Explain a case with the real command."""


def run(case: Case, folder: Path) -> Ran:
    """Write the case into a new bundle below a folder and explain it."""
    bundle = write(case, Path(mkdtemp(dir=folder)))
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = cli.entry(["explain", "--bundle", str(bundle), "-o", "json"])
    return Ran(code=code, out=out.getvalue(), err=err.getvalue())


def write(case: Case, bundle: Path) -> Path:
    """Write a bundle; a kind that is read has a file, an empty List where there is none of it."""
    trigger = case.scaled_object or {
        "namespace": "ml",
        "name": "so",
        "scalerMetadata": dict(case.trigger or {}),
    }
    files = {
        "now": clock(case.t),
        "policy.yaml": _json(case.policy),
        "trigger.yaml": _json(trigger),
    }
    if case.series is not None:
        files["samples.om"] = open_metrics(case.series, until=case.t)
    for name, text in files.items():
        (bundle / name).write_text(text)
    (bundle / "objects").mkdir()
    listed = (*case.queues, *case.objects)
    for kind in (kind for kind in Kind if kind not in case.unread):
        items = [one for one in listed if _PLURAL[str(one["kind"])] is kind]
        body = {"apiVersion": "v1", "kind": "List", "items": items}
        (bundle / "objects" / f"{kind}.json").write_text(_json(body))
    return bundle


def _json(value: object) -> str:
    """Write JSON, which is YAML too."""
    return msgspec.json.encode(value).decode()
