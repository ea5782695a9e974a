"""Sum up what the Workloads of some ClusterQueues need of nodes.

A and B need nodes as they stand; D and J as far as a simulated admission finds quota free, or all
of them where quota follows nodes. No other class needs any.
"""

from dataclasses import dataclass

from scaler.core.decision import ClassCount
from scaler.core.demand.admissibility import line_up, lost
from scaler.core.demand.granted import on_flavor, requested
from scaler.core.demand.lineup import Batch, asked_counts
from scaler.core.demand.need import Demand, Need
from scaler.core.demand.needs import (
    Needs,
    Selection,
    Tally,
    needs_of_placed,
    needs_of_waiting,
    not_started,
)
from scaler.core.demand.placed import devices, place
from scaler.core.demand.quota import simulated
from scaler.core.model import Instant
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
    """Class every Workload of the ClusterQueues and give those that need nodes.

    `provisioning_timeout` in seconds. With `flavor` only pods and devices of that flavor count;
    `classes` still has all Workloads. Cost: Workloads with quota and Needs, not those that wait.
    """
    names = tuple(dict.fromkeys(cluster_queues))
    shares = [
        _share(
            snapshot,
            Selection(
                cluster_queue=name,
                resource=resource,
                flavor=flavor,
                quota_follows_nodes=quota_follows_nodes,
            ),
            provisioning_timeout,
            now,
        )
        for name in names
    ]
    return Demand(
        needs=tuple(need for share in shares for need in share.needs),
        classes=tuple(count for share in shares for count in share.classes),
        counted=tuple(count for share in shares for count in share.counted),
        missing_cluster_queues=tuple(one for one in names if one not in snapshot.cluster_queues),
        not_routable=lost(snapshot) + sum(share.not_routable for share in shares),
        not_counted_dra=sum(share.dra_pods for share in shares),
        admitted_gpus=sum(share.admitted_gpus for share in shares),
        admitted_workloads=sum(share.admitted_workloads for share in shares),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Share:
    """One ClusterQueue's part of a Demand."""

    needs: tuple[Need, ...]
    classes: tuple[ClassCount, ...]
    counted: tuple[ClassCount, ...]
    not_routable: int
    dra_pods: int
    admitted_gpus: int
    admitted_workloads: int


def _share(snapshot: Snapshot, selection: Selection, timeout: float, now: Instant) -> _Share:
    name, resource, flavor = selection.cluster_queue, selection.resource, selection.flavor
    lineup = line_up(snapshot=snapshot, cluster_queue=name, now=now)
    placed = [
        place(
            snapshot=snapshot,
            workload=workload,
            lineup=lineup,
            provisioning_timeout=timeout,
            now=now,
        )
        for workload in lineup.holding
    ]
    unplaced = needs_of_placed(placed, selection)
    waiting = _waiting(snapshot, selection, now)
    tally = Tally(name)
    for batch in lineup.waiting:
        each = _devices_asked(snapshot, batch, resource)
        tally.add(batch.workload_class, len(batch.members), each * len(batch.members))
    for one in placed:
        tally.add(one.workload_class, 1, requested(one.workload, resource))
    return _Share(
        needs=(*unplaced.needs, *waiting.needs),
        classes=tally.counts(),
        counted=(*unplaced.counted, *waiting.counted),
        not_routable=lineup.not_routable,
        dra_pods=unplaced.dra_pods + waiting.dra_pods,
        admitted_gpus=sum(
            devices(snapshot=snapshot, placed=one, lineup=lineup, resource=resource, flavor=flavor)
            for one in placed
        ),
        admitted_workloads=sum(
            one.counts and on_flavor(one.workload, resource, flavor) for one in placed
        ),
    )


def _waiting(snapshot: Snapshot, selection: Selection, now: Instant) -> Needs:
    """Give the Needs of those that wait, kept for all triggers that select the same."""
    granted = simulated(snapshot=snapshot, cluster_queue=selection.cluster_queue, now=now)
    if granted is None:
        return Needs()
    waiting = snapshot.memo.recall(
        ("needs", selection), (granted,), lambda: needs_of_waiting(granted, selection)
    )
    return not_started(waiting, snapshot=snapshot, selection=selection)


def _devices_asked(snapshot: Snapshot, batch: Batch, resource: str) -> int:
    counts = asked_counts(snapshot, batch)
    return sum(
        dict(pod_set.shape.requests).get(resource, 0) * count
        for pod_set, count in zip(batch.pod_sets, counts, strict=True)
    )
