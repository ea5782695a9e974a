"""Queues, quota, flavors and admission checks."""

from dataclasses import dataclass
from enum import StrEnum

from scaler.core.model.shapes import Taint, Toleration


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """A flavor's quota for one resource in a ClusterQueue or Cohort; None = no limit."""

    nominal: int
    borrowing_limit: int | None = None
    lending_limit: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceGroup:
    """Resources that are assigned a flavor together, and the flavors in order of preference."""

    resources: tuple[str, ...]
    flavors: tuple[tuple[str, tuple[tuple[str, Quota], ...]], ...]
    """(flavor, ((resource, quota), ...)) in the ClusterQueue's order."""


class StopPolicy(StrEnum):
    """spec.stopPolicy of a ClusterQueue or LocalQueue."""

    NONE = "None"
    HOLD = "Hold"
    HOLD_AND_DRAIN = "HoldAndDrain"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterQueue:
    """A ClusterQueue's spec, both API versions alike."""

    name: str
    cohort: str | None = None
    strict_fifo: bool = False
    stop_policy: StopPolicy = StopPolicy.NONE
    deleting: bool = False
    groups: tuple[ResourceGroup, ...] = ()
    inactive: str | None = None
    """Reason of the condition Active=False; None while Active or not said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalQueue:
    """A LocalQueue: the way from a namespace to a ClusterQueue."""

    namespace: str
    name: str
    cluster_queue: str
    stop_policy: StopPolicy = StopPolicy.NONE
    deleting: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Cohort:
    """A Cohort object; a cohort that only ClusterQueues name has none and no quota of its own."""

    name: str
    parent: str | None = None
    groups: tuple[ResourceGroup, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceFlavor:
    """A ResourceFlavor: the bridge to nodes."""

    name: str
    node_labels: tuple[tuple[str, str], ...] = ()
    taints: tuple[Taint, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    topology: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionCheck:
    """An AdmissionCheck: which controller answers it."""

    name: str
    controller: str
