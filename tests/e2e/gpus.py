"""GPUs without GPUs: an exporter of what the GPU pods that really run would be measured at."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from http import HTTPStatus

from tests.e2e.activity import Burst, Rule, Script
from tests.e2e.dcgm import ZERO, Reading, Version, exposition, watts_at
from tests.e2e.devices import Fleet, Gpu
from tests.e2e.mirror import Listing
from tests.e2e.scrape import ScrapeServer
from tests.e2e.serving import VLLM, Traffic

WOBBLE = 10.0
"""Seconds between two changes of an idle GPU's temperature by a degree."""


class Fault(StrEnum):
    """Name what goes wrong with a whole exporter; `/metrics/serving` stays right."""

    POD_LABELS_LOST = "pod labels lost"
    """The kubelet's pod-resources are not to be had, and the scrape succeeds."""
    ALL_ZERO = "all zero"
    """Every series reads 0, energy and temperature too."""
    ACTIVITY_ZERO = "activity zero"
    """Only what shows work reads 0, power and energy with it as of an idle GPU."""
    STUCK = "stuck"
    """The last text before it is served for ever."""
    EMPTY = "empty"
    """HTTP 200 with an empty body, as while the exporter reloads."""
    FROZEN = "frozen"
    """A scrape is not answered until this is over."""
    ERROR = "error"
    """HTTP 500."""
    UNAVAILABLE = "unavailable"
    """HTTP 503."""


_STATUS = {
    Fault.ERROR: HTTPStatus.INTERNAL_SERVER_ERROR,
    Fault.UNAVAILABLE: HTTPStatus.SERVICE_UNAVAILABLE,
}


def everywhere(_: str) -> bool:
    """Speak of the pods of every namespace."""
    return True


