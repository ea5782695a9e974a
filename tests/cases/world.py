"""The world around the service: a Kubernetes API, a Prometheus, and a clock that is moved by hand.

Times are given as t, in seconds from the start of the test.
"""

import os
import shutil
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from typing import TypeAlias

from scaler.core.model import Instant, Kind
from scaler.sim.apiserver import ApiServer
from scaler.sim.clock import ManualClock
from scaler.sim.objects import Objects
from scaler.sim.patches import Document
from scaler.sim.prometheus import Asked, PrometheusServer
from scaler.sim.samples import SampleStore
from tests.cases import written
from tests.cases.written import ADMITTED, LONG_AGO, START

Reply: TypeAlias = tuple[HTTPStatus, str, bytes]
"""Status, content type, body."""

SCRAPE = 30.0
BOOKMARKS = 0.1
"""Wall seconds between two signs of life of a watch."""
POLICY = """\
defaults: {{idleAfter: {idle_after}, busyFromPercent: 1, graceAfterStart: 0s}}
pools:
  gpu: {{nodeSelector: {{pool: gpu}}, node: {{nvidia.com/gpu: 8, pods: 110}}, maxNodes: 10}}
prometheus:
  {{url: "{url}", profile: dcgm-4.8, scrapeInterval: 30s, refresh: 30s, timeout: 5s{prometheus}}}
safety:
  {{minCoveragePercent: 90, maxSampleAge: 90s, maxWatchAge: 5m, idleAfterMin: 1s,
   massIdle: {{workloads: 1000, percent: 100, for: 5m}}}}
"""


class Mount:
    """A file as the kubelet mounts it: a link through `..data`, which is swapped whole."""

    def __init__(self, folder: Path, *, name: str) -> None:
        self.path = folder / name
        self._folder = folder
        self._writes = 0
        folder.mkdir()
        self.path.symlink_to(Path("..data") / name)

    def write(self, text: str) -> None:
        """Swap in a new content."""
        before = self._folder / f"..{self._writes}"
        self._writes += 1
        after = self._folder / f"..{self._writes}"
        after.mkdir()
        (after / self.path.name).write_text(text, encoding="utf-8")
        link = self._folder / "..next"
        link.symlink_to(after.name)
        os.replace(link, self._folder / "..data")  # noqa: PTH105 - rename(2) itself, as the kubelet
        shutil.rmtree(before, ignore_errors=True)

    def take_away(self) -> None:
        """Let the content vanish, as when the ConfigMap is deleted under the mount."""
        (self._folder / "..data").unlink()


class Prometheus(PrometheusServer):
    """The double, with an answer of a test's own where the test has one."""

    script: Callable[[Asked], Reply | None] | None = None
    """Gives an answer instead of the double's; None = the double's."""

    def reply(self, asked: Asked) -> Reply | None:
        """Answer by the script, where it has something to say."""
        scripted = None if self.script is None else self.script(asked)
        if scripted is None:
            return super().reply(asked)
        self.asked.append(asked)
        return scripted


