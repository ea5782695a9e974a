"""Find pods by label and Workloads by their owner's name, without a look at all of them each time.

What was found is kept in the Snapshot's memo. A fleet of idle triggers asks the same questions of
every Snapshot, of which few have other answers.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from scaler.core.model import NodeRequirement, Pod, Workload
from scaler.core.snapshot import Snapshot


def pods_selected(
    *, snapshot: Snapshot, namespace: str, selector: tuple[NodeRequirement, ...]
) -> Iterable[Pod]:
    """Give the pods of a namespace that a label selector fits, in any phase."""
    pods = snapshot.pods.get(namespace, {})
    exact = next((part for part in selector if part.operator == "In"), None)
    candidates: Iterable[Pod] = pods.values()
    if exact is not None:
        index = snapshot.memo.recall(
            ("pods by label", namespace, exact.key), (pods,), lambda: _by_label(pods, exact.key)
        )
        candidates = (pod for value in dict.fromkeys(exact.values) for pod in index.get(value, ()))
    return (pod for pod in candidates if selects(selector=selector, labels=pod.labels))


def selects(*, selector: tuple[NodeRequirement, ...], labels: Mapping[str, str]) -> bool:
    """Say whether a label selector fits; an empty one selects nothing."""
    return bool(selector) and all(_holds(part, labels) for part in selector)


def workloads_owned(
    *, snapshot: Snapshot, kind: str, namespace: str, name: str
) -> tuple[Workload, ...]:
    """Give the Workloads of an owner by their names, Finished ones left out.

    Those of an earlier owner of that name are among them for as long as they are there.
    """
    found = {
        workload.name: workload
        for workload in snapshot.workloads_by_owner_name.get((namespace, name), ())
        if any(owner.kind == kind and owner.name == name for owner in workload.owners)
    }
    return tuple(found[one] for one in sorted(found))


def _holds(part: NodeRequirement, labels: Mapping[str, str]) -> bool:
    match part.operator:
        case "In":
            return labels.get(part.key) in part.values
        case "NotIn":
            return labels.get(part.key) not in part.values
        case "Exists":
            return part.key in labels
        case "DoesNotExist":
            return part.key not in labels
        case _:
            return False


def _by_label(pods: Mapping[str, Pod], key: str) -> Mapping[str, tuple[Pod, ...]]:
    index: defaultdict[str, list[Pod]] = defaultdict(list)
    for pod in pods.values():
        if key in pod.labels:
            index[pod.labels[key]].append(pod)
    return {value: tuple(found) for value, found in index.items()}
