"""What is asked about a component, and what is found."""

from dataclasses import dataclass

from scaler.core.decision import Verdict
from scaler.core.idle.join import DeviceUse
from scaler.core.model import Instant, ScaledObject, WorkerScale
from scaler.core.policy import Policy
from scaler.core.reasons import Reason
from scaler.core.snapshot import Snapshot
from scaler.core.workers.query import Heard, Query, hear
from scaler.core.workers.resolve import Resolved


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A component to be judged, and all that is known at that moment."""

    snapshot: Snapshot
    resolved: Resolved
    size: int | None
    scaled_object: ScaledObject | None
    policy: Policy
    now: Instant
    scale: WorkerScale | None = None
    """The one that the trigger speaks of."""

    def hear(self, query: Query) -> Heard:
        """Hear a bound query's answer."""
        return hear(
            query=query,
            answers=self.snapshot.answers,
            max_age=self.policy.safety.max_sample_age,
            now=self.now,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A verdict and what it rests on."""

    verdict: Verdict
    reason: Reason
    detail: str
    devices: tuple[DeviceUse, ...] = ()
    keep_alive: str | None = None
    """What the keepAlive query said, in words."""
    wake: str | None = None
    """What woke it, or the wake query's answer, in words."""
