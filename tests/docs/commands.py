"""Run the commands of a page as a reader would: one after the other, in a folder of its own."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum, auto
from pathlib import Path

from tests.docs.blocks import COMMANDS, OBJECTS, ROOT, Block, blocks_of
from tests.docs.objects import POLICY, written

SECONDS = 180.0
COPIED = ("deploy", "docs")
LINKED = ("Makefile", "README.md", ".venv")
ELSEWHERE = ("kubectl", "oc", "helm", "docker", "podman", "kind")
"""Programs that change what is not ours to change: in the tests they are not there."""
MISPLACED = 97
WRITES = "apply|create|annotate|label|patch|delete|scale|replace"
SHELL = ("bash", "-euo", "pipefail", "-c")


class Where(Enum):
    """Where a block of commands is run."""

    HERE = auto()
    """In the ordinary tests."""
    PEERS = auto()
    """With what takes longer."""
    CLUSTER = auto()
    """Against a real API server."""
    NOWHERE = auto()


class CommandError(AssertionError):
    """A command of a page did not do what the page says."""


def where(block: Block) -> Where | None:
    """Say where a block is run; None where it holds no commands."""
    if block.language != COMMANDS:
        return None
    if "not-run" in block.marks:
        return Where.NOWHERE
    if {"cluster", "dry-run"} & block.marks.keys():
        return Where.CLUSTER
    return Where.PEERS if "peers" in block.marks else Where.HERE


def command_blocks(page: str, place: Where) -> tuple[Block, ...]:
    """Give the blocks of a page that are run at a place."""
    return tuple(each for each in blocks_of(page) if where(each) is place)


@dataclass(slots=True, kw_only=True)
class Workplace:
    """A folder with the project's files, the page's own, and the programs that a reader has."""

    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    """On top of PATH and HOME."""
    kubectl: str = ""
    """The real one; without it every command for a cluster is refused."""
    policy: str = ""
    """What `policy.yaml` holds; without it, the one that is shipped."""
    seconds: float = SECONDS
    """For one block."""
    _behind: list[subprocess.Popen[str]] = field(default_factory=list)

    def prepare(self, page: str) -> None:
        """Lay out the folder; a block with `file` is a file of that name."""
        for name in COPIED:
            shutil.copytree(ROOT / name, self.folder / name)
        for name in LINKED:
            (self.folder / name).symlink_to(ROOT / name)
        shipped = POLICY.read_text(encoding="utf-8")
        (self.folder / "policy.yaml").write_text(self.policy or shipped, encoding="utf-8")
        for block in blocks_of(page):
            named = block.marks.get("file") if block.language == OBJECTS else None
            if named:
                file = self.folder / named
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(written(block), encoding="utf-8")
        self._programs()

    def run(self, block: Block) -> str:
        """Run a block and give what it said.

        Raises:
            CommandError: it ended with another exit code than the block tells, or did not end.
        """
        if "background" in block.marks:
            self._behind.append(self._started(block, output=subprocess.DEVNULL))
            return ""
        process = self._started(block, output=subprocess.PIPE)
        try:
            output, errors = process.communicate(timeout=self.seconds)
        except subprocess.TimeoutExpired as late:
            what = f"{block.place}: it does not end within {self.seconds:.0f} s"
            raise CommandError(what) from late
        finally:
            _end(process, signal.SIGKILL)
        if process.returncode not in exit_codes(block):
            said = (output[-1500:] + errors[-1500:]).strip()
            raise CommandError(f"{block.place}: exit code {process.returncode}: {said}")
        return output

    def leave(self) -> None:
        """End what runs in the background."""
        for process in self._behind:
            _end(process, signal.SIGTERM)
        self._behind.clear()

    def _started(self, block: Block, *, output: int) -> "subprocess.Popen[str]":
        """Start it in a session of its own, so that what it starts can be ended with it."""
        return subprocess.Popen(
            [*SHELL, block.text],
            cwd=self.folder,
            env=self._environment(block),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            text=True,
            start_new_session=True,
        )

    def _environment(self, block: Block) -> dict[str, str]:
        shims = [self.folder / ".dry-run"] if "dry-run" in block.marks else []
        path = [*shims, self.folder / ".programs", Path(sys.executable).parent]
        return {
            "PATH": ":".join([*map(str, path), "/usr/local/bin", "/usr/bin", "/bin"]),
            "HOME": str(self.folder),
            "LANG": "C.UTF-8",
            **self.environment,
        }

    def _programs(self) -> None:
        for name in ELSEWHERE:
            if name == "kubectl" and self.kubectl:
                continue
            refused = f"{name} reaches beyond this test: give the block a mark, see docs/README.md"
            _script(self.folder / ".programs" / name, f"echo '{refused}' >&2; exit {MISPLACED}")
        if self.kubectl:
            _script(self.folder / ".programs" / "kubectl", f'exec {self.kubectl} "$@"')
            _script(self.folder / ".dry-run" / "kubectl", _dry(self.kubectl))


def _end(process: "subprocess.Popen[str]", number: signal.Signals) -> None:
    """End a block with all that it started, where it has not ended."""
    if process.poll() is None:
        os.killpg(process.pid, number)
    with process:  # closes its pipes
        process.wait(timeout=SECONDS)


def exit_codes(block: Block) -> frozenset[int]:
    """Give the exit codes with which a block may end."""
    return frozenset(int(each) for each in block.marks.get("exit", "0").split(" or "))


@contextmanager
def workplace(
    page: str,
    folder: Path,
    *,
    environment: Mapping[str, str] | None = None,
    kubectl: str = "",
    policy: str = "",
) -> Iterator[Workplace]:
    """Give a prepared folder; what runs in the background ends with it."""
    place = Workplace(folder=folder, environment=environment or {}, kubectl=kubectl, policy=policy)
    place.prepare(page)
    try:
        yield place
    finally:
        place.leave()


def run_all(place: Workplace, blocks: Sequence[Block]) -> None:
    """Run blocks one after the other.

    Raises:
        CommandError: one did not do what the page says.
    """
    for block in blocks:
        place.run(block)


def _dry(kubectl: str) -> str:
    """Pass everything on; what would write is only judged by the API server."""
    return (
        f'for each in "$@"; do case "$each" in {WRITES}) '
        f'exec {kubectl} "$@" --dry-run=server;; esac; done; exec {kubectl} "$@"'
    )


def _script(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
