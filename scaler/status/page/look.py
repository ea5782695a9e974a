"""What a page is made from: one State, one moment, and where history is."""

from collections.abc import Mapping
from dataclasses import dataclass

from scaler.core.decision import Decision
from scaler.core.model import Instant
from scaler.core.trigger import TriggerRef
from scaler.status.page.axis import Axis, axis
from scaler.status.page.chronicle import FEW, Chronicle, chronicle
from scaler.status.page.past import Past
from scaler.status.page.ring import Ring
from scaler.status.page.timeline import seen_from
from scaler.status.page.view import SPANS, View
from scaler.store import State

_USUAL, _SHORT = "6h", "1h"


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One reader's look at one moment; nothing in it is written."""

    state: State
    view: View
    now: Instant
    ring: Ring
    past: Past
    details: tuple[str, ...] = ()
    """What is wrong with sources and policy, as /readyz says it."""
    stale: bool = False
    """Nothing was published for long: what is shown is old."""

    def told(
        self, decisions: Mapping[TriggerRef, Decision], *, steps: int = FEW
    ) -> tuple[str, Axis, Chronicle]:
        """Give the time that is shown, its axis, and what was decided in it.

        Where nobody asked for a time: the shortest one, while there is nothing to see before it.
        """
        name = self.view.span or _USUAL
        along, found = self._along(name, decisions, steps=steps)
        if self.view.span or _older(found, self.now - SPANS[_SHORT]):
            return name, along, found
        return _SHORT, *self._along(_SHORT, decisions, steps=steps)

    def _along(
        self, name: str, decisions: Mapping[TriggerRef, Decision], *, steps: int
    ) -> tuple[Axis, Chronicle]:
        along = axis(seconds=SPANS[name], now=self.now)
        return along, chronicle(decisions, along, ring=self.ring, past=self.past, steps=steps)


def _older(found: Chronicle, than: Instant) -> bool:
    begins = map(seen_from, found.timelines.values())
    return any(begin is not None and begin < than for begin in begins)
