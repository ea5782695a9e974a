"""S, the target's size now, and whether HOLD has to take it for running.

Sources: spec.replicas of a Deployment or StatefulSet, else the currentReplicas of the
HorizontalPodAutoscaler that KEDA made (absent at zero, where ScalingActive is False with reason
ScalingDisabled). A bundle without a ScaledObject has what is present: nodes of the pool, or pods.
"""

from dataclasses import dataclass

from scaler.core.model import Instant, ScaledObject
from scaler.core.policy import Policy
from scaler.core.snapshot import Snapshot
from scaler.core.trigger import Trigger


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """S, and how HOLD answers for it."""

    value: int | None
    """None = not known."""
    running: bool
    """S > 0, or S unknown while pods live or the ScaledObject's minimum keeps one."""
    detail: str
    """Where the number is from, or why there is none."""


def size_of(
    *,
    snapshot: Snapshot,
    scaled_object: ScaledObject | None,
    policy: Policy,
    trigger: Trigger,
    now: Instant,
) -> Size:
    """Read the target's size; a stale source gives none."""
    raise NotImplementedError
