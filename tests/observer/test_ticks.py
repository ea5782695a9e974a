"""A tick decides every trigger anew, a slice at a time."""

import pytest

from scaler.core.trigger import TriggerRef
from scaler.observer import observer
from tests.builders import NOW
from tests.observer.test_observer import METADATA, observing

OTHERS = tuple(
    TriggerRef.of(namespace="ml", name=f"pool-{number}", metadata=METADATA) for number in range(40)
)


def test_a_tick_reaches_every_trigger_however_short_its_slices(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each Decision becomes a new object, though no slice has room for all of them."""
    monkeypatch.setattr(observer, "SLICE_SECONDS", 0.0005)
    with observing(tick_seconds=0.05) as running:
        for ref in OTHERS:
            running.store.ask(ref, now=NOW)
        first = running.watching.until(lambda state: state.decisions.keys() >= set(OTHERS))
        running.watching.until(
            lambda state: all(state.decisions[ref] is not first.decisions[ref] for ref in OTHERS)
        )


def test_a_tick_that_takes_long_comes_less_often() -> None:
    """Five thousand triggers take two seconds: every five that would be most of a core."""
    assert observer.tick_after(0.1, least=5.0) == 5.0
    assert observer.tick_after(2.0, least=5.0) == 18.0
    assert observer.tick_after(100.0, least=5.0) == observer.LONGEST_TICK_SECONDS
    assert observer.tick_after(100.0, least=3600.0) == 3600.0
