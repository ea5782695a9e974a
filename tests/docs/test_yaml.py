"""The YAML of the documents is what `check` and the parser of policies take."""

import pytest
import yaml

from scaler.commands import check
from scaler.commands.check_files import Severity, read_files
from scaler.core.policy import Policy
from scaler.policyfile import parse_policy
from tests.docs.blocks import Block, pages
from tests.docs.objects import checked_blocks, documents, objects, policies, policy_of

PAGES = [page for page in pages() if checked_blocks(page)]
BLOCKS = [block for page in PAGES for block in checked_blocks(page)]
each_block = pytest.mark.parametrize("block", BLOCKS, ids=[block.place for block in BLOCKS])


def test_there_is_yaml() -> None:
    """README and the pages of held kinds show some."""
    assert "README.md" in PAGES
    assert "docs/workers/raycluster.md" in PAGES


@each_block
def test_each_document_is_something(block: Block) -> None:
    """A block holds objects with a name, or a policy or a part of one."""
    assert documents(block), f"{block.place}: an empty block"
    for each in objects(block):
        assert each.get("apiVersion"), block.place
        assert each["kind"] == "Kustomization" or each["metadata"]["name"], block.place


@each_block
def test_policies(block: Block) -> None:
    """A policy is taken as it stands; a part of one is a policy too."""
    for each in policies(block):
        parsed = parse_policy(yaml.safe_dump(each, sort_keys=False))
        assert isinstance(parsed, Policy), f"{block.place}: {[str(one) for one in parsed]}"


@pytest.mark.parametrize("page", PAGES)
def test_check_accepts(page: str) -> None:
    """`check` finds nothing to say of a page's objects, judged together with its policy.

    But for the warnings that a block tells of: each must come, at the path that it names.
    """
    texts = [
        (f"{block.place}", yaml.safe_dump_all(objects(block), sort_keys=False))
        for block in checked_blocks(page)
        if objects(block)
    ]
    checked = read_files([("the page's policy", policy_of(page)), *texts])
    expected = [
        (block.place, Severity.WARNING, path)
        for block in checked_blocks(page)
        for path in block.marks.get("warns", "").split()
    ]
    found = check.all_findings(checked)
    shown = [str(finding) for finding in found]
    assert [(each.file, each.severity, each.problem.path) for each in found] == expected, shown
