"""From samples to a Usage: the exporters' known faults, and the laws of counting."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scaler.core.policy import Profile, PrometheusSettings, Safety
from scaler.core.profile import metric_profile
from scaler.core.usage import Device, Reading, Usage
from scaler.prometheus.queries import FleetQuery
from scaler.prometheus.source import PrometheusSource
from scaler.prometheus.usage import usage
from scaler.prometheus.vector import Sample
from scaler.sim.prometheus import PrometheusServer
from scaler.sim.samples import SampleStore
from tests.prometheus.fleet import (
    GPU_UTIL,
    GR_ENGINE,
    KEY,
    NOW,
    WINDOW,
    peaks,
    pod_labels,
    scrape,
    usage_of,
)

DCGM = metric_profile(PrometheusSettings())


def refreshed(
    source: PrometheusSource,
    server: PrometheusServer,
    *,
    profile: Profile = Profile.DCGM_4_8,
    safety: Safety = Safety(),  # noqa: B008 - frozen
) -> Usage:
    """Refresh over the socket; it must succeed."""
    chosen = PrometheusSettings(url=server.url, profile=profile)
    read = source.refresh(settings=chosen, usage=[KEY], queries={}, safety=safety).usage[KEY]
    assert read.problem is None
    return read


def only(readings: Sequence[Reading]) -> Reading:
    """Give the one reading."""
    (reading,) = readings
    return reading


# --- cases -------------------------------------------------------------------------------------


def test_d01_the_workloads_own_labels_win_over_the_exporters(
    prometheus: PrometheusServer, source: PrometheusSource
) -> None:
    """D01: exported_pod is the workload; pod is the exporter."""
    exporter = {"namespace": "monitoring", "pod": "gpu-dcgm-exporter-vfbhl", "UUID": "GPU-0"}
    workload = {"exported_namespace": "ml", "exported_pod": "trainer-0"}
    scrape(prometheus.samples, GPU_UTIL, 77.0, labels={**exporter, **workload})
    scrape(prometheus.samples, GPU_UTIL, 5.0, labels=pod_labels("other-0", gpu=1))
    read = refreshed(source, prometheus)
    assert set(read.by_pod) == {("ml", "trainer-0"), ("ml", "other-0")}
    assert only(read.by_pod["ml", "trainer-0"]).peak == 77.0


def test_d01_without_exported_labels_the_series_is_nobodys_but_the_exporters(
    prometheus: PrometheusServer, source: PrometheusSource
) -> None:
    """D01, variant: trainer-0 has no reading, so nothing can call it idle."""
    labels = {"namespace": "monitoring", "pod": "gpu-dcgm-exporter-vfbhl", "UUID": "GPU-0"}
    scrape(prometheus.samples, GPU_UTIL, 0.0, labels=labels)
    read = refreshed(source, prometheus)
    assert set(read.by_pod) == {("monitoring", "gpu-dcgm-exporter-vfbhl")}


def test_d02_series_with_an_empty_pod_are_known_by_device_alone(
    prometheus: PrometheusServer, source: PrometheusSource
) -> None:
    """D02: no pod gets them."""
    scrape(prometheus.samples, GPU_UTIL, 0.0, labels=pod_labels(""))
    read = refreshed(source, prometheus)
    assert read.by_pod == {}
    assert only(read.by_device[Device(uuid="GPU-0")]).pod is None


@pytest.mark.parametrize("with_util", [True, False])
def test_d03_slices_of_one_gpu_are_devices_of_their_own(
    prometheus: PrometheusServer,
    source: PrometheusSource,
    with_util: bool,  # noqa: FBT001 - pytest passes it by name
) -> None:
    """D03: GPU_UTIL at 0 beside it does not hide what a slice does."""
    for instance, value in (("1", 0.62), ("2", 0.0)):
        labels = pod_labels("t", GPU_I_ID=instance)
        scrape(prometheus.samples, GR_ENGINE, value, labels=labels)
        if with_util:
            scrape(prometheus.samples, GPU_UTIL, 0.0, labels=labels)
    read = refreshed(source, prometheus)
    found = peaks(read, "t")
    assert found["GPU-0", "1", "gr_engine_active"] == 62.0
    assert found["GPU-0", "2", "gr_engine_active"] == 0.0
    assert set(read.devices) == {Device(uuid="GPU-0", instance=i) for i in ("1", "2")}


def test_d06_a_label_renamed_in_mid_window_leaves_devices_and_coverage_as_they_were(
    prometheus: PrometheusServer, source: PrometheusSource
) -> None:
    """D06: n1 has both spellings within the window; two GPUs, not three, fully covered."""
    old, new = pod_labels("p", Hostname="n1"), pod_labels("p", hostname="n1")
    scrape(prometheus.samples, GPU_UTIL, 40.0, labels=old, until=-900)
    scrape(prometheus.samples, GPU_UTIL, 3.0, labels=new, since=-870)
    scrape(prometheus.samples, GPU_UTIL, 9.0, labels=pod_labels("q", gpu=1, hostname="n2"))
    read = refreshed(source, prometheus)
    assert len(read.devices) == 2
    assert peaks(read, "p") == {("GPU-0", "", "gpu_util"): 40.0}
    assert read.devices[Device(uuid="GPU-0")].samples == {"gpu_util": 60}


def test_d08_each_device_is_judged_by_the_signals_that_it_has(
    prometheus: PrometheusServer, source: PrometheusSource
) -> None:
    """D08: profiling metrics on one node only; the other's GPU_UTIL still counts."""
    scrape(prometheus.samples, GR_ENGINE, 0.0, labels=pod_labels("l40s-pod"))
    scrape(prometheus.samples, GPU_UTIL, 0.0, labels=pod_labels("l40s-pod"))
    scrape(prometheus.samples, GPU_UTIL, 87.0, labels=pod_labels("h100-pod", gpu=1))
    read = refreshed(source, prometheus)
    assert peaks(read, "h100-pod") == {("GPU-1", "", "gpu_util"): 87.0}
    assert set(peaks(read, "l40s-pod").values()) == {0.0}
    assert set(read.devices[Device(uuid="GPU-1")].samples) == {"gpu_util"}


