"""A program that is told to end, or killed, leaves nothing behind that it started."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.waiting import until
from tests.ending import DIES_WITH_US
from tests.golang import ROOT

INNER = """
import sys, threading
from pathlib import Path
from tests.ending import end_in_order
end_in_order()
try:
    print("up", flush=True)
    threading.Event().wait(60)
finally:
    Path(sys.argv[1]).write_text("stopped what it started")
"""
OUTER = """
import sys
from pathlib import Path
from tests.ending import end_in_order, run_in_order
end_in_order()
run_in_order([sys.executable, "-c", sys.argv[1], sys.argv[2]], folder=Path.cwd())
"""
killed = pytest.param(
    signal.SIGKILL,
    marks=pytest.mark.skipif(not DIES_WITH_US, reason="setpriv is not installed"),
)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, killed])
def test_what_a_program_runs_stops_in_order_with_it(number: signal.Signals, tmp_path: Path) -> None:
    """What it runs has programs of its own, which nobody else would stop."""
    file = tmp_path / "file"
    command = [sys.executable, "-c", OUTER, INNER, str(file)]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as outer:
        assert outer.stdout is not None
        assert outer.stdout.readline() == "up\n"
        outer.send_signal(number)
        outer.wait()
        until(file.exists, "the inner program stops what it started", within=20)


def test_a_program_s_exit_code_is_given() -> None:
    """Where nobody ends it, it is what it was."""
    code = "import sys; from pathlib import Path; from tests.ending import run_in_order; sys.exit("
    code += "run_in_order([sys.executable, '-c', 'raise SystemExit(3)'], folder=Path.cwd()))"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 3
