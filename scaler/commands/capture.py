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
    scale_name_of,
    unknown,
    unknown_scale,
)

if TYPE_CHECKING:
    from scaler.commands.capture_files import Captured, Written
    from scaler.commands.explain_scale import Seen
    from scaler.core.decision import Decision
    from scaler.core.model import Name


def add_parser(commands: Commands) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "capture",
        help="write a decision of a live cluster into a folder",
        description="Write all that a ScaledObject's decision, or a WorkerScale's plan, is made "
        "from into a folder: a bundle, which `explain --bundle` decides from again without any "
        "network. It holds only the fields that are read, of all namespaces; no Secret and no "
        "environment variable is among them.",
        epilog=examples(
            "capture ./report team-a/llm --policy policy.yaml",
            "capture ./report workerscale/train -n team-a",
        ),
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="a new folder, or an empty one")
    parser.add_argument(
        "scaled_object",
        metavar="NAMESPACE/NAME",
        help="a ScaledObject of the cluster, or with workerscale/ before it a WorkerScale",
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
    from scaler.core.model import Kind

    scale = scale_name_of(args.scaled_object, args.namespace)
    name = scale or name_of(args.scaled_object, args.namespace)
    text = policy_text(args.policy)
    policy = parsed_policy(text, args.policy)
    copies = Copies()
    look = look_at(args, policy, keeper=copies, whole=scale is not None)
    refusal = unknown(look, name) if scale is None else unknown_scale(look.snapshot, scale)
    if refusal is not None:
        raise ValueError(refusal)
    return Captured(
        look=look,
        kind=Kind.SCALED_OBJECTS if scale is None else Kind.WORKER_SCALES,
        name=name,
        policy_text=text,
        copies=copies,
        collected=collect(look),
    )


def _tell(folder: Path, captured: "Captured", written: "Sequence[Written]", out: TextIO) -> None:
    for one in written:
        there = one.what if one.there else f"(no file) {one.what}"
        print(f"  {one.name:<38} {there}", file=out)
    print(_compared(folder, captured), file=out)
    print(f"Read it: kueue-gpu-scaler explain --bundle {folder}", file=out)


def _compared(folder: Path, captured: "Captured") -> str:
    """Decide from the bundle as well, and say where that comes out otherwise."""
    from scaler.bundle import load

    bundle, look = load(folder), captured.look
    if bundle.scale is None:
        live = tuple(map(_told, look.decisions(captured.name)))
        again = tuple(map(_told, bundle.decisions()))
    else:
        live, again = _planned(look, bundle.scale), _planned(bundle, bundle.scale)
    if live == again:
        return f"Decides as the cluster did: {', '.join(live)}"
    return f"Decides otherwise than the cluster did ({', '.join(live)}): {', '.join(again)}"


def _planned(seen: "Seen", name: "Name") -> tuple[str, ...]:
    """Tell the plan of a WorkerScale, and the decisions that it rests on."""
    from scaler.actuator.planning import decided_plan

    scale = seen.snapshot.worker_scales[name]
    plan, decisions = decided_plan(
        snapshot=seen.snapshot, scale=scale, policy=seen.policy, now=seen.at
    )
    steps = [type(step).__name__ for step in plan.steps]
    return f"{plan.state} {plan.cause}", *steps, *map(_told, decisions)


def _told(decision: "Decision") -> str:
    if decision.active is None:
        return f"{decision.status} {decision.reason}"
    active = "active" if decision.active else "inactive"
    return f"{decision.status} {decision.reason}, {active}, value {decision.value}"
