"""Turn waiting and unplaced Workloads into Needs: pods by podset, and the flavors for them."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from scaler.core.decision import ClassCount
from scaler.core.demand.asks import Ask, flavor_order
from scaler.core.demand.granted import assigned_flavor
from scaler.core.demand.grants import Grant
from scaler.core.demand.need import Need, PodNeed
from scaler.core.demand.placed import Placed
from scaler.core.demand.quota import COUNTED, QueueGrants
from scaler.core.model import Instant, Workload
from scaler.core.reasons import WorkloadClass
from scaler.core.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which part of a ClusterQueue's demand is asked for."""

    cluster_queue: str
    resource: str
    """Tells a podset's flavor where its resources are in several groups."""
    flavor: str | None
    """Only pods that this flavor would take; None = all."""
    quota_follows_nodes: bool = False
    """D and J need nodes whether quota is free or not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """Needs in Kueue's order, and what could not be put into them."""

    needs: tuple[Need, ...] = ()
    counted: tuple[ClassCount, ...] = ()
    """The Needs by class."""
    dra_pods: int = 0
    """Pods left out because they ask for devices by DRA claims only."""


def needs_of_waiting(queue: QueueGrants, selection: Selection) -> Needs:
    """Give the Needs of a ClusterQueue's waiting Workloads, as far as quota is free for them."""
    needs: list[Need] = []
    dra = 0
    for batch, asks, grants in zip(queue.lineup.waiting, queue.asks, queue.grants, strict=True):
        if batch.workload_class not in COUNTED:
            continue
        members = batch.members
        if not (selection.quota_follows_nodes and _has_flavors(asks)):
            members = members[: len(grants)]
        pods_of = _PodsOf(asks, selection)
        for index, workload in enumerate(members):
            pods, left_out = pods_of(grants[index] if index < len(grants) else None)
            dra += left_out
            if pods:
                needs.append(_need(workload, batch.workload_class, pods, selection))
    return _summed_up(needs, dra, selection)


def not_started(waiting: Needs, *, snapshot: Snapshot, selection: Selection) -> Needs:
    """Leave out the Workloads whose pods run already: their admission is on its way to us.

    Pods and Workloads come by watches of their own. Where the pods are ahead, the nodes below them
    are taken and the Workload still asks for more: the same work would count twice.
    """
    left = tuple(need for need in waiting.needs if not _runs(snapshot, need.workload))
    if len(left) == len(waiting.needs):
        return waiting
    return _summed_up(list(left), waiting.dra_pods, selection)


def _runs(snapshot: Snapshot, workload: Workload) -> bool:
    pods = snapshot.pods_by_workload.get(workload.key, ())
    return any(pod.live and pod.node is not None for pod in pods)


def needs_of_placed(placed: Iterable[Placed], selection: Selection) -> Needs:
    """Give the Needs of admitted Workloads whose pods have no place."""
    needs: list[Need] = []
    dra = 0
    for one in placed:
        pods: list[PodNeed] = []
        for part in one.unplaced:
            flavor = assigned_flavor(part.flavors, selection.resource)
            if selection.flavor not in (None, flavor):
                continue
            if part.pod_set.shape.dra_only:
                dra += part.count
                continue
            pods.append(
                PodNeed(
                    pod_set=part.pod_set.name,
                    shape=part.pod_set.shape,
                    count=part.count,
                    topology=part.pod_set.topology,
                    flavors=() if flavor is None else (flavor,),
                )
            )
        if pods:
            since = one.held.since  # a wake begins its wait anew
            needs.append(_need(one.workload, one.workload_class, tuple(pods), selection, since))
    return _summed_up(needs, dra, selection)


def _has_flavors(asks: tuple[Ask, ...]) -> bool:
    return all(group.flavors for ask in asks if ask.count for group in ask.groups)


class _PodsOf:
    """Make a batch's PodNeeds, once for each way in which its members are granted."""

    def __init__(self, asks: tuple[Ask, ...], selection: Selection) -> None:
        self._asks = asks
        self._selection = selection
        self._made: dict[int, tuple[tuple[PodNeed, ...], int]] = {}

    def __call__(self, grant: Grant | None) -> tuple[tuple[PodNeed, ...], int]:
        """Give the PodNeeds and the pods left out; equal grants of a batch are one object."""
        made = self._made.get(id(grant))
        if made is None:
            rows = tuple(self._rows(grant))
            made = (
                tuple(one for one in rows if not one.shape.dra_only),
                sum(one.count for one in rows if one.shape.dra_only),
            )
            self._made[id(grant)] = made
        return made

    def _rows(self, grant: Grant | None) -> Iterator[PodNeed]:
        for index, ask in enumerate(self._asks):
            flavors = flavor_order(ask, self._selection.resource)
            count = ask.count
            if grant is not None:
                count = grant[index].count
                chosen = assigned_flavor(grant[index].flavors, self._selection.resource)
                if chosen in flavors:
                    flavors = (chosen, *(one for one in flavors if one != chosen))
            if count > 0 and self._selection.flavor in (None, *flavors[:1]):
                yield PodNeed(
                    pod_set=ask.pod_set.name,
                    shape=ask.pod_set.shape,
                    count=count,
                    topology=ask.pod_set.topology,
                    flavors=flavors,
                )


def _need(
    workload: Workload,
    workload_class: WorkloadClass,
    pods: tuple[PodNeed, ...],
    selection: Selection,
    since: Instant | None = None,
) -> Need:
    return Need(
        workload=workload,
        workload_class=workload_class,
        cluster_queue=selection.cluster_queue,
        pods=pods,
        since=workload.waiting_since if since is None else since,
    )


def _summed_up(needs: list[Need], dra_pods: int, selection: Selection) -> Needs:
    tally = Tally(selection.cluster_queue)
    gpus: dict[int, int] = {}
    for need in needs:
        each = gpus.get(id(need.pods))
        if each is None:
            each = gpus[id(need.pods)] = _devices(need.pods, selection.resource)
        tally.add(need.workload_class, 1, each)
    in_order = tuple(sorted(needs, key=_queue_order))
    return Needs(needs=in_order, counted=tally.counts(), dra_pods=dra_pods)


def _devices(pods: Iterable[PodNeed], resource: str) -> int:
    return sum(dict(one.shape.requests).get(resource, 0) * one.count for one in pods)


def _queue_order(need: Need) -> tuple[int, Instant, str]:
    workload = need.workload
    return (-workload.priority, workload.queued_at, workload.uid)


class Tally:
    """Count one ClusterQueue's Workloads and their devices by class."""

    def __init__(self, cluster_queue: str) -> None:
        self._cluster_queue = cluster_queue
        self._rows: defaultdict[WorkloadClass, list[int]] = defaultdict(lambda: [0, 0])

    def add(self, workload_class: WorkloadClass, workloads: int, gpus: int) -> None:
        """Count Workloads of a class, with all their devices together."""
        row = self._rows[workload_class]
        row[0] += workloads
        row[1] += gpus

    def counts(self) -> tuple[ClassCount, ...]:
        """Give a row for each class that occurs, in the order of the classes."""
        return tuple(
            ClassCount(
                cluster_queue=self._cluster_queue,
                workload_class=one,
                workloads=self._rows[one][0],
                gpus=self._rows[one][1],
            )
            for one in WorkloadClass
            if one in self._rows
        )