@pytest.mark.parametrize(
    ("metric", "value"),
    [
        (GPU_UTIL, 9223372036854775794.0),
        (GPU_UTIL, 4294967295.0),
        (GPU_UTIL, 100.5),
        (GPU_UTIL, -1.0),
        (GPU_UTIL, float("nan")),
        (GPU_UTIL, float("inf")),
        (GR_ENGINE, 140737488355328.0),
        (GR_ENGINE, 14073748835532800.0),
        (GR_ENGINE, float("-inf")),
    ],
)
def test_d09_a_blank_sentinel_is_no_sample(
    prometheus: PrometheusServer, source: PrometheusSource, metric: str, value: float
) -> None:
    """D09: neither busy nor idle; the device has nothing to show."""
    scrape(prometheus.samples, metric, value, labels=pod_labels("p"))
    read = refreshed(source, prometheus)
    assert read.by_pod == {}
    counts = [n for device in read.devices.values() for n in device.samples.values()]
    assert counts == [0]


def test_d09_among_good_samples_a_sentinel_costs_coverage_and_hides_nothing(
    prometheus: PrometheusServer, source: PrometheusSource
) -> None:
    """D09: the rest decides, even where the sentinel is the newest or the largest."""
    labels = pod_labels("p")
    for index in range(240):
        garbage = index in {200, 239}
        value = 9223372036854775794.0 if garbage else 55.0 if index == 210 else 0.0
        prometheus.samples.append(GPU_UTIL, labels, at=NOW - 7170 + index * 30, value=value)
    read = refreshed(source, prometheus)
    reading = only(read.by_pod["ml", "p"])
    assert (reading.peak, reading.latest, reading.samples) == (55.0, NOW - 30, 58)
    assert read.devices[Device(uuid="GPU-0")].samples == {"gpu_util": 58}


