"""Ask for the Remedies of a trigger of the shared clusters."""

from collections.abc import Mapping

from scaler.core.decide import decide
from scaler.core.decision import Decision
from scaler.core.model import Instant
from scaler.core.policy import Policy
from scaler.core.remedy.find import remedies
from scaler.core.remedy.remedy import Lever, Remedy
from scaler.core.snapshot import Snapshot
from scaler.core.trigger import TriggerRef
from tests.builders import NOW
from tests.core.queue_fixture import NODES
from tests.core.queue_fixture import POLICY as QUEUE_POLICY


def asked(
    snapshot: Snapshot,
    metadata: Mapping[str, str] = NODES,
    *,
    policy: Policy = QUEUE_POLICY,
    now: Instant = NOW,
) -> tuple[Decision, tuple[Remedy, ...]]:
    """Decide the trigger of `ml/so`, and give what would have to change."""
    ref = TriggerRef.of(namespace="ml", name="so", metadata=metadata)
    decision = decide(snapshot=snapshot, ref=ref, policy=policy, now=now)
    found = remedies(snapshot=snapshot, ref=ref, policy=policy, now=now, decision=decision)
    return decision, found


def pulled(found: tuple[Remedy, ...], lever: Lever) -> Remedy:
    """Give the one Remedy of a lever."""
    (one,) = [each for each in found if each.lever is lever]
    return one
