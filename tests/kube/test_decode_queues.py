"""Queues and quota."""

from scaler.core.model import Kind
from tests.kube.decoding import one
from tests.kube.documents import GPU


def test_q15_both_spellings_of_a_cohort_are_read() -> None:
    """Q15: spec.cohort and spec.cohortName."""
    quota = {"name": GPU, "nominalQuota": 8, "borrowingLimit": "2"}
    spec = {
        "resourceGroups": [
            {"coveredResources": [GPU], "flavors": [{"name": "f", "resources": [quota]}]}
        ]
    }
    old, new = (
        one(Kind.CLUSTER_QUEUES, {"metadata": {"name": "q"}, "spec": {**spec, key: "c"}})
        for key in ("cohort", "cohortName")
    )
    assert old == new
