"""Programs of a run end with it, however it ends."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.processes import OverError, Programs
from tests.e2e.waiting import NeverCameError, until
from tests.golang import ROOT

LIVES = [sys.executable, "-c", "import signal; print('up', flush=True); signal.pause()"]
STUBBORN = [
    sys.executable,
    "-c",
    (
        "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True);"
        " [signal.pause() for _ in iter(int, 1)]"
    ),
]
RUNNER = """
import sys
from pathlib import Path
from tests.e2e.processes import Programs
programs = Programs(Path(sys.argv[1]))
program = programs.start("child", [sys.executable, "-c", "import signal; signal.pause()"])
print(program.process.pid, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def programs(tmp_path: Path) -> Iterator[Programs]:
    """Give the programs of a run that ends with the test."""
    running = Programs(tmp_path / "logs")
    yield running
    running.stop_all()


def exists(pid: int) -> bool:
    """Say whether a process is there."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def up(programs: Programs, name: str, command: list[str]) -> int:
    """Start a program, wait until it says so, and give its pid."""
    program = programs.start(name, command)
    programs.ready(program, lambda: "up" in program.tail())
    return program.process.pid


def test_what_a_program_says_is_in_a_log_of_its_name(programs: Programs) -> None:
    """Its output and errors are in one file."""
    up(programs, "one", LIVES)
    assert (programs.folder / "one.log").read_text() == "up\n"


def test_a_program_sees_only_the_environment_that_it_is_given(
    programs: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A KUBECONFIG of whoever runs the tests must reach no controller."""
    monkeypatch.setenv("KUBECONFIG", "theirs")
    show = [sys.executable, "-c", "import os; print(sorted(os.environ), flush=True)"]
    program = programs.start("one", show, environment={"OURS": "1"})
    program.process.wait()
    assert "OURS" in program.tail()
    assert "KUBECONFIG" not in program.tail()


def test_all_end_together(programs: Programs, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that ignores the signal is killed after the grace; one that is frozen ends too."""
    monkeypatch.setattr("tests.e2e.processes.GRACE", 0.2)
    pids = [up(programs, "one", LIVES), up(programs, "two", STUBBORN), up(programs, "3", LIVES)]
    os.kill(pids[2], signal.SIGSTOP)
    programs.stop_all()
    assert [pid for pid in pids if exists(pid)] == []


def test_a_stopped_program_starts_again_with_its_log_going_on(programs: Programs) -> None:
    """As a restarted controller does."""
    program = programs.start("one", LIVES)
    programs.ready(program, lambda: "up" in program.tail())
    programs.stop(program)
    assert not program.runs
    programs.again(program)
    programs.ready(program, lambda: program.tail() == "up\nup\n")
    assert program.runs


def test_a_program_that_runs_is_not_started_again(programs: Programs) -> None:
    """The first of two would be forgotten, and outlive the run."""
    program = programs.start("one", LIVES)
    with pytest.raises(RuntimeError, match="one runs still"):
        programs.again(program)


def test_one_that_ends_early_says_why(programs: Programs) -> None:
    """The end of its log and its exit code are in the error."""
    program = programs.start("one", [sys.executable, "-c", "raise SystemExit('no such flag')"])
    with pytest.raises(NeverCameError, match=r"(?s)one ended with 1: .*no such flag"):
        programs.ready(program, lambda: False)


def test_one_that_is_never_ready_says_what_it_said(programs: Programs) -> None:
    """It runs, but does not answer in time."""
    up(programs, "one", LIVES)
    program = programs.start("two", LIVES)
    with pytest.raises(NeverCameError, match="two is not ready"):
        programs.ready(program, lambda: False, within=0.2)


def test_what_answers_in_place_of_one_that_ended_is_not_it(programs: Programs) -> None:
    """Another run may have taken its port."""
    program = programs.start("one", [sys.executable, "-c", "raise SystemExit('port is taken')"])
    program.process.wait()
    with pytest.raises(NeverCameError, match="port is taken"):
        programs.ready(program, lambda: True)


def test_one_that_ends_by_itself_is_told(programs: Programs) -> None:
    """And one that is told to end, or was started again, is not."""
    programs.stop(programs.start("told", LIVES))
    program = programs.start("one", [sys.executable, "-c", "raise SystemExit(3)"])
    program.process.wait()
    assert programs.died() == ["one ended with 3"]
    program.command = LIVES
    programs.again(program)
    assert programs.died() == []


def test_nothing_is_started_once_all_have_ended(programs: Programs) -> None:
    """A scenario in a thread goes on until the end of the process; what it started would stay."""
    program = programs.start("one", LIVES)
    programs.stop_all()
    with pytest.raises(OverError):
        programs.start("two", LIVES)
    with pytest.raises(OverError):
        programs.again(program)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_outlives_a_run_that_is_killed(tmp_path: Path, number: signal.Signals) -> None:
    """Even where the run could not clean up after itself."""
    with subprocess.Popen(
        [sys.executable, "-c", RUNNER, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    ) as runner:
        assert runner.stdout is not None
        child = int(runner.stdout.readline())
        assert exists(child)
        runner.send_signal(number)
        runner.wait()
        until(lambda: not exists(child), "the child is gone", within=10)
