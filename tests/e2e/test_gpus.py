"""The exporter of GPUs that nobody has: names and scales of both releases, and each switch."""

import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest
import requests
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from tests.e2e.fakes import FakeCluster, gpu_pod
from tests.e2e.gpus import Fault, Gpus
from tests.e2e.machine_objects import node
from tests.e2e.mirror import Mirror
from tests.e2e.waiting import until

UTIL = "DCGM_FI_DEV_GPU_UTIL"
GR_ENGINE = "DCGM_FI_PROF_GR_ENGINE_ACTIVE"
ENERGY = "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION"


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        """Give the time that the test set."""
        return self.now


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    """Give a node of three GPUs, of which a pod holds two."""
    found = FakeCluster()
    found.create(node("n1", {}, gpus=3))
    found.create(gpu_pod("chat-a", gpus=2))
    yield found
    found.cut()


@pytest.fixture
def clock() -> Clock:
    """Give a clock that stands still."""
    return Clock()


@pytest.fixture
def gpus(cluster: FakeCluster, clock: Clock) -> Iterator[Gpus]:
    """Give an exporter that runs."""
    exporter = Gpus(cluster, clock=clock)
    exporter.start()
    yield exporter
    exporter.stop()


def samples(text: str) -> list[Sample]:
    """Parse a scrape; this parser gives every counter a `_total`, which DCGM's do not have."""
    return [
        each._replace(name=each.name.removesuffix("_total")) if "DCGM" in each.name else each
        for found in text_string_to_metric_families(text)
        for each in found.samples
    ]


def scraped(gpus: Gpus, metric: str = UTIL) -> dict[tuple[str, int], float]:
    """Give a metric by pod, empty without one, and by the GPU's index."""
    return {
        (each.labels.get("pod", ""), int(each.labels["gpu"])): each.value
        for each in samples(gpus.scrape()[1])
        if each.name == metric
    }


def served(gpus: Gpus, path: str = "/metrics", timeout: float = 10.0) -> requests.Response:
    """Scrape over HTTP."""
    return requests.get(f"http://{gpus.address}{path}", timeout=timeout)


def traffic(gpus: Gpus) -> dict[str, list[float]]:
    """Give the serving part's values by metric."""
    found: dict[str, list[float]] = {}
    for each in samples(gpus.scrape_serving()):
        found.setdefault(each.name, []).append(each.value)
    return found


def test_4_8_names_and_scales_are_those_of_its_counter_files(gpus: Gpus) -> None:
    """Percent in GPU_UTIL, ratios in PROF fields, millijoules in the energy."""
    gpus.busy("ml", "chat-a", percent=60)
    found = {
        each.name: each.value
        for each in samples(served(gpus).text)
        if each.labels.get("pod") == "chat-a"
    }
    assert found == {
        "DCGM_FI_DEV_GPU_TEMP": 55.0,
        "DCGM_FI_DEV_POWER_USAGE": 264.0,
        "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION": 1_000_000.0,
        "DCGM_FI_DEV_GPU_UTIL": 60.0,
        "DCGM_FI_DEV_ENC_UTIL": 0.0,
        "DCGM_FI_DEV_DEC_UTIL": 0.0,
        "DCGM_FI_DEV_XID_ERRORS": 0.0,
        "DCGM_FI_DEV_ROW_REMAP_FAILURE": 0.0,
        "DCGM_FI_PROF_GR_ENGINE_ACTIVE": 0.6,
        "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE": 0.18,
        "DCGM_FI_PROF_DRAM_ACTIVE": 0.3,
    }


def test_4_9_has_new_names_ratios_and_joules(gpus: Gpus) -> None:
    """No name of 4.8 is left, so that a wrong profile finds nothing."""
    gpus.version = "4.9"
    gpus.busy("ml", "chat-a", percent=60)
    found = {
        each.name: each.value
        for each in samples(gpus.scrape()[1])
        if each.labels.get("pod") == "chat-a"
    }
    assert found == {
        "DCGM_FI_DEV_GPU_TEMP_CELSIUS": 55.0,
        "DCGM_FI_DEV_BOARD_POWER_WATTS": 264.0,
        "DCGM_FI_DEV_GPU_ENERGY_JOULES_TOTAL": 1000.0,
        "DCGM_FI_DEV_GPU_UTIL_RATIO": 0.6,
        "DCGM_FI_DEV_ENC_UTIL_RATIO": 0.0,
        "DCGM_FI_DEV_DEC_UTIL_RATIO": 0.0,
        "DCGM_FI_DEV_XID_ERROR": 0.0,
        "DCGM_FI_DEV_ROW_REMAP_FAILED": 0.0,
        "DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO": 0.6,
        "DCGM_FI_PROF_TENSOR_UTIL_RATIO": 0.18,
        "DCGM_FI_PROF_DRAM_UTIL_RATIO": 0.3,
    }


