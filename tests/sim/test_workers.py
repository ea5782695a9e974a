"""Samples look as a scrape of dcgm-exporter, vLLM and a gateway would."""

from collections.abc import Iterator

import pytest

from scaler.core.model import Kind
from scaler.sim.clock import ManualClock
from scaler.sim.cluster import Cluster
from scaler.sim.kuberay import ray_cluster
from scaler.sim.nodes import GPU
from scaler.sim.promql import evaluate

LLM = ("team-b", "llm")
UTIL = "DCGM_FI_DEV_GPU_UTIL"


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """Run a node of two GPUs, one of them held by a Deployment's pod, for five minutes."""
    made = Cluster(clock=ManualClock())
    made.start(by_hand=True)
    made.add_pool("l40s", capacity={GPU: "2", "cpu": "32", "pods": "110"}, nodes=1)
    made.deploy(LLM, replicas=1, requests={GPU: "1"}, pool="l40s")
    made.set_load(LLM, percent=70, requests=3)
    run(made, 300)
    yield made
    made.stop()


def run(cluster: Cluster, seconds: float) -> None:
    """Let time pass in steps of ten seconds."""
    clock = cluster.clock
    assert isinstance(clock, ManualClock)
    for _ in range(round(seconds / 10)):
        clock.advance(10)
        cluster.step()


def values(cluster: Cluster, expression: str) -> list[float]:
    """Evaluate an expression now."""
    found = evaluate(cluster.samples, expression, cluster.clock.now())
    assert not isinstance(found, float)
    return sorted(value for _, value in found)


def test_every_gpu_reports(cluster: Cluster) -> None:
    """Each GPU has a series; only the held one names a pod, in exported_pod."""
    assert values(cluster, UTIL) == [0, 70]
    assert values(cluster, f'{UTIL}{{exported_pod!="",exported_namespace="team-b"}}') == [70]
    assert values(cluster, f'{UTIL}{{pod=~"nvidia-dcgm-exporter-.*"}}') == [0, 70]
    assert values(cluster, "DCGM_FI_PROF_GR_ENGINE_ACTIVE") == [0, 0.7]


def test_scrape_times(cluster: Cluster) -> None:
    """There is a sample every 30 s, late steps or not."""
    assert values(cluster, f"count_over_time({UTIL}{{gpu='1'}}[2m])") == [4]
    clock = cluster.clock
    assert isinstance(clock, ManualClock)
    clock.advance(120)
    cluster.step()
    assert values(cluster, f"count_over_time({UTIL}{{gpu='1'}}[2m])") == [4]


def test_gone_pod(cluster: Cluster) -> None:
    """Series of a pod that is gone end at once, and its GPU goes on without a name."""
    cluster.objects.modify("deployments", LLM, lambda d: d["spec"].update(replicas=0))
    run(cluster, 60)
    assert values(cluster, f'{UTIL}{{exported_pod!=""}}') == []
    assert values(cluster, UTIL) == [0, 0]
    assert values(cluster, "vllm:num_requests_running") == []


def test_requests(cluster: Cluster) -> None:
    """A pod at work tells its requests; the gateway tells of those that found no pod."""
    assert values(cluster, "vllm:num_requests_running") == [3]
    cluster.send_requests(LLM, 2)
    run(cluster, 30)
    assert values(cluster, "inference_extension_flow_control_queue_size") == [2]


def test_prometheus_gone(cluster: Cluster) -> None:
    """While Prometheus is away nothing is scraped, and a gap stays."""
    cluster.stop_prometheus()
    run(cluster, 300)
    cluster.resume_prometheus()
    run(cluster, 30)
    assert values(cluster, f"count_over_time({UTIL}{{gpu='1'}}[6m])") == [2]


def test_energy_grows(cluster: Cluster) -> None:
    """The energy counter of an idle GPU grows too, more slowly."""
    idle, busy = values(cluster, "increase(DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION[3m])")
    assert 0 < idle < busy


def test_ray_workers_and_tasks(cluster: Cluster) -> None:
    """A RayCluster's workers are as busy as it is set, and its head tells of waiting tasks."""
    name = ("team-r", "sim")
    group = {"gpu": (1, {GPU: "1"})}
    document = ray_cluster(
        namespace=name[0], name=name[1], queue="none", head={"cpu": "1"}, groups=group
    )
    document["spec"]["suspend"] = False
    cluster.apply(Kind.RAY_CLUSTERS, document)
    cluster.set_load(name, percent=40)
    cluster.send_tasks(name, 2)
    run(cluster, 120)
    assert values(cluster, f'{UTIL}{{exported_namespace="team-r"}}') == [40]
    waiting = 'ray_tasks{namespace="team-r",State="PENDING_NODE_ASSIGNMENT"}'
    assert values(cluster, waiting) == [2]
    cluster.send_tasks(name, 0)
    run(cluster, 60)
    assert values(cluster, f"sum({waiting})") == [0]
