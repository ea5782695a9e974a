"""Kustomizations are put together as kustomize does it, and what is not followed is refused."""

from pathlib import Path

import pytest
import yaml

from tests.kustomized import Document, documents, named, rendered

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: d, labels: {app: d}}
spec:
  selector: {matchLabels: {app: d}}
  template:
    metadata: {labels: {app: d}, annotations: {a/b: c}}
    spec: {containers: [{name: c, image: i, args: [one]}]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: b}
subjects: [{kind: ServiceAccount, name: a, namespace: old}]
"""


def write(folder: Path, *, files: dict[str, str] | None = None, **content: object) -> Path:
    """Write a kustomization with its files."""
    folder.mkdir()
    for name, text in (files or {}).items():
        (folder / name).write_text(text)
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(content))
    return folder


def base(tmp_path: Path, **content: object) -> Path:
    """Write one with a Deployment and a binding."""
    files = {"d.yaml": DEPLOYMENT, "p.yaml": "x: 1\n"}
    return write(tmp_path / "base", files=files, resources=["d.yaml"], **content)


def patched(tmp_path: Path, *steps: Document, **target: str) -> list[Document]:
    """Lay a component with one JSON patch over the base."""
    patch = {"target": {"kind": "Deployment", **target}, "patch": yaml.safe_dump(list(steps))}
    base(tmp_path)
    write(tmp_path / "component", kind="Component", patches=[patch])
    whole = write(tmp_path / "whole", resources=["../base"], components=["../component"])
    return rendered(whole)


def test_labels_and_images_spare_selectors(tmp_path: Path) -> None:
    """A selector can't be changed later, so nothing is added to it."""
    labels = [{"pairs": {"l": "1"}}, {"pairs": {"v": "2"}, "includeTemplates": True}]
    images = [{"name": "i", "newName": "r/i", "newTag": "3"}]
    found = named(rendered(base(tmp_path, labels=labels, images=images)), "Deployment")
    assert found["metadata"]["labels"] == {"app": "d", "l": "1", "v": "2"}
    assert found["spec"]["selector"]["matchLabels"] == {"app": "d"}
    assert found["spec"]["template"]["metadata"]["labels"] == {"app": "d", "v": "2"}
    assert found["spec"]["template"]["spec"]["containers"][0]["image"] == "r/i:3"


def test_the_outermost_namespace_wins(tmp_path: Path) -> None:
    """And the accounts that are bound follow; what is cluster-wide has none."""
    base(tmp_path, namespace="inner")
    found = rendered(write(tmp_path / "whole", resources=["../base"], namespace="outer"))
    assert named(found, "Deployment")["metadata"]["namespace"] == "outer"
    binding = named(found, "ClusterRoleBinding")
    assert "namespace" not in binding["metadata"]
    assert binding["subjects"][0]["namespace"] == "outer"


def test_a_generated_config_map_is_replaced(tmp_path: Path) -> None:
    """By another of its name, whose labels stay."""
    generated = {"name": "c", "files": ["p.yaml"]}
    base(tmp_path, configMapGenerator=[generated], labels=[{"pairs": {"l": "1"}}])
    again = [{**generated, "behavior": "replace"}]
    whole = write(
        tmp_path / "whole",
        files={"p.yaml": "x: 2\n"},
        resources=["../base"],
        configMapGenerator=again,
    )
    found = named(rendered(whole), "ConfigMap")
    assert found["data"] == {"p.yaml": "x: 2\n"}
    assert found["metadata"]["labels"] == {"l": "1"}


def test_a_patch_adds_replaces_and_removes(tmp_path: Path) -> None:
    """With `~1` for a slash in a name and `-` for a list's end."""
    container = "/spec/template/spec/containers/0"
    found = named(
        patched(
            tmp_path,
            {"op": "add", "path": f"{container}/args/-", "value": "two"},
            {"op": "replace", "path": f"{container}/image", "value": "j"},
            {"op": "remove", "path": "/spec/template/metadata/annotations/a~1b"},
            labelSelector="app=d",
        ),
        "Deployment",
    )
    (changed,) = found["spec"]["template"]["spec"]["containers"]
    assert changed == {"name": "c", "image": "j", "args": ["one", "two"]}
    assert found["spec"]["template"]["metadata"]["annotations"] == {}


@pytest.mark.parametrize("target", [{"name": "other"}, {"labelSelector": "app=other"}])
def test_a_patch_for_others_changes_nothing(tmp_path: Path, target: dict[str, str]) -> None:
    """As an overlay's for what another component brings."""
    step = {"op": "replace", "path": "/kind", "value": "x"}
    assert patched(tmp_path, step, **target) == list(documents(tmp_path / "base" / "d.yaml"))


@pytest.mark.parametrize(
    "step",
    [
        {"op": "replace", "path": "/metadata/nothing", "value": 1},
        {"op": "test", "path": "/kind", "value": "Deployment"},
    ],
)
def test_a_step_that_can_not_be_taken_is_refused(tmp_path: Path, step: Document) -> None:
    """The real one fails there too, or does more than is done here."""
    with pytest.raises(ValueError, match="not followed here"):
        patched(tmp_path, step)


@pytest.mark.parametrize(
    "content",
    [
        {"nameSuffix": "-x"},
        {"patches": [{"target": {"kind": "Deployment"}, "patch": "spec: {}"}]},
        {"patches": [{"target": {"kind": "Deployment", "group": "apps"}, "patch": "[]"}]},
        {"configMapGenerator": [{"name": "c", "files": ["p.yaml"], "behavior": "merge"}]},
    ],
)
def test_what_is_not_followed_is_refused(tmp_path: Path, content: Document) -> None:
    """Passed over, it would make the tests judge something that nobody installs."""
    with pytest.raises(ValueError, match="followed here"):
        rendered(base(tmp_path, **content))
