"""Schedules hold by the wall clock of their zone."""

from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.core.policy import Policy, Pool, Schedule
from scaler.core.quantity import instant
from scaler.core.schedule import active_schedules, kept_active_by, spare_nodes

WORKDAYS = frozenset(range(5))
OFFICE = Schedule(
    name="office",
    days=WORKDAYS,
    from_minute=8 * 60,
    to_minute=18 * 60,
    timezone="Europe/Berlin",
    spare_nodes=MappingProxyType({"a100": 2}),
    keep_active=frozenset({"team-a"}),
)
NIGHT = Schedule(
    name="night",
    days=frozenset({4}),
    from_minute=22 * 60,
    to_minute=6 * 60,
    timezone="UTC",
    spare_nodes=MappingProxyType({"a100": 0}),
)
POOL = Pool(
    name="a100",
    node_selector=(("pool", "a100"),),
    node=(("nvidia.com/gpu", 8),),
    max_nodes=9,
    spare_nodes=1,
)


def names(policy: Policy, at: str) -> list[str]:
    """Give the names of the schedules that are on."""
    return [schedule.name for schedule in active_schedules(policy, instant(at))]


@pytest.mark.parametrize(
    ("at", "on"),
    [
        ("2026-01-30T07:00:00Z", True),  # Friday, 08:00 in Berlin
        ("2026-01-30T06:59:59Z", False),
        ("2026-01-30T16:59:59Z", True),
        ("2026-01-30T17:00:00Z", False),
        ("2026-01-31T10:00:00Z", False),  # Saturday
        ("2026-07-03T06:00:00Z", True),  # Friday in summer, 08:00 in Berlin
        ("2026-07-03T16:00:00Z", False),
    ],
)
def test_span_within_a_day(at: str, *, on: bool) -> None:
    """A span holds from its first minute to before its last, summer time included."""
    assert names(Policy(schedules=(OFFICE,)), at) == (["office"] if on else [])


@pytest.mark.parametrize(
    ("at", "on"),
    [
        ("2026-01-30T21:59:59Z", False),
        ("2026-01-30T22:00:00Z", True),  # Friday
        ("2026-01-31T05:59:59Z", True),  # Saturday morning, of Friday's span
        ("2026-01-31T06:00:00Z", False),
        ("2026-01-30T03:00:00Z", False),  # Friday morning would be Thursday's span
        ("2026-01-31T23:00:00Z", False),
    ],
)
def test_span_over_midnight(at: str, *, on: bool) -> None:
    """A span over midnight belongs to the day on which it begins."""
    assert names(Policy(schedules=(NIGHT,)), at) == (["night"] if on else [])


@given(st.integers(0, 3_000_000_000), st.integers(0, 1439))
def test_equal_ends_are_a_whole_day(now: int, minute: int) -> None:
    """From and to alike span 24 hours, so that all days of it are always."""
    always = Schedule(
        name="always",
        days=frozenset(range(7)),
        from_minute=minute,
        to_minute=minute,
        timezone="Asia/Kolkata",
    )
    assert active_schedules(Policy(schedules=(always,)), now) == (always,)


@given(st.integers(0, 3_000_000_000), st.integers(0, 1439), st.integers(0, 1439))
def test_a_span_and_its_rest(now: int, start: int, end: int) -> None:
    """On all days, a span and the one from its end to its start share no instant."""
    spans = tuple(
        Schedule(
            name=name,
            days=frozenset(range(7)),
            from_minute=first,
            to_minute=last,
            timezone="America/New_York",
        )
        for name, first, last in (("span", start, end), ("rest", end, start))
    )
    assert len(active_schedules(Policy(schedules=spans), now)) == (1 if start != end else 2)


def test_spare_nodes() -> None:
    """The larger of overlapping schedules counts; without any it is the pool's own number."""
    more = Schedule(
        name="fair",
        days=WORKDAYS,
        from_minute=0,
        to_minute=1440,
        timezone="UTC",
        spare_nodes=MappingProxyType({"a100": 3, "h100": 9}),
    )
    friday, saturday = instant("2026-01-30T10:00:00Z"), instant("2026-01-31T01:00:00Z")
    sunday = instant("2026-02-01T12:00:00Z")
    policy = Policy(schedules=(OFFICE, more, NIGHT))
    assert spare_nodes(policy, POOL, friday) == 3
    assert spare_nodes(Policy(schedules=(OFFICE,)), POOL, friday) == 2
    assert spare_nodes(policy, POOL, saturday) == 0
    assert spare_nodes(policy, POOL, sunday) == 1


def test_keep_active() -> None:
    """Any schedule that is on keeps its namespaces active, and no others."""
    policy = Policy(schedules=(NIGHT, OFFICE))
    friday, sunday = instant("2026-01-30T10:00:00Z"), instant("2026-02-01T12:00:00Z")
    assert kept_active_by(policy, "team-a", friday) == OFFICE
    assert kept_active_by(policy, "team-b", friday) is None
    assert kept_active_by(policy, "team-a", sunday) is None
