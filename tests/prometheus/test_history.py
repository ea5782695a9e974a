"""The queries of the page's charts, asked of the embedded Prometheus."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.core.policy import CustomProfile, CustomSignal, Profile, PrometheusSettings
from scaler.prometheus.history import (
    Window,
    device_name,
    device_peaks,
    peaks,
    reasons,
    reporting,
    values,
)
from scaler.sim.promql.parser import parse
from scaler.sim.promql.ranges import raw_rows
from scaler.sim.samples import SampleStore
from tests.prometheus.fleet import GPU_UTIL, GR_ENGINE, NOW, pod_labels, scrape

SETTINGS = PrometheusSettings()
WINDOW = Window(seconds=600.0, step=60.0)
OWN = {"scaled_object": "llm", "metric": "idle-llm"}


def ask(store: SampleStore, expression: str) -> dict[tuple[tuple[str, str], ...], list[float]]:
    """Give each row's values."""
    found = raw_rows(store, expression, NOW)
    assert found is not None, "an instant query answers it with a matrix"
    return {labels: [value for _, value in points] for labels, points in found}


def peak(store: SampleStore, *pods: str, settings: PrometheusSettings = SETTINGS) -> list[float]:
    """Give the peaks of each step."""
    query = peaks(settings, namespace="ml", pods=pods, window=WINDOW)
    (found,) = ask(store, query).values() or [[]]
    return found


def test_the_peak_of_all_signals_and_devices_in_percent() -> None:
    """The peak of all signals and devices in percent."""
    store = SampleStore()
    scrape(store, GR_ENGINE, 0.4, labels=pod_labels("a", gpu=0))
    scrape(store, GPU_UTIL, 25.0, labels=pod_labels("b", gpu=1))
    assert peak(store, "a", "b") == pytest.approx([40.0] * 10)
    assert peak(store, "b") == [25.0] * 10


def test_a_burst_between_two_steps_is_seen() -> None:
    """A burst between two steps is seen."""
    store = SampleStore()
    scrape(store, GPU_UTIL, 0.0, labels=pod_labels("a"), every=60.0)
    scrape(store, GPU_UTIL, 90.0, labels=pod_labels("a", gpu=1), since=-75.0, until=-75.0)
    assert max(peak(store, "a")) == 90.0


def test_a_time_without_samples_has_no_point() -> None:
    """A time without samples has no point."""
    store = SampleStore()
    scrape(store, GPU_UTIL, 3.0, labels=pod_labels("a"), until=-300.0)
    assert len(peak(store, "a")) == 6, "of ten"


def test_what_is_out_of_range_is_no_sample() -> None:
    """What is out of range is no sample."""
    store = SampleStore()
    scrape(store, GPU_UTIL, 4_294_967_295.0, labels=pod_labels("a"))
    assert peak(store, "a") == []


def test_pods_of_other_names_and_namespaces_are_not_ours() -> None:
    """Pods of other names and namespaces are not ours."""
    store = SampleStore()
    scrape(store, GPU_UTIL, 50.0, labels=pod_labels("a-1"))
    scrape(store, GPU_UTIL, 60.0, labels={"UUID": "x", "namespace": "other", "pod": "a"})
    assert peak(store, "a") == []


def test_series_that_name_their_pod_in_exported_labels_count() -> None:
    """Series that name their pod in exported labels count."""
    store = SampleStore()
    exporter = {"namespace": "gpu-operator", "pod": "dcgm-exporter"}
    labels = {"UUID": "x", "exported_namespace": "ml", "exported_pod": "a", **exporter}
    scrape(store, GPU_UTIL, 7.0, labels=labels)
    assert peak(store, "a") == [7.0] * 10


def test_a_signal_that_is_void_on_slices_says_nothing_of_them() -> None:
    """A signal that is void on slices says nothing of them."""
    store = SampleStore()
    scrape(store, GPU_UTIL, 80.0, labels=pod_labels("a", GPU_I_ID="3"))
    scrape(store, GR_ENGINE, 0.1, labels=pod_labels("a", GPU_I_ID="3"))
    assert peak(store, "a") == pytest.approx([10.0] * 10)


def test_devices_that_report_are_counted_once_whatever_their_signals() -> None:
    """Devices that report are counted once whatever their signals."""
    store = SampleStore()
    for gpu in (0, 1):
        scrape(store, GR_ENGINE, 0.4, labels=pod_labels("a", gpu=gpu))
        scrape(store, GPU_UTIL, 40.0, labels=pod_labels("a", gpu=gpu))
    query = reporting(SETTINGS, namespace="ml", pods=["a"], window=WINDOW)
    assert ask(store, query) == {(): [2.0] * 10}


