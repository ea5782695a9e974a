"""The record of one change that gives another answer, and how amounts and times are told."""

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from scaler.core.decision import Status
from scaler.core.model import Amounts, Instant
from scaler.core.quantity import format_amount, format_duration, several
from scaler.core.reasons import Reason


class Lever(StrEnum):
    """Name what would have to be another."""

    QUOTA = "Quota"
    BORROWING_LIMIT = "BorrowingLimit"
    MAX_NODES = "MaxNodes"
    MAX_REPLICAS = "MaxReplicas"
    NODE = "Node"
    """What one node of the pool offers."""
    DEVICES = "Devices"
    """What the pool's nodes show of them."""
    TOLERANCE = "Tolerance"
    """behavior.scaleUp.tolerance of the HPA."""
    DEMAND = "Demand"
    """The Workloads that wait."""
    TIME = "Time"
    """Nothing has to be done: it comes by itself."""
    ACTIVITY = "Activity"
    """What the GPUs and the requests do."""
    PODS = "Pods"
    SAMPLES = "Samples"
    QUERY = "Query"
    DRY_RUN = "DryRun"
    OPT_OUT = "OptOut"
    SCHEDULE = "Schedule"
    SOURCE = "Source"
    """A kind of the API server, or Prometheus."""
    OBJECT = "Object"
    """Something that is named, and is not there."""
    METADATA = "Metadata"
    """The trigger's own keys."""
    PAUSE = "Pause"
    """An annotation for which KEDA asks nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What is decided once the change is made."""

    status: Status
    reason: Reason
    value: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """One change, and the answer that it gives."""

    lever: Lever
    text: str
    """A sentence without its full stop."""
    subject: str = ""
    """Where: `clusterqueue/NAME`, `cohort/NAME`, `pool/NAME`, `workload/NAMESPACE/NAME`, ..."""
    flavor: str = ""
    """Of quota: whose."""
    more: Amounts = ()
    """How much more of what: a resource in its own unit, `nodes`, `replicas`, `samples`."""
    at: Instant | None = None
    """When it comes, where it is a matter of time."""
    then: Outcome | None = None
    """Decided anew on the changed snapshot; None where only the cluster can tell."""


def amount_told(resource: str, amount: int) -> str:
    """Write an amount of a resource for people, and still exactly."""
    if resource.endswith("/gpu"):
        return several(amount, "GPU")
    if resource == "cpu":
        cores = format_amount(resource, amount)
        return f"{cores} CPU" + ("" if cores == "1" else "s")
    if "/" not in resource and resource != "pods":
        return f"{format_amount(resource, amount)} of {resource}"
    return f"{amount} {resource}"


def amounts_told(amounts: Amounts) -> str:
    """Write several amounts, the devices first."""
    ordered = sorted(amounts, key=lambda one: ("/" not in one[0], one))
    return " and ".join(amount_told(resource, amount) for resource, amount in ordered)


def moment_told(at: Instant, now: Instant) -> str:
    """Write a coming time of day in UTC and how far it is: `14:32:10 UTC (in 12m)`."""
    then, today = datetime.fromtimestamp(at, tz=UTC), datetime.fromtimestamp(now, tz=UTC)
    day = "" if then.date() == today.date() else f"{then:%Y-%m-%d} "
    return f"{day}{then:%H:%M:%S} UTC (in {format_duration(round(at - now))})"


def outcome_told(then: Outcome, value: int | None) -> str:
    """Write an outcome against the value of now."""
    if then.value is None:
        return f"the answer is {then.status} ({then.reason})"
    if then.value == value:
        return f"the value stays {then.value}"
    instead = "" if value is None else f" instead of {value}"
    return f"the value is {then.value}{instead}"
