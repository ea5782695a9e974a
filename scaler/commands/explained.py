"""What `explain` prints of each sort of object, and with which exit code."""

from collections.abc import Iterable, Sequence
from typing import TextIO

import msgspec

from scaler.actuator.planning import decided_plan
from scaler.commands.arguments import Exit, plain
from scaler.core.account.cluster_queue import account_of_queue
from scaler.core.account.workload import account_of_workload
from scaler.core.decide import decide
from scaler.core.decision import Decision, Status
from scaler.core.hold.words import Cause
from scaler.core.model import Name
from scaler.core.remedy.find import remedies
from scaler.core.scales import refs_of_scale
from scaler.core.trigger import TriggerRef
from scaler.live import Look
from scaler.view_account import queue_lines, shown_queue, shown_workload, workload_lines
from scaler.view_plan import Explained, plan_lines, shown_plan
from scaler.view_remedy import explained_lines, shown_explained


def triggers(look: Look, refs: Sequence[TriggerRef], out: TextIO, *, as_json: bool) -> int:
    """Explain triggers; JSON is one object for one trigger, else a list."""
    found = tuple(_explained(look, ref) for ref in refs)
    if as_json:
        views = [shown_explained(*one) for one in found]
        _print_json(views[0] if len(views) == 1 else views, out)
    else:
        _print(("\n".join(explained_lines(*one)) for one in found), out)
    return exit_code(decision for decision, _ in found)


def worker_scale(look: Look, name: Name, out: TextIO, *, as_json: bool) -> int:
    """Explain what becomes of a WorkerScale's workers, why, and what is done now."""
    scale = look.snapshot.worker_scales[name]
    plan, decisions = decided_plan(
        snapshot=look.snapshot, scale=scale, policy=look.policy, now=look.at
    )
    refs = refs_of_scale(look.snapshot, scale)
    found = tuple(_with_remedies(look, ref, one) for ref, one in zip(refs, decisions, strict=True))
    if as_json:
        _print_json(shown_plan(plan, found), out)
    else:
        _print(plan_lines(plan, found, now=look.at), out)
    code = exit_code(decisions)
    return Exit.HOLD if code == Exit.DONE and plan.cause is Cause.SOURCE_UNKNOWN else code


def cluster_queue(look: Look, name: str, out: TextIO, *, as_json: bool) -> int:
    """Explain a ClusterQueue: its quota, who waits and why, who reads it."""
    account = account_of_queue(snapshot=look.snapshot, name=name, policy=look.policy, now=look.at)
    if as_json:
        _print_json(shown_queue(account), out)
    else:
        _print(queue_lines(account, now=look.at), out)
    return Exit.HOLD if account.unknown else Exit.DONE


def workload(look: Look, name: Name, out: TextIO, *, as_json: bool) -> int:
    """Explain a Workload: its class, where it counts, what its GPUs do, who holds it."""
    account = account_of_workload(
        snapshot=look.snapshot,
        workload=look.snapshot.workload_index[name],
        policy=look.policy,
        now=look.at,
    )
    if as_json:
        _print_json(shown_workload(account), out)
    else:
        _print(workload_lines(account, now=look.at), out)
    code = exit_code(one.decision for one in account.resting)
    return Exit.HOLD if code == Exit.DONE and account.unknown else code


def exit_code(decisions: Iterable[Decision]) -> int:
    """Give 2 where metadata is malformed, else 3 where one holds, else 0."""
    statuses = {decision.status for decision in decisions}
    if Status.INVALID in statuses:
        return Exit.BAD_INPUT
    return Exit.HOLD if Status.HOLD in statuses else Exit.DONE


def _explained(look: Look, ref: TriggerRef) -> Explained:
    decision = decide(snapshot=look.snapshot, ref=ref, policy=look.policy, now=look.at)
    return _with_remedies(look, ref, decision)


def _with_remedies(look: Look, ref: TriggerRef, decision: Decision) -> Explained:
    found = remedies(
        snapshot=look.snapshot, ref=ref, policy=look.policy, now=look.at, decision=decision
    )
    return decision, found


def _print(lines: Iterable[str], out: TextIO) -> None:
    print(plain("\n".join(lines)), file=out)


def _print_json(view: object, out: TextIO) -> None:
    print(msgspec.json.format(msgspec.json.encode(view)).decode(), file=out)
