"""WorkerScales, and what their status records of a hold."""

from collections.abc import Mapping

from scaler.core.model import (
    HoldRecord,
    Instant,
    Mode,
    TargetRef,
    WorkerScale,
    WorkerScaleStatus,
    WorkerTarget,
)
from tests.builders.values import LONG_AGO, next_uid

_VERSIONS = {"RayCluster": "ray.io/v1", "RayJob": "ray.io/v1", "Job": "batch/v1"}


def make_worker_scale(
    *,
    name: str = "ray",
    namespace: str = "ml",
    kind: str = "RayCluster",
    target: str = "ray",
    component: str | None = "gpu",
    mode: Mode = Mode.HOLD,
    replicas: int = 1,
    hold: HoldRecord | None = None,
    wake_at: Instant | None = None,
    opted_out: bool = False,
) -> WorkerScale:
    """Build a WorkerScale, by default on podset `gpu` of RayCluster `ray`."""
    return WorkerScale(
        namespace=namespace,
        name=name,
        uid=next_uid(name),
        created=LONG_AGO,
        generation=1,
        resource_version="1",
        target=WorkerTarget(
            api_version=_VERSIONS.get(kind, "example.com/v1"),
            kind=kind,
            name=target,
            component=component,
        ),
        mode=mode,
        replicas=replicas,
        status=WorkerScaleStatus(hold=hold),
        wake_at=wake_at,
        opted_out=opted_out,
    )


def make_hold(
    *,
    workload_uid: str,
    pod_sets: Mapping[str, int] | None = None,
    waking_at: Instant | None = None,
) -> HoldRecord:
    """Build the record of a hold, by default of two pods of podset `gpu`."""
    return HoldRecord(
        workload="ml/wl",
        workload_uid=workload_uid,
        usage=(),
        pod_sets=tuple(sorted(({"gpu": 2} if pod_sets is None else pod_sets).items())),
        since=LONG_AGO,
        waking_at=waking_at,
    )


def handle(name: str = "ray") -> TargetRef:
    """Build a ScaledObject's reference to a WorkerScale."""
    return TargetRef(name=name, kind="WorkerScale", api_version="kueue-gpu-scaler.dev/v1alpha1")
