"""Hold the embedded Prometheus against a real one, on the same samples and the same queries.

Usage: compare.py --prometheus BIN --promtool BIN [--seed N]

Each profile's samples are written once, read by both, and every named query is asked of both at
several instants: label sets must be equal, values within 1e-12 of each other. Exits 1 on any
difference.
"""

import argparse
import contextlib
import math
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, TypeAlias

import requests

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

import expressions
import fleets

from scaler.core.policy import PrometheusSettings
from scaler.core.usage import UsageKey
from scaler.prometheus.history import Window, peaks, reasons, reporting
from scaler.prometheus.queries import fleet_queries
from scaler.prometheus.session import Connection
from scaler.prometheus.vector import QueryFailedError, Vector
from scaler.sim.openmetrics import read_samples
from scaler.sim.promql import Engine
from scaler.sim.readings import SampleServer
from tests.ending import end_in_order

TOLERANCE: Final = 1e-12
NOW: Final = 1_790_000_010.0
KEYS: Final = (
    UsageKey(window_seconds=600.0, busy_from_percent=1.0),
    UsageKey(window_seconds=1800.0, busy_from_percent=29.0),
)
INSTANTS: Final = (NOW, NOW - 7.0, NOW - 300.25, NOW + 95.0, NOW + 240.0, NOW + 4000.0)
LOOK_BACK: Final = 900.0
RANGE: Final = "chart"
"""Name of the questions that are answered with a matrix."""

Rows: TypeAlias = Mapping[tuple[tuple[str, str], ...], float]


def main() -> int:
    """Compare all profiles; give the exit code."""
    end_in_order()
    options = _options()
    engine = Engine(closed_ranges=_major(options.prometheus) < 3)
    failed = 0
    for fleet in fleets.all_fleets(seed=options.seed, now=NOW):
        with _real(fleet.text, prometheus=options.prometheus, promtool=options.promtool) as url:
            failed += _compare(fleet, url=url, engine=engine)
    return 1 if failed else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--prometheus", required=True, help="path of the prometheus binary")
    parser.add_argument("--promtool", required=True, help="path of the promtool binary")
    parser.add_argument("--seed", type=int, default=1, help="for the generated samples")
    return parser.parse_args()


def _major(prometheus: str) -> int:
    """Read the major version; a build from a module has none and is taken for the newest."""
    told = subprocess.run([prometheus, "--version"], check=True, capture_output=True, text=True)
    words = (told.stdout + told.stderr).split()
    version = words[words.index("version") + 1] if "version" in words else ""
    return int(version.split(".")[0]) if version[:1].isdigit() else 3


def _compare(fleet: fleets.Fleet, *, url: str, engine: Engine) -> int:
    settings = PrometheusSettings(
        url=url,
        profile=fleet.profile,
        custom=fleet.custom,
        selector=fleet.selector,
        scrape_interval=fleet.scrape_interval,
    )
    ours = SampleServer(read_samples(fleet.text), engine=engine)
    theirs = Connection(settings)
    asked = rows = points = refused = failed = 0
    for name, expression, at in _questions(settings):
        ask = _range if name == RANGE else _answer
        expected, found = ask(theirs, expression, at), ask(ours, expression, at)
        asked += 1
        size = 0 if isinstance(expected, str) else len(expected)
        rows += size
        points += size if name == RANGE else 0
        refused += isinstance(expected, str)
        difference = _difference(expected, found)
        if name == RANGE and isinstance(expected, str):
            difference = expected  # what the page asks is never to be refused
        if difference:
            failed += 1
            _say(f"  {fleet.name} {name} at {at}: {difference}\n    {expression}")
    theirs.close()
    verdict = f"{failed} DIFFER" if failed else "equal"
    told = f"{asked} answers with {rows} rows ({points} of charts), {refused} refused by both"
    _say(f"{fleet.name:10} {told}: {verdict}")
    return failed


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _questions(settings: PrometheusSettings) -> Iterator[tuple[str, str, float]]:
    for at in INSTANTS:
        for key in KEYS:
            named = fleet_queries(
                settings=settings, key=key, look_back=LOOK_BACK, max_age=90.0, at=at
            )
            yield from ((name, expression, at) for name, expression in named.items())
        for expression in expressions.for_settings(settings):
            yield "template", expression, at
        for expression in _charts(settings):
            yield RANGE, expression, at


