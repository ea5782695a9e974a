"""Prometheus is asked on, whatever one trigger or one answer does."""

import threading
from collections.abc import Iterable, Mapping
from typing import NoReturn

import pytest

from scaler.core.policy import Policy, PrometheusSettings, Safety
from scaler.core.trigger import TriggerRef
from scaler.core.usage import QueryKey, UsageKey
from scaler.observer import poller
from scaler.observer.changes import Inbox
from scaler.observer.poller import Poller
from scaler.policyfile import PolicyState
from scaler.store import Store
from tests.builders import NOW

PATIENCE = 20.0


class NeverAsked:
    """A source that nobody gets to ask."""

    def refresh(
        self,
        *,
        settings: PrometheusSettings,
        safety: Safety,
        usage: Iterable[UsageKey],
        queries: Mapping[QueryKey, str],
    ) -> NoReturn:
        """Fail the test."""
        raise AssertionError((settings, safety, usage, queries))


def test_a_trigger_that_breaks_the_asking_does_not_end_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without that thread no idle signal would get a reading ever again."""
    twice = threading.Semaphore(0)

    def broken(*, snapshot: object, refs: Iterable[TriggerRef], **_: object) -> NoReturn:
        twice.release()
        raise RuntimeError(f"{snapshot} {refs}")

    monkeypatch.setattr(poller, "wanted", broken)
    asking = Poller(
        source=NeverAsked(),
        store=Store(policy=PolicyState(policy=Policy()), at=NOW),
        inbox=Inbox(),
        clock=lambda: NOW,
        speed=10_000.0,
    )
    asking.start()
    try:
        assert twice.acquire(timeout=PATIENCE)
        assert twice.acquire(timeout=PATIENCE), "the thread ended"
    finally:
        asking.stop()
