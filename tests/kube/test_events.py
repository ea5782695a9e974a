"""Events on ScaledObjects, through a fake that keeps the API server's rules for names."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest
from structlog.testing import capture_logs

from scaler.kube.api import JSON, MERGE_PATCH, ApiError, NoAnswerError, Stream
from scaler.kube.events import EventWriter, event_name
from scaler.observer.announce import About
from tests.builders import NOW, make_scaled_object


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """Something to tell."""

    about: About
    warning: bool = True
    reason: str = "Hold"
    message: str = "Prometheus does not answer"
    subject: str = "idle-main/Hold"
    at: float = NOW + 0.5


class EventStore:
    """Keeps Events by path: creates once, merges patches."""

    def __init__(self) -> None:
        self.events: dict[str, dict[str, Any]] = {}
        self.down: Exception | None = None

    def get(self, path: str, *, params: Mapping[str, str], accept: str = JSON) -> bytes:
        """Refuse: `serve` may not read Events."""
        raise ApiError(403, f"get {path} {params} {accept}")

    def stream(
        self, path: str, *, params: Mapping[str, str], accept: str = JSON, read_timeout: float
    ) -> Stream:
        """Refuse as well."""
        raise ApiError(403, f"watch {path} {params} {accept} {read_timeout}")

    def send(self, method: str, path: str, *, body: bytes, content_type: str = JSON) -> bytes:
        """Create or merge."""
        if self.down is not None:
            raise self.down
        sent = json.loads(body)
        if method == "POST":
            path = f"{path}/{sent['metadata']['name']}"
            if path in self.events:
                raise ApiError(409, "already exists")
            self.events[path] = sent
        else:
            assert content_type == MERGE_PATCH
            self.events[path].update(sent)
        return json.dumps(self.events[path]).encode()

    @property
    def only(self) -> dict[str, Any]:
        """Give the one Event that there is."""
        (event,) = self.events.values()
        return event


@pytest.fixture
def store() -> EventStore:
    """Give an empty store."""
    return EventStore()


ABOUT = About.scaled_object(replace(make_scaled_object(namespace="ml", name="pool"), uid="uid-1"))


def test_an_event_says_of_whom_what_and_when(store: EventStore) -> None:
    """All that the API server demands and `kubectl describe` shows."""
    EventWriter(store).write(News(about=ABOUT))
    event = store.only
    assert event["involvedObject"] == {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "namespace": "ml",
        "name": "pool",
        "uid": "uid-1",
    }
    assert (event["type"], event["reason"], event["count"]) == ("Warning", "Hold", 1)
    assert event["firstTimestamp"] == event["lastTimestamp"] == "2027-01-15T08:00:00Z"


def test_two_replicas_make_one_event_and_count_alike(store: EventStore) -> None:
    """Both see HOLD begin twice: one Event, counted two."""
    replicas = EventWriter(store), EventWriter(store)
    for at in (NOW, NOW + 600):
        for replica in replicas:
            replica.write(News(about=ABOUT, at=at))
    assert store.only["count"] == 2
    assert store.only["lastTimestamp"] == "2027-01-15T08:10:00Z"
    assert store.only["firstTimestamp"] == "2027-01-15T08:00:00Z"


def test_a_restarted_replica_goes_on_counting(store: EventStore) -> None:
    """What it can't remember it reads from the answer to its first patch."""
    before = EventWriter(store)
    for _ in range(3):
        before.write(News(about=ABOUT))
    after = EventWriter(store)
    for _ in range(2):
        after.write(News(about=ABOUT))
    assert store.only["count"] == 4


def test_a_failure_is_logged_once_and_never_raised(store: EventStore) -> None:
    """Events are news; no decision waits for them."""
    writer = EventWriter(store)
    with capture_logs() as logs:
        for error in (ApiError(403, "no"), NoAnswerError("gone"), ApiError(500, "broken")):
            store.down = error
            writer.write(News(about=ABOUT))
        store.down = None
        writer.write(News(about=ABOUT))
        store.down = ApiError(403, "no")
        writer.write(News(about=ABOUT))
    assert [entry["event"] for entry in logs] == ["events can't be written"] * 2


def test_names_are_alike_for_one_subject_and_fit(store: EventStore) -> None:
    """A Kubernetes name has at most 253 characters."""
    long = About.scaled_object(make_scaled_object(namespace="ml", name="x" * 253))
    one, same = News(about=long), News(about=long, message="other", at=0.0)
    assert event_name(one) == event_name(same)
    assert event_name(one) != event_name(News(about=long, subject="idle-main/HoldEnded"))
    assert len(event_name(one)) == 253
    EventWriter(store).write(News(about=long, message="m" * 5000))
    assert len(store.only["message"]) == 1024


def test_a_cut_name_is_still_a_name() -> None:
    """A part of a name may not end with a hyphen or a dot, wherever it is cut."""
    long = replace(ABOUT, name="a" * 235 + "-.b")
    assert event_name(News(about=long)).startswith("a" * 235 + ".")
