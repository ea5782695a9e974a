"""The fewest nodes that pods need, by trying; independent of how anything packs them."""

from collections.abc import Sequence

Pod = tuple[int, int]
"""GPUs and CPUs."""


def fewest_nodes(pods: Sequence[Pod], *, node: Pod) -> int:
    """Give the fewest nodes of a shape on which all pods have a place at once.

    Raises:
        ValueError: a pod is larger than a node.
    """
    if any(gpus > node[0] or cpus > node[1] for gpus, cpus in pods):
        raise ValueError(f"of {pods} one is larger than {node}")
    order = sorted(pods, reverse=True)
    return next(count for count in range(len(pods) + 1) if _fit(order, [node] * count))


def _fit(pods: Sequence[Pod], free: list[Pod]) -> bool:
    """Say whether pods fit into what is free; nodes that are equally free are tried once."""
    if not pods:
        return True
    (gpus, cpus), *others = pods
    return any(
        _fit(others, _taken(free, space, (space[0] - gpus, space[1] - cpus)))
        for space in set(free)
        if gpus <= space[0] and cpus <= space[1]
    )


def _taken(free: list[Pod], space: Pod, left: Pod) -> list[Pod]:
    rest = list(free)
    rest.remove(space)
    return [*rest, left]
