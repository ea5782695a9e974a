"""The sorts of target: what workers are taken from, and by which write.

Each module finds the pieces of its target in a Snapshot, or says why there are none.
"""

from scaler.core.hold.sought import Piece, Refusal, Sought
from scaler.core.hold.targets import job_set, notebook, ray_cluster, ray_job, release, train_job
from scaler.core.model import Mode


def pieces_of(sought: Sought) -> tuple[Piece, ...] | Refusal:
    """Find the pieces of a WorkerScale's target by its kind and mode."""
    target = sought.scale.target
    if target.kind == "Notebook":
        return notebook.pieces(sought)
    if sought.scale.mode is Mode.RELEASE:
        return release.pieces(sought)
    holdable = {
        "RayCluster": ray_cluster.pieces,
        "RayJob": ray_job.pieces,
        "JobSet": job_set.pieces,
        "TrainJob": train_job.pieces,
    }
    find = holdable.get(target.kind)
    return () if find is None else find(sought)
