"""What is kept of a watch on sizes."""

import queue
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import requests

from tests.e2e.api import Object, RefusedError
from tests.e2e.sizes import Sizes
from tests.e2e.waiting import NeverCameError, until

PATIENCE = 10.0
Event = tuple[str, Object]


class FakeWatch:
    """A watch that a test feeds; each one ends where it is told to, with or without an error."""

    def __init__(self) -> None:
        self.events: queue.SimpleQueue[Event | Exception | None] = queue.SimpleQueue()
        self.refusals: list[Exception] = []
        self.opened = 0

    @contextmanager
    def watch(self, kind: str, namespace: str = "") -> Iterator[Iterator[Event]]:
        """Give what is fed, or refuse."""
        assert (kind, namespace) == ("Deployment", "lab")
        if self.refusals:
            raise self.refusals.pop()
        self.opened += 1
        yield self._fed()

    def _fed(self) -> Iterator[Event]:
        while (item := self.events.get()) is not None:
            if isinstance(item, Exception):
                raise item
            yield item

    def feed(self, name: str, *sizes: int | None, event: str = "MODIFIED") -> None:
        """Let an object be seen at sizes; None = without the field."""
        for size in sizes:
            spec = {} if size is None else {"replicas": size}
            self.events.put((event, {"metadata": {"name": name}, "spec": spec}))


def sizes_of(api: FakeWatch) -> Sizes:
    """Build what is tested."""
    return Sizes(api=api, kind="Deployment", namespace="lab")


@pytest.fixture
def api() -> Iterator[FakeWatch]:
    """Give a fake, and end its watch with the test."""
    fake = FakeWatch()
    yield fake
    fake.events.put(None)


def test_changes_are_kept_in_order_and_by_name(api: FakeWatch) -> None:
    """Events that change no size, and deletions, leave no trace."""
    api.feed("a", 0, event="ADDED")
    api.feed("b", 3)
    api.feed("a", 0, None, 1)
    api.feed("a", 9, event="DELETED")
    api.feed("a", 5)
    with sizes_of(api) as sizes:
        sizes.until("a", 5, within=PATIENCE)
        assert (sizes.steps("a"), sizes.steps("b")) == ([0, 1, 5], [3])
        assert (sizes.of("a"), sizes.of("c")) == (5, None)


def test_until_gives_the_time_of_the_step(api: FakeWatch) -> None:
    """It is the time of the event, not of the look."""
    api.feed("a", 1, 2)
    with sizes_of(api) as sizes:
        at = sizes.until("a", 2, within=PATIENCE)
        assert at == sizes.seen("a")[-1].at
        assert sizes.steps("a", since=at) == [2]


def test_a_size_on_the_way_counts_since_a_time(api: FakeWatch) -> None:
    """The next step may come before anybody looks."""
    api.feed("a", 1, 0, 1, 5)
    with sizes_of(api) as sizes:
        sizes.until("a", 5, within=PATIENCE)
        first, _, second, _ = sizes.seen("a")
        assert sizes.until("a", 1, within=0.0, since=first.at) == first.at
        assert sizes.until("a", 1, within=0.0, since=second.at) == second.at
        with pytest.raises(NeverCameError):
            sizes.until("a", 1, within=0.0)


def test_until_says_what_was_seen_instead(api: FakeWatch) -> None:
    """The way there is half of the cause."""
    api.feed("a", 4, 2)
    with sizes_of(api) as sizes:
        sizes.until("a", 2, within=PATIENCE)
        with pytest.raises(NeverCameError, match=r"a at 3: .*\[4, 2\]"):
            sizes.until("a", 3, within=0.0)


def test_one_step_below_is_found_however_short_it_was(api: FakeWatch) -> None:
    """Polling would have missed it."""
    api.feed("a", 3, 0, 3)
    with sizes_of(api) as sizes:
        until(lambda: sizes.steps("a") == [3, 0, 3], "all events", within=PATIENCE)
        since = sizes.seen("a")[-1].at
        sizes.never_below("a", 3, since=since)
        with pytest.raises(AssertionError, match="below 3"):
            sizes.never_below("a", 3)
        with pytest.raises(AssertionError, match="became"):
            sizes.held("a", since=since)


def test_what_was_never_seen_did_not_hold(api: FakeWatch) -> None:
    """Silence is no proof."""
    with sizes_of(api) as sizes:
        for demand in (sizes.held, lambda name, since: sizes.never_below(name, 0, since=since)):
            with pytest.raises(AssertionError, match="was not seen"):
                demand("a", 0.0)


@pytest.mark.parametrize(
    "broken", [None, requests.ConnectionError("gone"), ValueError("half a line")], ids=str
)
def test_a_watch_that_breaks_is_opened_again(api: FakeWatch, broken: Exception | None) -> None:
    """The API server ends every watch some time."""
    api.feed("a", 1)
    api.events.put(broken)
    api.feed("a", 1, 2)
    with sizes_of(api) as sizes:
        sizes.until("a", 2, within=PATIENCE)
        assert sizes.steps("a") == [1, 2]
        assert api.opened == 2


def test_a_kind_that_is_not_served_yet_is_waited_for(api: FakeWatch) -> None:
    """A fresh CRD is refused for a moment."""
    api.refusals.append(RefusedError(404, "not found"))
    api.feed("a", 1)
    with sizes_of(api) as sizes:
        sizes.until("a", 1, within=PATIENCE)


def test_a_watch_that_ended_for_good_is_no_proof(api: FakeWatch) -> None:
    """Nothing is seen after it, which must not look like nothing happened."""
    with sizes_of(api) as sizes:
        api.feed("a", 3)
        sizes.until("a", 3, within=PATIENCE)
        api.events.put(KeyError("spec"))
        until(lambda: sizes._broken, "the end", within=PATIENCE)  # when it ended
        with pytest.raises(AssertionError, match="the watch of sizes ended"):
            sizes.held("a", since=0.0)
