"""Pods: those that are kept whole, and those of which only the claim on a node counts."""

from collections.abc import Mapping
from dataclasses import dataclass

from scaler.core.model.names import Amounts, Instant, Name


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerRef:
    """One ownerReference."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """A pod that is kept whole: it requests GPUs, or belongs to a watched workload."""

    namespace: str
    name: str
    uid: str
    phase: str
    created: Instant
    requests: Amounts
    node: str | None = None
    deleting: bool = False
    gone_by: Instant | None = None
    """deletionTimestamp: when its grace period is over; None while it is not deleting."""
    ready_since: Instant | None = None
    """lastTransitionTime of Ready=True; None while not Ready."""
    unschedulable: bool = False
    """PodScheduled is False with reason Unschedulable."""
    placeholder: bool = False
    """Negative priority or label kueue-gpu-scaler.dev/placeholder: holds nothing."""
    labels: Mapping[str, str]
    workload: str | None = None
    """Name of its Kueue Workload, by annotation or pod group; None where neither is there."""
    pod_set: str | None = None
    """Label kueue.x-k8s.io/podset."""
    owners: tuple[OwnerRef, ...] = ()
    opted_out: bool = False

    @property
    def key(self) -> Name:
        """Give namespace and name."""
        return (self.namespace, self.name)

    @property
    def live(self) -> bool:
        """Say whether it still runs or may run: not Succeeded, Failed or terminating."""
        return self.phase not in ("Succeeded", "Failed") and not self.deleting

    @property
    def finished(self) -> bool:
        """Say whether it ended, and so holds nothing on its node."""
        return self.phase in ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedPod:
    """A pod of which only its claim on a node counts: no extended resource, not under Kueue."""

    namespace: str
    name: str
    node: str | None
    """None while it is not bound, has finished, or is a placeholder: it holds nothing."""
    requests: Amounts
    """Shared between equal pods."""

    @property
    def key(self) -> Name:
        """Give namespace and name."""
        return (self.namespace, self.name)
