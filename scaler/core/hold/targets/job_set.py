"""A JobSet's workers: the parallelism of the child Jobs of one replicatedJob.

The JobSet counts a Job of parallelism 0 as ready and doesn't set it back; Kueue reads the JobSet's
spec alone (both measured). All Jobs of the component go, or none.
"""

import re

from scaler.core.hold.owned import controlled_by, named
from scaler.core.hold.sought import Piece, Refusal, Sought
from scaler.core.hold.steps import DropMark, SetParallelism
from scaler.core.hold.words import Cause
from scaler.core.model import Controlled, JobPart, Mark

_JOB = "Job"
_NUMBER = re.compile(r"[1-9][0-9]{0,9}")
_MOST = 2**31 - 1
"""The API server takes no larger number."""


def pieces(sought: Sought) -> tuple[Piece, ...] | Refusal:
    """Find the child Jobs in the JobSet of the target's name."""
    scale = sought.scale
    name = scale.target.name
    job_set = named(sought.snapshot, kind="JobSet", namespace=scale.namespace, name=name)
    label = f"JobSet/{name}"
    if job_set is None and not sought.marked(_JOB):
        return Refusal(cause=Cause.TARGET_MISSING, message=f"{label} does not exist")
    if job_set is not None and job_set.deleting:
        return Refusal(cause=Cause.TARGET_MISSING, message=f"{label} is being deleted")
    return jobs_in(sought, job_set, label=label)


def jobs_in(
    sought: Sought, job_set: Controlled | None, *, label: str
) -> tuple[Piece, ...] | Refusal:
    """Find the component's Jobs in a JobSet, and all that bear our mark."""
    uids = () if job_set is None else (job_set.uid,)
    children = controlled_by(sought.snapshot, uids, kind=_JOB)
    if any(not isinstance(one.part, JobPart) for one in children):
        return Refusal(cause=Cause.SOURCE_UNKNOWN, message=f"the Jobs of {label} were not read")
    found = {one.uid: one for one in children if _belongs(one, sought.component)}
    found |= {one.uid: one for one in sought.marked(_JOB)}
    jobs = sorted(found.values(), key=lambda one: one.name)
    if not jobs:
        message = f"{label} has no Job of replicatedJob {sought.component}"
        return Refusal(cause=Cause.TARGET_MISSING, message=message)
    return tuple(
        _piece(sought, job, job.part, jobs=len(jobs))
        for job in jobs
        if isinstance(job.part, JobPart)
    )


def _belongs(job: Controlled, component: str) -> bool:
    return isinstance(job.part, JobPart) and (job.part.replicated_job or "").lower() == component


def _piece(sought: Sought, job: Controlled, part: JobPart, *, jobs: int) -> Piece:
    component = sought.component
    mark = next((one for one in job.marks if one.component == component), None)
    zero = part.parallelism == 0
    was = str(_share(sought, jobs) if zero else part.parallelism)
    own = mark or sought.mark(component=component, was=was)
    return Piece(
        uid=job.uid,
        label=f"{_JOB}/{job.name}",
        grip=sought.grip(mark, zero=zero),
        take=(_write(job, own, parallelism=0, taking=True),),
        give=(_write(job, own, parallelism=_original(own, sought, jobs), taking=False),),
        drop=() if mark is None else (DropMark(kind=_JOB, object=job.key, mark=mark),),
        suspended=part.suspended,
    )


def _write(job: Controlled, mark: Mark, *, parallelism: int, taking: bool) -> SetParallelism:
    return SetParallelism(
        job=job.key,
        resource_version=job.resource_version,
        parallelism=parallelism,
        mark=mark,
        taking=taking,
    )


def _original(mark: Mark, sought: Sought, jobs: int) -> int:
    """Read the mark; where somebody spoilt it, each Job has its share of the podset."""
    if _NUMBER.fullmatch(mark.was) and int(mark.was) <= (_pods(sought) or _MOST):
        return int(mark.was)
    return _share(sought, jobs)


def _share(sought: Sought, jobs: int) -> int:
    """Divide the podset's pods by its Jobs, which are alike."""
    return max(1, _pods(sought) // jobs)


def _pods(sought: Sought) -> int:
    """Count the podset's pods, as held or else as its Workload has them; 0 = not known."""
    pod_sets = () if sought.workload is None else sought.workload.pod_sets
    count = next((one.count for one in pod_sets if one.name.lower() == sought.component), 0)
    held = {name.lower(): pods for name, pods in sought.held.items()}
    return held.get(sought.component, count)
