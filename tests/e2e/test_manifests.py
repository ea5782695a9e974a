"""What the modules ship is placed and pointed as their own kustomizations do."""

import base64
from pathlib import Path

import yaml

from tests.e2e.api import Object
from tests.e2e.manifests import Sources, documents, jobset_webhooks, kueue_webhooks, roles

URL = "https://127.0.0.1:1"


class ThatFolder(Sources):
    """Sources whose manifests are in one given folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder

    @property
    def kueue(self) -> Path:
        """Give the folder."""
        return self._folder

    jobset = kueue


def hook(path: str) -> Object:
    """Give one webhook as a project ships it."""
    service = {"name": "webhook-service", "namespace": "system", "path": path}
    return {"name": path, "clientConfig": {"service": service}}


def shipped(folder: Path, *paths: str) -> ThatFolder:
    """Write a manifest with webhooks at paths, and an authority beside it."""
    (folder / "webhook").mkdir()
    configuration = {
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": "mutating-webhook-configuration"},
        "webhooks": [hook(path) for path in paths],
    }
    text = "---\n" + yaml.safe_dump(configuration)
    (folder / "webhook" / "manifests.yaml").write_text(text)
    (folder / "ca.crt").write_text("PEM")
    return ThatFolder(folder)


def test_empty_documents_are_no_objects(tmp_path: Path) -> None:
    """Shipped files often begin with a separator."""
    (tmp_path / "a.yaml").write_text("---\n---\nkind: A\n---\nkind: B\n")
    assert [each["kind"] for each in documents(tmp_path / "a.yaml")] == ["A", "B"]


def test_webhooks_are_asked_at_the_url(tmp_path: Path) -> None:
    """With the authority that signed the program's certificate."""
    sources = shipped(tmp_path, "/mutate-batch-v1-job")
    (found,) = kueue_webhooks(sources, url=URL, authority=tmp_path / "ca.crt")
    assert found["metadata"]["name"] == "kueue-mutatingwebhookconfiguration"
    assert found["webhooks"][0]["clientConfig"] == {
        "url": f"{URL}/mutate-batch-v1-job",
        "caBundle": base64.b64encode(b"PEM").decode(),
    }


def test_webhooks_of_kinds_without_a_controller_are_left_out(tmp_path: Path) -> None:
    """They fail closed: nobody could create such an object."""
    sources = shipped(tmp_path, "/mutate-kubeflow-org-v1-mpijob", "/mutate-apps-v1-deployment")
    (found,) = kueue_webhooks(sources, url=URL, authority=tmp_path / "ca.crt")
    assert [each["name"] for each in found["webhooks"]] == ["/mutate-apps-v1-deployment"]


def test_pod_webhooks_leave_others_pods_alone(tmp_path: Path) -> None:
    """Kueue's see no system namespace, JobSet's only pods of JobSets."""
    sources = shipped(tmp_path, "/mutate--v1-pod")
    (kueue,) = kueue_webhooks(sources, url=URL, authority=tmp_path / "ca.crt")
    (jobset,) = jobset_webhooks(sources, url=URL, authority=tmp_path / "ca.crt")
    selector = kueue["webhooks"][0]["namespaceSelector"]["matchExpressions"][0]
    assert selector["operator"] == "NotIn"
    assert "kube-system" in selector["values"]
    assert "objectSelector" in jobset["webhooks"][0]


def test_roles_go_where_the_controller_is(tmp_path: Path) -> None:
    """`system` stands for the namespace, and cluster-wide names don't meet another project's."""
    account = {"kind": "ServiceAccount", "name": "manager", "namespace": "system"}
    (tmp_path / "rbac.yaml").write_text(
        yaml.safe_dump_all(
            [
                {"kind": "ServiceAccount", "metadata": {"name": "manager", "namespace": "system"}},
                {"kind": "ClusterRole", "metadata": {"name": "manager-role"}},
                {
                    "kind": "ClusterRoleBinding",
                    "metadata": {"name": "manager-binding"},
                    "roleRef": {"kind": "ClusterRole", "name": "manager-role"},
                    "subjects": [account],
                },
                {
                    "kind": "RoleBinding",
                    "metadata": {"name": "leader"},
                    "roleRef": {"kind": "Role", "name": "leader"},
                    "subjects": [dict(account)],
                },
            ]
        )
    )
    found = roles([tmp_path / "rbac.yaml"], namespace="here", prefix="here-")
    manager, role, binding, leader = found
    assert manager["metadata"]["namespace"] == "here"
    assert role["metadata"] == {"name": "here-manager-role"}
    assert binding["metadata"]["name"] == "here-manager-binding"
    assert binding["roleRef"]["name"] == "here-manager-role"
    assert leader["metadata"]["namespace"] == "here"
    assert leader["roleRef"]["name"] == "leader"
    assert {each["subjects"][0]["namespace"] for each in (binding, leader)} == {"here"}
