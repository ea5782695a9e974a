"""Ask Prometheus at the policy's pace, for all triggers together."""

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

import structlog

from scaler.core.idle.wanted import wanted
from scaler.core.model import Instant
from scaler.core.policy import Policy, PrometheusSettings, Safety
from scaler.core.usage import QueryAnswer, QueryKey, Usage, UsageKey
from scaler.observer.changes import Inbox
from scaler.store import Store

log = structlog.get_logger(__name__)


class Refreshed(Protocol):
    """What came back from one refresh."""

    @property
    def usage(self) -> Mapping[UsageKey, Usage]:
        """Give the fleet's readings."""
        ...

    @property
    def answers(self) -> Mapping[QueryKey, QueryAnswer]:
        """Give the keepAlive and wake answers."""
        ...


class UsageSource(Protocol):
    """Where readings come from; never raises, every failure is in what it gives back."""

    def refresh(
        self,
        *,
        settings: PrometheusSettings,
        safety: Safety,
        usage: Iterable[UsageKey],
        queries: Mapping[QueryKey, str],
    ) -> Refreshed:
        """Run one query set for each key, and each query once."""
        ...


class Poller:
    """Run the refreshes in a thread of its own: a hung Prometheus delays nothing but readings."""

    def __init__(
        self,
        *,
        source: UsageSource,
        store: Store,
        inbox: Inbox,
        clock: Callable[[], Instant],
        speed: float = 1.0,
    ) -> None:
        self._speed = speed
        self._source = source
        self._store = store
        self._inbox = inbox
        self._clock = clock
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="prometheus", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Ask the thread to end; it is not waited for while a query hangs."""
        self._stopping.set()

    def _run(self) -> None:
        while not self._stopping.is_set():
            refresh = self._once()
            self._stopping.wait(refresh / self._speed)

    def _once(self) -> float:
        """Refresh what the triggers want now; give the seconds until the next time."""
        policy = self._store.latest().policy.policy
        try:
            asked = self._refresh(policy)
        except Exception:
            # One bad trigger must not end the only thread that asks.
            log.exception("refresh failed")
            asked = True
        # Nothing to ask yet: triggers appear with the first ScaledObjects, so look again soon.
        return policy.prometheus.refresh if asked else min(1.0, policy.prometheus.refresh)

    def _refresh(self, policy: Policy) -> bool:
        """Ask for all that is wanted; False where nothing is."""
        state = self._store.latest()
        want = wanted(
            snapshot=state.snapshot,
            refs=state.decisions.keys(),
            policy=policy,
            now=self._clock(),
        )
        if not want.usage and not want.queries:
            return False
        read = self._source.refresh(
            settings=policy.prometheus,
            safety=policy.safety,
            usage=want.usage,
            queries=want.queries,
        )
        self._inbox.usage(read.usage, read.answers)
        return True
