"""Build the Go peers into .build/, once for each state of their sources."""

import hashlib
import os
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from tests.peers.report import say

ROOT = Path(__file__).resolve().parents[2]
BUILT = ROOT / ".build" / "peers"
FLAGS = ("-buildvcs=false", "-trimpath", "-ldflags", "-s -w")
"""Part of Go's build key: other flags would compile a thousand packages anew."""
PROGRESS_EVERY = 15.0
"""Seconds between two lines while a build runs."""


class CannotBuildError(Exception):
    """A peer can't be built here: why, in one sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A Go module of ours and the programs that come out of it."""

    name: str
    package: str
    programs: tuple[str, ...]
    first_build: str
    """How long it takes with an empty cache."""
    tags: str = ""

    @property
    def source(self) -> Path:
        """Give the module's folder."""
        return Path(__file__).parent / self.name

    def program(self, name: str) -> Path:
        """Give the path of a built program."""
        return BUILT / self.name / name


KEDA = Peer(
    name="keda", package=".", programs=("keda",), first_build="about 20 minutes on two cores"
)
PROMETHEUS = Peer(
    name="prometheus",
    package="tool",
    programs=("prometheus", "promtool"),
    first_build="about 6 minutes on two cores",
    tags="remove_all_sd",
)


def build(peer: Peer) -> None:
    """Build a peer unless it is up to date.

    Raises:
        CannotBuildError: Go is missing, or it refused.
    """
    go = shutil.which("go")
    if go is None:
        message = "Go is not installed"
        raise CannotBuildError(message)
    state = _state(peer, go)
    stamp = peer.program(".state")
    built = all(peer.program(name).exists() for name in peer.programs)
    if built and stamp.exists() and stamp.read_text() == state:
        return
    stamp.unlink(missing_ok=True)
    say(f"building {peer.name} (the first time: {peer.first_build})")
    _compile(peer, go)
    stamp.write_text(state)


def _compile(peer: Peer, go: str) -> None:
    """Run the build; tell every few seconds that it still goes on."""
    into = peer.program("")
    into.mkdir(parents=True, exist_ok=True)
    command = [go, "build", *FLAGS, "-tags", peer.tags, "-o", f"{into}/", peer.package]
    log = into / "log"
    began = time.monotonic()
    with (
        log.open("w") as output,
        subprocess.Popen(command, cwd=peer.source, stdout=output, stderr=output) as process,
    ):
        while process.poll() is None:
            try:
                process.wait(PROGRESS_EVERY)
            except subprocess.TimeoutExpired:
                say(f"  {peer.name}: {time.monotonic() - began:.0f} s, {_latest(log)}")
    if process.returncode != 0:
        message = f"go build failed: {log.read_text()[-1500:]}"
        raise CannotBuildError(message)


def _latest(log: Path) -> str:
    lines = log.read_text().splitlines()
    return lines[-1] if lines else "compiling"


def _state(peer: Peer, go: str) -> str:
    """Sum up what a build depends on."""
    version = subprocess.run([go, "version"], check=True, capture_output=True, text=True).stdout
    digest = hashlib.sha256(repr((version, FLAGS, peer.tags, os.environ.get("GOFLAGS"))).encode())
    for path in sorted(peer.source.iterdir()):
        if path.suffix in {".go", ".mod", ".sum"}:
            digest.update(path.read_bytes())
    return digest.hexdigest()
