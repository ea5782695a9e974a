"""`capture`: a decision of a live cluster as a folder that `explain --bundle` reads."""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, assert_never

from scaler.commands.arguments import Commands, Exit, examples, program, refuse
from scaler.commands.cluster import (
    add_live_arguments,
    also_asked,
    look_at,
    parsed_policy,
    policy_text,
    unknown,
)
from scaler.commands.names import Named, Sort, named

if TYPE_CHECKING:
    from scaler.bundle import Bundle
    from scaler.commands.capture_files import Captured, Written
    from scaler.core.decision import Decision
    from scaler.core.model import Kind, Name
    from scaler.core.trigger import TriggerRef
    from scaler.live import Look


def add_parser(commands: Commands) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "capture",
        help="write a decision of a live cluster into a folder",
        description="Write all that a decision, or a WorkerScale's plan, is made from into a "
        "folder: a bundle, which `explain --bundle` decides from again without any network. It "
        "holds only the fields that are read, of all namespaces; no Secret and no environment "
        "variable is among them.",
        epilog=examples(
            "capture ./report team-a/llm --policy policy.yaml",
            "capture ./report workerscale/train -n team-a",
        ),
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="a new folder, or an empty one")
    parser.add_argument(
        "what",
        metavar="WHAT",
        help="NAMESPACE/NAME of a ScaledObject; or with -n workerscale/NAME, workload/NAME; or "
        "clusterqueue/NAME",
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
    return Exit.DONE


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

    what = named(args.what, args.namespace)
    text = policy_text(args.policy)
    policy = parsed_policy(text, args.policy)
    copies = Copies()
    whole = what.sort is Sort.WORKER_SCALE
    look = look_at(args, policy, keeper=copies, whole=whole, also=also_asked(what))
    refusal = unknown(look, what)
    if refusal is not None:
        raise ValueError(refusal)
    kind, refs = _triggers(look, what)
    return Captured(
        look=look,
        kind=kind,
        name=what.name,
        refs=refs,
        policy_text=text,
        copies=copies,
        collected=collect(look),
    )


def _triggers(look: "Look", what: Named) -> "tuple[Kind | None, tuple[TriggerRef, ...]]":
    """Give the kind of what is captured, and the triggers that decide for it."""
    from scaler.core.model import Kind
    from scaler.core.scales import refs_of_scale
    from scaler.core.trigger import TriggerRef

    match what.sort:
        case Sort.SCALED_OBJECT:
            return Kind.SCALED_OBJECTS, look.refs(what.name)
        case Sort.WORKER_SCALE:
            scale = look.snapshot.worker_scales[what.name]
            return Kind.WORKER_SCALES, refs_of_scale(look.snapshot, scale)
        case Sort.WORKLOAD:
            return None, also_asked(what)
        case Sort.CLUSTER_QUEUE:
            queue = what.name[1]
            metadata = {"signal": "queue", "clusterQueue": queue, "unit": "gpus"}
            name = f"clusterqueue/{queue}"
            return None, (TriggerRef.of(namespace="", name=name, metadata=metadata),)
        case _:
            assert_never(what.sort)


def _tell(folder: Path, captured: "Captured", written: "Sequence[Written]", out: TextIO) -> None:
    for one in written:
        there = one.what if one.there else f"(no file) {one.what}"
        print(f"  {one.name:<38} {there}", file=out)
    print(_compared(folder, captured), file=out)
    print(f"Read it: {program()} explain --bundle {folder}", file=out)


def _compared(folder: Path, captured: "Captured") -> str:
    """Decide from the bundle as well, and say where that comes out otherwise."""
    from scaler.bundle import load

    bundle, look = load(folder), captured.look
    if bundle.scale is None:
        live = tuple(map(_told, _decided(captured)))
        again = tuple(map(_told, bundle.decisions()))
    else:
        live, again = _planned(look, bundle.scale), _planned(bundle, bundle.scale)
    if live == again:
        return f"Decides as the cluster did: {', '.join(live)}"
    return f"Decides otherwise than the cluster did ({', '.join(live)}): {', '.join(again)}"


def _decided(captured: "Captured") -> "tuple[Decision, ...]":
    """Decide as the cluster does; without a ScaledObject the size is what is present."""
    from scaler.core.decide import decide

    look = captured.look
    snapshot = look.snapshot if captured.kind else replace(look.snapshot, bundle=True)
    return tuple(
        decide(snapshot=snapshot, ref=ref, policy=look.policy, now=look.at) for ref in captured.refs
    )


def _planned(seen: "Look | Bundle", name: "Name") -> tuple[str, ...]:
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
