"""How programs of the tests end: in order, whoever ends them, and with all that they started."""

import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

ENDS = (signal.SIGTERM, signal.SIGHUP)
"""Ways to be told to end, beside Ctrl-C."""
DIES_WITH_US = ("setpriv", "--pdeathsig", "TERM") if shutil.which("setpriv") else ()
"""Begins the command of a program that is told to end where we are killed."""


def end_in_order() -> None:
    """Let this process end as by Ctrl-C when it is told to, so that what it started is stopped."""
    for number in ENDS:
        signal.signal(number, _interrupt)


def run_in_order(command: Sequence[str], *, folder: Path) -> int:
    """Run a program that stops what it started by itself; give its exit code.

    Raises:
        KeyboardInterrupt: we were told to end, and so was it; it has ended.
    """
    told = False
    # In a group of its own: it is told once, by us, however we are.
    process = subprocess.Popen([*DIES_WITH_US, *command], cwd=folder, process_group=0)
    while process.poll() is None:
        try:
            process.wait()
        except KeyboardInterrupt:
            told = True
            process.terminate()
    if told:
        raise KeyboardInterrupt
    return process.returncode


def _interrupt(_: int, __: FrameType | None) -> None:
    raise KeyboardInterrupt
