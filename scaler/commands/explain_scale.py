"""`explain workerscale/NAME`: what becomes of its workers, why, and what is done now."""

import argparse
from collections.abc import Sequence
from typing import Protocol, TextIO

import msgspec

from scaler.actuator.planning import decided_plan
from scaler.commands.arguments import refuse
from scaler.commands.explain import HOLD, OK, exit_code
from scaler.commands.scaled_objects import look_at, parsed_policy, policy_text, unknown_scale
from scaler.core.decision import Decision
from scaler.core.hold.steps import Plan
from scaler.core.hold.words import Cause
from scaler.core.model import Instant, Name
from scaler.core.policy import Policy
from scaler.core.snapshot import Snapshot
from scaler.kube.credentials import NoClusterError
from scaler.live import UnreadableError
from scaler.view_plan import plan_lines, shown_plan


class Seen(Protocol):
    """What a plan is made from, of a cluster or of a bundle."""

    @property
    def at(self) -> Instant:
        """When it was seen."""
        ...

    @property
    def policy(self) -> Policy:
        """The policy in force."""
        ...

    @property
    def snapshot(self) -> Snapshot:
        """All objects and readings."""
        ...


def explain_scale(args: argparse.Namespace, name: Name, out: TextIO) -> int:
    """Explain a WorkerScale; exit 0 with a plan, 3 where too little is known, 2 on bad input."""
    try:
        policy = parsed_policy(policy_text(args.policy), args.policy)
        look = look_at(args, policy, whole=True)
    except (ValueError, NoClusterError, UnreadableError) as error:
        return refuse(str(error))
    return show_scale(look, name, out, as_json=args.output == "json")


def show_scale(seen: Seen, name: Name, out: TextIO, *, as_json: bool) -> int:
    """Plan a WorkerScale from what was seen, print the plan, and give the exit code."""
    problem = unknown_scale(seen.snapshot, name)
    if problem is not None:
        return refuse(problem)
    scale = seen.snapshot.worker_scales[name]
    plan, decisions = decided_plan(
        snapshot=seen.snapshot, scale=scale, policy=seen.policy, now=seen.at
    )
    if as_json:
        view = msgspec.json.encode(shown_plan(plan, decisions))
        print(msgspec.json.format(view).decode(), file=out)
    else:
        print("\n".join(plan_lines(plan, decisions, now=seen.at)), file=out)
    return _exit_code(plan, decisions)


def _exit_code(plan: Plan, decisions: Sequence[Decision]) -> int:
    """Give what the Decisions give, and 3 where a source is unknown."""
    code = exit_code(decisions)
    return HOLD if code == OK and plan.cause is Cause.SOURCE_UNKNOWN else code
