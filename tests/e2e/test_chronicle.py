"""A chronicle sees what two looks would miss."""

import queue
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.e2e.api import Object
from tests.e2e.chronicle import Chronicle
from tests.e2e.ledger import claim_of
from tests.e2e.waiting import until

OWNER = ("JobSet", "train")


def workload(uid: str = "one", *, owner: tuple[str, str] = OWNER) -> Object:
    """Give a Workload of an owner."""
    kind, name = owner
    return {
        "metadata": {"uid": uid, "ownerReferences": [{"kind": kind, "name": name}]},
        "spec": {},
    }


class Events:
    """An API whose watch gives what it is fed."""

    def __init__(self) -> None:
        self.fed: queue.SimpleQueue[tuple[str, Object]] = queue.SimpleQueue()

    @contextmanager
    def watch(self, kind: str, namespace: str = "") -> Iterator[Iterator[tuple[str, Object]]]:
        """Give events for ever."""
        assert (kind, namespace) == ("Workload", "team")
        yield iter(self.fed.get, None)


def _seen(chronicle: Chronicle, events: Events, *fed: tuple[str, Object]) -> None:
    for each in fed:
        events.fed.put(each)
    events.fed.put(("ADDED", workload("last")))
    until(lambda: "last" in {each.claim.uid for each in chronicle.since(0)}, "all", within=10)


def test_another_uid_in_between_is_seen() -> None:
    """Although the same Workload is there before and after."""
    events = Events()
    with Chronicle(events, "team", OWNER) as chronicle:
        _seen(chronicle, events, ("MODIFIED", workload()))
        with pytest.raises(AssertionError, match="in place of"):
            chronicle.kept(claim_of(workload()), 0)


def test_a_deletion_is_seen() -> None:
    """Even where what comes after is the same."""
    events = Events()
    with Chronicle(events, "team", OWNER) as chronicle:
        _seen(chronicle, events, ("DELETED", workload("last")))
        with pytest.raises(AssertionError, match="deleted"):
            chronicle.kept(claim_of(workload("last")), 0)


def test_others_are_not_taken_for_it() -> None:
    """Other owners' Workloads come and go."""
    events = Events()
    with Chronicle(events, "team", OWNER) as chronicle:
        other = workload("other", owner=("Job", "train"))
        _seen(chronicle, events, ("ADDED", other), ("DELETED", other))
        chronicle.kept(claim_of(workload("last")), 0)
