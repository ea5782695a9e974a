"""What must hold between the keys of a policy, beyond what each may be by itself."""

import re
from collections.abc import Iterable, Mapping
from itertools import combinations

from scaler.core.policy import DEFAULT_THRESHOLDS, Policy, Pool, Profile, Thresholds
from scaler.core.quantity import format_duration
from scaler.core.trigger import Problem
from scaler.policyfile.document import Path, Tree, written

_PLACEHOLDER = re.compile(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)")
_PLACEHOLDERS = ("namespace", "workload")
QUIET_WATCH = 90.0
"""Seconds: without a byte for 60 a watch is renewed by a list, which takes its time."""
MAX_POOLS = 500
"""Each is held against each other one; beyond, that would take longer than a reload may."""


def broken_rules(policy: Policy, tree: Mapping[str, Tree]) -> tuple[Problem, ...]:
    """Give the rules that a policy breaks; `tree` is what it was read from.

    Names are looked for in the tree, so that an entry which is refused itself is not missed too.
    """
    return (
        *_bounds(policy),
        *_ages(policy),
        *_queries(policy, known=_names(tree, "queries")),
        *_pools(policy),
        *_schedules(policy, known=_names(tree, "pools")),
        *_profile(policy, given=_names(tree, "prometheus")),
    )


def _problem(path: Path, value: str, allowed: str) -> Problem:
    return Problem(path=written(path), value=value, allowed=allowed)


def _names(tree: Mapping[str, Tree], section: str) -> tuple[str, ...]:
    entries = tree.get(section)
    return tuple(entries) if isinstance(entries, Mapping) else ()


def _levels(policy: Policy) -> Iterable[tuple[Path, Thresholds]]:
    yield ("defaults",), policy.defaults
    for section, rules in (
        ("kinds", policy.kinds),
        ("clusterQueues", policy.cluster_queues),
        ("namespaces", policy.namespaces),
    ):
        for name, thresholds in rules.items():
            yield (section, name), thresholds


def _bounds(policy: Policy) -> Iterable[Problem]:
    low, high = policy.safety.idle_after_min, policy.safety.idle_after_max
    span = f"{format_duration(low)} to {format_duration(high)}"
    if low > high:
        yield _problem(
            ("safety", "idleAfterMin"), format_duration(low), "it must not exceed idleAfterMax"
        )
        return
    for path, level in _levels(policy):
        seconds = level.idle_after
        if seconds is None and path == ("defaults",):
            seconds = DEFAULT_THRESHOLDS.idle_after  # what is built in takes its place
        if seconds is not None and not low <= seconds <= high:
            yield _problem(
                (*path, "idleAfter"),
                format_duration(seconds),
                f"allowed is {span} (safety.idleAfterMin and idleAfterMax)",
            )


def _ages(policy: Policy) -> Iterable[Problem]:
    """Refuse ages that a healthy source exceeds all the time: nothing would be decided any more."""
    rhythm = policy.prometheus.scrape_interval + policy.prometheus.refresh
    for key, seconds, least, why in (
        (
            "maxSampleAge",
            policy.safety.max_sample_age,
            rhythm,
            "prometheus.scrapeInterval and refresh together",
        ),
        (
            "maxWatchAge",
            policy.safety.max_watch_age,
            QUIET_WATCH,
            "a watch of which nothing changes shows no life for a minute",
        ),
    ):
        if seconds < least:
            allowed = f"allowed is {format_duration(least)} or more: {why}"
            yield _problem(("safety", key), format_duration(seconds), allowed)


def _queries(policy: Policy, *, known: tuple[str, ...]) -> Iterable[Problem]:
    allowed = f"allowed are the names in queries: {', '.join(known) or 'there are none'}"
    for path, level in _levels(policy):
        for key, name in (("keepAlive", level.keep_alive), ("wake", level.wake)):
            if name is not None and name not in known:
                yield _problem((*path, key), name, allowed)
    for name, template in policy.queries.items():
        for placeholder in _PLACEHOLDER.findall(template):
            if placeholder not in _PLACEHOLDERS:
                yield _problem(
                    ("queries", name), f"${placeholder}", "allowed are $namespace and $workload"
                )


def _pools(policy: Policy) -> Iterable[Problem]:
    for pool in policy.pools.values():
        if pool.spare_nodes > pool.max_nodes:
            path = ("pools", pool.name, "spareNodes")
            yield _problem(path, str(pool.spare_nodes), f"maxNodes is {pool.max_nodes}")
    if len(policy.pools) > MAX_POOLS:
        yield _problem(("pools",), str(len(policy.pools)), f"at most {MAX_POOLS} pools are allowed")
        return
    told: set[str] = set()
    for first, second in combinations(policy.pools.values(), 2):
        if second.name not in told and _overlap(first, second):
            told.add(second.name)  # with its first one: all pairs of many would bury the rest
            yield _problem(
                ("pools", second.name, "nodeSelector"),
                ", ".join(f"{key}={value}" for key, value in second.node_selector),
                f"a node could belong to pool {first.name} too: both must name one label key "
                "with different values",
            )


def _overlap(first: Pool, second: Pool) -> bool:
    """Say whether one node could match both: no label key that both name differs."""
    labels = dict(first.node_selector)
    return all(labels.get(key, value) == value for key, value in second.node_selector)


def _schedules(policy: Policy, *, known: tuple[str, ...]) -> Iterable[Problem]:
    for schedule in policy.schedules:
        for name, spare in schedule.spare_nodes.items():
            path = ("schedules", schedule.name, "spareNodes", name)
            pool = policy.pools.get(name)
            if name not in known:
                allowed = f"allowed are the names in pools: {', '.join(known) or 'there are none'}"
                yield _problem(path, str(spare), allowed)
            elif pool is not None and spare > pool.max_nodes:
                yield _problem(path, str(spare), f"maxNodes is {pool.max_nodes}")


def _profile(policy: Policy, *, given: tuple[str, ...]) -> Iterable[Problem]:
    if policy.prometheus.profile is Profile.CUSTOM and "custom" not in given:
        yield _problem(("prometheus", "custom"), "", "profile custom needs it")
