"""Class a Workload by its own spec and status, as Kueue wrote them.

Since 0.19 the reason of QuotaReserved=False says why a Workload waits. Up to 0.18 (and with the
gate UnadmittedWorkloadsObservability off) that reason is `Pending` for nearly everything, and the
message has to tell.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final, Protocol

from scaler.core.reasons import WorkloadClass


class ConditionLike(Protocol):
    """One of status.conditions, as far as it is read."""

    @property
    def status(self) -> str:
        """Give True, False or Unknown."""

    @property
    def reason(self) -> str:
        """Give the reason's one word."""

    @property
    def message(self) -> str:
        """Give the sentence for a person."""


_JUDGED: Final = ("Finished", "QuotaReserved", "Admitted", "Evicted")

_BY_REASON: Final[Mapping[str, WorkloadClass]] = {
    "TopologyPlacementFailed": WorkloadClass.TOPOLOGY,
    "WaitingForQuota": WorkloadClass.QUOTA,
    "ExceedsMaxQuota": WorkloadClass.EXCEEDS,
    "NoMatchingFlavor": WorkloadClass.NO_FLAVOR,
    "Misconfigured": WorkloadClass.NOT_DEMAND,
    "Suspended": WorkloadClass.NOT_DEMAND,
    "Deactivated": WorkloadClass.NOT_DEMAND,
    "AdmissionGated": WorkloadClass.NOT_DEMAND,
    "OnHold": WorkloadClass.NOT_DEMAND,
    "Inadmissible": WorkloadClass.NOT_DEMAND,
    "WaitingForPreemptedWorkloads": WorkloadClass.PREEMPTING,
    "WaitingForPodsReady": WorkloadClass.BLOCKED,
    "Waiting": WorkloadClass.BLOCKED,
    "PendingEvaluation": WorkloadClass.NOT_EVALUATED,
}

_BY_TEXT: Final[tuple[tuple[str, WorkloadClass], ...]] = (
    ("Pending the preemption of", WorkloadClass.PREEMPTING),
    ("overlapping preemption targets", WorkloadClass.PREEMPTING),
    ("insufficient unused quota", WorkloadClass.QUOTA),
    ("no longer fits after processing another workload", WorkloadClass.QUOTA),
    ("no topology domains at level", WorkloadClass.TOPOLOGY),
    ("doesn't allow to fit any of", WorkloadClass.TOPOLOGY),
    ("allows to fit only", WorkloadClass.TOPOLOGY),
    ("maximum capacity", WorkloadClass.EXCEEDS),
    ("insufficient quota", WorkloadClass.EXCEEDS),
    ("untolerated taint", WorkloadClass.NO_FLAVOR),
    ("doesn't match node affinity", WorkloadClass.NO_FLAVOR),
    ("doesn't match with node affinity", WorkloadClass.NO_FLAVOR),
    ("unavailable in ClusterQueue", WorkloadClass.NO_FLAVOR),
    ("support TopologyAwareScheduling", WorkloadClass.NO_FLAVOR),
    ("supports only TopologyAwareScheduling", WorkloadClass.NO_FLAVOR),
    ("not found", WorkloadClass.NO_FLAVOR),
    ("Bypassed scheduling evaluation", WorkloadClass.NOT_EVALUATED),
)
"""The first text that a message holds decides.

A message joins the flavors' reasons, so the flavor that would take the Workload wins over those
that never will; where it lacks quota and topology alike, Kueue reports quota.
"""


def standing(
    *,
    active: bool,
    conditions: Mapping[str, ConditionLike],
    has_admission: bool,
    checks: tuple[tuple[str, str], ...],
) -> WorkloadClass:
    """Class a Workload by its own status; `checks` are pairs of AdmissionCheck and state.

    An admitted one is RUNNING, or NOT_DEMAND on its way out (deactivated, evicted, waiting for
    replacement pods). What can't be told apart, an unknown reason or an unknown message, is
    CONTRADICTORY: it makes nothing grow, and it is seen. A message left from an eviction says
    nothing of the next evaluation: NOT_EVALUATED.
    """
    if _holds(conditions, "Finished"):
        return WorkloadClass.FINISHED
    if _contradicts(conditions, has_admission=has_admission):
        return WorkloadClass.CONTRADICTORY
    if not active or _set_aside(conditions):
        return WorkloadClass.NOT_DEMAND
    if has_admission:
        return _with_quota(conditions, checks)
    return _without_quota(
        conditions.get("QuotaReserved"), was_evicted=_holds(conditions, "Evicted")
    )


def _holds(conditions: Mapping[str, ConditionLike], kind: str) -> bool:
    found = conditions.get(kind)
    return found is not None and found.status == "True"


def _contradicts(conditions: Mapping[str, ConditionLike], *, has_admission: bool) -> bool:
    for kind in _JUDGED:
        found = conditions.get(kind)
        if found is not None and found.status not in ("True", "False"):
            return True
    reserved = _holds(conditions, "QuotaReserved")
    return reserved != has_admission or (_holds(conditions, "Admitted") and not reserved)


def _set_aside(conditions: Mapping[str, ConditionLike]) -> bool:
    """Say whether Kueue keeps it out of its queues for now (`IsAdmissible`)."""
    requeued = conditions.get("Requeued")
    return _holds(conditions, "WaitingForReplacementPods") or (
        requeued is not None and requeued.status == "False"
    )


def _with_quota(
    conditions: Mapping[str, ConditionLike], checks: tuple[tuple[str, str], ...]
) -> WorkloadClass:
    if _holds(conditions, "Evicted"):
        return WorkloadClass.NOT_DEMAND
    if _holds(conditions, "Admitted"):
        return WorkloadClass.RUNNING
    if any(state in ("Retry", "Rejected") for _, state in checks):
        return WorkloadClass.NOT_DEMAND
    return WorkloadClass.CHECKS


def _without_quota(reserved: ConditionLike | None, *, was_evicted: bool) -> WorkloadClass:
    if reserved is None:
        return WorkloadClass.NOT_EVALUATED
    known = _BY_REASON.get(reserved.reason)
    if known is not None:
        return known
    if reserved.reason not in ("Pending", ""):
        return WorkloadClass.CONTRADICTORY
    by_message = _by_message(reserved.message)
    if by_message is WorkloadClass.CONTRADICTORY and was_evicted:
        return WorkloadClass.NOT_EVALUATED
    return by_message


@lru_cache(maxsize=4096)
def _by_message(message: str) -> WorkloadClass:
    if not message:
        return WorkloadClass.NOT_EVALUATED
    return next((found for text, found in _BY_TEXT if text in message), WorkloadClass.CONTRADICTORY)
