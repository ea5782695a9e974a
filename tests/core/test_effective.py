"""The strongest level that speaks gives a value, and the rule says which it was."""

from dataclasses import replace
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.core.effective import Effective, effective
from scaler.core.policy import DEFAULT_THRESHOLDS, Policy, Safety, Thresholds
from scaler.core.trigger import IdleTrigger

LEVELS = ("trigger", "namespaces.team-a", "clusterQueues.research", "kinds.RayCluster", "defaults")


def resolve(policy: Policy, trigger: IdleTrigger | None = None) -> Effective:
    """Resolve for namespace team-a, ClusterQueue research, kind RayCluster."""
    return effective(
        policy=policy,
        trigger=trigger or IdleTrigger(),
        namespace="team-a",
        cluster_queue="research",
        kind="RayCluster",
    )


def rules(found: Effective) -> dict[str, tuple[str, str]]:
    """Give value and rule by key."""
    return {value.key: (value.value, value.rule) for value in found.values}


def layered(given: dict[str, Thresholds]) -> tuple[Policy, IdleTrigger]:
    """Put thresholds at levels, by the name of the rule."""
    own = given.get("trigger", Thresholds())
    policy = Policy(
        defaults=given.get("defaults", Thresholds()),
        kinds=MappingProxyType({"RayCluster": given.get("kinds.RayCluster", Thresholds())}),
        cluster_queues=MappingProxyType(
            {"research": given.get("clusterQueues.research", Thresholds())}
        ),
        namespaces=MappingProxyType({"team-a": given.get("namespaces.team-a", Thresholds())}),
    )
    trigger = IdleTrigger(
        idle_after=own.idle_after,
        busy_from_percent=own.busy_from_percent,
        grace_after_start=own.grace_after_start,
        dry_run=own.dry_run,
        keep_alive=own.keep_alive,
        wake=own.wake,
    )
    return policy, trigger


def test_built_in() -> None:
    """Without any rule the built-in values hold, and say so."""
    found = resolve(Policy())
    assert rules(found) == {
        "idleAfter": ("30m", "built-in"),
        "busyFromPercent": ("1", "built-in"),
        "graceAfterStart": ("10m", "built-in"),
        "dryRun": ("false", "built-in"),
    }
    assert found.keep_alive is None
    assert found.wake is None


@pytest.mark.parametrize("weakest", range(len(LEVELS)))
def test_precedence(weakest: int) -> None:
    """Trigger > namespace > clusterQueue > kind > defaults, for every value."""
    speaking = LEVELS[weakest:]
    given = {
        rule: Thresholds(
            idle_after=600.0 + place,
            busy_from_percent=10.0 + place,
            grace_after_start=60.0 + place,
            keep_alive=f"keep-{place}",
            wake=f"wake-{place}",
        )
        for place, rule in enumerate(speaking)
    }
    found = resolve(*layered(given))
    assert (found.idle_after, found.busy_from_percent, found.grace_after_start) == (600, 10, 60)
    assert (found.keep_alive, found.wake) == ("keep-0", "wake-0")
    spoken = {key: rule for key, (_, rule) in rules(found).items() if key != "dryRun"}
    assert set(spoken.values()) == {speaking[0]}


def test_levels_fill_in() -> None:
    """A level that says nothing of a key leaves it to the next."""
    policy, trigger = layered(
        {
            "trigger": Thresholds(busy_from_percent=5),
            "kinds.RayCluster": Thresholds(idle_after=2700),
        }
    )
    found = rules(resolve(policy, trigger))
    assert found["idleAfter"] == ("45m", "kinds.RayCluster")
    assert found["busyFromPercent"] == ("5", "trigger")
    assert found["graceAfterStart"] == ("10m", "built-in")


def test_other_names_do_not_speak() -> None:
    """A rule for another namespace, queue or kind bears on nothing."""
    busy = Thresholds(idle_after=7200)
    policy = Policy(
        kinds={"JobSet": busy}, cluster_queues={"prod": busy}, namespaces={"team-b": busy}
    )
    assert resolve(policy).idle_after == DEFAULT_THRESHOLDS.idle_after
    alone = effective(
        policy=policy, trigger=IdleTrigger(), namespace="x", cluster_queue=None, kind=None
    )
    assert alone.idle_after == DEFAULT_THRESHOLDS.idle_after


@given(st.dictionaries(st.sampled_from(LEVELS), st.booleans()))
def test_any_dry_run(said: dict[str, bool]) -> None:
    """A dry run at any level is one, and the rule names a level that said so."""
    policy, trigger = layered({rule: Thresholds(dry_run=value) for rule, value in said.items()})
    found = resolve(policy, trigger)
    value, rule = rules(found)["dryRun"]
    assert found.dry_run == any(said.values())
    assert value == str(found.dry_run).lower()
    assert said.get(rule, False) == found.dry_run


@pytest.mark.parametrize(
    ("asked", "kept", "rule"),
    [
        (60.0, 300.0, "trigger (1m), bounded by safety.idleAfterMin"),
        (300.0, 300.0, "trigger"),
        (86400.0, 86400.0, "trigger"),
        (90000.0, 86400.0, "trigger (25h), bounded by safety.idleAfterMax"),
    ],
)
def test_bounds(asked: float, kept: float, rule: str) -> None:
    """A trigger's idleAfter stays within the safety bounds, and its rule tells of it."""
    found = resolve(Policy(), IdleTrigger(idle_after=asked))
    assert found.idle_after == kept
    assert rules(found)["idleAfter"][1] == rule


def test_bounds_are_the_policy_s() -> None:
    """The bounds are those of the policy in force; the policy's own values are not bent."""
    policy = replace(
        Policy(defaults=Thresholds(idle_after=100.0)), safety=Safety(idle_after_min=600.0)
    )
    assert resolve(policy, IdleTrigger(idle_after=1.0)).idle_after == 600.0
    assert rules(resolve(policy))["idleAfter"] == ("1m40s", "defaults")
