"""What stands beside Kubernetes: Kueue, JobSet, KubeRay and KEDA, each as its own user."""

import base64
import json
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.e2e import builds
from tests.e2e.api import Object, is_true
from tests.e2e.certificates import Certificates
from tests.e2e.control_plane import ControlPlane, until_ready
from tests.e2e.manifests import (
    Sources,
    definitions,
    jobset_webhooks,
    kueue_webhooks,
    roles,
)
from tests.e2e.ports import free_ports, listens
from tests.e2e.processes import Program
from tests.e2e.waiting import until
from tests.golang import GoModule

FRAMEWORKS = (
    "batch/job",
    "jobset.x-k8s.io/jobset",
    "ray.io/raycluster",
    "pod",
    "deployment",
    "statefulset",
)
KEDA_POD = {
    "KEDA_CLUSTER_OBJECT_NAMESPACE": "keda",
    "POD_NAMESPACE": "keda",
    "WATCH_NAMESPACE": "",
}
"""What its pods are told; outside of one KEDA looks for a pod's files and exits."""
OWN_ETC = """
mount -t tmpfs e2e /etc
mkdir -p /etc/kueue/metrics/certs
cp "$1"/tls.crt "$1"/tls.key /etc/kueue/metrics/certs/
shift
exec "$@"
"""
"""Kueue reads its metrics' certificate from one fixed path, so it gets an /etc of its own."""
OWN_NAMES = """
mount --bind "$1" /etc/hosts
mount --bind "$2" /etc/resolv.conf
shift 2
exec "$@"
"""
"""KEDA finds Services by name, as with cluster DNS; nothing else is asked for names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Controllers:
    """The running controllers, and where KEDA finds names."""

    kueue: Program
    jobset: Program
    kuberay: Program
    keda: Program
    adapter: Program


def start_controllers(
    plane: ControlPlane, sources: Sources, *, keda: GoModule, names: Mapping[str, str]
) -> Controllers:
    """Install and start all of them; `names` are Services' names with their addresses.

    Raises:
        NeverCameError: a program ended, or was not ready in time.
    """
    kueue_hooks, jobset_hooks = free_ports(2)
    authority = plane.certificates.authority
    kueue_url, jobset_url = (f"https://127.0.0.1:{port}" for port in (kueue_hooks, jobset_hooks))
    crds = list(definitions(sources, url=kueue_url, authority=authority))
    plane.api.apply(*crds)
    for crd in crds:
        _established(plane, crd)
    _accounts(plane, sources)
    running = Controllers(
        kueue=_kueue(plane, port=kueue_hooks),
        jobset=_jobset(plane, port=jobset_hooks),
        kuberay=_kuberay(plane),
        **_keda(plane, keda, names=names),
    )
    # A webhook without its process would make every create fail.
    plane.api.apply(*kueue_webhooks(sources, url=kueue_url, authority=authority))
    plane.api.apply(*jobset_webhooks(sources, url=jobset_url, authority=authority))
    return running


def _established(plane: ControlPlane, crd: Object) -> None:
    name = crd["metadata"]["name"]

    def look() -> bool:
        there = plane.api.get("CustomResourceDefinition", name)
        return is_true(there, "Established")

    until(look, f"{name} is established", within=30)


def _accounts(plane: ControlPlane, sources: Sources) -> None:
    """Create each controller's namespace, account and roles, as its project ships them."""
    rbac = "rbac"
    chosen: dict[str, Iterable[Path]] = {
        "kueue-system": (sources.kueue / rbac).glob("*.yaml"),
        "jobset-system": (sources.jobset / rbac).glob("*.yaml"),
        "kuberay": (sources.kuberay / rbac).glob("*.yaml"),
        "keda": [sources.keda / rbac / name for name in ("role.yaml", "role_binding.yaml")],
    }
    for namespace, files in chosen.items():
        plane.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        kept = (path for path in sorted(files) if path.name != "kustomization.yaml")
        prefix = "" if namespace == "keda" else f"{namespace}-"
        plane.api.apply(*roles(kept, namespace=namespace, prefix=prefix))
    plane.api.apply(*_keda_reads())


