"""The failure reports of GPU exporters, each decided on readings as Prometheus would give them."""

from dataclasses import replace

import pytest

from scaler.core.decision import ActiveWithoutValue, answer
from scaler.core.reasons import Reason
from tests.core.idle_fixture import (
    cluster,
    constant,
    decided,
    engine,
    join_readings,
    kueue_job,
    usage_of,
    util,
    worker,
)


def test_d01_a_series_of_the_exporters_own_pod_is_nobodys() -> None:
    """D01: a series of the exporters own pod is nobodys."""
    labelled = replace(util("gpu-dcgm-exporter-vfbhl", 0, 77), namespace="monitoring")
    decision = decided(cluster(usage=usage_of(labelled)))
    assert decision.reason is Reason.NO_SAMPLES
    assert decision.status == "HOLD"


def test_d01_the_workloads_own_label_counts_beside_the_exporters() -> None:
    """D01: the workloads own label counts beside the exporters."""
    exporter = replace(util("gpu-dcgm-exporter-vfbhl", 1, 0), namespace="monitoring")
    decision = decided(cluster(usage=usage_of(util("w-0", 0, 77), exporter)))
    assert (decision.active, decision.reason) == (True, Reason.BUSY)


def test_d02_series_without_a_pod_make_nobody_idle() -> None:
    """D02: series without a pod make nobody idle."""
    decision = decided(cluster(usage=usage_of(util("", 0, 0))))
    assert decision.reason is Reason.NO_SAMPLES


@pytest.mark.parametrize("with_util", [True, False])
def test_d03_gpu_util_is_void_on_a_slice(*, with_util: bool) -> None:
    """D03: gpu util is void on a slice."""
    series = [engine("w-0", 0, 0.62, instance="1")]
    series += [util("w-0", 0, 0, instance="1")] if with_util else []
    pod = worker(gpus=0, requests={"nvidia.com/mig-1g.5gb": 1})
    decision = decided(cluster(pods=[pod], usage=usage_of(*series)))
    assert decision.reason is Reason.BUSY
    assert decision.idle is not None
    assert decision.idle.devices[0].peak_percent == 62


def test_d03_a_slice_with_gpu_util_alone_is_unknown() -> None:
    """D03: a slice with gpu util alone is unknown."""
    pod = worker(gpus=0, requests={"nvidia.com/mig-1g.5gb": 1})
    usage = usage_of(util("w-0", 0, 0, instance="1"))
    assert decided(cluster(pods=[pod], usage=usage)).reason is Reason.NO_SAMPLES


def test_d03_two_slices_of_one_uuid_are_two_devices() -> None:
    """D03: two slices of one uuid are two devices."""
    pod = worker(gpus=0, requests={"nvidia.com/mig-1g.5gb": 2})
    series = [engine("w-0", 0, 0, instance="1"), engine("w-0", 0, 0, instance="2")]
    decision = decided(cluster(pods=[pod], usage=usage_of(*series)))
    assert decision.reason is Reason.IDLE
    assert decision.idle is not None
    assert len(decision.idle.devices) == 2
    assert decision.idle.physical_gpus == 1


@pytest.mark.parametrize(("ratio", "want"), [(0.714, Reason.BUSY), (0.0, Reason.IDLE)])
def test_d04_sharing_pods_that_all_have_series_are_judged_on_one_gpu(
    ratio: float, want: Reason
) -> None:
    """D04: sharing pods that all have series are judged on one gpu."""
    pods = [worker(f"w-{n}", gpus=0, requests={"nvidia.com/gpu.shared": 1}) for n in range(3)]
    series = [engine(pod.name, 0, ratio) for pod in pods]
    decision = decided(cluster(pods=pods, usage=usage_of(*series)))
    assert decision.reason is want
    assert decision.idle is not None
    assert decision.idle.physical_gpus == 1


def test_d05_one_series_for_four_sharing_pods_makes_none_of_them_idle() -> None:
    """D05: one series for four sharing pods makes none of them idle."""
    jobs = [kueue_job(f"j{n}") for n in range(4)]
    pods = [worker(f"w-{n}", workload=f"job-j{n}", app="none") for n in range(4)]
    usage = usage_of(engine("w-0", 0, 0.0))
    snapshot = cluster(pods=pods, workloads=jobs, usage=usage, replicas=1)
    reasons = [decided(snapshot, workload=f"Job/j{n}").reason for n in range(4)]
    assert reasons == [Reason.SHARING_SUSPECTED, *[Reason.NO_SAMPLES] * 3]