def test_each_device_by_the_name_that_evidence_gives_it() -> None:
    """Each device by the name that evidence gives it."""
    store = SampleStore()
    for gpu in (0, 1, 2):
        scrape(store, GPU_UTIL, 10.0 * gpu, labels=pod_labels("a", gpu=gpu))
    query = device_peaks(
        SETTINGS, namespace="ml", pods=["a"], devices=["GPU-1", "GPU-2"], window=WINDOW
    )
    found = {
        device_name(SETTINGS, dict(row)): points[0] for row, points in ask(store, query).items()
    }
    assert found == {"GPU-1": 10.0, "GPU-2": 20.0}


def test_a_slice_is_named_with_its_instance() -> None:
    """A slice is named with its instance."""
    assert device_name(SETTINGS, {"UUID": "GPU-1", "GPU_I_ID": "3"}) == "GPU-1/3"
    amd = PrometheusSettings(profile=Profile.AMD)
    assert device_name(amd, {"hostname": "n1", "gpu_id": "4"}) == "n1/4"


def test_no_device_asks_nothing() -> None:
    """No device asks nothing."""
    assert device_peaks(SETTINGS, namespace="ml", pods=["a"], devices=[], window=WINDOW) == ""


def test_a_profile_without_signals_asks_nothing() -> None:
    """A profile without signals asks nothing."""
    nothing = PrometheusSettings(profile=Profile.CUSTOM)
    assert peaks(nothing, namespace="ml", pods=["a"], window=WINDOW) == ""
    assert reporting(nothing, namespace="ml", pods=["a"], window=WINDOW) == ""


def test_the_policys_matchers_narrow_the_series() -> None:
    """The policys matchers narrow the series."""
    store = SampleStore()
    scrape(store, GPU_UTIL, 50.0, labels=pod_labels("a", job="other"))
    settings = PrometheusSettings(selector='{job="dcgm"}')
    assert peak(store, "a", settings=settings) == []
    scrape(store, GPU_UTIL, 5.0, labels=pod_labels("a", job="dcgm"))
    assert peak(store, "a", settings=settings) == [5.0] * 10


@pytest.mark.parametrize("profile", list(Profile))
def test_every_profile_gives_promql(profile: Profile) -> None:
    """Every profile gives promql."""
    custom = CustomProfile(
        signals=(CustomSignal(name="active", metric="fleet_active", maximum=1.0),),
        device_label="serial",
        resources=("example.com/accelerator",),
    )
    settings = PrometheusSettings(
        profile=profile, custom=custom if profile is Profile.CUSTOM else None
    )
    parse(peaks(settings, namespace="ml", pods=["a"], window=WINDOW))
    parse(device_peaks(settings, namespace="ml", pods=["a"], devices=["n/1"], window=WINDOW))


def own(store: SampleStore, name: str, value: float, labels: Mapping[str, str]) -> None:
    """Write our own metric, as a scrape of it would."""
    scrape(store, f"kueue_gpu_scaler_{name}", value, labels=labels)


def test_replicas_are_counted_by_status_and_reason() -> None:
    """Replicas are counted by status and reason."""
    store = SampleStore()
    for instance in ("one", "two"):
        labels = {**OWN, "namespace": "ml", "status": "OK", "reason": "Busy", "instance": instance}
        own(store, "decision_reason", 1.0, labels)
    ((row, counts),) = ask(store, reasons(["llm"], WINDOW)).items()
    assert dict(row)["reason"] == "Busy"
    assert counts == [2.0] * 10


def test_values_are_those_of_the_named_scaled_objects() -> None:
    """Values are those of the named scaled objects."""
    store = SampleStore()
    own(store, "decision_value", 3.0, {**OWN, "namespace": "ml"})
    own(store, "decision_value", 9.0, {**OWN, "scaled_object": "llmx", "namespace": "ml"})
    ((_, found),) = ask(store, values(["llm"], WINDOW)).items()
    assert found == [3.0] * 10


@given(name=st.text(min_size=1, max_size=30))
def test_no_name_ends_the_text_that_it_is_in(name: str) -> None:
    """Names come with requests too: each stays one string, whatever is in it."""
    parse(reasons([name], WINDOW))
    parse(peaks(SETTINGS, namespace=name, pods=[name], window=WINDOW))


def test_a_name_is_matched_as_it_is_and_is_no_pattern() -> None:
    """A name is matched as it is and is no pattern."""
    store = SampleStore()
    own(store, "decision_value", 1.0, {**OWN, "scaled_object": "a.b", "namespace": "ml"})
    own(store, "decision_value", 2.0, {**OWN, "scaled_object": "axb", "namespace": "ml"})
    assert list(ask(store, values(["a.b"], WINDOW)).values()) == [[1.0] * 10]
