"""A TrainJob's workers: the child Jobs of its JobSet (Trainer v2)."""

from scaler.core.hold.owned import controlled_by, named
from scaler.core.hold.sought import Piece, Refusal, Sought
from scaler.core.hold.targets.job_set import jobs_in
from scaler.core.hold.words import Cause
from scaler.core.model import Controlled


def pieces(sought: Sought) -> tuple[Piece, ...] | Refusal:
    """Find the child Jobs in the JobSet that the TrainJob controls."""
    job_set, label = _job_set(sought), f"TrainJob/{sought.scale.target.name}"
    if job_set is None and not sought.marked("Job"):
        message = f"{label} has no JobSet of its own now"
        return Refusal(cause=Cause.TARGET_MISSING, message=message)
    return jobs_in(sought, job_set, label=label)


def _job_set(sought: Sought) -> Controlled | None:
    """Give the JobSet by the TrainJob's UID, which its Workload knows, else by their name."""
    children = controlled_by(sought.snapshot, sought.owner_uids, kind="JobSet")
    if children:
        return children[0]
    scale = sought.scale
    same = named(sought.snapshot, kind="JobSet", namespace=scale.namespace, name=scale.target.name)
    fits = same is not None and same.controller_uid is not None and not same.deleting
    return same if fits and not sought.owner_uids else None