def test_d06_series_that_differ_in_other_labels_are_one_gpu() -> None:
    """D06: series that differ in other labels are one gpu."""
    pods = [worker("w-0"), worker("w-1", node="node-1")]
    series = [util("w-0", 0, 0), util("w-0", 0, 0), util("w-1", 1, 0)]
    decision = decided(cluster(pods=pods, usage=usage_of(*series)))
    assert decision.reason is Reason.IDLE
    assert decision.idle is not None
    assert decision.idle.physical_gpus == 2


@pytest.mark.parametrize("succeeded", [True, False])
def test_d07_a_finished_pods_series_is_ignored_even_through_the_device(*, succeeded: bool) -> None:
    """D07: a finished pods series is ignored even through the device."""
    pods = [worker("new-pod")]
    pods += [worker("old-pod", phase="Succeeded")] if succeeded else []
    usage = usage_of(util("old-pod", 0, 95), util("new-pod", 0, 0))
    assert decided(cluster(pods=pods, usage=usage)).reason is Reason.IDLE


def test_d07_a_finished_pods_samples_do_not_cover_the_window_for_the_living() -> None:
    """D07: a finished pods samples do not cover the window for the living."""
    usage = usage_of(util("old-pod", 0, 95), util("w-0", 0, [(-30, 0), (0, 0)]))
    counted = tuple(
        replace(one, samples=60 if one.pod == ("ml", "old-pod") else 2)
        for one in next(iter(usage.by_device.values()))
    )
    apart = join_readings(*counted)
    assert decided(cluster(usage=apart)).reason is Reason.LOW_COVERAGE


def test_d08_signals_fall_back_for_each_gpu_apart() -> None:
    """D08: signals fall back for each gpu apart."""
    jobs = [kueue_job("l40s"), kueue_job("h100")]
    pods = [
        worker("l40s-pod", workload="job-l40s", app="none"),
        worker("h100-pod", workload="job-h100", app="none", node="node-1"),
    ]
    usage = usage_of(engine("l40s-pod", 0, 0.0), util("l40s-pod", 0, 0), util("h100-pod", 1, 87))
    snapshot = cluster(pods=pods, workloads=jobs, usage=usage, replicas=1)
    assert decided(snapshot, workload="Job/l40s").reason is Reason.IDLE
    busy = decided(snapshot, workload="Job/h100")
    assert busy.reason is Reason.BUSY
    assert busy.idle is not None
    assert busy.idle.devices[0].peak_percent == 87


@pytest.mark.parametrize("sentinel", [9223372036854775794.0, 140737488355328.0, 4294967295.0])
def test_d09_sentinels_are_no_samples(sentinel: float) -> None:
    """D09: sentinels are no samples."""
    usage = usage_of(util("w-0", 0, sentinel), engine("w-0", 0, sentinel))
    assert decided(cluster(usage=usage)).reason is Reason.NO_SAMPLES


def test_d10_labelled_and_unlabelled_series_of_one_gpu_are_one_busy_gpu() -> None:
    """D10: labelled and unlabelled series of one gpu are one busy gpu."""
    decision = decided(cluster(usage=usage_of(util("", 0, 0), util("w-0", 0, 73))))
    assert decision.reason is Reason.BUSY
    assert decision.idle is not None
    assert [one.peak_percent for one in decision.idle.devices] == [73]


def test_d10_work_on_the_unlabelled_series_counts_through_the_device() -> None:
    """D10: work on the unlabelled series counts through the device."""
    decision = decided(cluster(usage=usage_of(util("", 0, 73), util("w-0", 0, 0))))
    assert decision.reason is Reason.BUSY


def test_d11_a_short_loss_of_labels_resets_nothing() -> None:
    """D11: a short loss of labels resets nothing."""
    labelled = [(t, 0.38) for t, _ in constant(0) if not -600 <= t <= -540]
    unlabelled = [(t, 0.381) for t in (-600, -570, -540)]
    usage = usage_of(engine("w-0", 0, labelled), engine("", 0, unlabelled))
    assert decided(cluster(usage=usage)).reason is Reason.BUSY


