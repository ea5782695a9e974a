"""Names, times and shapes that the other builders start from."""

from collections import Counter
from collections.abc import Mapping
from itertools import count as serial

from scaler.core.model import (
    Amounts,
    Instant,
    NodeRequirement,
    OwnerRef,
    PodSet,
    PodShape,
    Toleration,
    TopologyRequest,
)

GPU = "nvidia.com/gpu"
NOW: Instant = 1_800_000_000.0
LONG_AGO: Instant = NOW - 7200.0
PLENTY = 1_000_000
POOL_LABELS = (("pool", "gpu"),)
_SERIAL = serial()


def next_uid(prefix: str) -> str:
    """Give a uid that no other record of this run has."""
    return f"{prefix}-uid-{next(_SERIAL):09d}"


def amounts(entries: Mapping[str, int] | None = None, *, gpu: int = 0) -> Amounts:
    """Build Amounts: sorted, without zeros."""
    merged = Counter(entries or {})
    merged[GPU] += gpu
    return tuple(sorted((name, value) for name, value in merged.items() if value))


def make_shape(
    *,
    gpus: int = 1,
    requests: Mapping[str, int] | None = None,
    node_selector: Mapping[str, str] | None = None,
    affinity: tuple[tuple[NodeRequirement, ...], ...] = (),
    tolerations: tuple[Toleration, ...] = (),
    dra_only: bool = False,
) -> PodShape:
    """Build a PodShape; `requests` come on top of `gpus` devices."""
    return PodShape(
        requests=amounts(requests, gpu=gpus),
        node_selector=tuple(sorted((node_selector or {}).items())),
        affinity=affinity,
        tolerations=tolerations,
        dra_only=dra_only,
    )


def make_pod_set(
    *,
    name: str = "main",
    count: int = 1,
    gpus: int = 1,
    shape: PodShape | None = None,
    min_count: int | None = None,
    topology: TopologyRequest | None = None,
) -> PodSet:
    """Build a PodSet of `count` pods with `gpus` devices each."""
    return PodSet(
        name=name,
        count=count,
        shape=shape or make_shape(gpus=gpus),
        min_count=min_count,
        topology=topology,
    )


def make_owner(
    *,
    uid: str,
    kind: str = "Job",
    api_version: str = "batch/v1",
    name: str = "owner",
    controller: bool = True,
) -> OwnerRef:
    """Build an ownerReference."""
    return OwnerRef(api_version=api_version, kind=kind, name=name, uid=uid, controller=controller)
