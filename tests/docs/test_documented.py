"""Each kind that is shown is judged by an API server, or on a short list of those that are not."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.docs.blocks import Block, pages
from tests.docs.commands import workplace
from tests.docs.objects import Tree
from tests.e2e.api import RESOURCES
from tests.e2e.scenarios.documented import ABSENT, EXAMPLES, Page, Tried, shown


@pytest.mark.parametrize("kind", ABSENT)
def test_absent_kinds_are_shown(kind: str) -> None:
    """A kind that no page shows any more goes from the list."""
    assert kind in {each["kind"] for name in (*pages(), *EXAMPLES) for each in shown(name)}


@pytest.mark.parametrize("name", [*pages(), *EXAMPLES])
def test_every_kind_is_known(name: str) -> None:
    """A kind that the API server does not serve is on the list, with the reason."""
    kinds = {each["kind"] for each in shown(name)}
    assert kinds <= {*RESOURCES, *ABSENT}


SCALED = {
    "apiVersion": "keda.sh/v1alpha1",
    "kind": "ScaledObject",
    "metadata": {"name": "llm", "namespace": "team-a"},
}
INSTALLED = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "policy", "namespace": "kueue-gpu-scaler"},
}
COMMAND = Block(page="page.md", line=7, language="sh", marks={"cluster": ""}, text="kubectl get so")


def played(
    folder: Path, *, objects: Sequence[Tree], blocks: Sequence[Block], refused: str = "nothing"
) -> tuple[Tried, list[str]]:
    """Play a page on a kubectl that refuses some verb; give what came out, and what it was asked.

    Its files are read when it is asked, so each line ends with the kinds that it was given.
    """
    log, fake = folder / "log", folder / "fake"
    fake.write_text(
        f'#!/bin/sh\necho "$*" $(sed -n "s/^kind: //p" .objects.yaml 2>/dev/null) >> {log}\n'
        f'case "$*" in {refused}*) echo "it is refused" >&2; exit 1;; esac\n'
    )
    fake.chmod(0o755)
    tried, inside = Tried(), folder / "inside"
    inside.mkdir()
    with workplace("README.md", inside, kubectl=str(fake)) as place:
        Page(name="page.md", place=place, objects=objects, blocks=blocks, tried=tried).play()
    return tried, log.read_text().splitlines()


def test_objects_are_there_for_the_commands(tmp_path: Path) -> None:
    """A page's commands find its objects, and nothing of them stays."""
    tried, asked = played(tmp_path, objects=[SCALED, INSTALLED], blocks=[COMMAND])
    assert tried == Tried(objects=2, commands=1)
    assert [each.partition(" -f")[0] for each in asked] == [
        "apply --dry-run=server",
        "apply",
        "get so ScaledObject",
        "delete --ignore-not-found --timeout=60s",
    ]
    assert asked[0].endswith("ScaledObject ConfigMap")
    assert asked[1].endswith("objects.yaml ScaledObject"), "the installation is left alone"


def test_a_refused_object_is_told(tmp_path: Path) -> None:
    """What the API server refuses fails the page, and its commands are not run on half of it."""
    tried, asked = played(tmp_path, objects=[SCALED], blocks=[COMMAND], refused="apply")
    assert any("it is refused" in each for each in tried.wrong)
    assert len(asked) == 1
    assert tried.commands == 0


def test_a_failing_command_is_told(tmp_path: Path) -> None:
    """A command that fails is told with its place, and the objects go all the same."""
    tried, asked = played(tmp_path, objects=[SCALED], blocks=[COMMAND], refused="get")
    assert [each.partition(":")[0] for each in tried.wrong] == ["page.md"]
    assert "page.md:7" in tried.wrong[0]
    assert asked[-1].startswith("delete")
    assert tried.commands == 0
