"""What a process remembers: changes, bounded, and honest about what it did not see."""

from collections.abc import Iterable

import pytest

from scaler.core.decision import Decision
from scaler.core.model import Instant
from scaler.core.policy import Policy
from scaler.core.reasons import Reason
from scaler.core.snapshot import Snapshot
from scaler.policyfile import PolicyState
from scaler.status.page import ring as ring_module
from scaler.status.page.ring import LEAST_EACH, MAX_PODS, MOST_EACH, SPARE_TRACKS, Ring
from scaler.store import State
from tests.builders import NOW
from tests.status.page.stage import idle_decision, queue_decision, ref_of

POLICY = PolicyState(policy=Policy())


def publish(
    ring: Ring, *decisions: Decision, at: Instant = NOW, changed: Iterable[Decision] | None = None
) -> None:
    """Tell a ring of a publication."""
    state = State(
        sequence=1,
        snapshot=Snapshot(at=at),
        policy=POLICY,
        decisions={ref_of(one): one for one in decisions},
    )
    ring.published(state, frozenset(map(ref_of, decisions if changed is None else changed)))


def reasons(ring: Ring, decision: Decision, *, now: Instant) -> list[str]:
    """Give the reasons of the last 1000 seconds."""
    found = ring.timeline(ref_of(decision), start=now - 1000, end=now)
    return ["unseen" if one.told is None else one.told.reason for one in found]


def test_changes_alone_are_kept() -> None:
    """Changes alone are kept."""
    ring, busy = Ring(), idle_decision(at=NOW)
    publish(ring, busy)
    for second in range(1, 30):
        publish(ring, idle_decision(at=NOW + second), at=NOW + second, changed=())
    assert ring.changes == 1


def test_what_was_decided_is_drawn_until_it_changed() -> None:
    """What was decided is drawn until it changed."""
    ring = Ring()
    publish(ring, idle_decision(at=NOW), at=NOW)
    later = idle_decision(reason=Reason.IDLE, at=NOW + 50)
    publish(ring, later, at=NOW + 50)
    assert reasons(ring, later, now=NOW + 60) == ["unseen", "Busy", "Idle"]


def test_an_unknown_has_no_value_in_memory_either() -> None:
    """An unknown has no value in memory either."""
    ring, held = Ring(), queue_decision(value=None, reason=Reason.NOT_SYNCED)
    publish(ring, held)
    (_, span) = ring.timeline(ref_of(held), start=NOW - 10, end=NOW + 10)
    assert span.told is not None
    assert (span.told.status, span.told.value) == ("HOLD", None)


def test_a_time_without_publications_is_unseen() -> None:
    """While the observer hung nobody knows what would have been decided."""
    elapsed = [0.0]
    ring, busy = Ring(elapsed=lambda: elapsed[0]), idle_decision(at=NOW)
    publish(ring, busy)
    for seconds in (30.0, 400.0):
        elapsed[0] = seconds
        publish(ring, busy, at=NOW + seconds, changed=())
    assert reasons(ring, busy, now=NOW + 430) == ["unseen", "Busy", "unseen", "Busy"]
    elapsed[0] = 500.0
    assert reasons(ring, busy, now=NOW + 500)[-1] == "unseen", "it hangs again"


def test_a_clock_that_is_set_makes_no_gap() -> None:
    """What elapsed tells a pause, not the time of day."""
    ring, busy = Ring(elapsed=lambda: 0.0), idle_decision(at=NOW)
    publish(ring, busy)
    publish(ring, busy, at=NOW + 3600, changed=())
    assert reasons(ring, busy, now=NOW + 900) == ["unseen", "Busy"]


def test_one_trigger_has_no_more_than_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    """One trigger has no more than its share."""
    monkeypatch.setattr(ring_module, "MAX_CHANGES", 2 * MOST_EACH)
    ring = Ring()
    for number in range(3 * MOST_EACH):
        one = queue_decision(value=number, at=NOW + number)
        publish(ring, one, at=NOW + number)
    assert MOST_EACH // 2 <= ring.changes <= MOST_EACH
    newest = ring.timeline(ref_of(one), start=NOW, end=one.at + 1)[-1].told
    assert newest is not None
    assert newest.value == 3 * MOST_EACH - 1, "the oldest go first"


def test_the_more_triggers_the_less_each_remembers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The more triggers the less each remembers."""
    monkeypatch.setattr(ring_module, "MAX_CHANGES", 1000)
    ring, triggers = Ring(), 100
    for number in range(50):
        publish(
            ring,
            *(queue_decision(f"p{one}", value=number, at=NOW + number) for one in range(triggers)),
            at=NOW + number,
        )
    assert ring.changes <= triggers * LEAST_EACH


def test_triggers_that_are_gone_are_forgotten() -> None:
    """Triggers that are gone are forgotten."""
    ring = Ring()
    publish(ring, *(queue_decision(f"p{one}") for one in range(SPARE_TRACKS + 2)))
    stays = queue_decision("p0")
    publish(ring, stays, changed=())
    assert ring.changes == 1


def test_pods_are_remembered_after_they_are_gone() -> None:
    """At zero the chart shows what the GPUs of the pods did that were there."""
    ring = Ring()
    publish(ring, idle_decision(pods=("llm-0", "llm-1")))
    gone = idle_decision(reason=Reason.AT_ZERO, pods=())
    publish(ring, gone)
    assert ring.pods(ref_of(gone)) == ("llm-0", "llm-1")


def test_no_more_pods_are_remembered_than_fit_a_query() -> None:
    """No more pods are remembered than fit a query."""
    ring, many = Ring(), idle_decision(pods=tuple(f"llm-{one}" for one in range(3 * MAX_PODS)))
    publish(ring, many)
    publish(ring, idle_decision(reason=Reason.IDLE, pods=("new",)))
    assert len(ring.pods(ref_of(many))) == MAX_PODS
    assert ring.pods(ref_of(many))[-1] == "new"


def test_a_hold_is_as_old_as_its_first_unknown_whatever_the_reasons_were() -> None:
    """A hold is as old as its first unknown whatever the reasons were."""
    ring = Ring()
    publish(ring, idle_decision(at=NOW))
    publish(ring, idle_decision(at=NOW + 10, held=True, reason=Reason.NO_SAMPLES))
    held = idle_decision(at=NOW + 20, held=True, reason=Reason.PROMETHEUS_FAILED)
    publish(ring, held)
    assert ring.unknown_since(ref_of(held)) == NOW + 10
    assert not ring.began_unknown(ref_of(held))


def test_a_hold_from_the_first_look_on_may_be_older() -> None:
    """A hold from the first look on may be older."""
    ring, held = Ring(), idle_decision(held=True, reason=Reason.NO_SAMPLES)
    publish(ring, held)
    assert ring.began_unknown(ref_of(held))


def test_of_a_trigger_that_was_never_seen_nothing_is_said() -> None:
    """Of a trigger that was never seen nothing is said."""
    ring, never = Ring(), ref_of(idle_decision())
    assert ring.pods(never) == ()
    assert ring.unknown_since(never) is None
    assert not ring.began_unknown(never)