class World:
    """Two servers and a clock; `close` them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = ManualClock(start=START)
        self.objects = Objects(clock=self.clock)
        self.api = ApiServer(objects=self.objects, bookmark_every=BOOKMARKS)
        self.samples = SampleStore()
        self.prometheus = Prometheus(self.samples, clock=self.clock.now)
        self.policy = Mount(folder / "policy", name="policy.yaml")
        self.scraping = True
        self.settlers: list[Callable[[], object]] = []
        """Called after each step of the clock: whoever has to see the new time first."""
        self._devices: dict[tuple[str, int], float] = {}
        self._scraped = START
        self.write_policy()
        self.api.start()
        self.prometheus.start()

    def close(self) -> None:
        """Close both servers, and end what waits for the clock."""
        self.clock.stop()
        self.api.stop()
        self.prometheus.close()

    def write_policy(self, *, idle_after: str = "30m", url: str = "", prometheus: str = "") -> None:
        """Write the policy of the shared fixtures; `prometheus` is more of that section."""
        more = f", {prometheus}" if prometheus else ""
        text = POLICY.format(idle_after=idle_after, url=url or self.prometheus.url, prometheus=more)
        self.policy.write(text)

    def kubeconfig(self) -> str:
        """Write a kubeconfig and give its path."""
        return str(self.api.write_kubeconfig(self.folder / "kubeconfig"))

    # --- time ----------------------------------------------------------------------------------

    @property
    def now(self) -> Instant:
        """Give the time."""
        return self.clock.now()

    @property
    def t(self) -> float:
        """Give the time from the start of the test."""
        return self.now - START

    def at(self, t: float, *, step: float = 240.0) -> None:
        """Move the clock to t; no step is longer than a watch may rest, and each is awaited."""
        while self.t < t:
            self._step(min(step, t - self.t))

    def _step(self, seconds: float) -> None:
        target = self.now + seconds
        while self._scraped + SCRAPE <= target:
            self._scraped += SCRAPE
            self._scrape()
        self.clock.advance(seconds)
        for settle in self.settlers:
            settle()

    # --- samples -------------------------------------------------------------------------------

    def use(self, pod: str, percent: float, *, gpu: int = 0, since: float = LONG_AGO) -> None:
        """Let a device be used so much from the next scrape on; a new one has been so for long."""
        new = (pod, gpu) not in self._devices
        self._devices[pod, gpu] = percent
        if new:
            start, scrapes = START + since, int((self._scraped - START - since) / SCRAPE)
            for number in range(scrapes + 1):
                self.sample(pod, percent, gpu=gpu, at=start + number * SCRAPE)

    def forget(self, pod: str, *, gpu: int = 0) -> None:
        """Let a device report no more."""
        del self._devices[pod, gpu]

    def sample(self, pod: str, percent: float, *, at: Instant, gpu: int = 0, **labels: str) -> None:
        """Append one sample U(pod, gpu, percent)."""
        named = {"namespace": "ml", "pod": pod, "gpu": str(gpu), "UUID": f"GPU-{pod}-{gpu}"}
        self.samples.append("DCGM_FI_DEV_GPU_UTIL", named | labels, at=at, value=percent)

    def _scrape(self) -> None:
        if self.scraping:
            for (pod, gpu), percent in self._devices.items():
                self.sample(pod, percent, gpu=gpu, at=self._scraped)

    # --- objects -------------------------------------------------------------------------------

    def add(self, kind: Kind, *made: Document) -> None:
        """Create objects of a kind."""
        for document in made:
            self.objects.create(kind, document)

    def add_queue(self, *, quota: int = 1000) -> None:
        """Add ClusterQueue `gpu-cq`, LocalQueue `ml/lq` and flavor `gpu`."""
        resource = {"name": written.GPU, "nominalQuota": str(quota)}
        flavors = [{"name": "gpu", "resources": [resource]}]
        group = {"coveredResources": [written.GPU], "flavors": flavors}
        spec = {"namespaceSelector": {}, "resourceGroups": [group], "stopPolicy": "None"}
        self.add(Kind.CLUSTER_QUEUES, {"metadata": {"name": "gpu-cq"}, "spec": spec})
        link = {"metadata": {"name": "lq", "namespace": "ml"}, "spec": {"clusterQueue": "gpu-cq"}}
        self.add(Kind.LOCAL_QUEUES, link)
        flavor = {"metadata": {"name": "gpu"}, "spec": {"nodeLabels": {"pool": "gpu"}}}
        self.add(Kind.RESOURCE_FLAVORS, flavor)

    def add_pool(self, *, nodes: int) -> dict[str, str]:
        """Add pool `gpu` of so many nodes and its ScaledObject; give the trigger's metadata."""
        metadata = {"signal": "queue", "clusterQueue": "gpu-cq", "pool": "gpu"}
        self.add(Kind.NODES, *(written.node(f"n{i}") for i in range(1, nodes + 1)))
        self.add_scaled("pool", metadata=metadata, replicas=nodes, kind="MachineSet")
        return metadata

    def add_scaled(
        self, name: str, *, metadata: dict[str, str], replicas: int, kind: str = "Deployment"
    ) -> None:
        """Add a ScaledObject, its HPA and, for a Deployment, the target of the same name."""
        if kind == "Deployment":
            self.add(Kind.DEPLOYMENTS, written.deployment(name, replicas=replicas))
        made = written.scaled_object(name, metadata=metadata, kind=kind)
        self.add(Kind.SCALED_OBJECTS, made)
        self.add(Kind.HPAS, written.hpa(name, replicas=replicas))

    def add_running(
        self, name: str, *, pods: int = 1, gpus: int = 1, percent: float | None = None
    ) -> dict[str, str]:
        """Add an admitted Workload with its pods, and an idle ScaledObject for it.

        `percent` is what each device reports; None = nothing.
        """
        metadata = {"signal": "idle", "workload": name}
        made = written.workload(name, pods=pods, gpus=gpus, conditions=ADMITTED)
        self.add(Kind.WORKLOADS, made)
        for number in range(pods):
            self.add(Kind.PODS, written.pod(f"{name}-{number}", owner=name, gpus=gpus))
        self.add_scaled(name, metadata=metadata, replicas=pods)
        for number in range(pods if percent is not None else 0):
            for gpu in range(gpus):
                self.use(f"{name}-{number}", percent or 0.0, gpu=gpu)
        return metadata

    def resize(self, name: str, replicas: int) -> None:
        """Scale a ScaledObject's target, as its HPA then tells."""
        status = written.hpa(name, replicas=replicas)["status"]
        self.objects.modify(
            Kind.HPAS, ("ml", f"keda-hpa-{name}"), lambda it: it.update(status=status)
        )
        if self.objects.get(Kind.DEPLOYMENTS, ("ml", name)) is not None:
            self.objects.modify(
                Kind.DEPLOYMENTS, ("ml", name), lambda it: it["spec"].update(replicas=replicas)
            )
