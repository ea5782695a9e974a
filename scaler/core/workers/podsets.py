"""The podsets of a Workload that an idle trigger judges, and their pods.

Kueue labels each pod with its podset (always since 0.12). Where the label is not there, a pod
that may be of the podset is: one pod too many can only show more work, one too few would hide it.
"""

from collections.abc import Iterable

from scaler.core.model import Pod, PodSet, Workload
from scaler.core.profile import MetricProfile

_RAY_KINDS = frozenset({"RayCluster", "RayJob", "RayService"})
_WITHOUT_WORKERS = frozenset({"head", "submitter"})
"""Kueue's names of a Ray owner's podsets that hold no workers."""
_RAY_NODE_TYPE = "ray.io/node-type"
_RAY_GROUP = "ray.io/group"


def judged(
    workload: Workload, *, component: str | None, profile: MetricProfile, whole: bool = False
) -> tuple[PodSet, ...]:
    """Give the podset that `component` names, else those with devices.

    Ray's head is one of them only where the `whole` Workload is judged: it goes too then.
    """
    if component is not None:
        return tuple(one for one in workload.pod_sets if one.name == component)
    ray = not whole and any(owner.kind in _RAY_KINDS for owner in workload.owners)
    left_out = _WITHOUT_WORKERS if ray else frozenset[str]()
    return tuple(
        one
        for one in workload.pod_sets
        if one.name not in left_out and profile.devices(one.shape.requests)
    )


def members(
    pod_set: PodSet, *, workload: Workload, pods: Iterable[Pod], profile: MetricProfile
) -> tuple[Pod, ...]:
    """Give the pods of a podset among those of its Workload, in any phase."""
    alone = len(workload.pod_sets) == 1
    return tuple(pod for pod in pods if _belongs(pod, pod_set, alone=alone, profile=profile))


def _belongs(pod: Pod, pod_set: PodSet, *, alone: bool, profile: MetricProfile) -> bool:
    if pod.pod_set is not None:
        return pod.pod_set == pod_set.name
    if alone:
        return True
    if pod.labels.get(_RAY_NODE_TYPE) == "head":
        return pod_set.name == "head"
    if _RAY_GROUP in pod.labels:
        return pod.labels[_RAY_GROUP].lower() == pod_set.name
    return profile.devices(pod.requests) > 0


def size(pod_set: PodSet, *, workload: Workload) -> int:
    """Give a podset's number of pods: as admitted, where it is admitted."""
    if workload.admission is None:
        return pod_set.count
    counts = {one.pod_set: one.count for one in workload.admission.assignments}
    return counts.get(pod_set.name, pod_set.count)


def lacking(pod_set: PodSet, *, workload: Workload, pods: Iterable[Pod]) -> int:
    """Count the pods of a podset that should live and don't.

    Those that succeeded are done, and so are reclaimable ones, which may be the same.
    """
    own = tuple(pods)
    succeeded = sum(pod.phase == "Succeeded" for pod in own)
    done = max(succeeded, dict(workload.reclaimable).get(pod_set.name, 0))
    return max(0, size(pod_set, workload=workload) - done - sum(pod.live for pod in own))
