"""A program of the harness that asks our service until it is told to end, and then tells."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from tests.e2e.api import Object
from tests.e2e.deployed import ROOT
from tests.e2e.load import LOADED
from tests.e2e.processes import Program, Programs
from tests.e2e.waiting import until

Question: TypeAlias = tuple[str, str, dict[str, str]]
"""Namespace and name of a ScaledObject, and its trigger's metadata."""
STARTED = 60.0


@dataclass(frozen=True, slots=True)
class Asker:
    """One that runs."""

    programs: Programs
    program: Program

    def end(self) -> str:
        """End it, and give the line that it ended with."""
        self.programs.stop(self.program)
        return self.program.log.read_text().splitlines()[-1]


@contextmanager
def asking(
    programs: Programs, name: str, module: str, *addresses: str, questions: object, folder: Path
) -> Iterator[Asker]:
    """Run a module of this package once it has had its first answers.

    It ends with the block, however that ends: left behind it would ask until the end of the run.
    """
    file = folder / f"{name}.json"
    file.write_text(json.dumps(questions))
    command = [sys.executable, "-m", module, *addresses, str(file.resolve())]
    started = Asker(programs, programs.start(name, command, folder=ROOT))

    def asks() -> bool:
        return not started.program.runs or LOADED in started.program.log.read_text()

    try:
        until(asks, name, within=STARTED)
        yield started
    finally:
        if started.program.runs:
            programs.stop(started.program)


def question(scaled_object: Object) -> Question:
    """Ask about a ScaledObject's first trigger."""
    meta = scaled_object["metadata"]
    return meta["namespace"], meta["name"], scaled_object["spec"]["triggers"][0]["metadata"]
