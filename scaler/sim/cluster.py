"""The embedded cluster as one thing: start it, break it, ask it."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from scaler.core.model import Kind, Name
from scaler.sim.apiserver import ApiServer
from scaler.sim.clock import Clock
from scaler.sim.deployments import Deployments, deployment
from scaler.sim.jobs import Jobs, job
from scaler.sim.keda import Keda
from scaler.sim.kinds import MACHINE_SETS
from scaler.sim.kuberay import CLUSTER, KubeRay
from scaler.sim.kueue import Kueue
from scaler.sim.nodes import NAMESPACE, Boot, NodePools, machine_set
from scaler.sim.objects import Objects
from scaler.sim.patches import Document
from scaler.sim.pods import pod_template
from scaler.sim.prometheus import Fault, PrometheusServer
from scaler.sim.queues import cluster_queue, local_queue, resource_flavor, with_flavor_before
from scaler.sim.samples import SampleStore
from scaler.sim.scale_loop import Version
from scaler.sim.scheduler import Scheduler
from scaler.sim.workers import Exporters, Load


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """What a cluster is like; seconds are the cluster's own."""

    boot: Boot = field(default_factory=Boot)
    scrape_interval: float = 30.0
    tick: float = 2.0
    """Pause between two turns of the controllers."""
    reasons_of_0_17: bool = False
    version: Version = field(default_factory=Version)


