"""What a ScaledObject with our triggers may target, and to what size, judged by itself."""

from collections.abc import Iterator

from scaler.commands.check_files import Finding, Manifest, at
from scaler.commands.check_rules import OurTrigger, our_triggers, sizes
from scaler.core.hold.kinds import SUPPORTED
from scaler.core.scales import GROUP, KIND
from scaler.core.trigger import QueueTrigger
from scaler.policyfile.document import Path, shown

_REF = ("spec", "scaleTargetRef")
_WITHOUT_SCALE = (
    "RayCluster",
    "RayJob",
    "RayService",
    "Job",
    "JobSet",
    "TrainJob",
    "AppWrapper",
    "Notebook",
)
_COUNTED_BY_KUEUE = ("PyTorchJob", "MPIJob", "TFJob", "XGBoostJob", "PaddleJob", "JAXJob")
"""Kueue compares their worker count: each change of it costs the Workload."""


def judge_target(manifest: Manifest) -> Iterator[Finding]:
    """Judge the scaleTargetRef of a ScaledObject.

    Without a trigger of ours only what would cost a PyTorchJob its Workload is told.
    """
    if manifest.kind != "ScaledObject":
        return
    ours, kind = our_triggers(manifest), at(manifest.tree, *_REF, "kind")
    if not ours:
        if kind == "PyTorchJob" and _least(manifest) == 0:
            yield _pytorch_job_at_zero(manifest)
        return
    if not at(manifest.tree, *_REF, "name"):
        yield manifest.error((*_REF, "name"), value="", allowed="it is required")
    if kind == KIND:
        yield from _worker_scale(manifest, ours)
    elif kind == "PyTorchJob" and _least(manifest) == 0:
        yield _pytorch_job_at_zero(manifest)
    elif kind in _COUNTED_BY_KUEUE:
        allowed = (
            "Kueue compares its worker count: at each change it deletes the Workload and queues "
            "another one"
        )
        yield manifest.warning((*_REF, "kind"), value=shown(kind), allowed=allowed)
    elif kind in _WITHOUT_SCALE:
        handle = f"; make a {KIND} of it and target that" if kind in SUPPORTED else ""
        allowed = f"it has no /scale subresource, which KEDA needs of a target{handle}"
        yield manifest.warning((*_REF, "kind"), value=shown(kind), allowed=allowed)
    elif kind == "InferenceService":
        allowed = "it has no /scale subresource: target its predictor's Deployment, NAME-predictor"
        yield manifest.warning((*_REF, "kind"), value=shown(kind), allowed=allowed)


def _least(manifest: Manifest) -> int:
    least, _, idle = sizes(manifest)
    return least if idle is None else min(least, idle)


def _pytorch_job_at_zero(manifest: Manifest) -> Finding:
    least, _, idle = sizes(manifest)
    path: Path = ("spec", "minReplicaCount" if least == 0 else "idleReplicaCount")
    allowed = (
        "at 0 its operator makes a worker again and again, and Kueue can't suspend it any more; "
        f"make a {KIND} of it with mode: Release and target that, or keep at least 1"
    )
    return manifest.error(path, value=str(least if least == 0 else idle), allowed=allowed)


def _worker_scale(manifest: Manifest, ours: tuple[OurTrigger, ...]) -> Iterator[Finding]:
    version = at(manifest.tree, *_REF, "apiVersion")
    if str(version).rpartition("/")[0] != GROUP:
        value = "" if version is None else shown(version)
        allowed = f"a {KIND} is of {GROUP}/v1alpha1; without it KEDA looks in apps/v1"
        yield manifest.error((*_REF, "apiVersion"), value=value, allowed=allowed)
    _, most, _ = sizes(manifest)
    if most < 1:
        allowed = "allowed is 1 or more: any number above zero means all workers"
        yield manifest.error(("spec", "maxReplicaCount"), value=str(most), allowed=allowed)
    for trigger in ours:
        if isinstance(trigger.parsed, QueueTrigger):
            path = (*trigger.path, "metadata", "signal")
            allowed = f"allowed is idle: a {KIND} has the workers of one workload, and no nodes"
            yield manifest.error(path, value="queue", allowed=allowed)
