"""The table of what is read."""

from scaler.core.model import Kind
from scaler.core.sources import OPTIONAL
from scaler.kube.resources import (
    ACTUATOR_RESOURCES,
    EVENT_RULE,
    KINDS,
    PATCH_RULES,
    RESOURCES,
    Rule,
    actuator_rules,
    rules,
)


def test_every_kind_is_in_the_table_once() -> None:
    """A kind that is forgotten here would be read nowhere."""
    assert set(KINDS) == set(Kind)
    assert set(RESOURCES) == set(Kind) - {Kind.JOB_SETS, Kind.NOTEBOOKS}
    for table in (RESOURCES, ACTUATOR_RESOURCES):
        assert all(resource.kind is kind for kind, resource in table.items())
        assert all(resource.versions and resource.fields for resource in table.values())


def test_what_a_cluster_may_do_without_is_optional_for_decisions_too() -> None:
    """The core names the same kinds."""
    optional = {kind for kind, resource in KINDS.items() if not resource.required}
    assert optional == OPTIONAL


def test_the_rules_allow_reading_every_kind_and_writing_events_alone() -> None:
    """No verb beyond list and watch, and nothing of Secrets or ConfigMaps."""
    read = {
        (rule.group, plural) for rule in rules() if rule != EVENT_RULE for plural in rule.resources
    }
    assert read == {(resource.group, resource.plural) for resource in RESOURCES.values()}
    writing = [rule for rule in rules() if set(rule.verbs) - {"list", "watch"}]
    assert writing == [EVENT_RULE]
    assert EVENT_RULE.verbs == ("create", "patch")


def test_the_actuator_reads_its_kinds_and_patches_five() -> None:
    """No update, no delete, nothing created but Events; no /scale and no spec of a queue."""
    found = set(actuator_rules())
    assert {EVENT_RULE, *PATCH_RULES} < found
    assert {rule.verbs for rule in PATCH_RULES} == {("patch",)}
    assert {plural for rule in PATCH_RULES for plural in rule.resources} == {
        "jobs",
        "notebooks",
        "rayclusters",
        "workerscales",
        "workerscales/status",
        "workloads",
    }
    reading = found - {EVENT_RULE, *PATCH_RULES}
    assert {rule.verbs for rule in reading} == {("list", "watch")}
    assert {(rule.group, plural) for rule in reading for plural in rule.resources} == {
        (resource.group, resource.plural) for resource in ACTUATOR_RESOURCES.values()
    }


def test_rules_are_sorted_and_none_is_twice() -> None:
    """The files under deploy/ have them in this order."""
    for found in (rules(), actuator_rules()):
        assert list(found) == sorted(found, key=_order)
        assert len(set(found)) == len(found)


def _order(rule: Rule) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    return (rule.group, rule.resources, rule.verbs)


def test_only_owners_are_read_by_metadata_alone() -> None:
    """RayClusters and Jobs: whose object controls them."""
    light = {kind for kind, resource in RESOURCES.items() if resource.metadata_only}
    assert light == {Kind.RAY_CLUSTERS, Kind.JOBS}
    assert not any(RESOURCES[kind].required for kind in light)


def test_the_actuator_reads_whole_what_it_changes_but_notebooks() -> None:
    """A Notebook is stopped by an annotation, and a JobSet is only a link of the chain."""
    light = {kind for kind, resource in ACTUATOR_RESOURCES.items() if resource.metadata_only}
    assert light == {Kind.JOB_SETS, Kind.NOTEBOOKS}


def test_names_are_as_kubectl_takes_them() -> None:
    """They stand in logs and problems."""
    assert RESOURCES[Kind.WORKLOADS].full_name == "workloads.kueue.x-k8s.io"
    assert RESOURCES[Kind.PODS].full_name == "pods"
