"""The kinds that a WorkerScale may name: what can be done with each, and what else to do."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from scaler.core.model import Kind, Mode, WorkerTarget


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetKind:
    """A kind of target."""

    group: str
    modes: frozenset[Mode]
    reads: frozenset[Kind] = frozenset()
    """What holding it needs beyond Workloads and pods."""
    recovers: bool = False
    """A wake without nodes starts Kueue's recovery clock: nodes first."""
    instead: str = ""
    """What the user can do where a mode does not fit."""


_BOTH: Final = frozenset({Mode.HOLD, Mode.RELEASE})
_RELEASE: Final = frozenset({Mode.RELEASE})
_RAY: Final = frozenset({Kind.RAY_CLUSTERS})
_JOBS: Final = frozenset({Kind.JOB_SETS, Kind.JOBS})
_CHOOSE_RELEASE: Final = (
    "mode: Release gives the quota back and keeps the Workload; all its pods go"
)
_DIRECTLY: Final = "let the ScaledObject target it directly: it has a scale subresource"

KINDS: Mapping[str, TargetKind] = MappingProxyType(
    {
        "RayCluster": TargetKind(group="ray.io", modes=_BOTH, reads=_RAY),
        "RayJob": TargetKind(group="ray.io", modes=_BOTH, reads=_RAY),
        "JobSet": TargetKind(group="jobset.x-k8s.io", modes=_BOTH, reads=_JOBS, recovers=True),
        "TrainJob": TargetKind(
            group="trainer.kubeflow.org", modes=_BOTH, reads=_JOBS, recovers=True
        ),
        "Job": TargetKind(group="batch", modes=_RELEASE, instead=_CHOOSE_RELEASE),
        "PyTorchJob": TargetKind(group="kubeflow.org", modes=_RELEASE, instead=_CHOOSE_RELEASE),
        "MPIJob": TargetKind(group="kubeflow.org", modes=_RELEASE, instead=_CHOOSE_RELEASE),
        "RayService": TargetKind(group="ray.io", modes=_RELEASE, instead=_CHOOSE_RELEASE),
        "AppWrapper": TargetKind(
            group="workload.codeflare.dev", modes=_RELEASE, instead=_CHOOSE_RELEASE
        ),
        "Notebook": TargetKind(
            group="kubeflow.org",
            modes=_RELEASE,
            reads=frozenset({Kind.NOTEBOOKS}),
            instead="mode: Release stops it, and a person starts it again",
        ),
        "Deployment": TargetKind(group="apps", modes=frozenset(), instead=_DIRECTLY),
        "StatefulSet": TargetKind(
            group="apps",
            modes=frozenset(),
            instead=f"{_DIRECTLY} (under Kueue only from all to none and back)",
        ),
        "LeaderWorkerSet": TargetKind(
            group="leaderworkerset.x-k8s.io", modes=frozenset(), instead=_DIRECTLY
        ),
        "InferenceService": TargetKind(
            group="serving.kserve.io",
            modes=frozenset(),
            instead="set autoscalerClass external and let the ScaledObject target its "
            "predictor's Deployment",
        ),
    }
)
"""By kind."""

SUPPORTED: Final = frozenset(kind for kind, one in KINDS.items() if one.modes)
"""Kinds whose workers can be taken in some mode."""


def kind_of(target: WorkerTarget) -> TargetKind | None:
    """Give what can be done with a target's kind; None where it, or its group, is not known."""
    found = KINDS.get(target.kind)
    return found if found is not None and found.group == target.group else None
