"""What a batch's Workloads ask of quota: pods by podset, and flavors by resource group."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from scaler.core.demand.flavors import candidates, group_of
from scaler.core.demand.lineup import Batch, asked_counts
from scaler.core.model import ClusterQueue, Kind, PodSet, ResourceFlavor, ResourceGroup
from scaler.core.shape import is_extended
from scaler.core.snapshot import Snapshot

_PODS: Final = "pods"
"""The resource that a ClusterQueue may cover to count pods."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupAsk:
    """A podset's resources that are assigned one flavor together."""

    flavors: tuple[str, ...]
    """Those that fit, in order of preference; empty = none fits."""
    configured: tuple[str, ...]
    """All of the group, whether they fit or not."""
    each: tuple[tuple[str, int], ...]
    """(resource, amount) of one pod; empty where Kueue counts its devices as something else
    (resources.transformations), so that how much is known to Kueue alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One podset: how many pods, and what they need quota for; what is not covered is not here."""

    pod_set: PodSet
    count: int
    least: int
    """With how many pods Kueue may start it (minCount), else `count`."""
    groups: tuple[GroupAsk, ...]

    @property
    def transformed(self) -> bool:
        """Say whether Kueue counts the devices as a resource that the pods don't name."""
        return any(not group.each for group in self.groups)


def asks(*, snapshot: Snapshot, cluster_queue: ClusterQueue, batch: Batch) -> tuple[Ask, ...]:
    """Give what each member of a batch asks, podset by podset."""
    flavors = known_flavors(snapshot)
    return tuple(
        Ask(
            pod_set=pod_set,
            count=count,
            least=count if pod_set.min_count is None else min(count, pod_set.min_count),
            groups=tuple(_group_asks(pod_set, cluster_queue, flavors, batch.allowed_flavors)),
        )
        for pod_set, count in zip(batch.pod_sets, asked_counts(snapshot, batch), strict=True)
    )


def known_flavors(snapshot: Snapshot) -> Mapping[str, ResourceFlavor] | None:
    """Give the ResourceFlavors; None while they can't be read."""
    state = snapshot.sources.get(Kind.RESOURCE_FLAVORS)
    return snapshot.flavors if state is not None and state.synced else None


def flavor_order(ask: Ask, resource: str) -> tuple[str, ...]:
    """Give the flavors whose nodes the podset's pods may be on, by preference; () = any.

    The group of `resource` tells where the podset asks for it, else that of its other devices,
    else the first that it touches. Where none fits, Kueue knows better than we do: all of the
    group.
    """

    def rank(group: GroupAsk) -> tuple[bool, bool]:
        names = [name for name, _ in group.each]
        of_devices = not names or any(is_extended(name) for name in names)
        return (resource not in names, not of_devices)

    group = min(ask.groups, key=rank, default=None)
    return () if group is None else group.flavors or group.configured


def _group_asks(
    pod_set: PodSet,
    cluster_queue: ClusterQueue,
    flavors: Mapping[str, ResourceFlavor] | None,
    allowed: tuple[str, ...] | None,
) -> Iterator[GroupAsk]:
    wanted = dict(pod_set.shape.requests)
    if group_of(cluster_queue, _PODS) is not None:
        wanted[_PODS] = 1
    hidden = _counted_otherwise(pod_set, cluster_queue)
    for group in cluster_queue.groups:
        each = tuple((name, wanted[name]) for name in group.resources if name in wanted)
        if each or group is hidden:
            yield GroupAsk(
                flavors=candidates(
                    pod_set=pod_set,
                    group=group,
                    cluster_queue=cluster_queue,
                    flavors=flavors,
                    allowed=allowed,
                ),
                configured=tuple(name for name, _ in group.flavors),
                each=each,
            )


def _counted_otherwise(pod_set: PodSet, cluster_queue: ClusterQueue) -> ResourceGroup | None:
    """Give the group of what Kueue turns the podset's devices into, where no group has them.

    Transformations are in Kueue's own configuration, which is not read; a ClusterQueue that covers
    other devices than the podset's, and took it all the same, tells of one.
    """
    devices = {name for name, _ in pod_set.shape.requests if is_extended(name)}
    covered = {name for group in cluster_queue.groups for name in group.resources}
    if not devices or devices & covered:
        return None
    of_devices = (
        group
        for group in cluster_queue.groups
        if any(is_extended(name) for name in group.resources)
    )
    return next(of_devices, None)