def test_d10_a_gpu_with_and_without_pod_labels_is_one_gpu(
    prometheus: PrometheusServer, source: PrometheusSource
) -> None:
    """D10: p2 is busy 73, the unlabelled series is the same device's."""
    exported = {"exported_namespace": "ml", "exported_pod": "p2", "UUID": "GPU-0"}
    scrape(prometheus.samples, GPU_UTIL, 0.0, labels={"UUID": "GPU-0"})
    scrape(prometheus.samples, GPU_UTIL, 73.0, labels=exported)
    read = refreshed(source, prometheus)
    assert set(read.devices) == {Device(uuid="GPU-0")}
    assert only(read.by_pod["ml", "p2"]).peak == 73.0
    assert len(read.by_device[Device(uuid="GPU-0")]) == 2


def test_d11_labels_lost_for_a_minute_leave_the_device_covered(
    prometheus: PrometheusServer, source: PrometheusSource
) -> None:
    """D11: the gap in the pod's series is filled through the UUID."""
    labelled, bare = pod_labels("tf"), pod_labels("")
    scrape(prometheus.samples, GR_ENGINE, 0.38, labels=labelled, until=-630)
    scrape(prometheus.samples, GR_ENGINE, 0.381, labels=bare, since=-600, until=-540)
    scrape(prometheus.samples, GR_ENGINE, 0.38, labels=labelled, since=-510)
    read = refreshed(source, prometheus)
    device = Device(uuid="GPU-0")
    assert read.devices[device].samples == {"gr_engine_active": 60}
    assert {reading.peak for reading in read.by_device[device]} == {38.0, 38.1}
    assert only(read.by_pod["ml", "tf"]).samples == 57


def test_d11_a_silent_device_shows_when_it_was_last_heard(
    prometheus: PrometheusServer, source: PrometheusSource
) -> None:
    """D11: its newest sample's own time is told, however recent the evaluation."""
    scrape(prometheus.samples, GR_ENGINE, 0.38, labels=pod_labels("tf"), until=-120)
    assert only(refreshed(source, prometheus).by_pod["ml", "tf"]).latest == NOW - 120


@pytest.mark.parametrize(("max_age", "told"), [(90.0, True), (60.0, False)])
def test_how_old_a_sample_is_is_told_up_to_twice_the_age_that_is_stale(
    prometheus: PrometheusServer,
    source: PrometheusSource,
    max_age: float,
    told: bool,  # noqa: FBT001 - pytest passes it by name
) -> None:
    """Garbage since then; to look further back costs most where pods come and go."""
    labels = pod_labels("tf")
    scrape(prometheus.samples, GR_ENGINE, 0.38, labels=labels, until=-150)
    scrape(prometheus.samples, GR_ENGINE, float("nan"), labels=labels, since=-120)
    read = refreshed(source, prometheus, safety=Safety(max_sample_age=max_age))
    reading = only(read.by_pod["ml", "tf"])
    assert (reading.peak, reading.latest) == (38.0, NOW - 150 if told else None)


def test_p01_both_servers_of_a_pair_are_one_gpu(
    prometheus: PrometheusServer, source: PrometheusSource
) -> None:
    """P01 (a): 40 and 42 of two replicas are 42 of one device, each sample counted once."""
    for replica, value, phase in (("a", 40.0, 0.0), ("b", 42.0, 11.0)):
        labels = pod_labels("p", prometheus_replica=replica)
        scrape(prometheus.samples, GPU_UTIL, value, labels=labels, phase=phase)
    read = refreshed(source, prometheus)
    assert peaks(read, "p") == {("GPU-0", "", "gpu_util"): 42.0}
    assert read.devices[Device(uuid="GPU-0")].samples == {"gpu_util": 60}


def test_p08_the_samples_own_time_is_told_not_the_evaluations(
    prometheus: PrometheusServer, source: PrometheusSource
) -> None:
    """P08: the vector is stamped now; the sample is 250 s old."""
    scrape(prometheus.samples, GPU_UTIL, 95.0, labels=pod_labels("p"), since=-7210, until=-250)
    assert only(refreshed(source, prometheus).by_pod["ml", "p"]).latest == NOW - 250


