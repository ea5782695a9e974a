"""`serve`: the gRPC service for KEDA and the HTTP status port."""

import argparse
import os
import signal
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

from scaler.commands.arguments import (
    POLICY,
    Commands,
    add_cluster_arguments,
    address,
    examples,
    refuse,
)
from scaler.commands.scaled_objects import policy_text
from scaler.settings import Address, Settings

GC_THRESHOLDS = (50_000, 20, 100)
"""A first list of 100,000 objects is all kept, so that collecting amid it frees nothing; Python's
own thresholds would spend a third of the CPU on that."""


def add_parser(commands: Commands) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "serve",
        help="serve KEDA over gRPC, and people over HTTP",
        description="Serve KEDA over gRPC; show metrics, health, decisions and a page over HTTP.",
        epilog=examples("serve --policy policy.yaml --kubeconfig ~/.kube/config"),
    )
    parser.add_argument(
        "--policy", type=Path, default=POLICY, metavar="FILE", help="default: %(default)s"
    )
    parser.add_argument(
        "--grpc",
        type=address,
        default=address(":6000"),
        metavar="HOST:PORT",
        help="where KEDA asks; default: %(default)s",
    )
    parser.add_argument(
        "--status",
        type=address,
        default=address(":8080"),
        metavar="HOST:PORT",
        help="metrics, health, decisions, page; default: %(default)s",
    )
    parser.add_argument(
        "--drain",
        type=float,
        default=0.0,
        metavar="SECONDS",
        help="how long to answer on, not ready, after the signal to stop; from 5 s on connections "
        "grow no older, so that each has left by then; default: %(default)g s",
    )
    parser.add_argument("--verbose", action="store_true", help="log debug messages")
    add_cluster_arguments(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, out: TextIO) -> int:
    """Serve until stopped; exit 2 with one sentence where it can't start."""
    import asyncio
    import gc

    _end_at_once()
    from scaler import log
    from scaler.app import run as serve
    from scaler.kube.credentials import NoClusterError
    from scaler.policyfile import PolicyError

    try:
        policy_text(args.policy)
    except ValueError as error:
        return refuse(str(error))
    log.configure(verbose=args.verbose)
    gc.set_threshold(*GC_THRESHOLDS)
    settings = Settings(
        policy=args.policy,
        grpc=args.grpc,
        status=args.status,
        kubeconfig=args.kubeconfig,
        context=args.context,
        drain_seconds=args.drain,
        pod=own_pod(os.environ),
    )

    def started(grpc: Address, status: Address) -> None:
        print(f"serving gRPC on {grpc}, status on http://{status}/", file=out, flush=True)

    try:
        asyncio.run(serve(settings, started))
    except PolicyError as error:
        return refuse(f"{args.policy} is no good policy:\n{error}")
    except (NoClusterError, OSError) as error:
        return refuse(str(error))
    return 0


def own_pod(environ: Mapping[str, str]) -> tuple[str, str, str] | None:
    """Read our pod's namespace, name and uid, as the Deployment gives them; None outside one."""
    namespace, name, uid = (environ.get(f"POD_{part}") for part in ("NAMESPACE", "NAME", "UID"))
    return (namespace, name, uid) if namespace and name and uid else None


def _end_at_once() -> None:
    """Let SIGTERM end the process until the loop takes it over.

    The first process of a container ignores signals that it has no way of its own to take, and
    loading takes most of a second.
    """
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
