"""Ask for a Demand the way the tests of queues do."""

from scaler.core.demand.need import Demand
from scaler.core.demand.total import demand
from scaler.core.model import Instant
from scaler.core.reasons import WorkloadClass
from scaler.core.snapshot import Snapshot
from tests.builders import GPU, NOW


def ask(
    snapshot: Snapshot,
    *cluster_queues: str,
    resource: str = GPU,
    flavor: str | None = None,
    quota_follows_nodes: bool = False,
    provisioning_timeout: float = 900.0,
    now: Instant = NOW,
) -> Demand:
    """Ask for the demand of the ClusterQueues, by default of `gpu-cq`."""
    return demand(
        snapshot=snapshot,
        cluster_queues=cluster_queues or ("gpu-cq",),
        resource=resource,
        flavor=flavor,
        quota_follows_nodes=quota_follows_nodes,
        provisioning_timeout=provisioning_timeout,
        now=now,
    )


def pending_gpus(found: Demand) -> int:
    """Sum the GPUs of classes B, D and J that count."""
    return sum(row.gpus for row in found.counted if row.workload_class != WorkloadClass.UNPLACED)


def unplaced_gpus(found: Demand) -> int:
    """Sum the GPUs of class A."""
    return sum(row.gpus for row in found.counted if row.workload_class == WorkloadClass.UNPLACED)


def total_gpus(found: Demand) -> int:
    """Give what `unit: gpus, scope: total` would be."""
    return pending_gpus(found) + found.admitted_gpus


def classes(found: Demand) -> dict[str, int]:
    """Give Workloads by class."""
    counts: dict[str, int] = {}
    for row in found.classes:
        counts[row.workload_class] = counts.get(row.workload_class, 0) + row.workloads
    return counts


def counted(found: Demand) -> list[str]:
    """Give the names of the Workloads that count, in the order of the Needs."""
    return [need.workload.name for need in found.needs]