@pytest.mark.parametrize(("version", "node_label"), [("4.8", "Hostname"), ("4.9", "hostname")])
def test_a_held_gpu_names_its_container_and_a_free_one_nobody(
    gpus: Gpus, version: str, node_label: str
) -> None:
    """The label of the node's name is what else the releases differ in."""
    gpus.version = version
    labels = [each.labels for each in samples(gpus.scrape()[1])]
    held, free = labels[0], labels[2]
    assert (
        held.items()
        >= {
            "gpu": "0",
            "device": "nvidia0",
            "modelName": "NVIDIA A100-SXM4-80GB",
            node_label: "n1",
            "namespace": "ml",
            "pod": "chat-a",
            "container": "main",
        }.items()
    )
    assert not {"namespace", "pod", "container"} & set(free)
    assert held["UUID"].startswith("GPU-")
    assert len({each["UUID"] for each in labels}) == 3


def test_a_pod_keeps_its_gpus_and_a_new_one_gets_free_ones(
    gpus: Gpus, cluster: FakeCluster
) -> None:
    """A series never changes its GPU while its pod lives."""
    assert set(scraped(gpus)) == {("chat-a", 0), ("chat-a", 1), ("", 2)}
    cluster.create(gpu_pod("chat-b"))
    until(lambda: ("chat-b", 2) in scraped(gpus), "chat-b is seen", within=10)
    cluster.delete("Pod", "chat-a", "ml")
    until(lambda: ("", 0) in scraped(gpus), "chat-a is gone", within=10)
    assert set(scraped(gpus)) == {("", 0), ("", 1), ("chat-b", 2)}


def test_only_running_pods_on_a_node_hold_gpus(gpus: Gpus, cluster: FakeCluster) -> None:
    """Neither a pending pod nor one without GPUs takes any."""
    pending = gpu_pod("pending") | {"status": {"phase": "Pending"}}
    cluster.create(pending)
    cluster.create(gpu_pod("cpu-only", gpus=0))
    cluster.create(gpu_pod("last"))
    until(lambda: ("last", 2) in scraped(gpus), "the last pod is seen", within=10)
    assert set(scraped(gpus)) == {("chat-a", 0), ("chat-a", 1), ("last", 2)}


def test_the_cluster_is_read_again_after_an_outage(gpus: Gpus, cluster: FakeCluster) -> None:
    """What was known is exported until then."""
    before = scraped(gpus)
    cluster.down = True
    cluster.cut()
    assert scraped(gpus) == before
    cluster.down = False
    cluster.delete("Pod", "chat-a", "ml")
    until(lambda: set(scraped(gpus)) == {("", 0), ("", 1), ("", 2)}, "it is gone", within=10)


def test_activity_is_by_pod_by_gpu_and_the_latest_word_holds(gpus: Gpus) -> None:
    """Words about other pods change nothing."""
    assert scraped(gpus) == {("chat-a", 0): 0, ("chat-a", 1): 0, ("", 2): 0}
    gpus.busy("ml", "chat", percent=40)
    gpus.busy("ml", "chat-a", percent=90, gpu=1)
    assert scraped(gpus) == {("chat-a", 0): 40, ("chat-a", 1): 90, ("", 2): 0}
    gpus.quiet("ml", "other")
    gpus.quiet("elsewhere")
    assert scraped(gpus)["chat-a", 1] == 90
    gpus.quiet("ml")
    assert scraped(gpus) == {("chat-a", 0): 0, ("chat-a", 1): 0, ("", 2): 0}


