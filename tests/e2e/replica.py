"""One pod of our service as a process: asked over HTTP, and ended in every way."""

import signal
import socket
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import requests
from prometheus_client.parser import text_string_to_metric_families
from urllib3.exceptions import InsecureRequestWarning

from tests.e2e.api import Object
from tests.e2e.front import LOOPBACK, Backend
from tests.e2e.processes import Program, Programs
from tests.e2e.volume import Volume
from tests.e2e.waiting import until

PREFIX = "kueue_gpu_scaler_"
HTTP_TIMEOUT = 10.0
CARRIED_OVER = 30.0
"""Seconds for a policy to reach a replica: the volume looks each 0.5 s, the service each 2 s."""
Mark: TypeAlias = tuple[float | None, float | None]
"""When the policy in force was read, and how many texts were refused."""


@dataclass(slots=True, kw_only=True, eq=False)
class Replica:
    """One pod's stand-in: a process with a policy volume and ports of its own."""

    backend: Backend
    program: Program
    volume: Volume
    programs: Programs
    held: Sequence[socket.socket]
    """Keep the ports ours while the process is down."""
    secrets: Sequence[Volume] = ()
    """Those of its pod; followed only when they are told to sync, so that a swap has its moment."""
    frozen: bool = False

    @property
    def name(self) -> str:
        """Give the name of the pod, the process and its log."""
        return self.program.name

    @property
    def answers(self) -> bool:
        """Say whether the process is able to answer."""
        return self.program.runs and not self.frozen

    def ready(self) -> bool:
        """Say whether /readyz calls it ready."""
        try:
            return self._get("/readyz").ok
        except requests.RequestException:
            return False

    def wait(self) -> None:
        """Wait until it is ready.

        Raises:
            NeverCameError: it ended or took too long; with the end of its log.
        """
        self.programs.ready(self.program, self.ready)

    def decisions(self) -> Object:
        """Give /decisions."""
        found = self._get("/decisions")
        found.raise_for_status()
        body: Object = found.json()
        return body

    def metrics(self, *, within: float = HTTP_TIMEOUT) -> str:
        """Give /metrics, within so many seconds."""
        found = self._get("/metrics", within)
        found.raise_for_status()
        return found.text

    def sample(self, name: str, **labels: str) -> float | None:
        """Give the metric `kueue_gpu_scaler_<name>` with such labels, the sum where there are more.

        None where it has no sample. A counter's name ends in `_total`.
        """
        values = [
            sample.value
            for family in text_string_to_metric_families(self.metrics())
            for sample in family.samples
            if sample.name == PREFIX + name and labels.items() <= sample.labels.items()
        ]
        return sum(values) if values else None

    def policies_read(self) -> Mark:
        """Give a mark that differs once another text was read, be it taken over or refused."""
        loaded = self.sample("policy_loaded_timestamp_seconds")
        return loaded, self.sample("policy_refused_total")

    def wait_for_policy(self, before: Mark) -> None:
        """Wait until it has read another text than before.

        Raises:
            NeverCameError: it did not.
        """
        what = f"{self.name} reads the changed policy"
        until(lambda: self.policies_read() != before, what, within=CARRIED_OVER)

    def kill(self) -> None:
        """End it with SIGKILL, as a node that dies or a container out of memory."""
        self.programs.stop(self.program, signal.SIGKILL)
        self.frozen = False

    def terminate(self) -> None:
        """End it as the kubelet does: SIGTERM, then it drains; gives back when it has ended."""
        self.programs.stop(self.program)
        self.frozen = False

    def freeze(self) -> None:
        """Stop its clock: connections stay open, and nothing answers."""
        self.program.signal(signal.SIGSTOP)
        self.frozen = True

    def thaw(self) -> None:
        """Let it go on."""
        self.program.signal(signal.SIGCONT)
        self.frozen = False

    def restart(self) -> None:
        """Start it again, ended or not, on the same ports and volume; wait until it is ready."""
        self.terminate()
        self.programs.again(self.program)
        self.wait()

    def leave(self) -> None:
        """End it for good and give its ports back."""
        self.terminate()
        self.volume.stop()
        for each in self.held:
            each.close()

    def _get(self, path: str, within: float = HTTP_TIMEOUT) -> requests.Response:
        secure = self.backend.https
        url = f"{'https' if secure else 'http'}://{LOOPBACK}:{self.backend.status}{path}"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InsecureRequestWarning)  # as a kubelet's probes
            return requests.get(url, timeout=within, verify=not secure)
