"""Tell when a hold began, ended or wakes: queue signals read that alone of a WorkerScale."""

from collections.abc import Mapping

from scaler.core.demand.holds import HeldSets, Key, holds_in
from scaler.core.model import Name, WorkerScale
from scaler.core.snapshot import Part, Partition


class HoldWatch:
    """Compare the holds of WorkerScales with the last ones seen; owned by one thread."""

    def __init__(self) -> None:
        self._scales: Mapping[Name, WorkerScale] = {}
        self._held: Mapping[Key, HeldSets] = {}

    def touched(self, scales: Mapping[Name, WorkerScale]) -> frozenset[Partition]:
        """Give the partition that changed since the last look, if it did.

        The same mapping is the same WorkerScales; most changes of one are none of its hold.
        """
        if scales is self._scales:
            return frozenset()
        before, self._scales, self._held = self._held, scales, holds_in(scales)
        return frozenset() if self._held == before else frozenset({(Part.HOLDS, "")})