def test_p08_beyond_the_lookback_there_is_no_newest_sample(
    prometheus: PrometheusServer, source: PrometheusSource
) -> None:
    """P08: what was seen in the window stays, its age is unknown."""
    scrape(prometheus.samples, GPU_UTIL, 95.0, labels=pod_labels("p"), until=-900)
    reading = only(refreshed(source, prometheus).by_pod["ml", "p"])
    assert (reading.peak, reading.latest) == (95.0, None)


# --- readings ----------------------------------------------------------------------------------


def test_ratios_and_percentages_come_out_alike(
    prometheus: PrometheusServer, source: PrometheusSource
) -> None:
    """Ratios and percentages come out alike."""
    scrape(prometheus.samples, GR_ENGINE, 0.29, labels=pod_labels("p"))
    scrape(prometheus.samples, GPU_UTIL, 29.0, labels=pod_labels("p"))
    assert set(peaks(refreshed(source, prometheus), "p").values()) == {29.0}


def test_the_new_names_of_dcgm_are_read_by_their_own_profile(
    prometheus: PrometheusServer, source: PrometheusSource
) -> None:
    """The new names of dcgm are read by their own profile."""
    scrape(prometheus.samples, "DCGM_FI_DEV_GPU_UTIL_RATIO", 0.5, labels=pod_labels("p"))
    read = refreshed(source, prometheus, profile=Profile.DCGM_4_9)
    assert peaks(read, "p") == {("GPU-0", "", "gpu_util"): 50.0}
    assert refreshed(source, prometheus).by_pod == {}


def test_a_device_is_told_by_all_of_its_labels(
    prometheus: PrometheusServer, source: PrometheusSource
) -> None:
    """A device is told by all of its labels."""
    for host in ("n1", "n2"):
        labels = {"hostname": host, "gpu_id": "0", "namespace": "ml", "pod": f"p-{host}"}
        scrape(prometheus.samples, "gpu_gfx_activity", 7.0, labels=labels)
    scrape(prometheus.samples, "gpu_gfx_activity", 9.0, labels={"gpu_id": "0", "pod": "p"})
    read = refreshed(source, prometheus, profile=Profile.AMD)
    assert set(read.devices) == {Device(uuid="n1/0"), Device(uuid="n2/0")}


def test_power_is_in_watts_with_its_model_and_without_sentinels(
    prometheus: PrometheusServer, source: PrometheusSource
) -> None:
    """Power is in watts with its model and without sentinels."""
    labels = pod_labels("p")
    scrape(prometheus.samples, "DCGM_FI_DEV_POWER_USAGE", 61.5, labels=labels, until=-60)
    scrape(prometheus.samples, "DCGM_FI_DEV_POWER_USAGE", 2147483632.0, labels=labels, since=-30)
    device = refreshed(source, prometheus).devices[Device(uuid="GPU-0")]
    assert (device.peak_watts, device.model) == (61.5, "A100")


def test_milliwatts_become_watts(prometheus: PrometheusServer, source: PrometheusSource) -> None:
    """Milliwatts become watts."""
    scrape(prometheus.samples, "habanalabs_power_mW", 350_000.0, labels=pod_labels("p"))
    read = refreshed(source, prometheus, profile=Profile.GAUDI)
    assert read.devices[Device(uuid="GPU-0")].peak_watts == 350.0


@pytest.mark.parametrize(
    ("temperatures", "energies", "moved"),
    [((), (), None), ((31, 31), (), False), ((31, 32), (), True), ((31, 31), (5, 6), True)],
)
def test_movement_is_a_change_of_temperature_or_energy(
    temperatures: Sequence[float],
    energies: Sequence[float],
    moved: bool | None,  # noqa: FBT001 - pytest passes it by name
) -> None:
    """Movement is a change of temperature or energy."""
    store = SampleStore()
    scrape(store, GPU_UTIL, 0.0, labels=pod_labels("p"))
    for metric, values in (
        ("DCGM_FI_DEV_GPU_TEMP", temperatures),
        ("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", energies),
    ):
        for index, value in enumerate(values):
            store.append(metric, pod_labels("p"), at=NOW - 600 + index * 30, value=value)
    assert usage_of(store).devices[Device(uuid="GPU-0")].moved is moved


