"""What the pods may do is what the code does, and is bound to the accounts that they run as."""

from pathlib import Path

import pytest

from scaler.kube import resources
from tests.kustomized import DEPLOY, Document, documents, named, rendered
from tests.test_deploy import NAME, deployments, each_installation, pod

ACTUATOR = f"{NAME}-actuator"
WITH_ACTUATOR = rendered(DEPLOY / "overlays" / "actuator")
ROLES = ("ClusterRole", "Role")


def test_rbac_equals_code() -> None:
    """The ClusterRole grants exactly the verbs that the code uses."""
    (role,) = (each for each in rendered(DEPLOY) if each["kind"] in ROLES)
    assert granted(role) == list(resources.rules())


def test_actuator_rbac_equals_code() -> None:
    """The actuator may change what its code changes, and hold a Lease where it lives."""
    role, lease = (named(WITH_ACTUATOR, kind, ACTUATOR) for kind in ROLES)
    assert granted(role) == list(resources.actuator_rules())
    assert granted(lease) == [resources.LEASE_RULE]


def test_the_base_writes_nothing_but_events() -> None:
    """Of all that is installed without the actuator."""
    rules = [rule for each in rendered(DEPLOY) if each["kind"] in ROLES for rule in granted(each)]
    writing = [rule for rule in rules if set(rule.verbs) - {"get", "list", "watch"}]
    assert writing == [resources.EVENT_RULE]


@each_installation
def test_no_rule_is_broader_than_its_names(folder: Path) -> None:
    """No wildcard, no Secret, and no further word in any installation."""
    for role in (each for each in rendered(folder) if each["kind"] in ROLES):
        assert all(rule.keys() == {"apiGroups", "resources", "verbs"} for rule in role["rules"])
        for rule in granted(role):
            assert "*" not in (rule.group, *rule.resources, *rule.verbs)
            assert "secrets" not in rule.resources


@each_installation
def test_roles_are_the_two_accounts_own(folder: Path) -> None:
    """Each role of ours is bound once, to the account of the pods that it is for."""
    objects = rendered(folder)
    accounts = {pod(each)["serviceAccountName"] for each in deployments(folder)}
    for role in (each for each in objects if each["kind"] in ROLES):
        binding = named(objects, f"{role['kind']}Binding", role["metadata"]["name"])
        assert (binding["roleRef"]["kind"], binding["roleRef"]["name"]) == (
            role["kind"],
            role["metadata"]["name"],
        )
        (subject,) = binding["subjects"]
        assert subject["name"] == role["metadata"]["name"]
        assert subject["name"] in accounts
        assert subject["namespace"] == named(objects, "Namespace")["metadata"]["name"]


def test_the_actuators_account_is_another() -> None:
    """So what it may do is never `serve`'s too."""
    accounts = {
        each["metadata"]["name"]: pod(each)["serviceAccountName"]
        for each in deployments(DEPLOY / "overlays" / "actuator")
    }
    assert accounts == {NAME: NAME, ACTUATOR: ACTUATOR}


@pytest.mark.parametrize(
    ("file", "want"),
    [
        ("scaler", resources.rules()),
        ("actuator", resources.actuator_rules()),
        ("lease", (resources.LEASE_RULE,)),
    ],
)
def test_the_charts_roles_equal_the_code(file: str, want: tuple[resources.Rule, ...]) -> None:
    """Its templates take their rules from these files."""
    (rules,) = documents(DEPLOY / "chart" / "files" / f"rules-{file}.yaml")
    assert granted({"rules": rules}) == list(want)


def granted(role: Document) -> list[resources.Rule]:
    """Give the rules of a role."""
    return [
        resources.Rule(group=group, resources=tuple(rule["resources"]), verbs=tuple(rule["verbs"]))
        for rule in role["rules"]
        for group in rule["apiGroups"]
    ]
