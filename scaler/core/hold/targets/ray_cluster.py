"""A RayCluster's worker group: suspended by its own field, the head stays.

Kueue counts replicas x numOfHosts of a group and never reads `suspend` (measured: Workload,
admission and usage stay).
"""

from dataclasses import replace

from scaler.core.hold.owned import named
from scaler.core.hold.sought import Piece, Refusal, Sought
from scaler.core.hold.steps import DropMark, SetGroup
from scaler.core.hold.words import Cause
from scaler.core.model import Controlled, Mark, RayClusterPart, WorkerGroup

KIND = "RayCluster"
_WAS = "false"


def pieces(sought: Sought) -> tuple[Piece, ...] | Refusal:
    """Find the group in the RayCluster of the target's name."""
    name = sought.scale.target.name
    cluster = named(sought.snapshot, kind=KIND, namespace=sought.scale.namespace, name=name)
    if cluster is None:
        return Refusal(cause=Cause.TARGET_MISSING, message=f"RayCluster/{name} does not exist")
    return group_in(sought, cluster)


def group_in(sought: Sought, cluster: Controlled) -> tuple[Piece, ...] | Refusal:
    """Find the group in a RayCluster, whoever controls it."""
    part, label = cluster.part, f"{KIND}/{cluster.name}"
    if cluster.deleting:
        return Refusal(cause=Cause.TARGET_MISSING, message=f"{label} is being deleted")
    if not isinstance(part, RayClusterPart):
        return Refusal(cause=Cause.SOURCE_UNKNOWN, message=f"the spec of {label} was not read")
    component = sought.component
    mark = next((one for one in cluster.marks if one.component == component), None)
    place = next(
        (place for place, one in enumerate(part.groups) if one.name.lower() == component), None
    )
    if place is None:
        return _missing(sought, cluster, part, mark)
    return (_piece(sought, cluster, part, place=place, mark=mark),)


def _piece(
    sought: Sought, cluster: Controlled, part: RayClusterPart, *, place: int, mark: Mark | None
) -> Piece:
    group = part.groups[place]
    own = mark or sought.mark(component=sought.component, was=_WAS)
    take = SetGroup(
        cluster=cluster.key,
        uid=cluster.uid,
        index=place,
        group=group.name,
        suspend=True,
        mark=own,
    )
    give = replace(take, suspend=False)
    return Piece(
        uid=cluster.uid,
        label=f"group {group.name} of {KIND}/{cluster.name}",
        grip=sought.grip(mark, zero=group.suspended is True),
        take=(take,),
        # Giving tests that the mark is there: one that somebody took off is put back first.
        give=(give,) if mark is not None else (take, give),
        drop=() if mark is None else (_drop(cluster, mark),),
        suspended=part.suspended,
        behind=_behind(cluster, part),
        forbids=_forbids(cluster, part, group),
    )


def _missing(
    sought: Sought, cluster: Controlled, part: RayClusterPart, mark: Mark | None
) -> tuple[Piece, ...] | Refusal:
    """Say that the group is not there; a mark that it left behind is still to be taken off."""
    if mark is None:
        names = ", ".join(one.name.lower() for one in part.groups) or "none"
        message = f"{KIND}/{cluster.name} has no worker group {sought.component}, but {names}"
        return Refusal(cause=Cause.COMPONENT_MISSING, message=message)
    drop = (_drop(cluster, mark),)
    label = f"group {mark.component} of {KIND}/{cluster.name}"
    grip = sought.grip(mark, zero=False)
    return (Piece(uid=cluster.uid, label=label, grip=grip, take=(), give=drop, drop=drop),)


def _drop(cluster: Controlled, mark: Mark) -> DropMark:
    return DropMark(kind=KIND, object=cluster.key, mark=mark)


def _behind(cluster: Controlled, part: RayClusterPart) -> str:
    if part.observed_generation >= cluster.generation:
        return ""
    return f"observedGeneration is {part.observed_generation} of {cluster.generation}"


def _forbids(cluster: Controlled, part: RayClusterPart, group: WorkerGroup) -> Refusal | None:
    label = f"{KIND}/{cluster.name}"
    if part.autoscaling:
        message = (
            f"{label} scales itself (enableInTreeAutoscaling), and KubeRay takes no suspended "
            f"group {group.name} then; switch that off, or leave the workers to it"
        )
        return Refusal(cause=Cause.IN_TREE_AUTOSCALING, message=message)
    if part.recreates:
        message = (
            f"upgradeStrategy of {label} is Recreate, which would replace the head with each hold "
            "and wake; choose None"
        )
        return Refusal(cause=Cause.RECREATES, message=message)
    return None
