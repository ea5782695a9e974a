"""Build Go programs for the tests into .build/, once for each state of their sources."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from tests.report import say

ROOT = Path(__file__).resolve().parents[1]
BUILT = ROOT / ".build"
FLAGS = ("-buildvcs=false", "-trimpath")
"""Part of Go's build key: other flags would compile a thousand packages anew."""
LINK = "-s -w"
PROGRESS_EVERY = 15.0
"""Seconds between two lines while a build runs."""


class CannotBuildError(Exception):
    """A program can't be built here: why, in one sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GoModule:
    """A Go module of ours and the programs that come out of it."""

    name: str
    source: Path
    """The folder of its go.mod."""
    programs: tuple[str, ...]
    first_build: str
    """How long it takes with an empty cache."""
    package: str = "tool"
    """`tool`: everything that go.mod names as a tool."""
    tags: str = ""
    link: str = ""
    """Further flags for the linker."""

    @property
    def built(self) -> Path:
        """Give the folder of the built programs."""
        return BUILT / self.source.parent.name / self.name

    def program(self, name: str) -> Path:
        """Give the path of a built program."""
        return self.built / name

    def folder_of(self, module: str) -> Path:
        """Give the folder of a required module's sources, fetched where it is not there yet.

        Raises:
            CannotBuildError: Go is missing, or it can't fetch the module.
        """
        command = [_go(), "mod", "download", "-json", module]
        done = subprocess.run(command, cwd=self.source, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise CannotBuildError(f"go mod download {module} failed: {done.stdout}{done.stderr}")
        return Path(json.loads(done.stdout)["Dir"])


def build(module: GoModule) -> None:
    """Build a module's programs unless they are up to date.

    Raises:
        CannotBuildError: Go is missing, or it refused.
    """
    go = _go()
    state = _state(module, go)
    stamp = module.program(".state")
    built = all(module.program(name).exists() for name in module.programs)
    if built and stamp.exists() and stamp.read_text() == state:
        return
    stamp.unlink(missing_ok=True)
    say(f"building {module.name} (the first time: {module.first_build})")
    _compile(module, go)
    stamp.write_text(state)


def _go() -> str:
    go = shutil.which("go")
    if go is None:
        raise CannotBuildError("Go is not installed")
    return go


def _compile(module: GoModule, go: str) -> None:
    """Run the build; tell every few seconds that it still goes on."""
    into = module.built
    into.mkdir(parents=True, exist_ok=True)
    link = f"{LINK} {module.link}".strip()
    flags = [*FLAGS, "-ldflags", link, "-tags", module.tags]
    log = into / "log"
    began = time.monotonic()
    with (
        log.open("w") as output,
        subprocess.Popen(
            [go, "build", *flags, "-o", f"{into}/", module.package],
            cwd=module.source,
            stdout=output,
            stderr=output,
            process_group=0,
        ) as process,
    ):
        try:
            while process.poll() is None:
                try:
                    process.wait(PROGRESS_EVERY)
                except subprocess.TimeoutExpired:
                    say(f"  {module.name}: {time.monotonic() - began:.0f} s, {_latest(log)}")
        except BaseException:
            # Its compilers too: they would go on with nobody to use what they make.
            os.killpg(process.pid, signal.SIGKILL)
            raise
    if process.returncode != 0:
        raise CannotBuildError(f"go build failed: {log.read_text()[-1500:]}")
    say(f"  {module.name}: built in {time.monotonic() - began:.0f} s")


def _latest(log: Path) -> str:
    lines = log.read_text().splitlines()
    return lines[-1] if lines else "compiling"


def _state(module: GoModule, go: str) -> str:
    """Sum up what a build depends on."""
    version = subprocess.run(
        [go, "version"], check=True, capture_output=True, text=True, cwd=module.source
    ).stdout
    how = (version, FLAGS, LINK, module.link, module.tags, os.environ.get("GOFLAGS"))
    digest = hashlib.sha256(repr(how).encode())
    for path in sorted(module.source.iterdir()):
        if path.suffix in {".go", ".mod", ".sum"}:
            digest.update(path.read_bytes())
    return digest.hexdigest()
