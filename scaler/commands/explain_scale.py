"""`explain workerscale/NAME`: what becomes of its workers, why, and what is done now."""

import argparse
from collections.abc import Sequence
from typing import TextIO

import msgspec

from scaler.commands.arguments import refuse
from scaler.commands.explain import HOLD, OK, exit_code
from scaler.commands.scaled_objects import look_at, parsed_policy, policy_text, unknown_scale
from scaler.core.decision import Decision
from scaler.core.hold.steps import Plan
from scaler.core.hold.words import Cause
from scaler.core.model import Name
from scaler.kube.credentials import NoClusterError
from scaler.live import UnreadableError
from scaler.view_plan import plan_lines, shown_plan


def explain_scale(args: argparse.Namespace, name: Name, out: TextIO) -> int:
    """Explain a WorkerScale; exit 0 with a plan, 3 where too little is known, 2 on bad input."""
    try:
        policy = parsed_policy(policy_text(args.policy), args.policy)
        look = look_at(args, policy, whole=True)
    except (ValueError, NoClusterError, UnreadableError) as error:
        return refuse(str(error))
    problem = unknown_scale(look, name)
    if problem is not None:
        return refuse(problem)
    plan, decisions = look.plan(look.snapshot.worker_scales[name])
    if args.output == "json":
        view = msgspec.json.encode(shown_plan(plan, decisions))
        print(msgspec.json.format(view).decode(), file=out)
    else:
        print("\n".join(plan_lines(plan, decisions, now=look.at)), file=out)
    return _exit_code(plan, decisions)


def _exit_code(plan: Plan, decisions: Sequence[Decision]) -> int:
    """Give what the Decisions give, and 3 where a source is unknown."""
    code = exit_code(decisions)
    return HOLD if code == OK and plan.cause is Cause.SOURCE_UNKNOWN else code
