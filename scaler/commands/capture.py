"""`capture`: a decision of a live cluster as a folder that `explain --bundle` reads."""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from scaler.commands.arguments import Commands, examples, program, refuse
from scaler.commands.names import Named, Sort, named
from scaler.commands.scaled_objects import (
    add_live_arguments,
    look_at,
    parsed_policy,
    policy_text,
    unknown,
)

if TYPE_CHECKING:
    from scaler.commands.capture_files import Captured, Written
    from scaler.core.decision import Decision
    from scaler.core.model import Name
    from scaler.core.trigger import TriggerRef
    from scaler.live import Look


def add_parser(commands: Commands) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "capture",
        help="write a decision of a live cluster into a folder",
        description="Write all that a decision is made from into a folder: a "
        "bundle, which `explain --bundle` decides from again without any network. It holds only "
        "the fields that are read, of all namespaces; no Secret and no environment variable is "
        "among them.",
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
    from scaler.core.account.readers import own_ref

    what = named(args.what, args.namespace)
    text = policy_text(args.policy)
    policy = parsed_policy(text, args.policy)
    copies = Copies()
    also = (own_ref(what.name),) if what.sort is Sort.WORKLOAD else ()
    whole = what.sort is Sort.WORKER_SCALE
    look = look_at(args, policy, keeper=copies, whole=whole, also=also)
    refusal = unknown(look, what)
    if refusal is not None:
        raise ValueError(refusal)
    scaled_object, refs = _triggers(look, what)
    return Captured(
        look=look,
        scaled_object=scaled_object,
        refs=refs,
        policy_text=text,
        copies=copies,
        collected=collect(look),
    )


def _triggers(look: "Look", what: Named) -> "tuple[Name | None, tuple[TriggerRef, ...]]":
    """Give the triggers that decide for what is captured, and whose ScaledObject's they are."""
    from scaler.core.account.readers import own_ref
    from scaler.core.scales import refs_of_scale
    from scaler.core.trigger import TriggerRef

    match what.sort:
        case Sort.SCALED_OBJECT:
            return what.name, look.refs(what.name)
        case Sort.WORKER_SCALE:
            first, *_ = refs_of_scale(look.snapshot, look.snapshot.worker_scales[what.name])
            if first.key in look.snapshot.scaled_objects:
                return first.key, look.refs(first.key)
            return None, (first,)
        case Sort.WORKLOAD:
            return None, (own_ref(what.name),)
        case Sort.CLUSTER_QUEUE:
            queue = what.name[1]
            metadata = {"signal": "queue", "clusterQueue": queue, "unit": "gpus"}
            name = f"clusterqueue/{queue}"
            return None, (TriggerRef.of(namespace="", name=name, metadata=metadata),)


def _tell(folder: Path, captured: "Captured", written: "Sequence[Written]", out: TextIO) -> None:
    for one in written:
        there = one.what if one.there else f"(no file) {one.what}"
        print(f"  {one.name:<38} {there}", file=out)
    print(_compared(folder, _decided(captured)), file=out)
    print(f"Read it: {program()} explain --bundle {folder}", file=out)


def _decided(captured: "Captured") -> "tuple[Decision, ...]":
    """Decide as the cluster does; without a ScaledObject the size is what is present."""
    from scaler.core.decide import decide

    look = captured.look
    snapshot = replace(look.snapshot, bundle=captured.scaled_object is None)
    return tuple(
        decide(snapshot=snapshot, ref=ref, policy=look.policy, now=look.at) for ref in captured.refs
    )


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
