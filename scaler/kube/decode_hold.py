"""Turn WorkerScales, and the objects that own pods or Workloads, into records.

An owner that was asked for by its metadata alone is kept only where another object controls it,
and tells no more than that; one that has a spec is kept whole.
"""

from sys import intern

from scaler.core.hold.steps import FINALIZER
from scaler.core.model import (
    Controlled,
    JobPart,
    Mode,
    NotebookPart,
    OwnerPart,
    RayClusterPart,
    WorkerGroup,
    WorkerScale,
    WorkerTarget,
)
from scaler.core.quantity import duration
from scaler.kube import marks, scale_status
from scaler.kube.decode_meta import controller_uid, instant_or_now, moment_or, opted_out, wake_at
from scaler.kube.structs_hold import (
    OwnerMetadata,
    RayClusterSpec,
    RayClusterStatus,
    WireJob,
    WireOwned,
    WireRayCluster,
    WireWorkerGroup,
    WireWorkerScale,
    WireWorkerTarget,
)

_NO_STATUS = RayClusterStatus()


# --- WorkerScales ------------------------------------------------------------------------------


def worker_scale(wire: WireWorkerScale) -> WorkerScale:
    """Make a WorkerScale's record, with the defaults of its CRD.

    Raises:
        ValueError: mode or maxHold is malformed.
    """
    meta, spec = wire.metadata, wire.spec
    annotations = meta.annotations
    finalizers = tuple(meta.finalizers or ())
    return WorkerScale(
        namespace=intern(meta.namespace),
        name=meta.name,
        uid=meta.uid,
        created=moment_or(meta.creation_timestamp, 0.0),
        generation=meta.generation,
        resource_version=meta.resource_version,
        target=_target(spec.target),
        mode=_mode(spec.mode),
        replicas=1 if spec.replicas is None else spec.replicas,
        max_hold=_max_hold(spec.max_hold),
        status=scale_status.read(wire.status),
        hold_now=instant_or_now(annotations.hold_now if annotations is not None else None),
        wake_at=wake_at(annotations),
        opted_out=opted_out(meta.labels, annotations),
        deleting=meta.deletion_timestamp is not None,
        finalized=FINALIZER in finalizers,
        finalizers=finalizers,
    )


def _target(wire: WireWorkerTarget) -> WorkerTarget:
    return WorkerTarget(
        api_version=intern(wire.api_version),
        kind=intern(wire.kind),
        name=wire.name,
        component=wire.component or None,
    )


def _mode(text: str | None) -> Mode:
    try:
        return Mode(text or Mode.HOLD)
    except ValueError:
        allowed = ", ".join(Mode)
        raise ValueError(f"spec.mode: {text!r:.80} is none of {allowed}") from None


def _max_hold(text: str | None) -> float | None:
    if not text:
        return None
    try:
        seconds = duration(text)
    except ValueError as error:
        raise ValueError(f"spec.maxHold: {error}") from error
    if seconds <= 0:
        raise ValueError(f"spec.maxHold: {text!r:.80} must be above 0s; leave it out for no limit")
    return seconds


# --- owners ------------------------------------------------------------------------------------


def ray_cluster(wire: WireRayCluster) -> Controlled | None:
    """Make a RayCluster's record; None where nobody controls it and it has no spec."""
    if wire.spec is None:
        return _chained(wire.metadata, kind="RayCluster")
    part = _ray_cluster_part(wire.spec, wire.status or _NO_STATUS)
    return _whole(wire.metadata, kind="RayCluster", part=part)


def job(wire: WireJob) -> Controlled | None:
    """Make a Job's record; None where nobody controls it and it has no spec."""
    meta, spec = wire.metadata, wire.spec
    if spec is None:
        return _chained(meta, kind="Job")
    part = JobPart(
        parallelism=1 if spec.parallelism is None else spec.parallelism,
        suspended=spec.suspend is True,
        job_set=(meta.labels.job_set or None) if meta.labels is not None else None,
        replicated_job=(meta.labels.replicated_job or None) if meta.labels is not None else None,
    )
    return _whole(meta, kind="Job", part=part)


def job_set(wire: WireOwned) -> Controlled:
    """Make a JobSet's record; its metadata is all that is asked for."""
    return _whole(wire.metadata, kind="JobSet", part=None)


def notebook(wire: WireOwned) -> Controlled:
    """Make a Notebook's record; its metadata is all that is asked for."""
    part = NotebookPart(stopped=marks.stopped(wire.metadata.annotations))
    return _whole(wire.metadata, kind="Notebook", part=part)


def _chained(meta: OwnerMetadata, *, kind: str) -> Controlled | None:
    """Give a link of the chain from pods to Workloads; one that nobody controls leads nowhere."""
    above = controller_uid(meta.owner_references)
    if above is None:
        return None
    return Controlled(
        uid=meta.uid,
        kind=kind,
        namespace=intern(meta.namespace),
        name=meta.name,
        controller_uid=above,
    )


def _whole(meta: OwnerMetadata, *, kind: str, part: OwnerPart | None) -> Controlled:
    return Controlled(
        uid=meta.uid,
        kind=kind,
        namespace=intern(meta.namespace),
        name=meta.name,
        controller_uid=controller_uid(meta.owner_references),
        generation=meta.generation,
        resource_version=meta.resource_version,
        deleting=meta.deletion_timestamp is not None,
        marks=marks.marks(meta.annotations),
        part=part,
    )


def _ray_cluster_part(spec: RayClusterSpec, status: RayClusterStatus) -> RayClusterPart:
    strategy = spec.upgrade_strategy
    return RayClusterPart(
        groups=tuple(_group(each) for each in spec.worker_group_specs or ()),
        suspended=spec.suspend is True,
        autoscaling=spec.enable_in_tree_autoscaling is True,
        recreates=strategy is not None and strategy.type == "Recreate",
        observed_generation=status.observed_generation or 0,
        desired_workers=status.desired_worker_replicas or 0,
    )


def _group(wire: WireWorkerGroup) -> WorkerGroup:
    """Count as Kueue does: 1 replica where none is given, and 1 host unless there are more."""
    replicas = 1 if wire.replicas is None else wire.replicas
    return WorkerGroup(
        name=wire.group_name,
        pods=replicas * max(1, wire.num_of_hosts or 1),
        suspended=wire.suspend,
    )
