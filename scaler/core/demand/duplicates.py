"""Which Workloads stand for pods that another Workload already stands for."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from scaler.core.model import Controlled, Workload
from scaler.core.reasons import WorkloadClass
from scaler.core.snapshot import Snapshot

_QUEUED = frozenset(
    {
        WorkloadClass.TOPOLOGY,
        WorkloadClass.QUOTA,
        WorkloadClass.NOT_EVALUATED,
        WorkloadClass.PREEMPTING,
        WorkloadClass.BLOCKED,
    }
)


def owner_duplicates(snapshot: Snapshot) -> frozenset[str]:
    """Give the uids of Workloads whose owner is controlled by another Workload's owner.

    A RayJob's RayCluster with a Workload of its own is such a one. An owner that can't be read
    makes none. The search starts from the controlled owners, which are few.
    """
    parts = (snapshot.owners, snapshot.workloads_by_owner)
    found = snapshot.memo.recall("owner duplicates", parts, lambda: _duplicates(snapshot))
    return snapshot.memo.stable("stable owner duplicates", found)


def variant_duplicates(workloads: Iterable[Workload]) -> frozenset[str]:
    """Give the uids of Workloads that count with another one of their family.

    A family is a Workload and the variants that it owns (concurrent admission), labelled or not.
    The admitted one stands for it, else one with quota, else the parent; a parent that is no
    demand of its own, though it was not deactivated, leaves that to a variant.
    """
    families: defaultdict[str, list[Workload]] = defaultdict(list)
    for workload in workloads:
        if not workload.deleting:
            families[parent_uid(workload) or workload.uid].append(workload)
    return frozenset(
        workload.uid for family in families.values() for workload in sorted(family, key=_rank)[1:]
    )


def parent_uid(workload: Workload) -> str | None:
    """Give the uid of the Workload that owns this one; None for nearly all."""
    return next((owner.uid for owner in workload.owners if owner.kind == "Workload"), None)


def _rank(workload: Workload) -> tuple[bool, bool, bool, bool, str]:
    is_parent = parent_uid(workload) is None
    speaks = workload.standing in _QUEUED or (is_parent and not workload.active)
    return (not workload.admitted, not workload.reserved, not speaks, not is_parent, workload.uid)


def _duplicates(snapshot: Snapshot) -> frozenset[str]:
    controlled = snapshot.memo.recall(
        "controlled owners",
        (snapshot.owners,),
        lambda: tuple(one for one in snapshot.owners.values() if one.controller_uid is not None),
    )
    owned = snapshot.workloads_by_owner
    return frozenset(
        workload.uid
        for child in controlled
        for workload in owned.get(child.uid, ())
        if any(uid in owned for uid in _above(child, snapshot.owners))
    )


def _above(child: Controlled, owners: Mapping[str, Controlled]) -> Iterator[str]:
    """Walk up the controllers, as far as they can be read, each once."""
    seen = {child.uid}
    uid = child.controller_uid
    while uid is not None and uid not in seen:
        yield uid
        seen.add(uid)
        uid = owners[uid].controller_uid if uid in owners else None
