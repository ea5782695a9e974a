"""Sum up what the Workloads of some ClusterQueues need of nodes."""

from scaler.core.model import Instant
from scaler.core.need import Demand
from scaler.core.snapshot import Snapshot


def demand(
    *,
    snapshot: Snapshot,
    cluster_queues: tuple[str, ...],
    resource: str,
    flavor: str | None,
    quota_follows_nodes: bool,
    provisioning_timeout: float,
    now: Instant,
) -> Demand:
    """Class every Workload of the ClusterQueues and give those that need nodes."""
    raise NotImplementedError
