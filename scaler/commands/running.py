"""What the commands have in common that run until they are stopped."""

import argparse
import signal
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from scaler.commands.arguments import POLICY, address
from scaler.settings import Address, SourceSettings

GC_THRESHOLDS: Final = (50_000, 20, 100)
"""A first list of 100,000 objects is all kept, so that collecting amid it frees nothing; Python's
own thresholds would spend a third of the CPU on that."""


def add_policy_argument(parser: argparse.ArgumentParser) -> None:
    """Add the policy's file."""
    parser.add_argument(
        "--policy", type=Path, default=POLICY, metavar="FILE", help="default: %(default)s"
    )


def add_status_argument(parser: argparse.ArgumentParser, *, about: str) -> None:
    """Add the status port, and what it shows."""
    parser.add_argument(
        "--status",
        type=address,
        default=address(":8080"),
        metavar="HOST:PORT",
        help=f"{about}; default: %(default)s",
    )


def status_url(settings: SourceSettings, status: Address) -> str:
    """Give the URL of the page."""
    scheme = "https" if settings.status_certificates else "http"
    return f"{scheme}://{status}/"


def own_pod(environ: Mapping[str, str]) -> tuple[str, str, str] | None:
    """Read our pod's namespace, name and uid, as the Deployment gives them; None outside one."""
    namespace, name, uid = (environ.get(f"POD_{part}") for part in ("NAMESPACE", "NAME", "UID"))
    return (namespace, name, uid) if namespace and name and uid else None


def end_at_once() -> None:
    """Let SIGTERM end the process until whoever stops it in order takes it over.

    The first process of a container ignores signals that it has no way of its own to take, and
    loading takes most of a second.
    """
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
