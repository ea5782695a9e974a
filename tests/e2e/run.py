"""Play scenarios in a real cluster: real programs on loopback, imitated nodes and GPUs.

Usage: python -m tests.e2e.run [--build] [--all] [ID ...]

Without IDs every scenario is played once: side by side, and those that disturb others by
themselves at the end. Logs, and what failed with the objects of that moment, are in one folder a
run below .build/runs/.
"""

import argparse
import os
import queue
import shutil
import signal
import sys
import threading
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType

from tests.e2e import builds
from tests.e2e.answers import Stub
from tests.e2e.gpus import Gpus
from tests.e2e.machines import Machines, crds, node
from tests.e2e.policies import policy
from tests.e2e.scenarios import POOLS, SCENARIOS
from tests.e2e.service import Installation
from tests.e2e.stack import INSTALLATIONS, Stack, stack
from tests.e2e.world import Scenario, World
from tests.golang import BUILT, CannotBuildError, build
from tests.report import Report, say

RUNS = BUILT / "runs"
KEPT = 5
"""Folders of earlier runs that stay."""
SIDE_BY_SIDE = 10
"""Scenarios at the same time: they wait more than they work."""
CPU_NODES = 2


def main(arguments: Sequence[str]) -> int:
    """Play the chosen scenarios; give the exit code."""
    chosen = _chosen(arguments)
    report = Report(title="e2e")
    try:
        for module in builds.ALL:
            build(module)
    except CannotBuildError as error:
        report.skip("the stack", why=str(error))
        return report.exit_code()
    if chosen:
        _play_all(chosen, report)
        return report.exit_code()
    return 0


def _chosen(arguments: Sequence[str]) -> list[Scenario]:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--build", action="store_true", help="only build the stack")
    parser.add_argument("--all", action="store_true", help="with the long repeats")
    parser.add_argument("ids", nargs="*", metavar="ID", help="a scenario's id, as G1; default: all")
    given = parser.parse_args(arguments)
    known = {each.id: each for each in SCENARIOS}
    if unknown := [name for name in given.ids if name not in known]:
        parser.error(f"{', '.join(unknown)}: no such scenario; there are {', '.join(known)}")
    if given.build:
        return []
    if given.ids:
        return [known[name] for name in given.ids]
    return [each for each in SCENARIOS if given.all or not each.long]


def _play_all(chosen: Sequence[Scenario], report: Report) -> None:
    folder = _folder()
    say(f"logs: {folder}")
    signal.signal(signal.SIGTERM, _interrupt)
    began = time.monotonic()
    with world(folder) as given:
        say(f"up after {time.monotonic() - began:.0f} s")
        beside = [each for each in chosen if not each.alone]
        _side_by_side(beside, given, report)
        for each in chosen:
            if each.alone:
                _play(each, given, report)
        say(f"all played after {time.monotonic() - began:.0f} s")


def _interrupt(_: int, __: FrameType | None) -> None:
    """End as Ctrl-C does, so that everything that was started is stopped."""
    raise KeyboardInterrupt


def _folder() -> Path:
    """Give a fresh folder for this run; old ones go."""
    RUNS.mkdir(parents=True, exist_ok=True)
    for old in sorted(RUNS.iterdir())[: -KEPT + 1]:
        shutil.rmtree(old, ignore_errors=True)
    return RUNS / f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"


@contextmanager
def world(folder: Path) -> Iterator[World]:
    """Give a running stack with GPUs, machines and our service installed."""
    with ExitStack() as held:
        running = held.enter_context(stack(folder))
        running.api.apply(*crds())
        gpus = Gpus(running.api)
        held.callback(gpus.stop)
        gpus.start()
        machines = Machines(running.api)
        held.callback(machines.stop)
        machines.start()
        running.api.apply(*(_cpu_node(number) for number in range(CPU_NODES)))
        stub = held.enter_context(Stub())
        scaler = _installation(running, gpus)
        held.callback(scaler.stop)
        scaler.start()
        yield World(
            api=running.api,
            stack=running,
            gpus=gpus,
            machines=machines,
            scaler=scaler,
            stub=stub,
        )


def _cpu_node(number: int) -> dict[str, object]:
    return node(f"cpu-{number}", {}, gpus=0, cpu="1000", memory="4Ti")


def _installation(running: Stack, gpus: Gpus) -> Installation:
    """Give the service that scenarios without faults ask."""
    prometheus = running.prometheus("prometheus", target=gpus.address)
    return running.installation(INSTALLATIONS[0], policy(prometheus.url, pools=POOLS))


def _side_by_side(chosen: Sequence[Scenario], given: World, report: Report) -> None:
    """Play scenarios in threads that end with the process, whatever they wait for."""
    waiting: queue.SimpleQueue[Scenario] = queue.SimpleQueue()
    for each in chosen:
        waiting.put(each)
    lock = threading.Lock()
    threads = [
        threading.Thread(target=_work, args=(waiting, given, report, lock), daemon=True)
        for _ in range(min(SIDE_BY_SIDE, len(chosen)))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _work(
    waiting: "queue.SimpleQueue[Scenario]", given: World, report: Report, lock: threading.Lock
) -> None:
    while True:
        try:
            scenario = waiting.get_nowait()
        except queue.Empty:
            return
        _play(scenario, given, report, lock)


def _play(
    scenario: Scenario, given: World, report: Report, lock: "threading.Lock | None" = None
) -> None:
    """Play one scenario and print its line."""
    began = time.monotonic()
    found, measured = "", ""
    try:
        measured = scenario.play(given)
    except Exception as error:  # noqa: BLE001 - whatever it is, this scenario failed
        found = f"{type(error).__name__}: {error}"
        _keep(scenario, given, traceback.format_exc())
    took = f"{time.monotonic() - began:.0f} s" + (f": {measured}" if measured else "")
    with lock or threading.Lock():
        what = f"{scenario.id:4} {scenario.title}"
        report.check(what, ok=not found, found=found, measured=took)


def _keep(scenario: Scenario, given: World, trace: str) -> None:
    """Write what failed into the run's folder."""
    folder = given.stack.folder / "failed"
    folder.mkdir(exist_ok=True)
    (folder / f"{scenario.id}.txt").write_text(trace)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
