"""Say in a WorkerScale's status which write the API server forbids."""

from dataclasses import replace

from scaler.actuator.apply import Applied, Outcome
from scaler.core.hold.status import with_forbidden
from scaler.core.hold.steps import Plan, Step, WriteStatus
from scaler.core.model import Instant
from scaler.kube.requests import kind_written
from scaler.kube.resources import KINDS


def complaint(applied: Applied, *, now: Instant) -> Plan | None:
    """Plan the status that tells people; None where it tells them already, or nothing is forbidden.

    Nor is there one where status itself may not be written.
    """
    step, plan = applied.failed, applied.plan
    if applied.outcome is not Outcome.FORBIDDEN or step is None or isinstance(step, WriteStatus):
        return None
    scale = applied.scale or plan.scale
    message = f"{_lacking(step, scale.namespace)}: {applied.message}"
    status = with_forbidden(scale, message=message, now=now)
    if status == scale.status:
        return None
    return replace(plan, scale=scale, steps=(WriteStatus(status=status),), status=status)


def _lacking(step: Step, namespace: str) -> str:
    """Name the right that a step needs: all are patches, in the WorkerScale's own namespace."""
    return f"may not patch {KINDS[kind_written(step)].full_name} in namespace {namespace}"
