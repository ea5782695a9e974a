"""What the pods may do is what the code does, and is bound to the accounts that they run as."""

import pytest

from scaler.kube import resources
from tests.test_deploy import DEPLOY, Document, documents, pod, shipped


def test_rbac_equals_code() -> None:
    """The ClusterRole grants exactly the verbs that the code uses."""
    assert granted(shipped("rbac")) == list(resources.rules())


def test_actuator_rbac_equals_code() -> None:
    """The actuator may change what its code changes, and hold a Lease where it lives."""
    role, lease = of_kind("rbac-actuator", "ClusterRole"), of_kind("rbac-actuator", "Role")
    assert granted(role) == list(resources.actuator_rules())
    assert granted(lease) == [resources.LEASE_RULE]


def test_binding() -> None:
    """The role is bound to the account that the pods run as."""
    _, binding = documents(DEPLOY / "rbac.yaml")
    (subject,) = binding["subjects"]
    assert subject["name"] == shipped("serviceaccount")["metadata"]["name"]
    assert subject["name"] == pod()["serviceAccountName"]
    assert subject["namespace"] == shipped("namespace")["metadata"]["name"]
    assert subject["namespace"] == shipped("kustomization")["namespace"]


@pytest.mark.parametrize(
    ("bound", "role"), [("ClusterRoleBinding", "ClusterRole"), ("RoleBinding", "Role")]
)
def test_actuator_bindings(bound: str, role: str) -> None:
    """Both roles are bound to the account that the actuator's pods run as, which is another."""
    binding, wanted = of_kind("rbac-actuator", bound), of_kind("rbac-actuator", role)
    assert (binding["roleRef"]["kind"], binding["roleRef"]["name"]) == (
        role,
        wanted["metadata"]["name"],
    )
    (subject,) = binding["subjects"]
    account = of_kind("rbac-actuator", "ServiceAccount")["metadata"]["name"]
    assert subject["name"] == account == pod("deployment-actuator")["serviceAccountName"]
    assert subject["namespace"] == shipped("kustomization")["namespace"]
    assert account != pod()["serviceAccountName"]


def granted(role: Document) -> list[resources.Rule]:
    """Give the rules of a role."""
    return [
        resources.Rule(group=group, resources=tuple(rule["resources"]), verbs=tuple(rule["verbs"]))
        for rule in role["rules"]
        for group in rule["apiGroups"]
    ]


def of_kind(name: str, kind: str) -> Document:
    """Give the only document of a kind in a file of the base."""
    (found,) = (each for each in documents(DEPLOY / f"{name}.yaml") if each["kind"] == kind)
    return found
