"""What a Workload has of its queue, and what is left of its job: one moment of both."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from tests.e2e.api import Api, Object, condition
from tests.e2e.policies import GPUS

POD_SET = "kueue.x-k8s.io/podset"
CONDITIONS = ("QuotaReserved", "Admitted", "Evicted", "PodsReady")
REQUIRED = ("QuotaReserved", "Admitted")


class Lists(Protocol):
    """The part of Api that finds what keeps pods away."""

    def list(self, kind: str, namespace: str = "", *, labels: str = "") -> list[Object]:
        """Give all objects of a kind."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What a Workload has and must keep while its workers are away."""

    uid: str
    conditions: tuple[tuple[str, str], ...]
    """(type, status), those that it has."""
    reserved_at: str
    """QuotaReserved's lastTransitionTime."""
    evictions: int
    assigned: int
    """GPUs by its own admission."""

    @property
    def admitted(self) -> bool:
        """Say whether it has its quota and nothing takes it."""
        return (
            all((kind, "True") in self.conditions for kind in REQUIRED)
            and ("Evicted", "True") not in self.conditions
        )

    def __str__(self) -> str:
        told = " ".join(f"{kind}={status}" for kind, status in self.conditions)
        return (
            f"UID {self.uid[:8]}, {told}, reserved {self.reserved_at[11:19]}, "
            f"evictions {self.evictions}, assigned {self.assigned} GPUs"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """One moment."""

    claim: Claim
    usage: int
    """GPUs in the ClusterQueue's status, which trails by a second."""
    reservation: int
    pods: tuple[tuple[str, int], ...]
    """(podset, pods that run)."""
    suspended: tuple[str, ...]
    """Every field that keeps pods away, where it does."""

    def __str__(self) -> str:
        pods = ", ".join(f"{name} {count}" for name, count in self.pods) or "none"
        away = ", ".join(self.suspended) or "nothing"
        return (
            f"{self.claim}, ClusterQueue {self.usage} used {self.reservation} reserved, "
            f"pods: {pods}; suspended: {away}"
        )


def owned(workload: Object, kind: str, name: str) -> bool:
    """Say whether an object of that kind and name owns a Workload."""
    owners = workload["metadata"].get("ownerReferences") or []
    return any((each["kind"], each["name"]) == (kind, name) for each in owners)


def claim_of(workload: Object) -> Claim:
    """Read a Workload."""
    found = [(kind, condition(workload, kind).get("status")) for kind in CONDITIONS]
    status = workload.get("status") or {}
    stats = (status.get("schedulingStats") or {}).get("evictions") or []
    return Claim(
        uid=workload["metadata"]["uid"],
        conditions=tuple((kind, str(each)) for kind, each in found if each),
        reserved_at=condition(workload, "QuotaReserved").get("lastTransitionTime", ""),
        evictions=sum(each["count"] for each in stats),
        assigned=_assigned(status),
    )


def _assigned(status: Object) -> int:
    sets: Sequence[Object] = (status.get("admission") or {}).get("podSetAssignments") or []
    return sum(int((each.get("resourceUsage") or {}).get(GPUS, 0)) for each in sets)


def quota(cluster_queue: Object, field: str) -> int:
    """Sum up a ClusterQueue's GPUs in `flavorsUsage` or `flavorsReservation`."""
    flavors: Iterable[Object] = (cluster_queue.get("status") or {}).get(field) or []
    return sum(
        int(each.get("total", 0))
        for one in flavors
        for each in one["resources"]
        if each["name"] == GPUS
    )


def ledger_of(api: Api, workload: Object, cluster_queue: str) -> Ledger:
    """Read all of one moment; everything in the Workload's namespace is taken for its job's."""
    namespace = workload["metadata"]["namespace"]
    queue = api.get("ClusterQueue", cluster_queue) or {}
    running = Counter(
        each["metadata"].get("labels", {}).get(POD_SET, "no podset")
        for each in api.list("Pod", namespace)
        if each["status"].get("phase") == "Running"
    )
    return Ledger(
        claim=claim_of(workload),
        usage=quota(queue, "flavorsUsage"),
        reservation=quota(queue, "flavorsReservation"),
        pods=tuple(sorted(running.items())),
        suspended=(*_inactive(workload), *suspended(api, namespace)),
    )


def _inactive(workload: Object) -> tuple[str, ...]:
    return ("Workload active=false",) if workload["spec"].get("active") is False else ()


def suspended(api: Lists, namespace: str) -> tuple[str, ...]:
    """Name every field of the namespace's jobs that keeps pods away."""
    found = []
    for kind in ("RayCluster", "RayJob", "JobSet", "TrainJob", "Job"):
        for each in api.list(kind, namespace):
            name = f"{kind}/{each['metadata']['name']}"
            if each["spec"].get("suspend"):
                found.append(f"{name} suspend")
            if kind == "Job" and each["spec"].get("parallelism") == 0:
                found.append(f"{name} parallelism 0")
            found += [
                f"{name} group {group['groupName']}"
                for group in each["spec"].get("workerGroupSpecs", ())
                if group.get("suspend")
            ]
    return tuple(found)
