"""Play scenarios in a real cluster: real programs on loopback, imitated nodes and GPUs.

Usage: python -m tests.e2e.run [--build] [--keda VERSION] [--older-kueue] [--results FILE] [ID ...]

Without IDs every scenario is played once: side by side, and those that disturb others by
themselves at the end. Logs, and what failed with the objects of that moment, are in one folder a
run below .build/runs/.
"""

import argparse
import os
import shutil
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.e2e import builds, deployed
from tests.e2e.answers import Stub
from tests.e2e.controllers import established
from tests.e2e.gpus import Gpus
from tests.e2e.machines import Machines, crds, node
from tests.e2e.needs import needs
from tests.e2e.play import Play, write_lines
from tests.e2e.policies import policy
from tests.e2e.scenarios import NAMESPACES, POOLS, SCENARIOS
from tests.e2e.service import Installation
from tests.e2e.stack import INSTALLATIONS, Stack, stack
from tests.e2e.watching import write_targets
from tests.e2e.world import Scenario, World
from tests.ending import end_in_order
from tests.golang import BUILT, CannotBuildError, build
from tests.report import Report, say

RUNS = BUILT / "runs"
KEPT = 5
"""Folders of earlier runs that stay."""
CPU_NODES = 2


def main(arguments: Sequence[str]) -> int:
    """Play the chosen scenarios; give the exit code."""
    given = _arguments(arguments)
    end_in_order()
    report = Report(title="e2e")
    try:
        needs(sys.platform)
        for module in builds.programs(given.keda):
            build(module)
    except CannotBuildError as error:
        report.skip("the stack", why=str(error))
        return max(report.exit_code(), int(given.build))
    if given.build:
        return 0
    _play_all(given, report)
    return report.exit_code()


def _arguments(arguments: Sequence[str]) -> argparse.Namespace:
    """Read the command line; `scenarios` are the chosen ones."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--build", action="store_true", help="only build the stack")
    parser.add_argument("--keda", choices=builds.KEDA, default=builds.NEWEST_KEDA)
    parser.add_argument(
        "--older-kueue", action="store_true", help="show our service v1beta1 objects alone"
    )
    parser.add_argument("--results", type=Path, metavar="FILE", help="write the lines as JSON")
    parser.add_argument("ids", nargs="*", metavar="ID", help="a scenario's id, as G1; default: all")
    given = parser.parse_args(arguments)
    known = {each.id: each for each in SCENARIOS}
    if unknown := [name for name in given.ids if name not in known]:
        parser.error(f"{', '.join(unknown)}: no such scenario; there are {', '.join(known)}")
    given.scenarios = [known[name] for name in dict.fromkeys(given.ids)] or list(SCENARIOS)
    if given.results:
        try:  # now, and not when all has been played
            write_lines(given.results, [])
        except OSError as error:
            parser.error(f"--results: {error}")
    return given


def _play_all(given: argparse.Namespace, report: Report) -> None:
    """Play the chosen scenarios: side by side, then those that must be alone."""
    chosen: Sequence[Scenario] = given.scenarios
    folder = _folder()
    say(f"logs: {folder}")
    began = time.monotonic()
    with world(folder, keda=given.keda, older_kueue=given.older_kueue) as there:
        say(f"up after {time.monotonic() - began:.0f} s")
        play = Play(world=there, report=report, results=given.results)
        play.all(chosen)
        say(f"all played after {time.monotonic() - began:.0f} s")


def _folder() -> Path:
    """Give a fresh folder for this run; old ones go, but for those of runs that go on."""
    RUNS.mkdir(parents=True, exist_ok=True)
    ended = [each for each in sorted(RUNS.iterdir()) if not _goes_on(each)]
    for old in ended[: -KEPT + 1]:
        shutil.rmtree(old, ignore_errors=True)
    return RUNS / f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"


def _goes_on(folder: Path) -> bool:
    """Say whether the process that a run's folder is named for still lives."""
    return Path("/proc", folder.name.rpartition("-")[2]).exists()


@contextmanager
def world(folder: Path, *, keda: str, older_kueue: bool) -> Iterator[World]:
    """Give a running stack with GPUs, machines and our service installed."""
    with ExitStack() as held:
        running = held.enter_context(stack(folder, keda=keda, older_kueue=older_kueue))
        running.api.apply(*crds(), *deployed.definitions())
        for each in deployed.definitions():
            established(running.plane, each)
        gpus = Gpus(running.api)
        held.callback(gpus.stop)
        gpus.start()
        machines = Machines(running.api)
        held.callback(machines.stop)
        machines.start()
        running.api.apply(*(_cpu_node(number) for number in range(CPU_NODES)))
        stub = held.enter_context(Stub())
        prometheus, targets = running.watching_prometheus("prometheus", target=gpus.address)
        scaler = _installation(running, prometheus.url)
        held.callback(scaler.stop)
        scaler.start()
        actuator = running.actuation(INSTALLATIONS[0], scaler.policy)
        held.callback(actuator.stop)
        actuator.start()
        replicas = (*scaler.replicas, actuator.replica)
        write_targets(targets, ((scaler.namespace, each) for each in replicas))
        yield World(
            api=running.api,
            stack=running,
            gpus=gpus,
            machines=machines,
            scaler=scaler,
            actuator=actuator,
            stub=stub,
            prometheus=prometheus,
        )


def _cpu_node(number: int) -> dict[str, object]:
    return node(f"cpu-{number}", {}, gpus=0, cpu="1000", memory="4Ti")


def _installation(running: Stack, prometheus: str) -> Installation:
    """Give the service that scenarios without faults ask."""
    return running.installation(
        INSTALLATIONS[0], policy(prometheus, pools=POOLS, namespaces=NAMESPACES)
    )


def _exit_code() -> int:
    try:
        return main(sys.argv[1:])
    except KeyboardInterrupt:
        return 130
    except SystemExit as told:
        return told.code if isinstance(told.code, int) else 1
    except BaseException:  # noqa: BLE001 - it is told, and the process ends
        traceback.print_exc()
        return 1


if __name__ == "__main__":
    code = _exit_code()
    sys.stdout.flush()
    sys.stderr.flush()
    # Threads of a scenario that was cut off would be waited for, for minutes.
    os._exit(code)
