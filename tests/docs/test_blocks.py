"""Blocks are read out of pages as a forge shows them."""

from pathlib import Path

import pytest

from tests.docs.blocks import Block, pages, read_blocks
from tests.docs.commands import CommandError, Where, where, workplace
from tests.docs.objects import documents, written
from tests.e2e.waiting import until

PAGE = """
# A page

```sh not-run: needs a registry; and leave
docker push it
```

1. a list

   ```yaml file: so.yaml
   triggers:
     - type: external-push
       metadata: {signal: idle}
   ```

````text
```sh
only shown
```
````

```sh exit: 0 or 3; cluster
kubectl get nodes
```
"""


def blocks(text: str = PAGE) -> list[Block]:
    """Read a page's blocks."""
    return list(read_blocks("page.md", text))


def command(text: str, **marks: str) -> Block:
    """Give a block of commands."""
    return Block(page="page.md", line=1, language="sh", marks=marks, text=text)


def test_languages_and_lines() -> None:
    """A block in a list is one, a block within a block is none."""
    assert [(each.language, each.line) for each in blocks()] == [
        ("sh", 4),
        ("yaml", 10),
        ("text", 16),
        ("sh", 22),
    ]


def test_indent_is_not_text() -> None:
    """A block in a list has the text that a reader copies."""
    assert blocks()[1].text.startswith("triggers:\n  - type")


def test_marks() -> None:
    """Marks stand after the language, with semicolons between them."""
    first, second, _, last = blocks()
    assert first.marks == {"not-run": "needs a registry; and leave"}
    assert second.marks == {"file": "so.yaml"}
    assert last.marks == {"exit": "0 or 3", "cluster": ""}
    assert [where(each) for each in blocks()] == [Where.NOWHERE, None, None, Where.CLUSTER]


def test_open_block() -> None:
    """A block without an end is an error and not a block to the end of the page."""
    with pytest.raises(ValueError, match=r"page\.md:2: the block has no end"):
        blocks("\n```sh\nls\n")


@pytest.mark.parametrize(
    ("opening", "problem"),
    [
        ("bash", "language 'bash'"),
        ("", "language ''"),
        ("sh clutser", "mark 'clutser'"),
        ("yaml cluster", "mark 'cluster'"),
        ("sh not-run", "needs words"),
        ("text", "commands in a block of text"),
        ("sh cluster; not-run: why", "no other mark"),
    ],
)
def test_mistakes(opening: str, problem: str) -> None:
    """A mistake in the first line is told, since the block would else be passed over."""
    (block,) = blocks(f"```{opening}\nkubectl get nodes\n```\n")
    assert any(problem in each for each in block.problems)


def test_triggers_by_themselves() -> None:
    """Triggers by themselves are judged, and written to a file, as a whole ScaledObject."""
    (whole,) = documents(blocks()[1])
    assert whole["kind"] == "ScaledObject"
    assert "kind: ScaledObject" in written(blocks()[1])


def test_pages() -> None:
    """Pages of every folder are found."""
    assert {"README.md", "docs/README.md", "docs/workers/README.md"} <= set(pages())


def test_command_that_fails(tmp_path: Path) -> None:
    """A command that fails in the midst of a block is a failure, and where it is."""
    with (
        workplace("README.md", tmp_path) as place,
        pytest.raises(CommandError, match=r"page\.md:1: exit code 1"),
    ):
        place.run(command("false | cat\necho on"))


def test_exit_code_that_is_told(tmp_path: Path) -> None:
    """A block may tell another exit code; then 0 is a failure."""
    with workplace("README.md", tmp_path) as place:
        place.run(command("exit 3", exit="3"))
        with pytest.raises(CommandError):
            place.run(command("true", exit="3"))


def test_command_that_does_not_end(tmp_path: Path) -> None:
    """Nor does it leave behind what it started."""
    with workplace("README.md", tmp_path) as place:
        place.seconds = 1.0
        with pytest.raises(CommandError, match=r"page\.md:1: it does not end within"):
            place.run(command("sleep 600 &\necho $! > started\nwait"))
    started = Path("/proc", (tmp_path / "started").read_text().strip())
    until(lambda: not started.exists(), "what it started is gone", within=10)


def test_no_cluster_is_reached(tmp_path: Path) -> None:
    """An unmarked block can't reach whatever cluster the developer is logged in to."""
    with (
        workplace("README.md", tmp_path) as place,
        pytest.raises(CommandError, match="kubectl reaches beyond this test"),
    ):
        place.run(command("kubectl get nodes"))


def test_dry_run(tmp_path: Path) -> None:
    """A block that is only judged by the API server has every write marked so."""
    fake = tmp_path / "fake"
    fake.write_text('#!/bin/sh\nprintf "%s\\n" "$*"\n')
    fake.chmod(0o755)
    folder = tmp_path / "folder"
    folder.mkdir()
    with workplace("README.md", folder, kubectl=str(fake)) as place:
        said = place.run(
            command("kubectl -n a apply -f x\nkubectl get pods\n", **{"dry-run": "", "cluster": ""})
        )
    assert said == "-n a apply -f x --dry-run=server\nget pods\n"
