"""What GPUs and inference servers would tell Prometheus: dcgm-exporter 4.8, vLLM, a gateway, Ray.

Labels are those of a scrape without honorLabels, as the GPU operator sets it up: a pod that holds
a GPU is in `exported_pod`, and `pod` is the exporter's own.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from scaler.core.model import Instant, Kind, Name
from scaler.core.quantity import amounts
from scaler.sim.clock import Clock
from scaler.sim.kuberay import CLUSTER
from scaler.sim.nodes import GPU
from scaler.sim.objects import Objects, name_of
from scaler.sim.patches import Document
from scaler.sim.pods import finished, requests_of
from scaler.sim.samples import SampleStore

EXPORTER = {"job": "nvidia-dcgm-exporter", "namespace": "nvidia-gpu-operator"}
BUSY_JOB = 94.0
LONGEST_GAP = 20
"""Scrapes that are caught up with after a stall; more are lost."""

_Series: TypeAlias = tuple[str, tuple[tuple[str, str], ...]]
_Slot: TypeAlias = tuple[str, int]
"""A GPU: node and index."""


@dataclass(slots=True, kw_only=True)
class Load:
    """What the workloads do; the demo and tests write to it."""

    percent: dict[Name, float] = field(default_factory=dict)
    """GPU utilization of a Deployment's or RayCluster's pods; not named = 0. Jobs are busy."""
    running: dict[Name, int] = field(default_factory=dict)
    """Requests that an inference Deployment's pods work on."""
    queued: dict[Name, int] = field(default_factory=dict)
    """Requests that the gateway holds because no pod is there."""
    tasks: dict[Name, int] = field(default_factory=dict)
    """Tasks of a RayCluster that wait for a worker, as its head tells."""


class Exporters:
    """Scrape the cluster at a fixed pace, late scrapes at the times they were due."""

    def __init__(
        self, *, objects: Objects, clock: Clock, samples: SampleStore, load: Load, interval: float
    ) -> None:
        self.scraping = True
        self._objects = objects
        self._clock = clock
        self._samples = samples
        self._load = load
        self._interval = interval
        self._due = self._last_due() + interval
        self._holders: dict[_Slot, str] = {}
        self._energy: dict[_Slot, float] = {}
        self._seen: set[_Series] = set()

    def step(self) -> None:
        """Write what was due; while Prometheus is away nothing is, and it leaves a gap."""
        last = self._last_due()
        self._due = max(self._due, last - LONGEST_GAP * self._interval)
        self._hand_out()
        while self._due <= last:
            if self.scraping:
                self._scrape(self._due)
            self._due += self._interval

    def _last_due(self) -> Instant:
        return math.floor(self._clock.now() / self._interval) * self._interval

    def _hand_out(self) -> None:
        """Give each running pod GPUs of its node, and take back those of pods that are gone."""
        pods = self._running()
        for slot, uid in list(self._holders.items()):
            if uid not in pods or pods[uid]["spec"]["nodeName"] != slot[0]:
                del self._holders[slot]
        for uid, pod in pods.items():
            missing = _gpus(pod) - list(self._holders.values()).count(uid)
            for slot in self._slots(pod["spec"]["nodeName"]):
                if missing > 0 and slot not in self._holders:
                    self._holders[slot] = uid
                    missing -= 1

    def _running(self) -> dict[str, Document]:
        return {
            pod["metadata"]["uid"]: pod
            for pod in self._objects.all(Kind.PODS)
            if _gpus(pod) and pod["status"].get("phase") == "Running" and not finished(pod)
        }

    def _slots(self, node: str) -> list[_Slot]:
        document = self._objects.get(Kind.NODES, ("", node))
        if document is None:
            return []
        return [
            (node, i) for i in range(dict(amounts(document["status"]["allocatable"])).get(GPU, 0))
        ]

    def _scrape(self, at: Instant) -> None:
        pods = self._running()
        said: dict[_Series, float] = {}
        for node in self._objects.all(Kind.NODES):
            for slot in self._slots(node["metadata"]["name"]):
                pod = pods.get(self._holders.get(slot, ""))
                said |= self._device(slot, pod)
        said |= self._requests(pods)
        for metric, labels in self._seen - said.keys():
            self._samples.append(metric, dict(labels), at=at, value=None)
        for (metric, labels), value in said.items():
            self._samples.append(metric, dict(labels), at=at, value=value)
        self._seen = set(said)

    def _device(self, slot: _Slot, pod: Document | None) -> dict[_Series, float]:
        percent = self._percent(pod)
        watts = 55 + 3.4 * percent
        self._energy[slot] = self._energy.get(slot, 0.0) + watts * self._interval * 1000
        labels = tuple(sorted(_labels(slot, pod).items()))
        values = {
            "DCGM_FI_DEV_GPU_UTIL": float(round(percent)),
            "DCGM_FI_PROF_GR_ENGINE_ACTIVE": percent / 100,
            "DCGM_FI_PROF_DRAM_ACTIVE": percent / 250,
            "DCGM_FI_DEV_POWER_USAGE": watts,
            "DCGM_FI_DEV_GPU_TEMP": float(round(32 + percent / 3)),
            "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION": self._energy[slot],
        }
        return {(metric, labels): value for metric, value in values.items()}

    def _percent(self, pod: Document | None) -> float:
        if pod is None:
            return 0.0
        owner = pod["metadata"]["ownerReferences"][0]["kind"]
        return BUSY_JOB if owner == "Job" else self._load.percent.get(_app(pod), 0.0)

    def _requests(self, pods: Mapping[str, Document]) -> dict[_Series, float]:
        said: dict[_Series, float] = {}
        for pod in pods.values():
            if _app(pod) in self._load.running:
                namespace, name = name_of(pod)
                labels = {"namespace": namespace, "pod": name, "model_name": _app(pod)[1]}
                series = tuple(sorted(labels.items()))
                said["vllm:num_requests_running", series] = self._load.running[_app(pod)]
                said["vllm:num_requests_waiting", series] = 0
        for (namespace, name), queued in self._load.queued.items():
            labels = {"namespace": namespace, "target_model_name": name}
            series = tuple(sorted(labels.items()))
            said["inference_extension_flow_control_queue_size", series] = queued
        for (namespace, name), waiting in self._load.tasks.items():
            labels = {"namespace": namespace, "ray_io_cluster": name}
            labels["State"] = "PENDING_NODE_ASSIGNMENT"
            said["ray_tasks", tuple(sorted(labels.items()))] = waiting
        return said


def _gpus(pod: Document) -> int:
    return dict(requests_of(pod["spec"])).get(GPU, 0)


def _app(pod: Document) -> Name:
    labels = pod["metadata"].get("labels", {})
    return (pod["metadata"]["namespace"], labels.get("app") or labels.get(CLUSTER, ""))


def _labels(slot: _Slot, pod: Document | None) -> dict[str, str]:
    node, index = slot
    labels = EXPORTER | {
        "pod": f"nvidia-dcgm-exporter-{node}",
        "container": "nvidia-dcgm-exporter",
        "instance": f"{node}:9400",
        "Hostname": node,
        "gpu": str(index),
        "device": f"nvidia{index}",
        "UUID": f"GPU-{node}-{index}",
        "modelName": "NVIDIA A100-SXM4-80GB",
    }
    if pod is not None:
        namespace, name = name_of(pod)
        labels |= {"exported_namespace": namespace, "exported_pod": name}
        labels |= {"exported_container": pod["spec"]["containers"][0]["name"]}
    return labels
