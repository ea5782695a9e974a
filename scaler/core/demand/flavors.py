"""Which ResourceFlavors of a ClusterQueue a podset may be given, before quota has a say."""

from collections.abc import Iterable, Mapping

from scaler.core.constraints import meets, untolerated
from scaler.core.model import ClusterQueue, PodSet, PodShape, ResourceFlavor, ResourceGroup


def candidates(
    *,
    pod_set: PodSet,
    group: ResourceGroup,
    cluster_queue: ClusterQueue,
    flavors: Mapping[str, ResourceFlavor] | None,
    allowed: tuple[str, ...] | None = None,
) -> tuple[str, ...]:
    """Give the group's flavors that fit the podset, in the ClusterQueue's order.

    `flavors` None means that ResourceFlavors can't be read: then each that is named fits. One
    that is named and does not exist never fits. `allowed` is the Workload's annotation.
    """
    names = [name for name, _ in group.flavors if allowed is None or name in allowed]
    if flavors is None:
        return tuple(names)
    spreads = pod_set.topology is not None or _topology_only(cluster_queue, flavors)
    return tuple(
        name
        for name in names
        if name in flavors
        and (flavors[name].topology is not None) == spreads
        and _takes(flavors[name], pod_set.shape)
    )


def group_of(cluster_queue: ClusterQueue, resource: str) -> ResourceGroup | None:
    """Give the group that covers a resource; None where the ClusterQueue does not."""
    return next((one for one in cluster_queue.groups if resource in one.resources), None)


def _topology_only(cluster_queue: ClusterQueue, flavors: Mapping[str, ResourceFlavor]) -> bool:
    """Say whether every flavor has a topology: then plain podsets get topology implicitly."""
    names = {name for group in cluster_queue.groups for name, _ in group.flavors}
    found = [flavors[name].topology for name in names if name in flavors]
    return bool(found) and all(topology is not None for topology in found)


def _takes(flavor: ResourceFlavor, shape: PodShape) -> bool:
    """Check taints, then selector and required affinity on the flavor's own label keys alone."""
    if untolerated(flavor.taints, (*shape.tolerations, *flavor.tolerations)):
        return False
    labels = dict(flavor.node_labels)
    if any(labels.get(key, value) != value for key, value in shape.node_selector):
        return False
    return _matches(labels, shape)


def _matches(labels: Mapping[str, str], shape: PodShape) -> bool:
    terms: Iterable[list[bool]] = (
        [meets(one, labels, complete=True) for one in term if one.key in labels]
        for term in shape.affinity
    )
    return not shape.affinity or any(all(term) for term in terms)
