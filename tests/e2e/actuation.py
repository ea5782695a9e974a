"""Our actuator as users run it, and what it writes: each write is seen, and can be its last."""

import json
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote
from uuid import uuid4

from tests.e2e import deployed
from tests.e2e.api import Api, Object
from tests.e2e.deployed import ROOT, one
from tests.e2e.front import LOOPBACK, Backend, held_port
from tests.e2e.processes import Program, Programs
from tests.e2e.replica import Replica
from tests.e2e.reverse import Reverse, Write
from tests.e2e.volume import Volume

POLICY = "policy.yaml"
SCALES = "/apis/kueue-gpu-scaler.dev/v1alpha1/workerscales"
LABEL = "e2e/actuator"
"""Of WorkerScales that one actuator alone shall see."""
UNCOUNTED = ("/leases", "/events")
"""Ends of paths that are written to beside the work, and without which it is done as well."""


class Gate(Reverse):
    """The API server as one actuator sees it: WorkerScales with one value of a label alone.

    So several actuators stand side by side, each with work of its own.
    """

    def __init__(self, url: str, *, authority: Path, label: str = "") -> None:
        """Make a proxy; without a label's value it shows the WorkerScales that have none."""
        super().__init__(url, authority=authority)
        self._label = label
        self._lock = threading.Lock()
        """Guards _writes, which each request's thread adds to."""
        self._writes: list[Write] = []
        self.heard: Callable[[Write], None] = lambda _: None
        """Called with each counted write once it is done, before the actuator has its answer."""

    def asks(self, target: str) -> str:
        """Narrow a list or watch of all WorkerScales."""
        return narrowed(target, self._label)

    def wrote(self, write: Write) -> None:
        """Keep a write, Leases and Events aside."""
        if counted(write.path):
            with self._lock:
                self._writes.append(write)
            self.heard(write)

    def writes(self, *parts: str) -> list[Write]:
        """Give the writes so far whose path has all these parts."""
        with self._lock:
            return [each for each in self._writes if all(part in each.path for part in parts)]


def narrowed(target: str, label: str) -> str:
    """Give a request's target with a label selector where it lists or watches WorkerScales."""
    path, _, query = target.partition("?")
    if path != SCALES:
        return target
    selector = quote(f"{LABEL}={label}" if label else f"!{LABEL}", safe="")
    return f"{path}?labelSelector={selector}" + (f"&{query}" if query else "")


def counted(path: str) -> bool:
    """Say whether a path is of the work itself."""
    return not any(path.endswith(each) or f"{each}/" in path for each in UNCOUNTED)


@dataclass(slots=True, kw_only=True)
class Actuation:
    """The actuator of deploy/ in one namespace, one process, with a policy.

    It has the token of its own account, which is bound to nothing but what is shipped.
    """

    api: Api
    """As the administrator who installs."""
    programs: Programs
    namespace: str
    policy: str
    folder: Path
    kubeconfig_for: Callable[[str], Path]
    gate: Gate
    objects: tuple[Object, ...] = field(init=False)
    replica: Replica = field(init=False)

    def __post_init__(self) -> None:
        self.objects = deployed.actuator(self.namespace, self.policy)

    @property
    def user(self) -> str:
        """Give the name that the API server knows it by."""
        name = one(self.objects, "ServiceAccount")["metadata"]["name"]
        return f"system:serviceaccount:{self.namespace}:{name}"

    def start(self) -> None:
        """Install, start the process and wait until it is ready."""
        self.api.apply(*(deployed.without_pods(each) for each in self.objects))
        self.gate.start()
        self.replica = self._launch()
        self.replica.wait()

    def stop(self) -> None:
        """End it for good; the objects stay."""
        self.replica.leave()
        self.gate.stop()

    def kill(self) -> None:
        """End it with SIGKILL, at once."""
        self.programs.stop(self.replica.program, signal.SIGKILL)

    def again(self) -> None:
        """Start it once more, as a kubelet does where a container has ended: in the same pod."""
        self.programs.again(self.replica.program)

    def _launch(self) -> Replica:
        name = f"{self.namespace}-actuator"
        config_map = one(self.objects, "ConfigMap")["metadata"]["name"]
        folder = self.folder.resolve() / name
        volume = Volume(self.api, self.namespace, config_map, folder)
        volume.sync()
        volume.start()
        held = (held_port(), held_port())
        grpc, status = (each.getsockname()[1] for each in held)
        program = self._process(name, status=status, policy=folder / POLICY)
        return Replica(
            backend=Backend(grpc=grpc, status=status),
            program=program,
            volume=volume,
            programs=self.programs,
            held=held,
        )

    def _process(self, name: str, *, status: int, policy: Path) -> Program:
        """Start what the Deployment's container runs."""
        deployment = one(self.objects, "Deployment")
        pod = {"metadata": {"namespace": self.namespace, "name": name, "uid": str(uuid4())}}
        arguments = deployed.arguments(
            deployment, policy=str(policy), status=f"{LOOPBACK}:{status}"
        )
        return self.programs.start(
            name,
            [sys.executable, "-m", "scaler", *arguments, f"--kubeconfig={self._kubeconfig()}"],
            environment=deployed.environment(deployment, pod),
            folder=ROOT,
        )

    def _kubeconfig(self) -> Path:
        """Give a kubeconfig with its token that leads to the gate."""
        path = self.kubeconfig_for(self.user).resolve()
        config = json.loads(path.read_text())
        config["clusters"][0]["cluster"]["server"] = self.gate.url
        path.write_text(json.dumps(config))
        return path
