"""What several commands take, and how they refuse."""

import argparse
import sys
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from scaler.settings import Address

if TYPE_CHECKING:
    Commands: TypeAlias = argparse._SubParsersAction[argparse.ArgumentParser]  # noqa: SLF001 - argparse has no public name for it
else:
    Commands = object


class Exit(IntEnum):
    """What a process ends with; every command keeps to these."""

    DONE = 0
    """Done; of `check`, nothing worse than warnings; of `explain`, decisions came out."""
    FAILED = 1
    """A step of the demo did not happen."""
    BAD_INPUT = 2
    """Bad input or a bad command line; of `serve` and `actuate`, also no way to start."""
    HOLD = 3
    """A decision is a hold, or not enough is known to tell."""
    INTERRUPTED = 130
    """Ended by Ctrl-C."""


_EXAMPLES = "examples:"
POLICY = Path("/etc/kueue-gpu-scaler/policy.yaml")
"""Where a pod has its policy mounted."""


def program() -> str:
    """Give the name that we were called by: as a plugin of kubectl it has two words."""
    called = Path(sys.argv[0]).name if sys.argv else ""
    return "kubectl gpu-scaler" if called.startswith("kubectl-") else "kueue-gpu-scaler"


class HelpFormatter(argparse.HelpFormatter):
    """Keep the lines of examples as they are: wrapped, they could not be pasted."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if text.startswith(_EXAMPLES):
            return text
        return super()._fill_text(text, width, indent)


def examples(*lines: str) -> str:
    """Give a command's examples as the end of its help."""
    return "\n".join((_EXAMPLES, *(f"  {program()} {line}" for line in lines)))


def add_cluster_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the way to a cluster."""
    parser.add_argument(
        "--kubeconfig",
        metavar="FILE",
        help="default: $KUBECONFIG, the pod's service account, ~/.kube/config",
    )
    parser.add_argument("--context", metavar="NAME", help="default: the kubeconfig's current one")


def address(text: str) -> Address:
    """Read a HOST:PORT argument."""
    try:
        return Address.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def refuse(message: str) -> int:
    """Say on standard error what is wrong, and give the exit code of bad input."""
    sys.stderr.write(f"{program()}: {plain(message)}\n")
    return Exit.BAD_INPUT


def plain(text: str) -> str:
    """Give a text without what a terminal would obey: it may hold what others wrote."""
    if text.isprintable():
        return text
    return "".join(
        one if one.isprintable() or one == "\n" else "\N{REPLACEMENT CHARACTER}" for one in text
    )
