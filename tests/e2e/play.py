"""Play scenarios one after the other or side by side, and print a line for each."""

import json
import queue
import threading
import time
import traceback
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict

from tests.e2e.waiting import LATE, gravest
from tests.e2e.world import Scenario, World
from tests.report import Report, say

SIDE_BY_SIDE = 5
"""Scenarios at the same time: they wait more than they work."""
KEPT = (
    "ScaledObject",
    "HorizontalPodAutoscaler",
    "WorkerScale",
    "Workload",
    "RayCluster",
    "RayJob",
    "Job",
    "MachineSet",
    "Pod",
    "Node",
    "Event",
)
"""Kinds whose objects are written down where a scenario failed."""


class DiedError(Exception):
    """A program that all scenarios need has ended by itself: nothing can be played any more."""


class Line(TypedDict):
    """What came out of one scenario."""

    id: str
    title: str
    ok: bool
    seconds: float
    said: str
    """What was measured, or why it failed."""


def write_lines(file: Path, lines: Sequence[Line]) -> None:
    """Write lines as JSON, in one step: whoever is killed meanwhile leaves the last ones."""
    fresh = file.with_name(f"{file.name}.part")
    fresh.write_text(json.dumps(lines, indent=1))
    fresh.replace(file)


@dataclass(slots=True, kw_only=True)
class Play:
    """One run of scenarios in one world.

    Threads share it; `_lock` is held where a line is printed and kept, so that lines stay whole.
    """

    world: World
    report: Report
    lines: list[Line] = field(default_factory=list)
    results: Path | None = None
    """Where lines are written to as they come, so that a run that is killed keeps what it has."""
    late: list[Scenario] = field(default_factory=list)
    """What did not come in time: on a machine that does too much at once that proves nothing."""
    over: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def side_by_side(self, rows: Sequence[Sequence[Scenario]]) -> None:
        """Play rows of scenarios in threads that end with the process, whatever they wait for."""
        waiting: queue.SimpleQueue[Sequence[Scenario]] = queue.SimpleQueue()
        for row in rows:
            waiting.put(row)
        threads = [
            threading.Thread(target=self._work, args=(waiting,), daemon=True)
            for _ in range(min(SIDE_BY_SIDE, len(rows)))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def all(self, chosen: Sequence[Scenario]) -> None:
        """Play side by side what disturbs nobody, then the rest, and again alone what was late.

        The rest is a few rows beside each other, and then what disturbs everybody, by itself.

        Only what did not come in time has a second try. What must never happen and did is final.
        Where this is interrupted, what goes on in other threads until the end is not told. That
        each has a line, and that no program of the run ended by itself, is a check of its own.
        """
        try:
            calm = [each for each in chosen if not each.alone]
            self.side_by_side(in_rows([each for each in calm if not each.later]))
            self.side_by_side(in_rows([each for each in calm if each.later]))
            for each in chosen:
                if each.alone:
                    self.one(each)
            for each in tuple(self.late):
                self.one(each, last=True)
            told = {line["id"] for line in self.lines}
            lost = [each.id for each in chosen if each.id not in told]
            self.report.check("every scenario was played to its end", ok=not lost, found=lost)
            died = self.world.stack.programs.died()
            self.report.check("no program ended by itself", ok=not died, found="; ".join(died))
        except KeyboardInterrupt:
            say(f"interrupted after {len(self.lines)} of {len(chosen)} scenarios: stopping ...")
            raise
        finally:
            self.over.set()
            if self.results:
                write_lines(self.results, self.lines)

    def one(self, scenario: Scenario, *, last: bool = False) -> None:
        """Play one scenario and print its line."""
        if self.over.is_set():
            return
        began = time.monotonic()
        wrong, late = "", False
        try:
            self._whole()
            measured = scenario.play(self.world)
        except Exception as error:  # noqa: BLE001 - whatever it is, this scenario failed
            died, first = self.world.stack.died(), gravest(error)
            measured, wrong = "", f"{type(first).__name__}: {first}"
            if died and not isinstance(first, DiedError):
                wrong = "; ".join([wrong, *died])
            late = isinstance(first, LATE) and not died
            if not self.over.is_set():
                with suppress(OSError):  # a full disk must not hide what failed
                    self._keep(scenario, traceback.format_exc())
        seconds = time.monotonic() - began
        with self._lock:
            if self.over.is_set():
                return
            if late and not last:
                self.late.append(scenario)
                say(f"late {scenario.id:4} {scenario.title}: {wrong}; again later, alone")
                return
            measured = f"{measured} (second try)" if measured and last else measured
            what = f"{scenario.id:4} {scenario.title}"
            shown = f"{seconds:.0f} s" + (f": {measured}" if measured else "")
            self.report.check(what, ok=not wrong, found=wrong, measured=shown)
            self.lines.append(
                Line(
                    id=scenario.id,
                    title=scenario.title,
                    ok=not wrong,
                    seconds=round(seconds, 1),
                    said=wrong or measured,
                )
            )
            if self.results:
                with suppress(OSError):  # the next line, or the end, tries again
                    write_lines(self.results, self.lines)

    def _whole(self) -> None:
        """Demand that all runs that every scenario needs."""
        if died := self.world.stack.died():
            raise DiedError("; ".join(died))

    def _work(self, waiting: "queue.SimpleQueue[Sequence[Scenario]]") -> None:
        with suppress(queue.Empty):
            while True:
                for scenario in waiting.get_nowait():
                    self.one(scenario)

    def _keep(self, scenario: Scenario, trace: str) -> None:
        """Write down what failed and how the cluster looked at that moment."""
        folder = self.world.stack.folder / "failed" / scenario.id
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "trace.txt").write_text(trace)
        with suppress(Exception):  # the API server may be what failed
            for kind in KEPT:
                found = self.world.api.list(kind)
                (folder / f"{kind}.json").write_text(json.dumps(found, indent=1))
        with suppress(Exception):
            decisions = self.world.scaler.decisions()
            (folder / "decisions.json").write_text(json.dumps(decisions, indent=1))


def in_rows(chosen: Sequence[Scenario]) -> list[list[Scenario]]:
    """Put those that share something into one row each, in their order; the longest row first."""
    rows: dict[str, list[Scenario]] = {}
    for each in chosen:
        rows.setdefault(each.later or each.shares or f"{each.id} alone", []).append(each)
    return sorted(rows.values(), key=len, reverse=True)