@pytest.mark.parametrize(("age", "seen"), [(WINDOW - 1, True), (WINDOW, False)])
def test_a_series_that_ended_shows_nothing_from_before_the_window(
    age: float,
    seen: bool,  # noqa: FBT001 - pytest passes it by name
) -> None:
    """Without a stale marker a label that changed would show its last sample for minutes."""
    store = SampleStore()
    labels = pod_labels("p", Hostname="n1")
    store.append(GPU_UTIL, labels, at=NOW - age, value=38.0)
    store.append("DCGM_FI_DEV_POWER_USAGE", labels, at=NOW - age, value=300.0)
    scrape(store, GPU_UTIL, 0.0, labels=pod_labels("p", hostname="n1"), since=-age + 30)
    read = usage_of(store)
    assert peaks(read, "p") == {("GPU-0", "", "gpu_util"): 38.0 if seen else 0.0}
    watts = read.devices[Device(uuid="GPU-0")].peak_watts
    assert watts == (300.0 if seen else None)


def test_last_busy_is_seen_beyond_the_window() -> None:
    """Last busy is seen beyond the window."""
    store = SampleStore()
    scrape(store, GPU_UTIL, 50.0, labels=pod_labels("p"), until=-2400)
    scrape(store, GPU_UTIL, 0.0, labels=pod_labels("p"), since=-2370)
    (reading,) = usage_of(store).by_pod["ml", "p"]
    assert reading.peak == 0.0
    # Seen at half scrape intervals, so up to one later than the sample.
    assert reading.last_busy == NOW - 2400 + 15


def test_never_busy_is_not_seen() -> None:
    """Never busy is not seen."""
    store = SampleStore()
    scrape(store, GPU_UTIL, 0.9, labels=pod_labels("p"))
    (reading,) = usage_of(store).by_pod["ml", "p"]
    assert reading.last_busy is None


def test_a_ghosts_samples_are_told_from_a_pods_own() -> None:
    """A ghosts samples are told from a pods own."""
    store = SampleStore()
    scrape(store, GPU_UTIL, 95.0, labels=pod_labels("old-pod"))
    scrape(store, GPU_UTIL, 0.0, labels=pod_labels("new-pod"), since=-300)
    read = usage_of(store)
    assert read.devices[Device(uuid="GPU-0")].samples == {"gpu_util": 60}
    (own,) = read.by_pod["ml", "new-pod"]
    assert own.samples == 11


# --- laws --------------------------------------------------------------------------------------

SCRAPES = st.lists(st.sampled_from(["ok", "missing", "garbage"]), min_size=130, max_size=130)
PHASES = st.integers(0, 29_999).map(lambda ms: ms / 1000)


def counted(scrapes: Sequence[str], phase: float) -> tuple[int, int]:
    """Give (what a Usage counts, what is really there) of a series in the window."""
    store = SampleStore()
    labels = pod_labels("p")
    truth = 0
    for index, what in enumerate(scrapes):
        at = round(NOW - 3900 + index * 30 + phase, 3)
        if at > NOW or what == "missing":
            continue
        value = 140737488355328.0 if what == "garbage" else 0.0
        store.append(GPU_UTIL, labels, at=at, value=value)
        truth += what == "ok" and at > NOW - WINDOW + 0.001
    devices = usage_of(store).devices
    return sum(device.samples.get("gpu_util", 0) for device in devices.values()), truth


@settings(max_examples=40)
@given(scrapes=SCRAPES, phase=PHASES)
def test_samples_are_never_overcounted(scrapes: Sequence[str], phase: float) -> None:
    """Samples are never overcounted."""
    found, truth = counted(scrapes, phase)
    assert found <= truth


