"""`demo`: all of it on an embedded cluster; no Kubernetes, no Prometheus, no GPU needed."""

import argparse
from pathlib import Path
from typing import TextIO

from scaler.commands.arguments import Commands, address, examples

SPEED = 24.0


def add_parser(commands: Commands) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "demo",
        help="show all of it on an embedded cluster, in under two minutes",
        description="Show all of it on an embedded cluster: Kueue, KEDA, Prometheus and nodes are "
        "small doubles on loopback, the service is the real one. On a terminal the status page "
        "stays up afterwards, until Ctrl-C.",
        epilog=examples("demo", "demo --status 127.0.0.1:8090"),
    )
    parser.add_argument(
        "--speed",
        type=float,
        default=SPEED,
        metavar="N",
        help="cluster seconds in one second; default: %(default)g",
    )
    parser.add_argument(
        "--status",
        type=address,
        default=address("127.0.0.1:0"),
        metavar="HOST:PORT",
        help="the status page; default: %(default)s, any free port",
    )
    parser.add_argument(
        "--log", type=Path, metavar="FILE", help="write the service's log there; default: nowhere"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, out: TextIO) -> int:
    """Play the demo; exit 1 where a step did not happen."""
    from scaler.commands.demo_play import play

    return play(args, out)
