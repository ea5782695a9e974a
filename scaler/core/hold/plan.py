"""Plan what is done for a WorkerScale now: one pure function of all that is known."""

from collections.abc import Sequence

from scaler.core.decision import Decision
from scaler.core.hold.kinds import SUPPORTED
from scaler.core.hold.steps import Plan
from scaler.core.hold.words import Cause, State
from scaler.core.model import Instant, WorkerScale
from scaler.core.policy import Policy
from scaler.core.snapshot import Snapshot


def plan(
    *,
    snapshot: Snapshot,
    scale: WorkerScale,
    decisions: Sequence[Decision],
    policy: Policy,
    now: Instant,
    allowed: frozenset[str] = SUPPORTED,
) -> Plan:
    """Say what a WorkerScale is, what is done for it now, and why.

    `decisions` are those of its idle triggers; none at all means that nothing is known, which is
    not idle. `allowed` are the kinds that the policy lets WorkerScales act on.
    """
    del snapshot, decisions, policy, now, allowed
    return Plan(
        scale=scale,
        target=scale.target,
        state=State.UNREAD,
        cause=Cause.SIZE_NOT_READ,
        message="the target's present size was not read yet",
        status=scale.status,
    )