def test_d11_a_quiet_pod_stays_quiet_over_a_short_loss_of_labels() -> None:
    """D11: a quiet pod stays quiet over a short loss of labels."""
    labelled = [(t, 0.0) for t, _ in constant(0) if not -600 <= t <= -540]
    unlabelled = [(t, 0.0) for t in (-600, -570, -540)]
    usage = usage_of(engine("w-0", 0, labelled), engine("", 0, unlabelled))
    assert decided(cluster(usage=usage)).reason is Reason.IDLE


@pytest.mark.parametrize(("silent", "want"), [(90, Reason.IDLE), (91, Reason.STALE_SAMPLES)])
def test_d11_a_gpu_without_any_sample_for_longer_than_the_limit_is_unknown(
    silent: float, want: Reason
) -> None:
    """D11: a gpu without any sample for longer than the limit is unknown."""
    points = [(t - silent, v) for t, v in constant(0)]
    assert decided(cluster(usage=usage_of(engine("w-0", 0, points)))).reason is want


def test_d12_gpus_that_spin_without_requests_are_busy() -> None:
    """D12: gpus that spin without requests are busy."""
    pod = worker(gpus=2)
    usage = usage_of(util("w-0", 0, 100), util("w-0", 1, 100))
    decision = decided(cluster(pods=[pod], usage=usage))
    assert (decision.active, decision.reason) == (True, Reason.BUSY)


def test_d13_a_ratio_is_compared_as_percent() -> None:
    """D13: a ratio is compared as percent."""
    usage = usage_of(engine("w-0", 0, 0.42), busy_from=5.0)
    decision = decided(cluster(usage=usage), busyFromPercent="5")
    assert decision.reason is Reason.BUSY


def test_d13_a_threshold_that_is_a_ratio_is_refused() -> None:
    """D13: a threshold that is a ratio is refused."""
    decision = decided(cluster(usage=usage_of(util("w-0", 0, 0))), busyFromPercent="0.05")
    assert decision.status == "INVALID_ARGUMENT"
    assert "busyFromPercent" in decision.problems[0]
    assert answer(decision) == ActiveWithoutValue()


def test_d14_one_quiet_gpu_of_four_is_a_busy_pod() -> None:
    """D14: one quiet gpu of four is a busy pod."""
    usage = usage_of(*(util("w-0", gpu, 0 if gpu == 0 else 100) for gpu in range(4)))
    assert decided(cluster(pods=[worker(gpus=4)], usage=usage)).reason is Reason.BUSY


def test_d14_one_quiet_pod_of_two_is_a_busy_workload() -> None:
    """D14: one quiet pod of two is a busy workload."""
    pods = [worker("w-0"), worker("w-1")]
    usage = usage_of(util("w-0", 0, 0), util("w-1", 1, 100))
    assert decided(cluster(pods=pods, usage=usage)).reason is Reason.BUSY


def test_d10_d11_work_on_a_series_that_names_the_exporter_counts_through_the_device() -> None:
    """D10, D11: where targets carry labels, a series that lost its pod names the exporter's.

    Three minutes of work under that name are work of whoever has the device; the samples fill the
    gap as well.
    """
    lost = [-600.0, -570.0, -540.0]
    labelled = [(t, 0.0) for t, _ in constant(0) if t not in lost]
    for ratio, want in ((0.9, Reason.BUSY), (0.0, Reason.IDLE)):
        strays = engine("dcgm-exporter-x", 0, [(t, ratio) for t in lost])
        usage = usage_of(engine("w-0", 0, labelled), strays)
        named = replace(cluster(usage=usage), bystanders=frozenset({("ml", "dcgm-exporter-x")}))
        assert decided(named).reason is want


def test_d01_the_exporters_own_series_alone_make_nobody_idle() -> None:
    """D01: the exporters own series alone make nobody idle."""
    usage = usage_of(util("dcgm-exporter-x", 0, 0))
    named = replace(cluster(usage=usage), bystanders=frozenset({("ml", "dcgm-exporter-x")}))
    assert decided(named).reason is Reason.NO_SAMPLES
