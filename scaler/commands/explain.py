"""`explain`: what is decided, with reason and evidence, and what would have to change."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, assert_never

from scaler.commands.arguments import Commands, examples, refuse
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
    from collections.abc import Sequence

    from scaler.core.trigger import TriggerRef
    from scaler.live import Look


def add_parser(commands: Commands) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "explain",
        help="say what is decided, why, and what would have to change for another answer",
        description="Say what is decided for a ScaledObject's triggers, why, and what would have "
        "to change for another answer; from a cluster, or from a bundle without any network. For a "
        "WorkerScale also what becomes of its workers, and what would be done for it now; for a "
        "ClusterQueue its quota, who waits and what would let them in; for a Workload where it "
        "counts and what its GPUs do. Exit 0 with decisions, 3 where one is HOLD or not enough is "
        "known, 2 on bad input.",
        epilog=examples(
            "explain team-a/llm --policy policy.yaml",
            "explain scaledobject/llm -n team-a -o json",
            "explain workerscale/train -n team-a",
            "explain clusterqueue/research",
            "explain workload/job-train-1a2b3 -n team-a",
            "explain --bundle ./report",
            "explain clusterqueue/research --bundle ./report",
        ),
    )
    parser.add_argument(
        "what",
        nargs="?",
        metavar="WHAT",
        help="NAMESPACE/NAME of a ScaledObject; or with -n scaledobject/NAME, workerscale/NAME, "
        "workload/NAME; or clusterqueue/NAME",
    )
    parser.add_argument(
        "--bundle",
        type=Path,
        metavar="DIR",
        help="decide from a bundle instead; without WHAT its trigger",
    )
    parser.add_argument(
        "-o", "--output", choices=("text", "json"), default="text", help="default: %(default)s"
    )
    add_live_arguments(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, out: TextIO) -> int:
    """Explain; exit 0 with a decision, 3 with HOLD, 2 with bad input."""
    if args.bundle is None and args.what is None:
        return refuse("explain takes NAMESPACE/NAME, KIND/NAME or --bundle DIR")
    from scaler.bundle import BadBundle
    from scaler.kube.credentials import NoClusterError
    from scaler.live import UnreadableError

    refs: Sequence[TriggerRef] = ()
    try:
        what = None if args.what is None else named(args.what, args.namespace)
        if args.bundle is None:
            look = _of_cluster(args, what)
        else:
            look, refs, what = _of_bundle(args, what)
    except (ValueError, BadBundle, NoClusterError, UnreadableError) as error:
        return refuse(str(error))
    problem = None if what is None else unknown(look, what)
    if problem is not None:
        return refuse(problem)
    return _told(args, look, refs, what, out)


def _told(
    args: argparse.Namespace,
    look: "Look",
    refs: "Sequence[TriggerRef]",
    what: Named | None,
    out: TextIO,
) -> int:
    from scaler.commands import explained

    as_json = args.output == "json"
    if what is None:
        return explained.triggers(look, refs, out, as_json=as_json)
    match what.sort:
        case Sort.SCALED_OBJECT:
            return explained.triggers(look, look.refs(what.name), out, as_json=as_json)
        case Sort.WORKER_SCALE:
            return explained.worker_scale(look, what.name, out, as_json=as_json)
        case Sort.CLUSTER_QUEUE:
            return explained.cluster_queue(look, what.name[1], out, as_json=as_json)
        case Sort.WORKLOAD:
            return explained.workload(look, what.name, out, as_json=as_json)
        case _:
            assert_never(what.sort)


def _of_cluster(args: argparse.Namespace, what: Named | None) -> "Look":
    """Look at the cluster.

    Raises:
        ValueError, NoClusterError, UnreadableError: nothing can be explained.
    """
    policy = parsed_policy(policy_text(args.policy), args.policy)
    whole = what is not None and what.sort is Sort.WORKER_SCALE
    return look_at(args, policy, whole=whole, also=also_asked(what))


def _of_bundle(
    args: argparse.Namespace, what: Named | None
) -> "tuple[Look, tuple[TriggerRef, ...], Named | None]":
    """Read the bundle; give what was seen, the triggers of trigger.yaml, and what is explained.

    Raises:
        ValueError, BadBundle: nothing can be explained.
    """
    from scaler.bundle import load
    from scaler.core.idle.wanted import Wanted
    from scaler.live import Look

    if not args.bundle.is_dir():
        raise ValueError(f"{args.bundle} is no folder; a bundle is")
    bundle = load(args.bundle, also=also_asked(what))
    if what is None and bundle.scale is not None:
        what = Named(sort=Sort.WORKER_SCALE, name=bundle.scale)
    want = Wanted(usage=frozenset(bundle.snapshot.usage), queries={})
    look = Look(at=bundle.at, policy=bundle.policy, snapshot=bundle.snapshot, want=want)
    return look, bundle.refs, what
