"""A Workload's class by its own status: reasons since 0.19, messages up to 0.18."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.core.classify import standing
from scaler.core.reasons import WorkloadClass

ASSIGN = "couldn't assign flavors to pod set main: "


@dataclass(frozen=True, slots=True, kw_only=True)
class FakeCondition:
    """A condition as decoding gives it."""

    status: str = "True"
    reason: str = ""
    message: str = ""


def _classed(
    conditions: dict[str, FakeCondition] | None = None,
    *,
    active: bool = True,
    has_admission: bool = False,
    checks: tuple[tuple[str, str], ...] = (),
) -> WorkloadClass:
    return standing(
        active=active, conditions=conditions or {}, has_admission=has_admission, checks=checks
    )


def _waiting(reason: str, message: str = "") -> dict[str, FakeCondition]:
    return {"QuotaReserved": FakeCondition(status="False", reason=reason, message=message)}


RESERVED = {"QuotaReserved": FakeCondition(reason="QuotaReserved")}
ADMITTED = RESERVED | {"Admitted": FakeCondition(reason="Admitted")}
EVICTED = {"Evicted": FakeCondition(reason="PodsReadyTimeout")}


@pytest.mark.parametrize(
    ("reason", "want"),
    [
        ("TopologyPlacementFailed", WorkloadClass.TOPOLOGY),
        ("WaitingForQuota", WorkloadClass.QUOTA),
        ("ExceedsMaxQuota", WorkloadClass.EXCEEDS),
        ("NoMatchingFlavor", WorkloadClass.NO_FLAVOR),
        ("Misconfigured", WorkloadClass.NOT_DEMAND),
        ("Suspended", WorkloadClass.NOT_DEMAND),
        ("Deactivated", WorkloadClass.NOT_DEMAND),
        ("AdmissionGated", WorkloadClass.NOT_DEMAND),
        ("OnHold", WorkloadClass.NOT_DEMAND),
        ("WaitingForPreemptedWorkloads", WorkloadClass.PREEMPTING),
        ("WaitingForPodsReady", WorkloadClass.BLOCKED),
        ("PendingEvaluation", WorkloadClass.NOT_EVALUATED),
    ],
)
def test_since_0_19_the_reason(reason: str, want: WorkloadClass) -> None:
    """Since 0.19 the reason decides whatever the message."""
    assert _classed(_waiting(reason, "insufficient unused quota for x in flavor y")) is want


@pytest.mark.parametrize(
    ("message", "want"),
    [
        pytest.param(
            f"{ASSIGN}insufficient unused quota for nvidia.com/gpu in flavor gpu-a, 8 more needed",
            WorkloadClass.QUOTA,
            id="quota in use",
        ),
        pytest.param(
            f"{ASSIGN}insufficient unused quota for nvidia.com/gpu in flavor gpu-a, 8 more needed"
            ". Pending the preemption of 1 workload(s)",
            WorkloadClass.PREEMPTING,
            id="N04 quota comes by preemption",
        ),
        pytest.param(
            f"{ASSIGN}insufficient quota for nvidia.com/gpu in flavor gpu-a, previously considered "
            "podsets requests (0) + current podset request (16) > maximum capacity (8)",
            WorkloadClass.EXCEEDS,
            id="more than the maximum",
        ),
        pytest.param(
            f"{ASSIGN}insufficient quota for nvidia.com/gpu in flavor f, request > maximum capacity"
            " (16 > 8)",
            WorkloadClass.EXCEEDS,
            id="more than the maximum, older wording",
        ),
        pytest.param(
            f"{ASSIGN}untolerated taint {{gpu yes NoSchedule <nil>}} in flavor tainted",
            WorkloadClass.NO_FLAVOR,
            id="taint",
        ),
        pytest.param(
            f"{ASSIGN}flavor gpu-a doesn't match node affinity", WorkloadClass.NO_FLAVOR, id="node"
        ),
        pytest.param(f"{ASSIGN}flavor gone not found", WorkloadClass.NO_FLAVOR, id="flavor gone"),
        pytest.param(
            f"{ASSIGN}resource amd.com/gpu unavailable in ClusterQueue",
            WorkloadClass.NO_FLAVOR,
            id="resource not in the queue",
        ),
        pytest.param(
            f'{ASSIGN}Flavor "cpu" does not support TopologyAwareScheduling',
            WorkloadClass.NO_FLAVOR,
            id="plain flavor, topology wanted",
        ),
        pytest.param(
            f'{ASSIGN}Flavor "tas" supports only TopologyAwareScheduling',
            WorkloadClass.NO_FLAVOR,
            id="topology flavor, none wanted",
        ),
        pytest.param(
            f'{ASSIGN}topology "t" allows to fit only 1 out of 2 pod(s). Total nodes: 2; excluded: '
            'resource "nvidia.com/gpu": 1',
            WorkloadClass.TOPOLOGY,
            id="part of it fits the topology",
        ),
        pytest.param(
            f'{ASSIGN}topology "t" doesn\'t allow to fit any of 6 pod(s)',
            WorkloadClass.TOPOLOGY,
            id="nothing fits the topology",
        ),
        pytest.param(
            f"{ASSIGN}no topology domains at level: kubernetes.io/hostname",
            WorkloadClass.TOPOLOGY,
            id="a pool without any node",
        ),
        pytest.param(
            f"{ASSIGN}flavor a doesn't match node affinity, insufficient unused quota for "
            "nvidia.com/gpu in flavor b, 8 more needed",
            WorkloadClass.QUOTA,
            id="one flavor never fits, another lacks quota",
        ),
        pytest.param(
            f'{ASSIGN}topology "t" doesn\'t allow to fit any of 6 pod(s), insufficient unused '
            "quota for nvidia.com/gpu in flavor b, 8 more needed",
            WorkloadClass.QUOTA,
            id="topology and quota alike are reported as quota",
        ),
        pytest.param(
            "Bypassed scheduling evaluation because an equivalent workload recently failed",
            WorkloadClass.NOT_EVALUATED,
            id="bypassed in bulk",
        ),
        pytest.param("", WorkloadClass.NOT_EVALUATED, id="nothing said"),
        pytest.param("the moon is full", WorkloadClass.CONTRADICTORY, id="unknown text"),
    ],
)
def test_up_to_0_18(message: str, want: WorkloadClass) -> None:
    """Up to 0.18 the message decides."""
    assert _classed(_waiting("Pending", message)) is want


@pytest.mark.parametrize(
    ("reason", "want"),
    [("Inadmissible", WorkloadClass.NOT_DEMAND), ("Waiting", WorkloadClass.BLOCKED)],
)
def test_up_to_0_18_two(reason: str, want: WorkloadClass) -> None:
    """Up to 0.18 two reasons speak for themselves."""
    assert _classed(_waiting(reason, "ClusterQueue held is inactive")) is want


def test_an_unknown_reason_is_seen() -> None:
    """An unknown reason is seen and makes nothing grow."""
    assert (
        _classed(_waiting("Whatever", "insufficient unused quota")) is WorkloadClass.CONTRADICTORY
    )


def test_a_workload_without_conditions() -> None:
    """A workload without conditions was not evaluated."""
    assert _classed() is WorkloadClass.NOT_EVALUATED


def test_a_deactivated_one_is_no_demand() -> None:
    """A deactivated one is no demand though its reason is pending."""
    deactivated = _waiting("Pending", "The workload is deactivated") | EVICTED
    assert _classed(deactivated, active=False) is WorkloadClass.NOT_DEMAND


def test_q06_finished_wins_over_every_other() -> None:
    """Q06: finished wins over every other condition."""
    finished = ADMITTED | {"Finished": FakeCondition(reason="WorkloadSliceReplaced")}
    assert _classed(finished, has_admission=True) is WorkloadClass.FINISHED


def test_q07_a_pod_group_without() -> None:
    """Q07: a pod group without its replacement pods is no demand."""
    conditions = _waiting("Pending") | {
        "Requeued": FakeCondition(),
        "WaitingForReplacementPods": FakeCondition(),
    }
    assert _classed(conditions) is WorkloadClass.NOT_DEMAND


def test_q08_an_evicted_one_counts() -> None:
    """Q08: an evicted one counts again once it is requeued."""
    message = "Exceeded the PodsReady timeout ml/wl"
    timed_out = _waiting("Pending", message) | EVICTED
    backing_off = timed_out | {"Requeued": FakeCondition(status="False")}
    requeued = timed_out | {"Requeued": FakeCondition(reason="BackoffFinished")}
    assert _classed(backing_off) is WorkloadClass.NOT_DEMAND
    assert _classed(requeued) is WorkloadClass.NOT_EVALUATED
    assert _classed(requeued, active=False) is WorkloadClass.NOT_DEMAND


def test_a_preempted_one_that_was_evaluated() -> None:
    """A preempted one that was evaluated again waits for quota."""
    message = f"{ASSIGN}insufficient unused quota for nvidia.com/gpu in flavor gpu-a, 8 more needed"
    preempted = _waiting("Pending", message) | EVICTED | {"Requeued": FakeCondition()}
    assert _classed(preempted) is WorkloadClass.QUOTA


def test_an_admitted_one_stands() -> None:
    """An admitted one stands as running."""
    assert _classed(ADMITTED, has_admission=True) is WorkloadClass.RUNNING


def test_an_eviction_of_the_past() -> None:
    """An eviction of the past does not take an admitted one away."""
    readmitted = ADMITTED | {
        "Evicted": FakeCondition(status="False", reason="QuotaReserved"),
        "Requeued": FakeCondition(reason="BackoffFinished"),
    }
    assert _classed(readmitted, has_admission=True) is WorkloadClass.RUNNING


def test_q14_an_admitted_one_that_is_being() -> None:
    """Q14: an admitted one that is being evicted is no demand."""
    assert _classed(ADMITTED | EVICTED, has_admission=True) is WorkloadClass.NOT_DEMAND


@pytest.mark.parametrize(
    ("state", "want"),
    [
        ("Pending", WorkloadClass.CHECKS),
        ("Ready", WorkloadClass.CHECKS),
        ("Retry", WorkloadClass.NOT_DEMAND),
        ("Rejected", WorkloadClass.NOT_DEMAND),
    ],
)
def test_q19_quota_without_admission_never_asks(state: str, want: WorkloadClass) -> None:
    """Q19: quota without admission never asks for nodes."""
    assert _classed(RESERVED, has_admission=True, checks=(("prov", state),)) is want


@pytest.mark.parametrize(
    ("conditions", "has_admission"),
    [
        pytest.param(ADMITTED, False, id="admitted without an admission"),
        pytest.param(_waiting("Pending"), True, id="an admission without quota"),
        pytest.param({}, True, id="an admission without any condition"),
        pytest.param({"Admitted": FakeCondition()}, False, id="admitted without quota"),
        pytest.param({"QuotaReserved": FakeCondition(status="Unknown")}, False, id="unknown"),
        pytest.param({"QuotaReserved": FakeCondition(status="")}, False, id="no status at all"),
    ],
)
def test_status_that_contradicts_itself(
    conditions: dict[str, FakeCondition], *, has_admission: bool
) -> None:
    """Status that contradicts itself is seen."""
    assert _classed(conditions, has_admission=has_admission) is WorkloadClass.CONTRADICTORY


@given(
    conditions=st.dictionaries(
        st.sampled_from(["Finished", "QuotaReserved", "Admitted", "Evicted", "Requeued", "Odd"]),
        st.builds(
            FakeCondition,
            status=st.sampled_from(["True", "False", "Unknown", ""]),
            reason=st.sampled_from(["Pending", "WaitingForQuota", "Odd", ""]),
            message=st.sampled_from(["", "odd", "insufficient unused quota"]),
        ),
    ),
    active=st.booleans(),
    has_admission=st.booleans(),
)
def test_only_a_workload_that_kueue(
    conditions: dict[str, FakeCondition], *, active: bool, has_admission: bool
) -> None:
    """Only a workload that kueue may admit can ask for nodes."""
    asks = (WorkloadClass.TOPOLOGY, WorkloadClass.QUOTA, WorkloadClass.NOT_EVALUATED)
    if _classed(conditions, active=active, has_admission=has_admission) in asks:
        assert active
        assert not has_admission
        for kind in ("Finished", "QuotaReserved", "Admitted"):
            assert conditions.get(kind, FakeCondition(status="False")).status == "False"
