"""Where a pod may go: node selector, required node affinity, taints.

A node that is not there yet shows only the labels known of its pool; a label key that neither
says is taken to fit (`complete=False`). Rules as in the Kubernetes scheduler; a taint whose key
is an extended resource that the pod requests counts as tolerated, because the admission plugin
ExtendedResourceToleration adds that toleration to the pod, not to the Workload's template.
"""

from collections.abc import Container, Iterable, Mapping, Sequence

from scaler.core.model import NodeRequirement, PodShape, Taint, Toleration

HOSTNAME = "kubernetes.io/hostname"
"""The topology level of which every node is a domain of its own."""


def admits(
    shape: PodShape,
    labels: Mapping[str, str],
    taints: Sequence[Taint],
    *,
    complete: bool = True,
    absent: Container[str] = (),
) -> bool:
    """Say whether a node with these labels and taints may take the pod.

    `absent` are keys that it won't bear, where its labels are not complete.
    """

    def is_met(one: NodeRequirement) -> bool:
        return meets(one, labels, complete=complete or one.key in absent)

    return (
        all(
            _has(labels, key, value, complete=complete or key in absent)
            for key, value in shape.node_selector
        )
        and (not shape.affinity or any(all(is_met(one) for one in term) for term in shape.affinity))
        and not (taints and untolerated(taints, tolerations_of(shape)))
    )


def tolerations_of(shape: PodShape) -> tuple[Toleration, ...]:
    """Give the pod's tolerations and those for the extended resources that it requests."""
    devices = (resource for resource, _ in shape.requests if "/" in resource)
    return (*shape.tolerations, *(Toleration(key=one, operator="Exists") for one in devices))


def untolerated(taints: Iterable[Taint], tolerations: Sequence[Toleration]) -> tuple[Taint, ...]:
    """Give the taints that keep a pod with these tolerations off a node."""
    return tuple(
        taint
        for taint in taints
        if taint.effect != "PreferNoSchedule"
        and not any(_tolerates(one, taint) for one in tolerations)
    )


def meets(requirement: NodeRequirement, labels: Mapping[str, str], *, complete: bool) -> bool:
    """Say whether labels meet one matchExpression; an unknown operator is never met."""
    found = labels.get(requirement.key)
    if found is None and not complete:
        return True
    answers = {
        "In": found in requirement.values,
        "NotIn": found not in requirement.values,
        "Exists": found is not None,
        "DoesNotExist": found is None,
    }
    return answers.get(requirement.operator, _compares(requirement, found))


def agree(left: Iterable[tuple[str, str]], right: Mapping[str, str]) -> bool:
    """Say whether no label key that both name differs."""
    return all(right.get(key, value) == value for key, value in left)


def _has(labels: Mapping[str, str], key: str, value: str, *, complete: bool) -> bool:
    return labels.get(key, None if complete else value) == value


def _compares(requirement: NodeRequirement, found: str | None) -> bool:
    try:
        node, wanted = int(found or ""), int(requirement.values[0])
    except (ValueError, IndexError):
        return False
    above, below = node > wanted, node < wanted
    return {"Gt": above, "Lt": below}.get(requirement.operator, False)


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.operator == "Exists":
        return toleration.key in ("", taint.key)
    return toleration.key == taint.key and toleration.value == taint.value
