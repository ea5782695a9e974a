"""What the YAML of a page holds: Kubernetes objects, policies, and triggers by themselves."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import yaml

from tests.docs.blocks import OBJECTS, ROOT, Block, blocks_of

Tree: TypeAlias = dict[str, Any]
POLICY = next(iter(sorted(ROOT.glob("deploy/**/policy.yaml"), key=lambda path: len(path.parts))))
"""The policy that is shipped, the shallowest one: overlays have others."""
POOL_EXAMPLE = ROOT / "deploy" / "examples" / "machineset.yaml"
WORKER_EXAMPLE = ROOT / "deploy" / "examples" / "inference-deployment.yaml"
BARE_KINDS: Mapping[frozenset[str], tuple[str, str]] = {
    frozenset(
        {
            "resources",
            "components",
            "namespace",
            "images",
            "configMapGenerator",
            "generatorOptions",
            "labels",
            "patches",
        }
    ): (
        "kustomize.config.k8s.io/v1beta1",
        "Kustomization",
    ),
}
"""What a file that leaves kind and apiVersion out is, by the keys that it may have."""


def checked_blocks(page: str) -> tuple[Block, ...]:
    """Give the blocks of YAML that are tried."""
    return tuple(
        each
        for each in blocks_of(page)
        if each.language == OBJECTS and "not-checked" not in each.marks
    )


def documents(block: Block) -> tuple[Tree, ...]:
    """Give the documents of a block, triggers by themselves put into a whole ScaledObject."""
    found = [each for each in yaml.safe_load_all(block.text) if each is not None]
    strange = [each for each in found if not isinstance(each, dict)]
    if strange:
        raise ValueError(f"{block.place}: neither an object nor a policy: {strange[0]!r}")
    return tuple(_whole(each) for each in found)


def objects(block: Block) -> tuple[Tree, ...]:
    """Give the Kubernetes objects of a block."""
    return tuple(each for each in documents(block) if "kind" in each)


def objects_of(page: str) -> tuple[Tree, ...]:
    """Give the Kubernetes objects of a page that are tried, in their order."""
    return tuple(each for block in checked_blocks(page) for each in objects(block))


def policies(block: Block) -> tuple[Tree, ...]:
    """Give the policies of a block, whole or in part."""
    return tuple(each for each in documents(block) if "kind" not in each)


def policy_of(page: str) -> str:
    """Give the policy that a page's ScaledObjects are judged with.

    It is the one that is shipped, with what the page says instead or in addition.
    """
    merged: Tree = yaml.safe_load(POLICY.read_text(encoding="utf-8"))
    for block in checked_blocks(page):
        for each in policies(block):
            merged = _merged(merged, each)
    return yaml.safe_dump(merged, sort_keys=False)


def written(block: Block) -> str:
    """Give a block as a file; as it stands, but for triggers by themselves."""
    if any("triggers" in each for each in yaml.safe_load_all(block.text) if each):
        return yaml.safe_dump_all(documents(block), sort_keys=False)
    return block.text


def _whole(document: Tree) -> Tree:
    if document.keys() == {"triggers"}:
        return _around(document["triggers"])
    if "kind" in document:
        return document
    for keys, (api_version, kind) in BARE_KINDS.items():
        if document and document.keys() <= keys:
            return {"apiVersion": api_version, "kind": kind, **document}
    return document


def _around(triggers: list[Tree]) -> Tree:
    """Put triggers into the ScaledObject of the example of their signal."""
    pool = any(each["metadata"].get("unit", "nodes") == "nodes" for each in _queue(triggers))
    example = POOL_EXAMPLE if pool else WORKER_EXAMPLE
    whole: Tree = yaml.safe_load(example.read_text(encoding="utf-8"))
    whole["spec"]["triggers"] = triggers
    return whole


def _queue(triggers: list[Tree]) -> Iterator[Tree]:
    return (each for each in triggers if each["metadata"].get("signal") == "queue")


def _merged(left: Tree, right: Tree) -> Tree:
    """Merge mappings key by key; all else is the right one's."""
    merged = dict(left)
    for key, value in right.items():
        old = merged.get(key)
        both = isinstance(old, dict) and isinstance(value, dict)
        merged[key] = _merged(old, value) if both and isinstance(old, dict) else value
    return merged
