"""The whole stack of one run, in one folder, started in order and ended whatever happens."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.e2e import builds, watching
from tests.e2e.actuation import Actuation, Gate
from tests.e2e.api import KUEUE, Api
from tests.e2e.certificates import Certificates, make_certificates
from tests.e2e.control_plane import ControlPlane, start_control_plane
from tests.e2e.controllers import Controllers, start_controllers
from tests.e2e.keda import external_metrics_available
from tests.e2e.manifests import Sources
from tests.e2e.older import OlderApi
from tests.e2e.processes import Program, Programs
from tests.e2e.prometheus import Prometheus, start_prometheus
from tests.e2e.service import Installation
from tests.e2e.waiting import until
from tests.golang import GoModule

SERVICE_PORT = 6000
"""Where ScaledObjects find a scaler's Service."""
INSTALLATIONS = (
    "kueue-gpu-scaler",
    "faulty",
    "ailing",
    "racing",
    "lagging",
    "rolling",
    "paired",
    "single",
    "frozen",
    "holding",
    "keeping",
    "secured",
)
"""Namespaces into which our service can be installed; each has a loopback address of its own.

An address that was down for minutes is one that KEDA may not try again for up to two.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """The running programs."""

    folder: Path
    programs: Programs
    plane: ControlPlane
    controllers: Controllers
    hosts: dict[str, str]
    """Loopback addresses by installation."""
    older: OlderApi | None
    """Where our service finds Kueue's older version alone."""

    @property
    def api(self) -> Api:
        """Give a client of the API server as an administrator."""
        return self.plane.api

    @property
    def certificates(self) -> Certificates:
        """Give the run's certificates."""
        return self.plane.certificates

    @property
    def keda(self) -> Program:
        """Give KEDA's operator."""
        return self.controllers.keda

    @property
    def apiserver(self) -> Program:
        """Give the API server."""
        return self.plane.apiserver

    @property
    def way(self) -> str:
        """Give the URL at which our service finds the API server: with older_kueue not its own."""
        return self.older.url if self.older else self.api.url

    def died(self) -> list[str]:
        """Tell of each program ended by itself that every scenario needs, with its exit code."""
        plane, controllers = self.plane, self.controllers
        needed = (
            *(plane.etcd, plane.apiserver, plane.controllers, plane.scheduler, plane.kwok),
            *(controllers.kueue, controllers.jobset, controllers.trainer, controllers.kuberay),
            *(controllers.keda, controllers.adapter),
        )
        return [f"{each.name} ended with {each.code}" for each in needed if each.died]

    def installation(self, namespace: str, policy: str) -> Installation:
        """Give our service, not yet started, at the address that its name stands for."""
        return Installation(
            api=self.api,
            programs=self.programs,
            namespace=namespace,
            policy=policy,
            folder=self.folder / "volumes",
            kubeconfig_for=self._kubeconfig,
            host=self.hosts[namespace],
            port=SERVICE_PORT,
        )

    def _kubeconfig(self, user: str) -> Path:
        """Give a kubeconfig for `system:serviceaccount:NAMESPACE:NAME`."""
        _, _, namespace, name = user.split(":")
        return self.plane.account(namespace, name, url=self.way)

    def actuation(self, namespace: str, policy: str, *, label: str = "") -> Actuation:
        """Give our actuator, not yet started; it sees WorkerScales with this label alone."""
        url = self.older.url if self.older else self.api.url
        return Actuation(
            api=self.api,
            programs=self.programs,
            namespace=namespace,
            policy=policy,
            folder=self.folder / "volumes",
            kubeconfig_for=self._kubeconfig,
            gate=Gate(url, authority=self.api.authority, label=label),
        )

    def prometheus(self, name: str, *, target: str, honor_labels: bool = False) -> Prometheus:
        """Start a Prometheus that scrapes an exporter."""
        return start_prometheus(
            self.programs,
            name=name,
            folder=self.folder / "data" / f"{name}-config",
            target=target,
            honor_labels=honor_labels,
        )

    def watching_prometheus(self, name: str, *, target: str) -> tuple[Prometheus, Path]:
        """Start one that people watch all with; give the file that is to name our replicas."""
        folder = self.folder / "data" / f"{name}-config"
        folder.mkdir(parents=True)
        targets = watching.own_targets(folder)
        started = start_prometheus(
            self.programs,
            name=name,
            folder=folder,
            target=target,
            jobs=watching.jobs(self.plane, gpus=target, targets=targets),
            rules=watching.write_rules(folder),
        )
        return started, targets


@contextmanager
def stack(
    folder: Path, *, keda: str = builds.NEWEST_KEDA, older_kueue: bool = False
) -> Iterator[Stack]:
    """Start all programs with logs and data in a folder; end them on leaving.

    With older_kueue our service sees Kueue's objects in their older version alone.

    Raises:
        NeverCameError: a program ended, or was not ready in time.
    """
    folder.mkdir(parents=True)
    programs = Programs(folder / "logs")
    try:
        yield _started(folder, programs, builds.KEDA[keda], older_kueue=older_kueue)
    finally:
        programs.stop_all()


def _started(folder: Path, programs: Programs, keda: GoModule, *, older_kueue: bool) -> Stack:
    sources = Sources(keda)
    certificates = make_certificates(folder / "certs")
    plane = start_control_plane(
        programs, certificates=certificates, data=folder / "data", sources=sources
    )
    hosts = _hosts()
    names = {service_name(namespace): host for namespace, host in hosts.items()}
    controllers = start_controllers(plane, sources, keda=keda, names=names)
    until(lambda: external_metrics_available(plane), "KEDA's external metrics", within=60)
    return Stack(
        folder=folder,
        programs=programs,
        plane=plane,
        controllers=controllers,
        hosts=hosts,
        older=_older(plane) if older_kueue else None,
    )


def _older(plane: ControlPlane) -> OlderApi:
    hidden = f"/apis/{KUEUE}"
    older = OlderApi(plane.api.url, authority=plane.certificates.authority, hidden=(hidden,))
    older.start()
    return older


def service_name(namespace: str) -> str:
    """Give the cluster DNS name of the service that deploy/ installs into a namespace."""
    return f"kueue-gpu-scaler.{namespace}.svc"


def service_address(namespace: str) -> str:
    """Give the scalerAddress of that service, as the shipped examples write it."""
    return f"{service_name(namespace)}:{SERVICE_PORT}"


def _hosts() -> dict[str, str]:
    """Give loopback addresses that no other run is likely to have."""
    run = f"127.{64 + os.getpid() % 128}.{secrets.randbelow(256)}"
    return {name: f"{run}.{index + 1}" for index, name in enumerate(INSTALLATIONS)}
