"""`capture`: a decision of a live cluster as a folder that `explain --bundle` reads."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from scaler.commands.arguments import Commands, examples, refuse
from scaler.commands.scaled_objects import (
    add_live_arguments,
    look_at,
    name_of,
    parsed_policy,
    policy_text,
    unknown,
)

if TYPE_CHECKING:
    from scaler.commands.capture_files import Captured, Written
    from scaler.core.decision import Decision


def add_parser(commands: Commands) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "capture",
        help="write a decision of a live cluster into a folder",
        description="Write all that a ScaledObject's decision is made from into a folder: a "
        "bundle, which `explain --bundle` decides from again without any network. It holds only "
        "the fields that are read, of all namespaces; no Secret and no environment variable is "
        "among them.",
        epilog=examples("capture ./report team-a/llm --policy policy.yaml"),
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="a new folder, or an empty one")
    parser.add_argument(
        "scaled_object", metavar="NAMESPACE/NAME", help="a ScaledObject of the cluster"
    )
    add_live_arguments(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, out: TextIO) -> int:
    """Capture; exit 0 when a bundle was written, 2 on bad input."""
    from scaler.commands.capture_files import write
    from scaler.kube.credentials import NoClusterError
    from scaler.live import UnreadableError

    try:
        _check_folder(args.folder)
        captured = _captured(args)
        written = write(args.folder, captured)
    except (ValueError, NoClusterError, UnreadableError) as error:
        return refuse(str(error))
    except OSError as error:
        return refuse(f"{args.folder} can't be written: {error.strerror or error}")
    _tell(args.folder, captured, written, out)
    return 0


def _check_folder(folder: Path) -> None:
    """Refuse a folder that holds anything: what is there belongs to another decision.

    Raises:
        ValueError: one sentence.
    """
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is no folder; give a new or an empty one")
    if folder.is_dir() and any(folder.iterdir()):
        raise ValueError(f"{folder} is not empty; give a new folder or an empty one")


def _captured(args: argparse.Namespace) -> "Captured":
    """Look at the cluster, and keep what was seen.

    Raises:
        ValueError, NoClusterError, UnreadableError: nothing can be captured.
    """
    from scaler.commands.capture_files import Captured, Copies
    from scaler.commands.capture_samples import collect

    name = name_of(args.scaled_object, args.namespace)
    text = policy_text(args.policy)
    policy = parsed_policy(text, args.policy)
    copies = Copies()
    look = look_at(args, policy, keeper=copies)
    refusal = unknown(look, name)
    if refusal is not None:
        raise ValueError(refusal)
    return Captured(
        look=look, scaled_object=name, policy_text=text, copies=copies, collected=collect(look)
    )


def _tell(folder: Path, captured: "Captured", written: "Sequence[Written]", out: TextIO) -> None:
    for one in written:
        there = one.what if one.there else f"(no file) {one.what}"
        print(f"  {one.name:<38} {there}", file=out)
    live = captured.look.decisions(captured.scaled_object)
    print(_compared(folder, live), file=out)
    print(f"Read it: kueue-gpu-scaler explain --bundle {folder}", file=out)


def _compared(folder: Path, live: "Sequence[Decision]") -> str:
    """Decide from the bundle as well, and say where that comes out otherwise."""
    from scaler.bundle import load

    again = load(folder).decisions()
    told = [_told(decision) for decision in live]
    if told == [_told(decision) for decision in again]:
        return f"Decides as the cluster did: {', '.join(told)}"
    other = ", ".join(map(_told, again))
    return f"Decides otherwise than the cluster did ({', '.join(told)}): {other}"


def _told(decision: "Decision") -> str:
    if decision.active is None:
        return f"{decision.status} {decision.reason}"
    active = "active" if decision.active else "inactive"
    return f"{decision.status} {decision.reason}, {active}, value {decision.value}"