class Gpus:
    """An exporter on loopback with switches; several may read one cluster.

    GPUs that no pod holds are exported without pod labels, as dcgm-exporter does; those of pods
    in namespaces that the predicate refuses are another exporter's and left out, and then so are
    those that nobody holds.
    """

    def __init__(
        self,
        api: Listing,
        namespaces: Callable[[str], bool] | None = None,
        *,
        fleet: Fleet | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Make an exporter; exporters that one Prometheus scrapes share a fleet.

        Args:
            api: Where pods and nodes are read.
            namespaces: Says of which namespaces' pods it speaks; None = of all.
            fleet: Another exporter's, so that both know a GPU by the same UUID.
            clock: Gives monotonic seconds.
        """
        self.fleet = fleet or Fleet(api)
        self._own_fleet = fleet is None
        self._namespaces = namespaces or everywhere
        self._clock = clock
        self._changed = threading.Condition()
        """Guards all below; a scrape's text is of one moment of them, and each burst is in one."""
        self._version = Version.V4_8
        self._script = Script()
        self._faults: set[Fault] = set()
        self._dropped_nodes: set[str] = set()
        self._dropped_pods: set[tuple[str, str]] = set()
        self._energy: dict[str, tuple[float, float]] = {}
        """Joules and when they were counted, by UUID."""
        self._text = ""
        self._shown: list[tuple[Gpu, Reading]] = []
        """What the text says."""
        self._scrapes = 0
        self._traffic = Traffic()
        self._stopped = False
        self._server = ScrapeServer(self)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        )

    @property
    def address(self) -> str:
        """Give host and port."""
        return f"127.0.0.1:{self._server.server_address[1]}"

    def start(self) -> None:
        """Begin to read the cluster and to answer."""
        self.fleet.start()
        self._thread.start()

    def stop(self) -> None:
        """Stop answering, and reading but for others."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        if self._thread.is_alive():
            self._server.shutdown()
        self._server.server_close()
        if self._own_fleet:
            self.fleet.stop()

    @property
    def version(self) -> str:
        """Give the dcgm-exporter release whose conventions are spoken: 4.8 or 4.9."""
        with self._changed:
            return self._version

    @version.setter
    def version(self, version: str) -> None:
        with self._changed:
            self._version = Version(version)

    @property
    def scrapes(self) -> int:
        """Give how many scrapes were answered with metrics."""
        with self._changed:
            return self._scrapes

    def busy(
        self, namespace: str, pod_prefix: str = "", percent: float = 60.0, gpu: int | None = None
    ) -> None:
        """Let pods, or one GPU of each from 0, be so busy until told otherwise."""
        rule = Rule(namespace=namespace, prefix=pod_prefix, gpu=gpu, percent=percent)
        with self._changed:
            self._script.add(rule)

    def quiet(self, namespace: str, pod_prefix: str = "") -> None:
        """Let pods be idle."""
        self.busy(namespace, pod_prefix, percent=0.0)

    def burst(self, namespace: str, pod: str, gpu: int, percent: float) -> threading.Event:
        """Let one GPU of a pod be busy in the next scrape alone; the event tells that it was."""
        burst = Burst(Rule(namespace=namespace, prefix=pod, gpu=gpu, percent=percent))
        with self._changed:
            self._script.bursts.append(burst)
        return burst.seen

    def inject(self, *faults: Fault) -> None:
        """Let something go wrong until it is healed."""
        with self._changed:
            self._faults.update(faults)

    def heal(self, *faults: Fault) -> None:
        """End some faults, or without a name all of them, dropped series included."""
        with self._changed:
            self._faults = self._faults.difference(faults) if faults else set()
            if not faults:
                self._dropped_nodes.clear()
                self._dropped_pods.clear()
            self._changed.notify_all()

    @contextmanager
    def broken(self, *faults: Fault) -> Iterator[None]:
        """Let something go wrong for the length of a block."""
        self.inject(*faults)
        try:
            yield
        finally:
            self.heal(*faults)

    def drop_node(self, node: str) -> None:
        """Export no series of a node until all is healed."""
        with self._changed:
            self._dropped_nodes.add(node)

    def drop_pod(self, namespace: str, pod_prefix: str) -> None:
        """Export no series of pods until all is healed."""
        with self._changed:
            self._dropped_pods.add((namespace, pod_prefix))

    def running(self, namespace: str, requests: int) -> None:
        """Say how many requests a namespace's vLLM pods work on, together."""
        with self._changed:
            self._traffic.running[namespace] = requests

    def waiting(self, namespace: str, requests: int) -> None:
        """Say how many requests wait in a namespace's vLLM pods, together."""
        with self._changed:
            self._traffic.waiting[namespace] = requests

    def gateway(self, namespace: str) -> None:
        """Let the gateway's counter of a namespace exist, from 0."""
        self.request(namespace, count=0)

    def request(self, namespace: str, count: int = 1) -> None:
        """Let requests for a namespace come to the gateway."""
        with self._changed:
            self._traffic.arrived[namespace] += count

    def tasks(self, namespace: str, waiting: int) -> None:
        """Say how many tasks the Ray head of a namespace has that wait for workers."""
        with self._changed:
            self._traffic.tasks[namespace] = waiting

    def scrape(self) -> tuple[HTTPStatus, str]:
        """Answer a scrape of `/metrics`, and take up the bursts that it shows."""
        with self._changed:
            self._changed.wait_for(lambda: Fault.FROZEN not in self._faults or self._stopped)
            for fault, status in _STATUS.items():
                if fault in self._faults:
                    return status, ""
            if Fault.EMPTY in self._faults:
                return HTTPStatus.OK, ""
            if Fault.STUCK not in self._faults:
                self._text = self._measure_locked()
            self._scrapes += 1
            return HTTPStatus.OK, self._text

    def scrape_newer(self) -> str:
        """Answer a scrape of `/metrics/4.9`: what was measured last, by that release's names."""
        with self._changed:
            return exposition(self._shown, version=Version.V4_9)

    def scrape_serving(self) -> str:
        """Answer a scrape of `/metrics/serving`."""
        pods = [each for each in self.fleet.running(VLLM) if self._namespaces(each[0])]
        with self._changed:
            return self._traffic.exposition(pods)

    def _measure_locked(self) -> str:
        now = self._clock()
        self._shown = [(gpu, self._reading_locked(gpu, now)) for gpu in self._shown_locked()]
        return exposition(
            self._shown,
            version=self._version,
            pod_labels=Fault.POD_LABELS_LOST not in self._faults,
        )

    def _shown_locked(self) -> Iterator[Gpu]:
        for gpu in self.fleet.gpus():
            holder = gpu.holder
            if gpu.node in self._dropped_nodes:
                continue
            if holder is None and self._namespaces is not everywhere:
                continue
            if holder and not self._namespaces(holder.namespace):
                continue
            if holder and any(
                holder.namespace == namespace and holder.pod.startswith(prefix)
                for namespace, prefix in self._dropped_pods
            ):
                continue
            yield gpu

    def _reading_locked(self, gpu: Gpu, now: float) -> Reading:
        percent = self._percent_locked(gpu)
        joules, before = self._energy.get(gpu.uuid, (1000.0, now))
        joules += watts_at(percent) * (now - before)
        self._energy[gpu.uuid] = joules, now
        if Fault.ALL_ZERO in self._faults:
            return ZERO
        celsius = 31 + percent * 0.4 + int(now / WOBBLE) % 2
        return Reading(percent=percent, watts=watts_at(percent), celsius=celsius, joules=joules)

    def _percent_locked(self, gpu: Gpu) -> float:
        if gpu.holder is None:
            return 0.0
        percent = self._script.percent(gpu.holder)
        if self._faults & {Fault.ALL_ZERO, Fault.ACTIVITY_ZERO}:
            return 0.0
        burst = self._script.burst(gpu.holder)
        if burst is None:
            return percent
        burst.seen.set()
        return burst.rule.percent
