"""What a Workload has of its ClusterQueue."""

from dataclasses import dataclass

from scaler.core.quantity import amount
from scaler.sim.conditions import condition_of, is_true
from scaler.sim.nodes import GPU
from scaler.sim.patches import Document


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What a Workload has of its ClusterQueue: all of it stays as it is through a hold."""

    workload: str
    uid: str
    admitted_at: str
    gpus: int

    def __str__(self) -> str:
        where = f"Workload {self.workload}, UID {self.uid[:8]}"
        return f"{where}, admitted at {self.admitted_at[11:19]}, usage {self.gpus} GPUs"


def claim_of(workload: Document) -> Claim:
    """Read a Workload's claim; of a missing one everything is empty."""
    metadata, status = workload.get("metadata", {}), workload.get("status", {})
    parts = status.get("admission", {}).get("podSetAssignments", ())
    since = condition_of(workload, "QuotaReserved").get("lastTransitionTime", "")
    return Claim(
        workload=metadata.get("name", ""),
        uid=metadata.get("uid", ""),
        admitted_at=since if is_true(workload, "Admitted") else "",
        gpus=sum(amount(GPU, part["resourceUsage"].get(GPU, "0")) for part in parts),
    )
