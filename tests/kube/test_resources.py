"""The table of what is read."""

from scaler.core.model import Kind
from scaler.kube.resources import EVENT_RULE, RESOURCES, rules


def test_every_kind_is_in_the_table_once() -> None:
    """A kind that is forgotten here would be read nowhere."""
    assert set(RESOURCES) == set(Kind)
    assert all(resource.kind is kind for kind, resource in RESOURCES.items())
    assert all(resource.versions and resource.fields for resource in RESOURCES.values())


def test_the_rules_allow_reading_every_kind_and_writing_events_alone() -> None:
    """No verb beyond list and watch, and nothing of Secrets or ConfigMaps."""
    read = {
        (rule.group, plural) for rule in rules() if rule != EVENT_RULE for plural in rule.resources
    }
    assert read == {(resource.group, resource.plural) for resource in RESOURCES.values()}
    writing = [rule for rule in rules() if set(rule.verbs) - {"list", "watch"}]
    assert writing == [EVENT_RULE]
    assert EVENT_RULE.verbs == ("create", "patch")


def test_only_owners_are_read_by_metadata_alone() -> None:
    """RayClusters and Jobs: whose object controls them."""
    light = {kind for kind, resource in RESOURCES.items() if resource.metadata_only}
    assert light == {Kind.RAY_CLUSTERS, Kind.JOBS}
    assert not any(RESOURCES[kind].required for kind in light)


def test_names_are_as_kubectl_takes_them() -> None:
    """They stand in logs and problems."""
    assert RESOURCES[Kind.WORKLOADS].full_name == "workloads.kueue.x-k8s.io"
    assert RESOURCES[Kind.PODS].full_name == "pods"
