"""`explain`: the decision for a trigger, with reason and evidence."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

import msgspec

from scaler.bundle import BadBundle, load
from scaler.commands.arguments import Commands, add_cluster_arguments, refuse
from scaler.core.decision import Decision, Status
from scaler.view import lines, shown

OK, BAD_INPUT, HOLD = 0, 2, 3


def add_parser(commands: Commands) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "explain",
        help="say what is decided for a ScaledObject, and why",
        description="Say what is decided for a ScaledObject's triggers, and why; from a cluster, "
        "or from a bundle without any network.",
        epilog="examples: kueue-gpu-scaler explain team-a/llm   |   "
        "kueue-gpu-scaler explain --bundle ./report -o json",
    )
    parser.add_argument(
        "scaled_object", nargs="?", metavar="NAMESPACE/NAME", help="a ScaledObject of the cluster"
    )
    parser.add_argument("--bundle", type=Path, metavar="DIR", help="decide from a bundle instead")
    parser.add_argument(
        "-o", "--output", choices=("text", "json"), default="text", help="default: %(default)s"
    )
    add_cluster_arguments(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, out: TextIO) -> int:
    """Explain; exit 0 with a decision, 3 with HOLD, 2 with bad input."""
    if (args.bundle is None) == (args.scaled_object is None):
        return refuse("explain takes either NAMESPACE/NAME or --bundle DIR")
    if args.bundle is None:
        return refuse("explain from a cluster is not there yet; give --bundle DIR")
    if not args.bundle.is_dir():
        return refuse(f"{args.bundle} is no folder; a bundle is")
    try:
        decisions = load(args.bundle).decisions()
    except BadBundle as error:
        return refuse(str(error))
    return show(decisions, out, as_json=args.output == "json")


def show(decisions: Sequence[Decision], out: TextIO, *, as_json: bool) -> int:
    """Print decisions and give the exit code; JSON is one object for one trigger, else a list."""
    if as_json:
        views = [shown(decision) for decision in decisions]
        text = msgspec.json.format(msgspec.json.encode(views[0] if len(views) == 1 else views))
        print(text.decode(), file=out)
    else:
        for decision in decisions:
            print("\n".join(lines(decision)), file=out)
    return exit_code(decisions)


def exit_code(decisions: Sequence[Decision]) -> int:
    """Give 2 where metadata is malformed, else 3 where one holds, else 0."""
    statuses = {decision.status for decision in decisions}
    if Status.INVALID in statuses:
        return BAD_INPUT
    return HOLD if Status.HOLD in statuses else OK
