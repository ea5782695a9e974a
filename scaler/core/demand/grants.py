"""A batch on its way through a simulated admission, and what its members are granted."""

from dataclasses import dataclass
from typing import TypeAlias

from scaler.core.demand.asks import Ask
from scaler.core.demand.lineup import Batch
from scaler.core.model import ClusterQueue, PodSet


@dataclass(frozen=True, slots=True, kw_only=True)
class Granted:
    """A podset as it would be admitted."""

    pod_set: PodSet
    count: int
    flavors: tuple[tuple[str, str], ...]
    """(resource, flavor); without the resources that the ClusterQueue does not cover."""


Grant: TypeAlias = tuple[Granted, ...]
"""A Workload's podsets as they would be admitted; shared between equal ones."""


Choice: TypeAlias = tuple[tuple[tuple[str, str], ...], ...]
"""For each podset, its (resource, flavor) pairs."""


class Stream:
    """A batch on its way through the simulation."""

    __slots__ = ("_shared", "asks", "batch", "grants", "queue")

    def __init__(self, *, batch: Batch, queue: ClusterQueue, asks: tuple[Ask, ...]) -> None:
        self.batch = batch
        self.queue = queue
        self.asks = asks
        self.grants: list[Grant] = []
        self._shared: dict[tuple[Choice, bool], Grant] = {}

    def granted(self, choice: Choice, *, least: bool) -> Grant:
        """Give a choice's grant, the same object for the same choice."""
        grant = self._shared.get((choice, least))
        if grant is None:
            grant = self._shared[(choice, least)] = tuple(
                Granted(
                    pod_set=ask.pod_set,
                    count=ask.least if least else ask.count,
                    flavors=flavors,
                )
                for ask, flavors in zip(self.asks, choice, strict=True)
            )
        return grant
