"""What a Workload has of its ClusterQueue is compared as a whole."""

from copy import deepcopy

import pytest

from scaler.sim.claim import Claim, claim_of
from scaler.sim.patches import Document

SINCE = "2026-11-30T15:30:30Z"


def _workload() -> Document:
    condition = {"type": "QuotaReserved", "status": "True", "lastTransitionTime": SINCE}
    parts = [
        {"name": "head", "resourceUsage": {"cpu": "8000m"}},
        {"name": "gpu", "resourceUsage": {"cpu": "32000m", "nvidia.com/gpu": "8"}},
    ]
    return {
        "metadata": {"name": "raycluster-sim", "uid": "ba0e2f00-1111"},
        "status": {
            "admission": {"clusterQueue": "q", "podSetAssignments": parts},
            "conditions": [condition, {"type": "Admitted", "status": "True"}],
        },
    }


def test_claim_in_words() -> None:
    """Name, UID, time of admission and GPUs are told."""
    assert str(claim_of(_workload())) == (
        "Workload raycluster-sim, UID ba0e2f00, admitted at 15:30:30, usage 8 GPUs"
    )


def _other_uid(workload: Document) -> None:
    workload["metadata"]["uid"] = "another"


def _readmitted(workload: Document) -> None:
    workload["status"]["conditions"][0]["lastTransitionTime"] = "2026-11-30T15:40:00Z"


def _not_admitted(workload: Document) -> None:
    workload["status"]["conditions"][1]["status"] = "False"


def _without_gpus(workload: Document) -> None:
    workload["status"]["admission"]["podSetAssignments"][1]["resourceUsage"]["nvidia.com/gpu"] = "0"


@pytest.mark.parametrize("change", [_other_uid, _readmitted, _not_admitted, _without_gpus])
def test_lost_claim_is_another(change: object) -> None:
    """A Workload of the same name that lost anything is not the same claim."""
    assert callable(change)
    workload = deepcopy(_workload())
    change(workload)
    assert claim_of(workload) != claim_of(_workload())


def test_no_workload_claims_nothing() -> None:
    """A Workload that is gone has nothing."""
    assert claim_of({}) == Claim(workload="", uid="", admitted_at="", gpus=0)
