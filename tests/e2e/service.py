"""Our service as users run it: what deploy/ ships, its pods as processes of this machine."""

import signal
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

from tests.e2e import deployed
from tests.e2e.api import Api, Object
from tests.e2e.deployed import ROOT, one
from tests.e2e.front import LOOPBACK, Backend, Front, held_port
from tests.e2e.processes import Program, Programs
from tests.e2e.replica import Replica
from tests.e2e.volume import Volume
from tests.e2e.waiting import until

POLICY = "policy.yaml"
IN_FRONT = 30.0
"""Seconds for the Front to find out that a replica is ready."""


@dataclass(slots=True, kw_only=True)
class Installation:
    """deploy/ in one namespace, with a policy; replicas run as processes behind one address.

    start() applies the objects and gives back when all replicas are ready and the address takes
    connections. The Deployment is applied with `replicas: 0`, since the processes are its pods:
    their arguments and environment are read from it.
    """

    api: Api
    """As the administrator who installs."""
    programs: Programs
    namespace: str
    policy: str
    """The text that was last set."""
    folder: Path
    kubeconfig_for: Callable[[str], Path]
    """From a user's name to a kubeconfig with its token."""
    host: str = LOOPBACK
    """The Service's own address."""
    port: int = 0
    """The Service's port; 0: any free one."""
    size: int = 2
    """Replicas."""
    drain: float = 1.0
    """Seconds; what is shipped has more, for slower probes than the Front's."""
    objects: tuple[Object, ...] = field(init=False)
    """What is installed, as shipped."""
    replicas: list[Replica] = field(init=False, default_factory=list)
    front: Front = field(init=False)
    _started: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.objects = deployed.installation(self.namespace, self.policy)
        self.front = Front((), host=self.host, port=self.port)

    @property
    def address(self) -> str:
        """Give the scalerAddress for ScaledObjects."""
        return self.front.address

    @property
    def user(self) -> str:
        """Give the name that the API server knows the replicas by."""
        return f"system:serviceaccount:{self.namespace}:{self._account}"

    @property
    def binding(self) -> Object:
        """Give the ClusterRoleBinding that lets the replicas read the cluster."""
        return one(self.objects, "ClusterRoleBinding")

    def secure(self) -> None:
        """Install deploy/overlays/mtls instead; its Secret has to be there at the start."""
        self.objects = deployed.installation(self.namespace, self.policy, overlay="mtls")

    def start(self) -> None:
        """Install, start the replicas, and wait until KEDA can ask."""
        self.api.apply(*(deployed.without_pods(each) for each in self.objects))
        self.front.start()
        for _ in range(self.size):
            self.replicas.append(self._launch())
        for replica in self.replicas:
            replica.wait()
            self._in_front(replica)

    def stop(self) -> None:
        """End all replicas and the address; the objects stay."""
        for replica in self.replicas:
            if replica.program.runs:
                replica.program.signal(signal.SIGTERM)  # all at once, so that they drain together
        for replica in self.replicas:
            replica.leave()
        self.front.stop()

    def set_policy(self, text: str) -> None:
        """Change the ConfigMap and wait until all replicas that can answer have read it.

        A bad text is read too: it is refused, and `decisions()["policyProblems"]` says why.

        Raises:
            NeverCameError: a replica did not read it.
        """
        if text == self.policy:
            return
        before = {each: each.policies_read() for each in self.replicas if each.answers}
        wanted = {**one(self.objects, "ConfigMap"), "data": {POLICY: text}}
        self.api.apply(wanted)
        self.policy = text
        for replica, mark in before.items():
            replica.wait_for_policy(mark)

    def decisions(self, replica: int = 0) -> Object:
        """Give /decisions of a replica."""
        return self.replicas[replica].decisions()

    def decision(self, namespace: str, name: str, replica: int = 0) -> Object | None:
        """Give a replica's first decision on a ScaledObject, as /decisions shows it.

        None where there is none yet.
        """
        found: list[Object] = self.decisions(replica)["decisions"]
        key = (namespace, name)
        return next((each for each in found if (each["namespace"], each["name"]) == key), None)

    def metrics(self, replica: int = 0) -> str:
        """Give /metrics of a replica."""
        return self.replicas[replica].metrics()

    def sample(self, name: str, replica: int = 0, **labels: str) -> float | None:
        """Give one metric of a replica; see Replica.sample."""
        return self.replicas[replica].sample(name, **labels)

    def roll(self) -> None:
        """Replace one replica after the other, as the shipped strategy does."""
        for index in range(len(self.replicas)):
            self.replace(index)

    def replace(self, index: int) -> None:
        """Replace one replica.

        maxSurge 1 and maxUnavailable 0: a new one is ready before the old one is told to end.
        """
        old, new = self.replicas[index], self._launch()
        self.replicas[index] = new
        new.wait()
        self._in_front(new)
        old.leave()
        self.front.remove(old.backend)

    @property
    def _account(self) -> str:
        name: str = one(self.objects, "ServiceAccount")["metadata"]["name"]
        return name

    def _in_front(self, replica: Replica) -> None:
        """Wait until the Front gives connections to a replica."""
        self.front.add(replica.backend)
        what = f"{replica.name} is behind {self.address}"
        until(lambda: replica.backend in self.front.ready, what, within=IN_FRONT)

    def _launch(self) -> Replica:
        """Start one more process, its volume mounted first."""
        self._started += 1
        name = f"{self.namespace}-{self._started}"
        config_map = one(self.objects, "ConfigMap")["metadata"]["name"]
        folder = self.folder.resolve() / name
        volume = Volume(self.api, self.namespace, config_map, folder)
        volume.sync()
        volume.start()
        held = (held_port(), held_port())
        grpc, status = (each.getsockname()[1] for each in held)
        mounted = {path: self._secret(name, of) for path, of in self._secrets.items()}
        backend = Backend(grpc=grpc, status=status, https=bool(mounted))
        folders = {path: secret.folder for path, secret in mounted.items()}
        program = self._process(name, folders, backend=backend, policy=folder / POLICY)
        return Replica(
            backend=backend,
            program=program,
            volume=volume,
            programs=self.programs,
            held=held,
            secrets=tuple(mounted.values()),
        )

    @property
    def _secrets(self) -> dict[str, str]:
        return deployed.secrets(one(self.objects, "Deployment"))

    def _secret(self, pod: str, name: str) -> Volume:
        folder = self.folder.resolve() / f"{pod}-{name}"
        secret = Volume(self.api, self.namespace, name, folder, kind="Secret")
        secret.sync()
        return secret

    def _process(
        self, name: str, folders: Mapping[str, Path], *, backend: Backend, policy: Path
    ) -> Program:
        """Start what the Deployment's container runs; `folders` are its mounts of Secrets."""
        deployment = one(self.objects, "Deployment")
        pod = {"metadata": {"namespace": self.namespace, "name": name, "uid": str(uuid4())}}
        arguments = deployed.arguments(
            deployment,
            policy=str(policy),
            grpc=f"{LOOPBACK}:{backend.grpc}",
            status=f"{LOOPBACK}:{backend.status}",
            drain=f"{self.drain:g}",
        )
        for path, folder in folders.items():
            arguments = [each.replace(f"={path}/", f"={folder}/") for each in arguments]
        kubeconfig = f"--kubeconfig={self.kubeconfig_for(self.user).resolve()}"
        return self.programs.start(
            name,
            [sys.executable, "-m", "scaler", *arguments, kubeconfig],
            environment=deployed.environment(deployment, pod),
            folder=ROOT,
        )
