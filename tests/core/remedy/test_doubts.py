"""Who would have to bring which samples, no further than the readings tell."""

from dataclasses import replace

import pytest

from scaler.core.decision import Decision
from scaler.core.policy import MassIdle, Policy
from scaler.core.reasons import Reason
from scaler.core.remedy.remedy import Lever, Remedy
from scaler.core.snapshot import Snapshot
from scaler.core.usage import Device, IdleStart, Usage
from tests.core.idle_fixture import (
    METADATA,
    POLICY,
    T0,
    cluster,
    decided,
    safety,
    usage_of,
    util,
    worker,
)
from tests.core.remedy.asking import asked, pulled

OTHER = replace(worker("other", node="node-1", app="other"), namespace="elsewhere")
NEIGHBOUR = replace(worker("beside", app="other"), namespace="elsewhere")
OTHERS = util("other", 7, 0)


def told(snapshot: Snapshot, policy: Policy = POLICY) -> tuple[Decision, tuple[Remedy, ...]]:
    """Ask for the Remedies of the idle trigger of `so`."""
    return asked(snapshot, METADATA, policy=policy, now=T0)


def cause(usage: Usage, *more: object) -> str:
    """Give the cause that is told for pod w-0, which has no samples."""
    snapshot = cluster(pods=[worker(), *more], replicas=1, usage=usage)  # type: ignore[list-item] # the caller gives pods
    decision, found = told(snapshot)
    assert decision.reason is Reason.NO_SAMPLES
    said = pulled(found, Lever.SAMPLES).text
    assert said.startswith("pod w-0 has no DCGM samples: ")
    return said.removeprefix("pod w-0 has no DCGM samples: ")


def elsewhere(pod: str = "other", gpu: int = 7) -> Usage:
    """Build the samples of another namespace's pod alone."""
    return usage_of(replace(util(pod, gpu, 0), namespace="elsewhere"))


def test_no_sample_of_any_pod_of_the_node_is_an_exporter_that_is_down() -> None:
    """Those of other nodes have some."""
    assert cause(elsewhere(), OTHER) == "exporter on node node-0 is down or not scraped"
    both = cause(elsewhere(), OTHER, NEIGHBOUR)
    assert both.endswith("down or not scraped, as none of its 2 GPU pods has any")


def test_a_neighbour_with_samples_vouches_for_the_exporter() -> None:
    """The fault is the pod's own."""
    said = cause(elsewhere("beside"), NEIGHBOUR)
    assert said == "exporter on node node-0 is up, since pod beside has; its own are lost"


def test_devices_without_a_pod_are_labels_that_are_lost() -> None:
    """To call the exporter down would be wrong: it reports."""
    said = cause(usage_of(util(None, 3, 0)))
    assert said == "1 device reports without a pod: the exporter does not map devices to pods"


def test_no_sample_anywhere_is_no_single_node_s_fault() -> None:
    """The profile may be the wrong one."""
    said = cause(usage_of())
    assert said == "nor has any other; no exporter is scraped, or not of profile dcgm-4.8"


def test_devices_that_do_not_report_are_counted() -> None:
    """Four are requested, three report: one more."""
    usage = usage_of(*(util("w-0", n, 0) for n in range(3)))
    decision, found = told(cluster(pods=[worker(gpus=4)], usage=usage))
    assert decision.reason is Reason.DEVICE_MISMATCH
    assert pulled(found, Lever.SAMPLES).more == (("devices", 1),)
    whole = usage_of(*(util("w-0", n, 0) for n in range(4)))
    assert decided(cluster(pods=[worker(gpus=4)], usage=whole)).reason is Reason.IDLE


@pytest.mark.parametrize("samples", [1, 20, 52])
def test_law_so_many_more_samples_cover_the_window_and_not_one_less(samples: int) -> None:
    """60 make a window of 30 minutes, of which 90 % are needed, and one may lack at its edge."""

    def seen(count: int) -> Snapshot:
        usage = usage_of(util("w-0", 0, 0))
        device = Device(uuid="GPU-0")
        counted = replace(usage.devices[device], samples={"gpu_util": count})
        return cluster(usage=replace(usage, devices={device: counted}))

    decision, found = told(seen(samples))
    assert decision.reason is Reason.LOW_COVERAGE
    ((unit, more),) = pulled(found, Lever.SAMPLES).more
    assert unit == "samples"
    assert decided(seen(samples + more)).reason is Reason.IDLE
    assert decided(seen(samples + more - 1)).reason is Reason.LOW_COVERAGE


def test_a_stale_device_is_told_how_fresh_a_sample_has_to_be() -> None:
    """The age and the limit are both in it."""
    points = [(t, 0.0) for t in range(-7200, -300, 30)]
    decision, found = told(cluster(usage=usage_of(util("w-0", 0, points))))
    assert decision.reason is Reason.STALE_SAMPLES
    assert "a sample of the last 1m30s lets it be judged" in pulled(found, Lever.SAMPLES).text


def test_a_pod_that_may_share_the_device_is_named() -> None:
    """It needs a series of its own."""
    snapshot = cluster(pods=[worker(), NEIGHBOUR], replicas=1, usage=usage_of(util("w-0", 0, 0)))
    decision, found = told(snapshot)
    assert decision.reason is Reason.SHARING_SUSPECTED
    assert "pod elsewhere/beside on node node-0" in pulled(found, Lever.SAMPLES).text


def test_law_the_mass_idle_brake_lets_go_when_it_is_told_to() -> None:
    """And not a second before."""
    policy = safety(mass_idle=MassIdle(workloads=1, percent=50.0, hold_for=3600.0))
    points = [(t, 50.0 if t <= -2400 else 0.0) for t in range(-20000, 1, 30)]
    start = IdleStart(namespace="ml", workload="Deployment/workers", at=T0 - 2400)
    snapshot = replace(cluster(usage=usage_of(util("w-0", 0, points))), idle_starts=(start,))
    decision, found = told(snapshot, policy)
    assert decision.reason is Reason.MASS_IDLE
    at = pulled(found, Lever.TIME).at
    assert at is not None
    rest = [*points, *((float(t), 0.0) for t in range(30, 9000, 30))]
    for t, reason in ((at - T0, Reason.IDLE), (at - T0 - 1, Reason.MASS_IDLE)):
        later = cluster(usage=usage_of(util("w-0", 0, rest), t=t), t=t)
        assert decided(replace(later, idle_starts=(start,)), policy=policy, t=t).reason is reason