def _keda_reads() -> Iterable[Object]:
    """Give KEDA's account and the bindings with which its adapter checks who asks."""
    account = {"name": "keda-operator", "namespace": "keda"}
    subjects = [{"kind": "ServiceAccount", **account}]
    rbac = "rbac.authorization.k8s.io"
    yield {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account}
    yield {
        "apiVersion": f"{rbac}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "keda-delegates"},
        "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": "system:auth-delegator"},
        "subjects": subjects,
    }
    yield {
        "apiVersion": f"{rbac}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "keda-reads-authentication", "namespace": "kube-system"},
        "roleRef": {
            "apiGroup": rbac,
            "kind": "Role",
            "name": "extension-apiserver-authentication-reader",
        },
        "subjects": subjects,
    }


def _configuration(plane: ControlPlane, name: str, config: Object) -> Path:
    path = plane.certificates.path(f"{name}-config.yaml")
    path.write_text(json.dumps(config))
    return path


def _settings(plane: ControlPlane, *, group: str, hooks: int, health: int, metrics: int) -> Object:
    """Give the part of the configuration that Kueue and JobSet share."""
    return {
        "apiVersion": group,
        "kind": "Configuration",
        "health": {"healthProbeBindAddress": f"127.0.0.1:{health}"},
        "metrics": {"bindAddress": f"127.0.0.1:{metrics}"},
        "webhook": {
            "host": "127.0.0.1",
            "port": hooks,
            "certDir": str(plane.certificates.servers),
        },
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
        "clientConnection": {"qps": 200, "burst": 400},
    }


def _kueue(plane: ControlPlane, *, port: int) -> Program:
    health, metrics = free_ports(2)
    group = "config.kueue.x-k8s.io/v1beta2"
    config = _settings(plane, group=group, hooks=port, health=health, metrics=metrics) | {
        "featureGates": {"VisibilityOnDemand": False},
        "integrations": {"frameworks": list(FRAMEWORKS)},
    }
    path = _configuration(plane, "kueue", config)
    command = [
        *_own_mounts(OWN_ETC, str(plane.certificates.servers)),
        str(builds.KUEUE.program("kueue")),
        f"--config={path}",
        "--zap-log-level=2",
    ]
    return _start(
        plane,
        "kueue",
        command,
        account=("kueue-system", "controller-manager"),
        look=until_ready(f"http://127.0.0.1:{health}/readyz"),
        environment={"POD_NAMESPACE": "kueue-system"},
    )


def _jobset(plane: ControlPlane, *, port: int) -> Program:
    health, metrics = free_ports(2)
    group = "config.jobset.x-k8s.io/v1alpha1"
    config = _settings(plane, group=group, hooks=port, health=health, metrics=metrics)
    path = _configuration(plane, "jobset", config)
    return _start(
        plane,
        "jobset",
        [str(builds.JOBSET.program("jobset")), f"--config={path}"],
        account=("jobset-system", "controller-manager"),
        look=until_ready(f"http://127.0.0.1:{health}/readyz"),
    )


def _kuberay(plane: ControlPlane) -> Program:
    health, metrics = free_ports(2)
    command = [
        str(builds.KUBERAY.program("ray-operator")),
        f"--metrics-addr=127.0.0.1:{metrics}",
        f"--health-probe-bind-address=127.0.0.1:{health}",
        "--enable-leader-election=false",
    ]
    return _start(
        plane,
        "kuberay",
        command,
        account=("kuberay", "kuberay-operator"),
        look=until_ready(f"http://127.0.0.1:{health}/readyz"),
    )