@settings(max_examples=40)
@given(missing=st.sets(st.integers(0, 129)), phase=PHASES)
def test_without_garbage_the_count_is_exact_but_for_a_sample_that_just_came(
    missing: set[int], phase: float
) -> None:
    """Without garbage the count is exact but for a sample that just came."""
    scrapes = ["missing" if index in missing else "ok" for index in range(130)]
    found, truth = counted(scrapes, phase)
    assert truth - 1 <= found <= truth


@settings(max_examples=40)
@given(gaps=st.sets(st.integers(0, 129)), phases=st.tuples(PHASES, PHASES))
def test_two_scrapers_of_one_device_count_no_more_than_the_intervals_that_they_fill(
    gaps: set[int], phases: tuple[float, float]
) -> None:
    """Two scrapers of one device count no more than the intervals that they fill."""
    store = SampleStore()
    filled: set[int] = set()
    for scraper, phase in zip("ab", phases, strict=True):
        for index in range(130):
            at = round(NOW - 3900 + index * 30 + phase, 3)
            if index not in gaps and at <= NOW:
                labels = pod_labels("p", instance=scraper)
                store.append(GPU_UTIL, labels, at=at, value=0.0)
                filled |= {int(at // 15), int(at // 15) + 1, int(at // 15) + 2}
    devices = usage_of(store).devices
    found = sum(device.samples.get("gpu_util", 0) for device in devices.values())
    window = range(int((NOW - WINDOW) // 15) + 1, int(NOW // 15) + 1)
    assert found <= (sum(slot in filled for slot in window) + 1) // 2


ROWS = st.lists(
    st.builds(
        Sample,
        labels=st.fixed_dictionaries(
            {"UUID": st.sampled_from(["a", "b", ""]), "signal": st.sampled_from(["gpu_util", "x"])},
            optional={
                "pod": st.sampled_from(["p", "q"]),
                "namespace": st.just("ml"),
                "exported_pod": st.sampled_from(["r", ""]),
                "modelName": st.sampled_from(["A", "B"]),
                "tally": st.sampled_from(["distinct", "fresh", "garbage"]),
            },
        ),
        value=st.floats() | st.integers(-5, 105).map(float),
    ),
    max_size=8,
)
VECTORS = st.fixed_dictionaries(dict.fromkeys(FleetQuery, ROWS))


@given(vectors=VECTORS)
def test_no_answer_gives_a_reading_out_of_range(
    vectors: dict[FleetQuery, list[Sample]],
) -> None:
    """No answer gives a reading out of range."""
    read = usage(key=KEY, profile=DCGM, at=NOW, vectors=vectors)
    for readings in read.by_device.values():
        assert all(reading.peak is None or 0 <= reading.peak <= 100 for reading in readings)
        assert all((reading.samples or 0) >= 0 for reading in readings)
    assert all(n >= 0 for device in read.devices.values() for n in device.samples.values())
    assert all(device.uuid for device in read.devices)


@given(vectors=VECTORS)
def test_the_order_of_rows_is_of_no_account(vectors: dict[FleetQuery, list[Sample]]) -> None:
    """The order of rows is of no account."""
    # Tallies are one row each in an answer; a repeated one would be the last that came.
    distinct: dict[FleetQuery, list[Sample]] = {
        name: [
            row
            for index, row in enumerate(rows)
            if dict(row.labels) not in [dict(other.labels) for other in rows[:index]]
        ]
        for name, rows in vectors.items()
        if name is not FleetQuery.SAMPLES
    }
    turned = {name: rows[::-1] for name, rows in distinct.items()}
    one = usage(key=KEY, profile=DCGM, at=NOW, vectors=distinct)
    other = usage(key=KEY, profile=DCGM, at=NOW, vectors=turned)
    assert one.devices == other.devices
    for mapping, mirrored in (
        (one.by_pod, other.by_pod),
        (one.by_device, other.by_device),
    ):
        assert {key: set(found) for key, found in mapping.items()} == {
            key: set(found) for key, found in mirrored.items()
        }