def test_a_burst_is_in_exactly_one_scrape(gpus: Gpus) -> None:
    """The next one reads what it would have without it."""
    seen = gpus.burst("ml", "chat-a", 1, 80)
    assert not seen.is_set()
    assert scraped(gpus) == {("chat-a", 0): 0, ("chat-a", 1): 80, ("", 2): 0}
    assert seen.is_set()
    assert scraped(gpus)["chat-a", 1] == 0


def test_the_newer_names_beside_tell_what_was_measured_last(gpus: Gpus) -> None:
    """They measure nothing anew, so that a burst is still in exactly one scrape of the others."""
    seen = gpus.burst("ml", "chat-a", 0, 60)
    newer = samples(served(gpus, "/metrics/4.9").text)
    assert not newer, "nothing was measured yet"
    assert not seen.is_set()
    gpus.scrape()
    newer = samples(served(gpus, "/metrics/4.9").text)
    busy = {each.value for each in newer if each.name == "DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO"}
    assert busy == {0.0, 0.6}
    assert not [each for each in newer if each.name == "DCGM_FI_DEV_GPU_UTIL"]


def test_a_burst_waits_for_a_scrape_that_shows_it(gpus: Gpus) -> None:
    """Faults don't use it up."""
    seen = gpus.burst("ml", "chat-a", 0, 80)
    with gpus.broken(Fault.ERROR):
        gpus.scrape()
    with gpus.broken(Fault.ALL_ZERO):
        assert scraped(gpus)["chat-a", 0] == 0
    assert not seen.is_set()
    assert scraped(gpus)["chat-a", 0] == 80


def test_energy_grows_with_power_and_temperature_moves(gpus: Gpus, clock: Clock) -> None:
    """A GPU at rest draws power too: only a stuck exporter shows no change."""
    gpus.busy("ml", "chat-a", percent=100, gpu=0)
    before, warm = scraped(gpus, ENERGY), scraped(gpus, "DCGM_FI_DEV_GPU_TEMP")
    clock.now += 10
    after = scraped(gpus, ENERGY)
    assert after["chat-a", 0] - before["chat-a", 0] == 4_000_000
    assert after["chat-a", 1] - before["chat-a", 1] == 600_000
    assert scraped(gpus, "DCGM_FI_DEV_GPU_TEMP") != warm


def test_lost_pod_labels_leave_the_values(gpus: Gpus) -> None:
    """A busy GPU then is nobody's."""
    gpus.busy("ml")
    with gpus.broken(Fault.POD_LABELS_LOST):
        assert scraped(gpus) == {("", 0): 60, ("", 1): 60, ("", 2): 0}
    assert scraped(gpus)["chat-a", 0] == 60


def test_all_zero_is_every_series_and_activity_zero_only_that(gpus: Gpus) -> None:
    """With the latter, power is that of a GPU at rest."""
    gpus.busy("ml")
    gpus.inject(Fault.ALL_ZERO)
    assert {each.value for each in samples(gpus.scrape()[1])} == {0.0}
    gpus.heal()
    gpus.inject(Fault.ACTIVITY_ZERO)
    assert set(scraped(gpus).values()) == set(scraped(gpus, GR_ENGINE).values()) == {0.0}
    assert set(scraped(gpus, "DCGM_FI_DEV_POWER_USAGE").values()) == {60.0}


def test_series_of_a_node_or_of_a_pod_are_dropped_until_healed(
    gpus: Gpus, cluster: FakeCluster
) -> None:
    """All others stay."""
    cluster.create(node("n2", {}, gpus=1))
    until(lambda: ("", 0) in scraped(gpus), "n2 is seen", within=10)
    gpus.drop_pod("ml", "chat")
    assert set(scraped(gpus)) == {("", 2), ("", 0)}
    gpus.drop_node("n1")
    assert set(scraped(gpus)) == {("", 0)}
    gpus.heal()
    assert ("chat-a", 0) in scraped(gpus)


