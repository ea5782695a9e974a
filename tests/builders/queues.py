"""Build queues, quota and what owns Workloads."""

from collections.abc import Mapping

from scaler.core.model import (
    ClusterQueue,
    Cohort,
    Controlled,
    LocalQueue,
    Quota,
    ResourceFlavor,
    ResourceGroup,
    StopPolicy,
    Taint,
    Toleration,
)
from tests.builders.values import GPU, PLENTY


def make_flavor(
    *,
    name: str = "gpu",
    node_labels: Mapping[str, str] | None = None,
    taints: tuple[Taint, ...] = (),
    tolerations: tuple[Toleration, ...] = (),
    topology: str | None = None,
) -> ResourceFlavor:
    """Build a ResourceFlavor, by default on `pool=NAME`."""
    labels = {"pool": name} if node_labels is None else node_labels
    return ResourceFlavor(
        name=name,
        node_labels=tuple(sorted(labels.items())),
        taints=taints,
        tolerations=tolerations,
        topology=topology,
    )


def make_group(
    *,
    flavors: Mapping[str, int | Quota] | None = None,
    resource: str = GPU,
    resources: Mapping[str, Mapping[str, int | Quota]] | None = None,
) -> ResourceGroup:
    """Build a ResourceGroup: `flavors` maps flavor to the quota of `resource`.

    `resources` maps flavor -> resource -> quota, for groups that cover several resources.
    """
    table = resources or {
        flavor: {resource: quota} for flavor, quota in (flavors or {"gpu": PLENTY}).items()
    }
    covered = tuple(dict.fromkeys(name for row in table.values() for name in row))
    return ResourceGroup(
        resources=covered,
        flavors=tuple(
            (
                flavor,
                tuple(
                    (name, quota if isinstance(quota, Quota) else Quota(nominal=quota))
                    for name, quota in row.items()
                ),
            )
            for flavor, row in table.items()
        ),
    )


def make_cluster_queue(
    *,
    name: str = "gpu-cq",
    quota: int | Quota | None = None,
    flavors: Mapping[str, int | Quota] | None = None,
    groups: tuple[ResourceGroup, ...] | None = None,
    cohort: str | None = None,
    strict_fifo: bool = False,
    stop_policy: StopPolicy = StopPolicy.NONE,
    deleting: bool = False,
    inactive: str | None = None,
) -> ClusterQueue:
    """Build a ClusterQueue over GPUs: `quota` of flavor `gpu`, or a quota for each flavor."""
    if groups is None:
        groups = (make_group(flavors=flavors or {"gpu": PLENTY if quota is None else quota}),)
    return ClusterQueue(
        name=name,
        cohort=cohort,
        strict_fifo=strict_fifo,
        stop_policy=stop_policy,
        deleting=deleting,
        groups=groups,
        inactive=inactive,
    )


def make_local_queue(
    *,
    name: str = "lq",
    namespace: str = "ml",
    cluster_queue: str = "gpu-cq",
    stop_policy: StopPolicy = StopPolicy.NONE,
    deleting: bool = False,
) -> LocalQueue:
    """Build a LocalQueue."""
    return LocalQueue(
        namespace=namespace,
        name=name,
        cluster_queue=cluster_queue,
        stop_policy=stop_policy,
        deleting=deleting,
    )


def make_cohort(
    *,
    name: str = "all",
    parent: str | None = None,
    flavors: Mapping[str, int | Quota] | None = None,
) -> Cohort:
    """Build a Cohort, by default without quota of its own."""
    groups = (make_group(flavors=flavors),) if flavors else ()
    return Cohort(name=name, parent=parent, groups=groups)


def make_controlled(
    *,
    uid: str,
    controller_uid: str | None,
    kind: str = "RayCluster",
    namespace: str = "ml",
    name: str = "child",
) -> Controlled:
    """Build a RayCluster's or Job's metadata."""
    return Controlled(
        uid=uid, kind=kind, namespace=namespace, name=name, controller_uid=controller_uid
    )
