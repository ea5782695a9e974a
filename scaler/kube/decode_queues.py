"""Turn queues, quota and flavors into records; both API versions give the same ones."""

from scaler.core.model import (
    AdmissionCheck,
    ClusterQueue,
    Cohort,
    LocalQueue,
    Quota,
    ResourceFlavor,
    ResourceGroup,
    StopPolicy,
)
from scaler.core.quantity import amount
from scaler.kube.decode_meta import FALSE, by_type
from scaler.kube.decode_shapes import taints, tolerations
from scaler.kube.structs_kueue import (
    WireAdmissionCheck,
    WireClusterQueue,
    WireCohort,
    WireLocalQueue,
    WireQuota,
    WireResourceFlavor,
    WireResourceGroup,
)


def cluster_queue(wire: WireClusterQueue) -> ClusterQueue:
    """Make a ClusterQueue's record.

    Raises:
        ValueError: a quantity is malformed, or a stopPolicy unknown.
    """
    spec = wire.spec
    active = by_type(wire.status.conditions if wire.status else None).get("Active")
    return ClusterQueue(
        name=wire.metadata.name,
        cohort=spec.cohort_name or spec.cohort or None,
        strict_fifo=spec.queueing_strategy == "StrictFIFO",
        stop_policy=StopPolicy(spec.stop_policy or "None"),
        deleting=wire.metadata.deletion_timestamp is not None,
        groups=_groups(spec.resource_groups),
        inactive=(active.reason or FALSE)
        if active is not None and active.status == FALSE
        else None,
    )


def cohort(wire: WireCohort) -> Cohort:
    """Make a Cohort's record.

    Raises:
        ValueError: a quantity is malformed.
    """
    spec = wire.spec
    return Cohort(
        name=wire.metadata.name,
        parent=spec.parent_name or spec.parent or None,
        groups=_groups(spec.resource_groups),
    )


def local_queue(wire: WireLocalQueue) -> LocalQueue:
    """Make a LocalQueue's record.

    Raises:
        ValueError: an unknown stopPolicy.
    """
    return LocalQueue(
        namespace=wire.metadata.namespace,
        name=wire.metadata.name,
        cluster_queue=wire.spec.cluster_queue,
        stop_policy=StopPolicy(wire.spec.stop_policy or "None"),
        deleting=wire.metadata.deletion_timestamp is not None,
    )


def resource_flavor(wire: WireResourceFlavor) -> ResourceFlavor:
    """Make a ResourceFlavor's record."""
    spec = wire.spec
    return ResourceFlavor(
        name=wire.metadata.name,
        node_labels=tuple(sorted((spec.node_labels or {}).items())),
        taints=taints(spec.node_taints),
        tolerations=tolerations(spec.tolerations or ()),
        topology=spec.topology_name,
    )


def admission_check(wire: WireAdmissionCheck) -> AdmissionCheck:
    """Make an AdmissionCheck's record."""
    return AdmissionCheck(name=wire.metadata.name, controller=wire.spec.controller_name)


def _groups(wire: list[WireResourceGroup] | None) -> tuple[ResourceGroup, ...]:
    return tuple(
        ResourceGroup(
            resources=tuple(group.covered_resources or ()),
            flavors=tuple(
                (flavor.name, tuple(_quota(each) for each in flavor.resources or ()))
                for flavor in group.flavors or ()
            ),
        )
        for group in wire or ()
    )


def _quota(wire: WireQuota) -> tuple[str, Quota]:
    return wire.name, Quota(
        nominal=amount(wire.name, wire.nominal_quota),
        borrowing_limit=_limit(wire.name, wire.borrowing_limit),
        lending_limit=_limit(wire.name, wire.lending_limit),
    )


def _limit(resource: str, text: str | float | None) -> int | None:
    return None if text is None else amount(resource, text)
