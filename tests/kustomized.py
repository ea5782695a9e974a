"""Put a kustomization together as kustomize does, without it: the part that deploy/ uses.

`python -m tests.peers.run` holds it against kustomize itself.
"""

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, TypeAlias

import yaml

Document: TypeAlias = dict[str, Any]

DEPLOY = Path(__file__).parent.parent / "deploy"
UNDERSTOOD = {
    "apiVersion",
    "kind",
    "namespace",
    "labels",
    "resources",
    "components",
    "configMapGenerator",
    "generatorOptions",
    "images",
    "patches",
}
"""Keys of a kustomization that are followed here; another one is refused, not passed over."""
CLUSTER_WIDE = {
    "Namespace",
    "PriorityClass",
    "CustomResourceDefinition",
    "ClusterRole",
    "ClusterRoleBinding",
}
WITH_TEMPLATE = {"Deployment"}


def documents(path: Path) -> tuple[Document, ...]:
    """Read the documents of a YAML file."""
    return tuple(yaml.load_all(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader))


def kustomization(folder: Path) -> Document:
    """Read the kustomization of a folder.

    Raises:
        ValueError: it has a key that is not followed here.
    """
    (found,) = documents(folder / "kustomization.yaml")
    if unknown := found.keys() - UNDERSTOOD:
        raise ValueError(f"{folder.name}/kustomization.yaml: {sorted(unknown)} not followed here")
    return found


def rendered(folder: Path, onto: Sequence[Document] = ()) -> list[Document]:
    """Give the objects of a kustomization; a component's are laid over what is there.

    Raises:
        ValueError: it has something that is not followed here.
    """
    wanted = kustomization(folder)
    objects = [*onto, *_resources(wanted, folder)]
    for generated in wanted.get("configMapGenerator", ()):
        objects = _with_config_map(objects, generated, folder)
    for component in wanted.get("components", ()):
        objects = rendered(folder / component, objects)
    for patch in wanted.get("patches", ()):
        _patch(objects, patch, folder)
    for each in objects:
        place(each, wanted.get("namespace"))
        _label(each, wanted.get("labels", ()))
        _tag(each, wanted.get("images", ()))
    return objects


def named(objects: Sequence[Document], kind: str, name: str | None = None) -> Document:
    """Give the only object of a kind, or the one of a name."""
    (found,) = (
        each
        for each in objects
        if each["kind"] == kind and name in {None, each["metadata"]["name"]}
    )
    return found


def containers(wanted: Document) -> list[Document]:
    """Give the containers of a Deployment, of others none."""
    if wanted["kind"] not in WITH_TEMPLATE:
        return []
    found: list[Document] = wanted["spec"]["template"]["spec"]["containers"]
    return found


def _resources(wanted: Document, folder: Path) -> Iterator[Document]:
    for each in wanted.get("resources", ()):
        path = folder / each
        yield from rendered(path) if path.is_dir() else documents(path)


def _with_config_map(
    objects: Sequence[Document], generated: Document, folder: Path
) -> list[Document]:
    """Add a generated ConfigMap, or replace the one that is there."""
    made = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": generated["name"]},
        "data": {each: (folder / each).read_text(encoding="utf-8") for each in generated["files"]},
    }
    if generated.get("behavior", "create") == "create":
        return [*objects, made]
    if generated["behavior"] != "replace":
        raise ValueError(f"behavior {generated['behavior']} not followed here")
    before = named(objects, "ConfigMap", generated["name"])
    made["metadata"] = before["metadata"]
    return [made if each is before else each for each in objects]


def _patch(objects: Sequence[Document], patch: Document, folder: Path) -> None:
    """Change the objects that a JSON patch is for; there may be none.

    Raises:
        ValueError: the patch is of another sort.
    """
    steps = yaml.safe_load(patch.get("patch") or (folder / patch["path"]).read_text())
    if not isinstance(steps, list):
        raise ValueError("only JSON patches are followed here")  # noqa: TRY004 - as all the rest
    for each in objects:
        if _is_meant(each, patch["target"]):
            for step in steps:
                _step(each, step)


def _is_meant(wanted: Document, target: Document) -> bool:
    """Say whether a patch is for an object.

    Raises:
        ValueError: the target says more than is followed here.
    """
    if unknown := target.keys() - {"kind", "name", "labelSelector"}:
        raise ValueError(f"target {sorted(unknown)} not followed here")
    key, _, value = target.get("labelSelector", "").partition("=")
    labels = wanted["metadata"].get("labels", {})
    return (
        wanted["kind"] == target["kind"]
        and target.get("name", wanted["metadata"]["name"]) == wanted["metadata"]["name"]
        and (not key or labels.get(key) == value)
    )


def _step(target: Any, step: Mapping[str, Any]) -> None:  # noqa: ANN401 - any part of a document
    *way, last = [part.replace("~1", "/") for part in step["path"].split("/")[1:]]
    for part in way:
        target = target[int(part)] if isinstance(target, list) else target[part]
    match step["op"], target:
        case "add", list() if last == "-":
            target.append(deepcopy(step["value"]))
        case "add", list():
            target.insert(int(last), deepcopy(step["value"]))
        case "add", dict():
            target[last] = deepcopy(step["value"])
        case "replace", dict() if last in target:
            target[last] = deepcopy(step["value"])
        case "replace", list():
            target[int(last)] = deepcopy(step["value"])
        case "remove", dict():
            del target[last]
        case _:
            raise ValueError(f"{step['op']} {step['path']} not followed here")


def place(wanted: Document, namespace: str | None) -> None:
    """Put an object, and the accounts that it binds, into a namespace."""
    if namespace is None:
        return
    if wanted["kind"] == "Namespace":
        wanted["metadata"]["name"] = namespace
    elif wanted["kind"] not in CLUSTER_WIDE:
        wanted["metadata"]["namespace"] = namespace
    for subject in wanted.get("subjects", ()):
        if subject["kind"] == "ServiceAccount" and "namespace" in subject:
            subject["namespace"] = namespace


def _label(wanted: Document, labels: Sequence[Document]) -> None:
    """Add pairs to the object and, where it is said, to its pods; never to a selector."""
    for each in labels:
        wanted["metadata"].setdefault("labels", {}).update(each["pairs"])
        if each.get("includeTemplates") and wanted["kind"] in WITH_TEMPLATE:
            wanted["spec"]["template"]["metadata"]["labels"].update(each["pairs"])


def _tag(wanted: Document, images: Sequence[Document]) -> None:
    for container in containers(wanted):
        name, _, tag = container["image"].partition(":")
        for each in images:
            if each["name"] == name:
                container["image"] = f"{each.get('newName', name)}:{each.get('newTag', tag)}"