@pytest.mark.parametrize(
    ("fault", "status"), [(Fault.ERROR, 500), (Fault.UNAVAILABLE, 503), (Fault.EMPTY, 200)]
)
def test_a_fault_of_the_whole_answer_spares_the_serving_part(
    gpus: Gpus, fault: Fault, status: int
) -> None:
    """Inference servers and gateways are no part of dcgm-exporter."""
    gpus.gateway("ml")
    gpus.inject(fault)
    answer = served(gpus)
    assert (answer.status_code, answer.text) == (status, "")
    assert "istio_requests_total" in served(gpus, "/metrics/serving").text
    assert gpus.scrapes == 0
    gpus.heal(fault)
    assert UTIL in served(gpus).text


def test_a_stuck_exporter_serves_its_last_text(gpus: Gpus) -> None:
    """Whatever its GPUs do."""
    text = gpus.scrape()[1]
    gpus.inject(Fault.STUCK)
    gpus.busy("ml")
    assert gpus.scrape()[1] == text


def test_a_frozen_exporter_answers_once_it_thaws(gpus: Gpus) -> None:
    """Until then a scrape runs into its timeout."""
    gpus.inject(Fault.FROZEN)
    with pytest.raises(requests.Timeout):
        served(gpus, timeout=0.05)
    answered: list[int] = []
    caller = threading.Thread(target=lambda: answered.append(served(gpus).status_code))
    caller.start()
    gpus.heal(Fault.FROZEN)
    caller.join()
    assert answered == [200]


def test_a_frozen_exporter_can_be_stopped(cluster: FakeCluster) -> None:
    """No scrape that hangs keeps it."""
    exporter = Gpus(cluster)
    exporter.start()
    exporter.inject(Fault.FROZEN)
    with suppress(requests.Timeout):
        served(exporter, timeout=0.05)
    exporter.stop()
    with pytest.raises(requests.ConnectionError):
        served(exporter)


def test_two_exporters_share_a_fleet_and_each_has_its_own_faults(
    gpus: Gpus, cluster: FakeCluster
) -> None:
    """One that speaks of some namespaces knows neither others' GPUs nor free ones."""
    ours = Gpus(cluster, lambda namespace: namespace == "ml", fleet=gpus.fleet)
    theirs = Gpus(cluster, lambda namespace: namespace != "ml", fleet=gpus.fleet)
    gpus.inject(Fault.ALL_ZERO)
    assert set(scraped(theirs)) == set()
    assert set(scraped(ours)) == {gpu for gpu in scraped(gpus) if gpu[0]}
    assert set(scraped(ours, "DCGM_FI_DEV_POWER_USAGE").values()) == {60.0}
    ours.stop()
    theirs.stop()
    cluster.delete("Pod", "chat-a", "ml")
    until(lambda: ("", 0) in scraped(gpus), "the fleet is still read", within=10)


def test_vllm_gauges_are_of_pods_that_run_and_the_gateway_counts_without_them(
    gpus: Gpus, cluster: FakeCluster
) -> None:
    """A namespace's requests are spread over its pods."""
    gpus.gateway("ml")
    gpus.waiting("ml", 3)
    assert traffic(gpus) == {"istio_requests_total": [0.0]}
    for name in ("vllm-a", "vllm-b"):
        labels = {"app.kubernetes.io/component": "vllm"}
        cluster.create(gpu_pod(name, gpus=0, labels=labels))
    gpus.request("ml", count=2)
    gpus.request("ml")
    gpus.running("ml", 1)
    want = {
        "vllm:num_requests_running": [1.0, 0.0],
        "vllm:num_requests_waiting": [2.0, 1.0],
        "istio_requests_total": [3.0],
    }
    until(lambda: traffic(gpus) == want, "both pods are seen", within=10)


def test_a_mirror_keeps_the_newer_of_two_versions(cluster: FakeCluster) -> None:
    """A watch tells what was there when it began; by then the list may be newer."""
    mirror = Mirror(cluster, "Pod")
    with cluster.watch("Pod") as events:
        _, old = next(events)
    cluster.patch("Pod", "chat-a", "ml", change={"status": {"phase": "Succeeded"}}, sub="status")
    cluster.cut()
    mirror._replace(cluster.list("Pod"))
    mirror._change(old, deleted=False)
    assert [pod["status"]["phase"] for pod in mirror.objects()] == ["Succeeded"]


def test_an_unknown_release_is_refused(gpus: Gpus) -> None:
    """Instead of exporting nothing."""
    with pytest.raises(ValueError, match=r"4\.7"):
        gpus.version = "4.7"
