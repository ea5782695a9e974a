"""Decide for a WorkerScale's workers, and plan it within what the policy allows."""

from collections.abc import Sequence

from scaler.core.decide import decide
from scaler.core.decision import Decision
from scaler.core.hold.plan import plan
from scaler.core.hold.steps import Plan
from scaler.core.model import Instant, WorkerScale
from scaler.core.policy import Policy
from scaler.core.scales import refs_of_scale
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


def decided_plan(
    *, snapshot: Snapshot, scale: WorkerScale, policy: Policy, now: Instant
) -> tuple[Plan, tuple[Decision, ...]]:
    """Decide for a WorkerScale's workers and plan it; give the plan and what it rests on."""
    decisions = tuple(
        decide(snapshot=snapshot, ref=ref, policy=policy, now=now)
        for ref in refs_of_scale(snapshot, scale)
    )
    plan = plan_within_policy(
        snapshot=snapshot, scale=scale, decisions=decisions, policy=policy, now=now
    )
    return plan, decisions
