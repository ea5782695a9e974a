"""Programs as processes of this run: logs in one folder, and none of them outlives it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.e2e.waiting import NeverCameError, pause

REAPER = """
import os, signal, sys
groups = set()
for line in sys.stdin:
    verb, group = line.split()
    (groups.add if verb == "+" else groups.discard)(int(group))
for group in groups:
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass
"""
"""Kills what is left once our end of its pipe closes, whatever ended us, SIGKILL too."""
GRACE = 5.0
"""Seconds for a program to end by itself."""


@dataclass(slots=True, kw_only=True)
class Program:
    """One running program, and how it is started again."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    log: Path
    folder: Path
    process: subprocess.Popen[bytes]

    @property
    def runs(self) -> bool:
        """Say whether it still runs."""
        return self.process.poll() is None

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the program and what it started."""
        os.killpg(self.process.pid, number)

    def tail(self) -> str:
        """Give the end of its log."""
        return self.log.read_text(errors="replace")[-1500:]


@dataclass(slots=True)
class Programs:
    """All programs of a run; stop() ends them, the latest first."""

    folder: Path
    """Logs go here."""
    _running: dict[str, Program] = field(default_factory=dict)
    _reaper: subprocess.Popen[str] = field(init=False)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-c", REAPER]
        self._reaper = subprocess.Popen(
            command, stdin=subprocess.PIPE, text=True, start_new_session=True
        )

    def start(
        self,
        name: str,
        command: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        folder: Path | None = None,
    ) -> Program:
        """Start a program in a process group of its own, with only the given environment."""
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder)} | dict(
            environment or {}
        )
        log = self.folder / f"{name}.log"
        where = folder or self.folder
        process = _spawn(command, environment=environment, log=log, folder=where)
        self._tell("+", process.pid)
        program = Program(
            name=name,
            command=command,
            environment=environment,
            log=log,
            folder=where,
            process=process,
        )
        self._running[name] = program
        return program

    def again(self, program: Program) -> None:
        """Start a program that has ended once more, as before; its log goes on."""
        self._tell("-", program.process.pid)
        program.process = _spawn(
            program.command,
            environment=program.environment,
            log=program.log,
            folder=program.folder,
        )
        self._tell("+", program.process.pid)

    def stop(self, program: Program, number: signal.Signals = signal.SIGTERM) -> None:
        """End one program, by force where it takes longer than the grace."""
        if program.runs:
            program.signal(number)
            if number is not signal.SIGKILL:
                program.signal(signal.SIGCONT)
        try:
            program.process.wait(GRACE + 10)
        except subprocess.TimeoutExpired:
            program.signal(signal.SIGKILL)
            program.process.wait()

    def stop_all(self) -> None:
        """End everything, and the watchman last."""
        for program in reversed(list(self._running.values())):
            if program.runs:
                program.signal(signal.SIGCONT)
                program.signal(signal.SIGTERM)
        ends = time.monotonic() + GRACE
        for program in self._running.values():
            try:
                program.process.wait(max(0.01, ends - time.monotonic()))
            except subprocess.TimeoutExpired:
                program.signal(signal.SIGKILL)
                program.process.wait()
        if self._reaper.stdin:
            self._reaper.stdin.close()
        self._reaper.wait()

    def ready(self, program: Program, look: Callable[[], bool], *, within: float = 60.0) -> None:
        """Wait until a look says that a program is ready.

        Raises:
            NeverCameError: it ended, or took longer; the end of its log is in the message.
        """
        ends = time.monotonic() + within
        while not look():
            if not program.runs:
                code = program.process.returncode
                raise NeverCameError(f"{program.name} ended with {code}: {program.tail()}")
            if time.monotonic() > ends:
                raise NeverCameError(f"{program.name} is not ready: {program.tail()}")
            pause(0.05)

    def _tell(self, verb: str, group: int) -> None:
        if self._reaper.stdin:
            self._reaper.stdin.write(f"{verb} {group}\n")
            self._reaper.stdin.flush()


def _spawn(
    command: Sequence[str], *, environment: Mapping[str, str], log: Path, folder: Path
) -> subprocess.Popen[bytes]:
    with log.open("ab") as output:
        return subprocess.Popen(
            command,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=folder,
            start_new_session=True,
        )