class Cluster:
    """All parts, one after the other in one thread; KEDA and the servers have their own."""

    def __init__(self, *, clock: Clock, design: Design | None = None) -> None:
        design = design or Design()
        self.clock = clock
        self.objects = Objects(clock=clock)
        self.samples = SampleStore()
        self.load = Load()
        self.api = ApiServer(objects=self.objects)
        self.prometheus = PrometheusServer(self.samples, clock=clock.now)
        self.keda = Keda(objects=self.objects, clock=clock, version=design.version)
        self.exporters = Exporters(
            objects=self.objects,
            clock=clock,
            samples=self.samples,
            load=self.load,
            interval=design.scrape_interval,
        )
        self.broken: Exception | None = None
        """What ended the controllers' thread, where it ended by itself."""
        self._parts = (
            NodePools(objects=self.objects, clock=clock, boot=design.boot),
            Kueue(objects=self.objects, clock=clock, reasons_of_0_17=design.reasons_of_0_17),
            Jobs(objects=self.objects, clock=clock),
            KubeRay(objects=self.objects, clock=clock),
            Deployments(objects=self.objects, clock=clock),
            Scheduler(objects=self.objects, clock=clock),
            self.exporters,
            self.keda,
        )
        self._tick = design.tick
        self._thread = threading.Thread(target=self._run, name="sim-cluster", daemon=True)

    def start(self, *, by_hand: bool = False) -> None:
        """Open the two ports and let the controllers run; by hand, they wait for `step`."""
        self.api.start()
        self.prometheus.start()
        if not by_hand:
            self._thread.start()

    def stop(self) -> None:
        """Stop the clock, and with it all that waits for it, then the servers."""
        self.clock.stop()
        if self._thread.ident is not None:
            self._thread.join()
        self.keda.stop()
        self.api.stop()
        self.prometheus.close()

    def step(self) -> None:
        """Let every part take one turn."""
        for part in self._parts:
            part.step()

    def _run(self) -> None:
        try:
            while self.clock.sleep_until(self.clock.now() + self._tick):
                self.step()
        except Exception as error:  # noqa: BLE001 - told to whoever waits for the cluster
            self.broken = error

    # --- what is there -------------------------------------------------------------------------

    def write_kubeconfig(self, path: Path) -> Path:
        """Write a kubeconfig for this cluster."""
        return self.api.write_kubeconfig(path)

    def add_pool(self, name: str, *, capacity: dict[str, str], nodes: int = 0) -> None:
        """Add a MachineSet, and the nodes that it has had for long, GPUs and all."""
        document = machine_set(name, capacity=capacity, replicas=nodes)
        self.objects.create(MACHINE_SETS, document | {"status": {"replicas": nodes}})

    def add_flavor(self, name: str, *, pool: str, topology: str | None = None) -> None:
        """Add the ResourceFlavor of a pool."""
        flavor = resource_flavor(name, node_labels={"pool": pool}, topology=topology)
        self.objects.create(Kind.RESOURCE_FLAVORS, flavor)

    def add_team(
        self,
        namespace: str,
        *,
        flavor: str,
        quota: dict[str, str],
        before: Mapping[str, dict[str, str]] | None = None,
    ) -> None:
        """Add a team's ClusterQueue, named as its namespace, and a LocalQueue `jobs`.

        `before` are flavors with quotas that are tried first.
        """
        queue = cluster_queue(namespace, flavor=flavor, quota=quota)
        for name, less in (before or {}).items():
            queue = with_flavor_before(queue, name, quota=less)
        self.objects.create(Kind.CLUSTER_QUEUES, queue)
        local = local_queue("jobs", namespace=namespace, cluster_queue=namespace)
        self.objects.create(Kind.LOCAL_QUEUES, local)

    def submit(
        self, name: Name, *, pods: int, requests: dict[str, str], duration: float
    ) -> Document:
        """Submit a Job to its team's queue."""
        document = job(
            namespace=name[0],
            name=name[1],
            queue="jobs",
            pods=pods,
            requests=requests,
            duration=duration,
        )
        return self.objects.create(Kind.JOBS, document)

    def deploy(self, name: Name, *, replicas: int, requests: dict[str, str], pool: str) -> Document:
        """Create a Deployment on a pool's nodes."""
        template = pod_template(requests=requests)
        template["spec"]["nodeSelector"] = {"pool": pool}
        document = deployment(namespace=name[0], name=name[1], template=template, replicas=replicas)
        return self.objects.create(Kind.DEPLOYMENTS, document)

    def apply(self, plural: str, document: Document) -> Document:
        """Create any other object."""
        return self.objects.create(plural, document)

    # --- what happens --------------------------------------------------------------------------

    def set_load(self, name: Name, *, percent: float, requests: int = 0) -> None:
        """Set what a Deployment's pods do from now on."""
        self.load.percent[name] = percent
        self.load.running[name] = requests

    def send_requests(self, name: Name, number: int) -> None:
        """Let requests wait in the gateway for a Deployment; 0 = all were taken."""
        self.load.queued[name] = number

    def send_tasks(self, name: Name, number: int) -> None:
        """Let tasks of a RayCluster wait for a worker; 0 = none does."""
        self.load.tasks[name] = number

    def stop_prometheus(self) -> None:
        """Take Prometheus away: no answers, no scrapes."""
        self.exporters.scraping = False
        self.prometheus.fault = Fault.REFUSE

    def resume_prometheus(self) -> None:
        """Bring Prometheus back, with a gap in its samples."""
        self.prometheus.fault = Fault.NONE
        self.exporters.scraping = True

    # --- what is seen --------------------------------------------------------------------------

    def replicas(self, plural: str, name: Name) -> int:
        """Give the wanted size of a Deployment or MachineSet."""
        document = self.objects.get(plural, name)
        return 0 if document is None else int(document["spec"]["replicas"])

    def pool_size(self, pool: str) -> int:
        """Give the wanted number of a pool's nodes."""
        return self.replicas(MACHINE_SETS, (NAMESPACE, pool))

    def nodes(self, pool: str) -> list[Document]:
        """Give the pool's nodes that are there."""
        nodes = self.objects.all(Kind.NODES)
        return [node for node in nodes if node["metadata"]["labels"].get("pool") == pool]

    def pods(self, namespace: str, owner: str) -> list[Document]:
        """Give the pods of a Job, Deployment or RayCluster."""
        named = ("batch.kubernetes.io/job-name", "app", CLUSTER)
        return [
            pod
            for pod in self.objects.all(Kind.PODS)
            if pod["metadata"]["namespace"] == namespace
            and owner in {pod["metadata"].get("labels", {}).get(label) for label in named}
        ]
