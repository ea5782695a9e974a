"""Programs as processes of this run: logs in one folder, and none of them outlives it."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
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


class OverError(Exception):
    """The run ends: no program is started any more."""


@dataclass(slots=True, kw_only=True)
class Program:
    """One running program, and how it is started again."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    log: Path
    folder: Path
    process: subprocess.Popen[bytes]
    told: bool = False
    """It was told to end."""

    @property
    def runs(self) -> bool:
        """Say whether it still runs."""
        return self.process.poll() is None

    @property
    def died(self) -> bool:
        """Say whether it ended though nobody told it to."""
        return not self.told and not self.runs

    @property
    def code(self) -> int | None:
        """Give its exit code; None while it runs."""
        return self.process.returncode

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
    _over: bool = False
    """All are ended; a scenario that still goes on may start none."""
    _lock: threading.Lock = field(default_factory=threading.Lock)
    """Held while a program is started, and while it is settled that there are no more."""

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
        with self._starting():
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
        """Start a program that has ended once more, as before; its log goes on.

        Raises:
            RuntimeError: it runs still; one of two would be forgotten.
        """
        with self._starting():
            if program.runs:
                raise RuntimeError(f"{program.name} runs still")
            self._tell("-", program.process.pid)
            program.process = _spawn(
                program.command,
                environment=program.environment,
                log=program.log,
                folder=program.folder,
            )
            self._tell("+", program.process.pid)
            program.told = False

    def died(self) -> list[str]:
        """Tell of each program that ended though nobody told it to, with its exit code."""
        with self._lock:
            there = list(self._running.values())
        return [f"{each.name} ended with {each.code}" for each in there if each.died]

    @contextmanager
    def _starting(self) -> Iterator[None]:
        with self._lock:
            if self._over:
                raise OverError
            yield

    def stop(self, program: Program, number: signal.Signals = signal.SIGTERM) -> None:
        """End one program, by force where it takes longer than the grace."""
        program.told = True
        if program.runs:
            program.signal(number)
            if number is not signal.SIGKILL:
                program.signal(signal.SIGCONT)
        try:
            program.process.wait(GRACE + 10)
        except subprocess.TimeoutExpired:
            program.signal(signal.SIGKILL)
            program.process.wait()
        with self._lock:  # its number may be another process's by the end of the run
            self._tell("-", program.process.pid)

    def stop_all(self) -> None:
        """End everything, and the watchman last; nothing can be started from now on."""
        with self._lock:
            self._over = True
        there = list(self._running.values())
        for program in reversed(there):
            program.told = True
            if program.runs:
                program.signal(signal.SIGCONT)
                program.signal(signal.SIGTERM)
        ends = time.monotonic() + GRACE
        for program in there:
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
        while True:
            seen = look()
            # What answers at its address may be somebody else, where it has ended.
            if not program.runs:
                raise NeverCameError(f"{program.name} ended with {program.code}: {program.tail()}")
            if seen:
                return
            if time.monotonic() > ends:
                raise NeverCameError(f"{program.name} is not ready: {program.tail()}")
            pause(0.05)

    def _tell(self, verb: str, group: int) -> None:
        if self._reaper.stdin and not self._reaper.stdin.closed:
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
