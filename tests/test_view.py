"""What people read of a Decision says no more than is known."""

from dataclasses import replace

from scaler.core.decision import Decision, IdleEvidence, Status, Verdict
from scaler.core.reasons import Reason
from scaler.view import lines
from tests.builders import NOW

AT_ZERO = Decision(
    namespace="ml",
    name="chat",
    metric="idle-x",
    status=Status.OK,
    active=False,
    value=0,
    reason=Reason.AT_ZERO,
    detail="nothing runs",
    at=NOW,
    size=0,
    idle=IdleEvidence(workload="Deployment/chat", component="", verdict=Verdict.IDLE),
)


def test_without_pods_nothing_is_told_of_their_gpus() -> None:
    """Neither how long they rest nor how many were seen: there are none."""
    told = lines(AT_ZERO)
    assert "  pods      none" in told
    assert not [line for line in told if line.startswith(("  idle for", "  GPUs"))]


def test_with_pods_the_time_and_their_gpus_are_told() -> None:
    """Unknown where it is."""
    assert AT_ZERO.idle is not None
    told = lines(replace(AT_ZERO, idle=replace(AT_ZERO.idle, pods=("a", "b"))))
    assert any(line.startswith("  idle for  unknown") for line in told)
    assert "  pods      2: a, b" in told
