"""Plan a WorkerScale within what the policy allows."""

from collections.abc import Sequence

from scaler.core.decision import Decision
from scaler.core.hold.plan import plan
from scaler.core.hold.steps import Plan
from scaler.core.model import Instant, WorkerScale
from scaler.core.policy import Policy
from scaler.core.snapshot import Snapshot


def plan_within_policy(
    *,
    snapshot: Snapshot,
    scale: WorkerScale,
    decisions: Sequence[Decision],
    policy: Policy,
    now: Instant,
) -> Plan:
    """Plan with the kinds that the policy lets WorkerScales act on."""
    return plan(
        snapshot=snapshot,
        scale=scale,
        decisions=decisions,
        policy=policy,
        now=now,
        allowed=frozenset(policy.worker_scales.kinds),
    )
