"""Run benchmarks, each in a fresh process, so that its memory and CPU are its own."""

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from multiprocessing import get_context
from multiprocessing.connection import Connection
from types import MappingProxyType

from benchmarks import holding, packing, polls, push, streams, sync
from benchmarks.figures import Figure

BENCHMARKS: Mapping[str, Callable[[], Iterator[Figure]]] = MappingProxyType(
    {
        "packing": packing.measure,
        "sync": sync.measure,
        "polls": polls.measure,
        "push": push.measure,
        "streams": streams.measure,
        "holding": holding.measure,
    }
)


def main(arguments: list[str] | None = None) -> int:
    """Print a table as results come; goals are shown, never asserted."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measure, each figure beside its goal.",
        epilog="example: python -m benchmarks sync packing",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(BENCHMARKS))
    names = parser.parse_args(arguments).names or list(BENCHMARKS)
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"no such benchmark: {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}")
    print(f"{os.cpu_count()} cores, load {_load()}, Python {sys.version.split()[0]}", flush=True)
    for name in names:
        print(f"\n{name}", flush=True)
        began = time.monotonic()
        _show(name)
        print(f"  ({time.monotonic() - began:.0f} s, load {_load()})", flush=True)
    return 0


def _load() -> str:
    return f"{os.getloadavg()[0]:.1f}"


def _show(name: str) -> None:
    """Print what a benchmark's process finds, or that it ended without."""
    context = get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_measure, args=(name, theirs))
    process.start()
    theirs.close()
    try:
        while True:
            print(f"  {ours.recv()}", flush=True)
    except EOFError:
        process.join()
    if process.exitcode:
        print(f"  it failed: exit status {process.exitcode}", flush=True)


def _measure(name: str, pipe: Connection) -> None:
    for figure in BENCHMARKS[name]():
        pipe.send(str(figure))
    pipe.close()
