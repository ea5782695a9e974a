"""`explain`: the decision for a trigger, with reason and evidence."""

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
)

if TYPE_CHECKING:
    from scaler.core.decision import Decision
    from scaler.core.model import Name

OK, BAD_INPUT, HOLD = 0, 2, 3


def add_parser(commands: Commands) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "explain",
        help="say what is decided for a ScaledObject or WorkerScale, and why",
        description="Say what is decided for a ScaledObject's triggers, and why; from a cluster, "
        "or from a bundle without any network. For a WorkerScale also what becomes of its workers, "
        "and what would be done for it now. Exit 0 with decisions, 3 where one is HOLD or not "
        "enough is known, 2 on bad input.",
        epilog=examples(
            "explain team-a/llm --policy policy.yaml",
            "explain scaledobject/llm -n team-a -o json",
            "explain workerscale/train -n team-a",
            "explain --bundle ./report",
            "explain workerscale/train -n team-a --bundle ./report",
        ),
    )
    parser.add_argument(
        "scaled_object",
        nargs="?",
        metavar="NAMESPACE/NAME",
        help="a ScaledObject of the cluster, or with workerscale/ before it a WorkerScale",
    )
    parser.add_argument(
        "--bundle",
        type=Path,
        metavar="DIR",
        help="decide from a bundle instead: for its trigger.yaml, or a WorkerScale in it",
    )
    parser.add_argument(
        "-o", "--output", choices=("text", "json"), default="text", help="default: %(default)s"
    )
    add_live_arguments(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, out: TextIO) -> int:
    """Explain; exit 0 with a decision, 3 with HOLD, 2 with bad input."""
    named = args.scaled_object
    scale = None if named is None else scale_name_of(named, args.namespace)
    if args.bundle is not None and (named is None or scale is not None):
        return _explain_bundle(args, scale, out)
    if args.bundle is not None or named is None:
        return refuse(
            "explain takes either NAMESPACE/NAME or --bundle DIR; beside --bundle it takes only "
            "workerscale/NAME -n NAMESPACE"
        )
    if scale is not None:
        from scaler.commands.explain_scale import explain_scale

        return explain_scale(args, scale, out)
    decisions = _of_cluster(args)
    if isinstance(decisions, str):
        return refuse(decisions)
    return show(decisions, out, as_json=args.output == "json")


def _of_cluster(args: argparse.Namespace) -> "Sequence[Decision] | str":
    """Give the decisions, or why there are none."""
    from scaler.kube.credentials import NoClusterError
    from scaler.live import UnreadableError

    try:
        name = name_of(args.scaled_object, args.namespace)
        policy = parsed_policy(policy_text(args.policy), args.policy)
        look = look_at(args, policy)
    except (ValueError, NoClusterError, UnreadableError) as error:
        return str(error)
    return unknown(look, name) or look.decisions(name)


def _explain_bundle(args: argparse.Namespace, scale: "Name | None", out: TextIO) -> int:
    """Explain what the bundle asks about, or the WorkerScale in it that is named."""
    from scaler.bundle import BadBundle, load
    from scaler.commands.explain_scale import show_scale

    if not args.bundle.is_dir():
        return refuse(f"{args.bundle} is no folder; a bundle is")
    try:
        bundle = load(args.bundle)
    except BadBundle as error:
        return refuse(str(error))
    as_json = args.output == "json"
    asked = scale or bundle.scale
    if asked is not None:
        return show_scale(bundle, asked, out, as_json=as_json)
    return show(bundle.decisions(), out, as_json=as_json)


def show(decisions: "Sequence[Decision]", out: TextIO, *, as_json: bool) -> int:
    """Print decisions and give the exit code; JSON is one object for one trigger, else a list."""
    import msgspec

    from scaler.view import lines, shown

    if as_json:
        views = [shown(decision) for decision in decisions]
        text = msgspec.json.format(msgspec.json.encode(views[0] if len(views) == 1 else views))
        print(text.decode(), file=out)
    else:
        for decision in decisions:
            print("\n".join(lines(decision)), file=out)
    return exit_code(decisions)


def exit_code(decisions: "Sequence[Decision]") -> int:
    """Give 2 where metadata is malformed, else 3 where one holds, else 0."""
    from scaler.core.decision import Status

    statuses = {decision.status for decision in decisions}
    if Status.INVALID in statuses:
        return BAD_INPUT
    return HOLD if Status.HOLD in statuses else OK
