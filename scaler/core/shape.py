"""Add up what one pod asks of a node, as the scheduler does.

Source: k8s.io/component-helpers resource.PodRequests, with limits as requests as the API server
(and Kueue's AdjustResources) fill them in.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from scaler.core.model import Amounts
from scaler.core.quantity import amounts, largest, plus

_PODS = "pods"
"""A node's room for pods is counted by pods, not by requests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InitContainer:
    """An init container's requests; a sidecar (restartPolicy Always) keeps running beside all."""

    requests: Amounts
    sidecar: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PodLevel:
    """The pod's own spec.resources: its requests win, its limits stand in where nothing asks."""

    requests: Amounts = ()
    limits: Amounts = ()


NO_POD_LEVEL = PodLevel()


def container_requests(
    requests: Mapping[str, str | int | float], limits: Mapping[str, str | int | float]
) -> Amounts:
    """Read one container's quantities; a limit counts where the same resource has no request.

    Raises:
        ValueError: a quantity is malformed; the sentence names its resource.
    """
    return amounts({**limits, **requests})


def pod_requests(
    *,
    containers: Iterable[Amounts],
    init_containers: Sequence[InitContainer] = (),
    pod_level: PodLevel = NO_POD_LEVEL,
    overhead: Amounts = (),
) -> Amounts:
    """Give a pod's requests: the larger of its running and of each init step, plus overhead."""
    running = _sum(containers)
    sidecars: Amounts = ()
    steps: Amounts = ()
    for init in init_containers:
        step = plus(sidecars, init.requests)
        steps = largest(steps, step)
        if init.sidecar:
            sidecars = step
    asked = _with_pod_level(largest(plus(running, sidecars), steps), pod_level)
    return tuple(item for item in plus(asked, overhead) if item[0] != _PODS)


def is_extended(resource: str) -> bool:
    """Say whether a device plugin offers the resource (`nvidia.com/gpu`), not Kubernetes."""
    return "/" in resource and "kubernetes.io/" not in resource


def asks_extended(requests: Amounts) -> bool:
    """Say whether any of the requests is for an extended resource."""
    return any(is_extended(resource) for resource, _ in requests)


def _sum(parts: Iterable[Amounts]) -> Amounts:
    total: Amounts = ()
    for part in parts:
        total = plus(total, part)
    return total


def _with_pod_level(asked: Amounts, pod_level: PodLevel) -> Amounts:
    if pod_level == NO_POD_LEVEL:
        return asked
    merged = dict(pod_level.limits) | dict(asked) | dict(pod_level.requests)
    return tuple(sorted(merged.items()))
