"""Give the values in force for one idle trigger, each with the rule that gave it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from scaler.core.decision import EffectiveValue
from scaler.core.policy import DEFAULT_THRESHOLDS, Policy, Safety, Thresholds
from scaler.core.quantity import format_duration
from scaler.core.trigger import IdleTrigger

V = TypeVar("V")

Level = tuple[str, Thresholds]
"""A rule's name and its values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effective:
    """What an idle trigger is judged by; durations in seconds."""

    idle_after: float
    busy_from_percent: float
    grace_after_start: float
    dry_run: bool
    keep_alive: str | None
    """Name of a query, or a query where the trigger may bring its own."""
    wake: str | None
    values: tuple[EffectiveValue, ...]
    """The same, for people, with the rule behind each."""


def effective(
    *,
    policy: Policy,
    trigger: IdleTrigger,
    namespace: str,
    cluster_queue: str | None,
    kind: str | None,
) -> Effective:
    """Resolve trigger > namespace > clusterQueue > kind > defaults > built-in.

    A dry run at any level is a dry run, and a trigger's idleAfter stays within the policy's
    safety bounds: who writes a trigger can be more careful than the policy, not less.
    """
    levels = _levels(policy, trigger, namespace=namespace, cluster_queue=cluster_queue, kind=kind)
    idle_after, idle_rule = _bounded(*_first(levels, lambda level: level.idle_after), policy.safety)
    busy_from, busy_rule = _first(levels, lambda level: level.busy_from_percent)
    grace, grace_rule = _first(levels, lambda level: level.grace_after_start)
    dry_run, dry_rule = _any_dry_run(levels)
    keep_alive, keep_rule = _optional(levels, lambda level: level.keep_alive)
    wake, wake_rule = _optional(levels, lambda level: level.wake)
    values = [
        EffectiveValue(key="idleAfter", value=format_duration(idle_after), rule=idle_rule),
        EffectiveValue(key="busyFromPercent", value=f"{busy_from:g}", rule=busy_rule),
        EffectiveValue(key="graceAfterStart", value=format_duration(grace), rule=grace_rule),
        EffectiveValue(key="dryRun", value=str(dry_run).lower(), rule=dry_rule),
    ]
    if keep_alive is not None:
        values.append(EffectiveValue(key="keepAlive", value=keep_alive, rule=keep_rule))
    if wake is not None:
        values.append(EffectiveValue(key="wake", value=wake, rule=wake_rule))
    return Effective(
        idle_after=idle_after,
        busy_from_percent=busy_from,
        grace_after_start=grace,
        dry_run=dry_run,
        keep_alive=keep_alive,
        wake=wake,
        values=tuple(values),
    )


def dry_run_rules(
    *,
    policy: Policy,
    trigger: IdleTrigger,
    namespace: str,
    cluster_queue: str | None,
    kind: str | None,
) -> tuple[str, ...]:
    """Give every rule that says dryRun: all of them have to let go."""
    levels = _levels(policy, trigger, namespace=namespace, cluster_queue=cluster_queue, kind=kind)
    return tuple(rule for rule, level in levels if level.dry_run)


def _levels(
    policy: Policy,
    trigger: IdleTrigger,
    *,
    namespace: str,
    cluster_queue: str | None,
    kind: str | None,
) -> tuple[Level, ...]:
    """List the levels that speak of this trigger, the strongest first."""
    own = Thresholds(
        idle_after=trigger.idle_after,
        busy_from_percent=trigger.busy_from_percent,
        grace_after_start=trigger.grace_after_start,
        dry_run=trigger.dry_run,
        keep_alive=trigger.keep_alive,
        wake=trigger.wake,
    )
    levels: list[Level] = [("trigger", own)]
    for section, name, rules in (
        ("namespaces", namespace, policy.namespaces),
        ("clusterQueues", cluster_queue, policy.cluster_queues),
        ("kinds", kind, policy.kinds),
    ):
        if name is not None and name in rules:
            levels.append((f"{section}.{name}", rules[name]))
    if policy.defaults is not DEFAULT_THRESHOLDS:
        levels.append(("defaults", policy.defaults))
    levels.append(("built-in", DEFAULT_THRESHOLDS))
    return tuple(levels)


def _optional(
    levels: tuple[Level, ...], get: Callable[[Thresholds], V | None]
) -> tuple[V | None, str]:
    for rule, level in levels:
        value = get(level)
        if value is not None:
            return value, rule
    return None, ""


def _first(levels: tuple[Level, ...], get: Callable[[Thresholds], V | None]) -> tuple[V, str]:
    value, rule = _optional(levels, get)
    if value is None:
        raise AssertionError("the built-in level gives every threshold")
    return value, rule


def _any_dry_run(levels: tuple[Level, ...]) -> tuple[bool, str]:
    for rule, level in levels:
        if level.dry_run:
            return True, rule
    return _first(levels, lambda level: level.dry_run)


def _bounded(seconds: float, rule: str, safety: Safety) -> tuple[float, str]:
    """Keep a trigger's idleAfter within the bounds; the policy's own was checked on loading."""
    kept = min(max(seconds, safety.idle_after_min), safety.idle_after_max)
    if rule != "trigger" or kept == seconds:
        return seconds, rule
    bound = "safety.idleAfterMin" if kept > seconds else "safety.idleAfterMax"
    return kept, f"trigger ({format_duration(seconds)}), bounded by {bound}"
