"""A ledger tells a Workload that is held from one that only looks so."""

from tests.e2e.api import Object
from tests.e2e.ledger import Ledger, claim_of, owned, quota, suspended

ADMITTED: Object = {
    "metadata": {
        "uid": "0123456789",
        "ownerReferences": [{"kind": "RayCluster", "name": "research"}],
    },
    "spec": {"active": True},
    "status": {
        "conditions": [
            {
                "type": "QuotaReserved",
                "status": "True",
                "lastTransitionTime": "2026-11-30T10:00:00Z",
            },
            {"type": "Admitted", "status": "True"},
        ],
        "admission": {
            "podSetAssignments": [
                {"name": "head", "resourceUsage": {"cpu": "1"}},
                {"name": "gpu", "resourceUsage": {"nvidia.com/gpu": "8"}},
            ]
        },
    },
}


def _with(**status: object) -> Object:
    return {**ADMITTED, "status": {**ADMITTED["status"], **status}}


def test_a_claim_is_what_the_workload_says() -> None:
    """UID, conditions, the time of its reservation, and the GPUs of its own admission."""
    claim = claim_of(ADMITTED)
    assert (claim.uid, claim.assigned, claim.evictions) == ("0123456789", 8, 0)
    assert claim.reserved_at == "2026-11-30T10:00:00Z"
    assert claim.admitted


def test_an_eviction_under_way_is_no_admission() -> None:
    """Evicted stands beside QuotaReserved and Admitted for a while."""
    evicted = {"type": "Evicted", "status": "True"}
    found = claim_of(_with(conditions=[*ADMITTED["status"]["conditions"], evicted]))
    assert not found.admitted


def test_evictions_are_counted_whatever_their_cause() -> None:
    """A Workload that was evicted and admitted again looks as before, but for these."""
    stats = {"evictions": [{"reason": "Preempted", "count": 1}, {"reason": "Other", "count": 2}]}
    found = claim_of(_with(schedulingStats=stats))
    assert found.evictions == 3
    assert found != claim_of(ADMITTED)


def test_a_workload_that_is_not_admitted_takes_nothing() -> None:
    """Without a status too."""
    found = claim_of({"metadata": {"uid": "u"}, "spec": {}})
    assert (found.assigned, found.conditions, found.admitted) == (0, (), False)


def test_the_owner_is_known_by_kind_and_name() -> None:
    """A RayJob's child has its name at times."""
    assert owned(ADMITTED, "RayCluster", "research")
    assert not owned(ADMITTED, "RayJob", "research")
    assert not owned({"metadata": {}}, "RayCluster", "research")


def test_quota_is_summed_over_flavors() -> None:
    """Of GPUs alone."""
    resources = [{"name": "nvidia.com/gpu", "total": "4"}, {"name": "cpu", "total": "7"}]
    queue: Object = {"status": {"flavorsUsage": [{"resources": resources}] * 2}}
    assert quota(queue, "flavorsUsage") == 8
    assert quota(queue, "flavorsReservation") == 0
    assert quota({}, "flavorsUsage") == 0


class Objects:
    """An API with some objects."""

    def __init__(self, **objects: list[Object]) -> None:
        self._objects = objects

    def list(self, kind: str, namespace: str = "", *, labels: str = "") -> list[Object]:
        """Give what is there of a kind."""
        assert namespace == "team"
        assert not labels
        return self._objects.get(kind, [])


def _named(name: str, **spec: object) -> Object:
    return {"metadata": {"name": name}, "spec": spec}


def test_every_field_that_keeps_pods_away_is_named() -> None:
    """Kueue's own suspension, a worker group's, and a Job's parallelism of 0."""
    groups = [{"groupName": "a", "suspend": True}, {"groupName": "b"}]
    there = Objects(
        RayCluster=[_named("ray", suspend=True, workerGroupSpecs=groups)],
        Job=[_named("child", parallelism=0), _named("other", parallelism=2, suspend=False)],
        JobSet=[_named("set", suspend=True)],
    )
    assert suspended(there, "team") == (
        "RayCluster/ray suspend",
        "RayCluster/ray group a",
        "JobSet/set suspend",
        "Job/child parallelism 0",
    )


def test_a_line_has_it_all() -> None:
    """As it is printed before, during and after."""
    line = Ledger(
        claim=claim_of(ADMITTED),
        usage=8,
        reservation=8,
        pods=(("gpu", 2), ("head", 1)),
        suspended=(),
    )
    assert str(line) == (
        "UID 01234567, QuotaReserved=True Admitted=True, reserved 10:00:00, evictions 0, "
        "assigned 8 GPUs, ClusterQueue 8 used 8 reserved, pods: gpu 2, head 1; suspended: nothing"
    )