def _charts(settings: PrometheusSettings) -> Iterator[str]:
    """Give the queries of the page's charts: an instant query answers them with a matrix."""
    window = Window(seconds=1800.0, step=90.0)
    pods = [f"worker-{number}" for number in range(4)]
    yield peaks(settings, namespace="ml", pods=pods, window=window)
    yield reporting(settings, namespace="ml", pods=pods, window=window)
    yield reasons(["none.such"], window)


def _answer(server: Connection | SampleServer, expression: str, at: float) -> Rows | str:
    try:
        vector = server.query(expression, at=at).vector
    except QueryFailedError as error:
        return f"refused: {error}"
    return _rows(vector)


def _range(server: Connection | SampleServer, expression: str, at: float) -> Rows | str:
    """Give a matrix' points, each a row of its own with its time as a label."""
    try:
        matrix = server.raw(expression, at=at)
    except QueryFailedError as error:
        return f"refused: {error}"
    return {
        (*sorted(row.labels.items()), ("time", str(time))): value
        for row in matrix.series
        for time, value in row.points
    }


def _rows(vector: Vector) -> Rows:
    return {tuple(sorted(sample.labels.items())): sample.value for sample in vector}


def _difference(expected: Rows | str, found: Rows | str) -> str:
    """Say what differs; empty where nothing does. Two refusals are equal whatever they say."""
    if isinstance(expected, str) or isinstance(found, str):
        both = isinstance(expected, str) and isinstance(found, str)
        return "" if both else f"{_shown(expected)} but embedded: {_shown(found)}"
    if expected.keys() != found.keys():
        missing, extra = expected.keys() - found.keys(), found.keys() - expected.keys()
        return f"missing {sorted(missing)[:2]}, too many {sorted(extra)[:2]}"
    wrong = [(k, v, found[k]) for k, v in expected.items() if not _equal(v, found[k])]
    return f"values {wrong[:2]}" if wrong else ""


def _shown(answer: Rows | str) -> str:
    return answer if isinstance(answer, str) else f"{len(answer)} rows"


def _equal(one: float, other: float) -> bool:
    if math.isnan(one) or math.isnan(other):
        return math.isnan(one) and math.isnan(other)
    return math.isclose(one, other, rel_tol=TOLERANCE)


@contextlib.contextmanager
def _real(text: str, *, prometheus: str, promtool: str) -> Iterator[str]:
    """Load samples into a real server; give its URL."""
    folder = Path(tempfile.mkdtemp(prefix="peers-prometheus-"))
    try:
        (folder / "samples.om").write_text(text)
        (folder / "prometheus.yml").write_text("global: {}\n")
        load = [promtool, "tsdb", "create-blocks-from", "openmetrics"]
        subprocess.run(
            [*load, str(folder / "samples.om"), str(folder / "data")],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        with _running(prometheus, folder=folder) as url:
            yield url
    finally:
        shutil.rmtree(folder)


@contextlib.contextmanager
def _running(prometheus: str, *, folder: Path) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [
                prometheus,
                f"--config.file={folder / 'prometheus.yml'}",
                f"--storage.tsdb.path={folder / 'data'}",
                "--storage.tsdb.retention.time=100y",
                f"--web.listen-address=127.0.0.1:{port}",
            ],
            stdout=log,
            stderr=log,
        )
    url = f"http://127.0.0.1:{port}"
    try:
        _wait(f"{url}/-/ready", process=process, log=folder / "log")
        yield url
    finally:
        process.terminate()
        process.wait(30)


def _wait(url: str, *, process: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + 60
    pause = threading.Event()
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError), requests.get(url, timeout=5) as answer:
            if answer.ok:
                return
        pause.wait(0.1)
    raise SystemExit(f"prometheus did not become ready:\n{log.read_text()[-2000:]}")


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
