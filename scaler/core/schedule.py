"""Say which schedules of the policy are on, and what they ask for."""

from datetime import datetime
from functools import cache
from zoneinfo import ZoneInfo

from scaler.core.model import Instant
from scaler.core.policy import Policy, Pool, Schedule

_DAYS = 7
_MINUTE = 60.0
"""Seconds."""
_LONGEST = 8 * 24 * 60
"""Minutes: a week, and a change of the clock."""


def active_schedules(policy: Policy, now: Instant) -> tuple[Schedule, ...]:
    """Give the schedules whose span holds this instant, by the wall clock of their zones."""
    return tuple(schedule for schedule in policy.schedules if _holds(schedule, now))


def spare_nodes(policy: Policy, pool: Pool, now: Instant) -> int:
    """Give the nodes to keep empty: the largest that a schedule asks for, else the pool's own."""
    asked = [
        schedule.spare_nodes[pool.name]
        for schedule in active_schedules(policy, now)
        if pool.name in schedule.spare_nodes
    ]
    return max(asked, default=pool.spare_nodes)


def kept_active_by(policy: Policy, namespace: str, now: Instant) -> Schedule | None:
    """Give a schedule that keeps the namespace active now; None where there is none."""
    for schedule in active_schedules(policy, now):
        if namespace in schedule.keep_active:
            return schedule
    return None


def kept_active_until(policy: Policy, namespace: str, now: Instant) -> Instant | None:
    """Give the first minute at which no schedule keeps the namespace active; None = none comes."""
    start = now // _MINUTE * _MINUTE
    minutes = (start + _MINUTE * number for number in range(1, _LONGEST))
    return next((one for one in minutes if kept_active_by(policy, namespace, one) is None), None)


def _holds(schedule: Schedule, now: Instant) -> bool:
    """Compare wall clock times; a span over midnight belongs to the day on which it begins."""
    local = datetime.fromtimestamp(now, tz=_zone(schedule.timezone))
    minute, today = local.hour * 60 + local.minute, local.weekday()
    if schedule.from_minute < schedule.to_minute:
        return today in schedule.days and schedule.from_minute <= minute < schedule.to_minute
    if minute >= schedule.from_minute and today in schedule.days:
        return True
    return minute < schedule.to_minute and (today - 1) % _DAYS in schedule.days


@cache
def _zone(name: str) -> ZoneInfo:
    """Keep each zone once read (zoneinfo itself keeps eight): its file is read at policy load."""
    return ZoneInfo(name)