def _keda(plane: ControlPlane, module: GoModule, *, names: Mapping[str, str]) -> dict[str, Program]:
    metrics, health, inner, port, own = free_ports(5)
    certificates = plane.certificates
    operator = [
        *_own_names(certificates, names),
        str(module.program("operator")),
        f"--metrics-bind-address=127.0.0.1:{metrics}",
        f"--health-probe-bind-address=127.0.0.1:{health}",
        f"--metrics-service-bind-address=127.0.0.1:{inner}",
        f"--cert-dir={certificates.servers}",
        "--enable-cert-rotation=false",
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
        "--zap-log-level=1",
    ]
    keda = _start(
        plane,
        "keda-operator",
        operator,
        account=("keda", "keda-operator"),
        look=until_ready(f"http://127.0.0.1:{health}/readyz"),
        environment=KEDA_POD,
    )
    adapter = _adapter(plane, module, port=port, metrics=own, inner=inner)
    _external_metrics(plane, port=port)
    return {"keda": keda, "adapter": adapter}


def _adapter(
    plane: ControlPlane, module: GoModule, *, port: int, metrics: int, inner: int
) -> Program:
    certificates = plane.certificates
    config = plane.account("keda", "keda-operator")
    command = [
        str(module.program("adapter")),
        f"--secure-port={port}",
        "--bind-address=127.0.0.1",
        f"--port={metrics}",
        f"--metrics-service-address=localhost:{inner}",
        f"--cert-dir={certificates.servers}",
        f"--tls-cert-file={certificates.path('tls.crt')}",
        f"--tls-private-key-file={certificates.path('tls.key')}",
        f"--client-ca-file={certificates.authority}",
        f"--authentication-kubeconfig={config}",
        f"--authorization-kubeconfig={config}",
        f"--lister-kubeconfig={config}",
    ]
    return _start(
        plane,
        "keda-adapter",
        command,
        account=("keda", "keda-operator"),
        look=lambda: listens(port),
        environment=KEDA_POD,
    )


def _external_metrics(plane: ControlPlane, *, port: int) -> None:
    """Let the API server find KEDA's adapter: the HPA's only source of values."""
    name, namespace = "keda-metrics-apiserver", "keda"
    authority = _base64(plane.certificates.authority)
    plane.api.apply(
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"type": "ExternalName", "externalName": "localhost"},
        },
        {
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": {"name": "v1beta1.external.metrics.k8s.io"},
            "spec": {
                "group": "external.metrics.k8s.io",
                "version": "v1beta1",
                "groupPriorityMinimum": 100,
                "versionPriority": 100,
                "caBundle": authority,
                "service": {"name": name, "namespace": namespace, "port": port},
            },
        },
    )


def external_metrics_available(plane: ControlPlane) -> bool:
    """Say whether HPAs can read values: the API server needs up to half a minute to see it."""
    there = plane.api.get("APIService", "v1beta1.external.metrics.k8s.io")
    return is_true(there, "Available")


def _start(
    plane: ControlPlane,
    name: str,
    command: list[str],
    *,
    account: tuple[str, str],
    look: Callable[[], bool],
    environment: Mapping[str, str] | None = None,
) -> Program:
    config = plane.account(*account)
    given = {"KUBECONFIG": str(config), "TMPDIR": str(plane.certificates.folder)}
    program = plane.programs.start(name, command, environment=given | dict(environment or {}))
    plane.programs.ready(program, look)
    return program


def _own_mounts(script: str, *words: str) -> list[str]:
    """Give the start of a command that runs with mounts of its own."""
    shell = shutil.which("sh") or "/bin/sh"
    return ["unshare", "-rm", shell, "-ec", script, "sh", *words]


def _own_names(certificates: Certificates, names: Mapping[str, str]) -> list[str]:
    hosts, resolver = certificates.path("hosts"), certificates.path("resolv.conf")
    lines = [f"{address} {name}" for name, address in names.items()]
    hosts.write_text("\n".join(["127.0.0.1 localhost", *lines, ""]))
    resolver.write_text("nameserver 127.0.0.1\n")
    return _own_mounts(OWN_NAMES, str(hosts), str(resolver))


def _base64(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()
