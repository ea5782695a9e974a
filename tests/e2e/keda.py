"""KEDA's operator and its adapter, which HPAs read values from."""

import base64
from collections.abc import Iterable, Mapping
from pathlib import Path

import requests
from prometheus_client.parser import text_string_to_metric_families

from tests.e2e.api import Object, is_true
from tests.e2e.certificates import Certificates
from tests.e2e.control_plane import ControlPlane, until_ready
from tests.e2e.operators import launch, own_mounts
from tests.e2e.ports import free_ports, listens
from tests.e2e.processes import Program
from tests.golang import GoModule

KEDA_POD = {
    "KEDA_CLUSTER_OBJECT_NAMESPACE": "keda",
    "POD_NAMESPACE": "keda",
    "WATCH_NAMESPACE": "",
}
"""What its pods are told; outside of one KEDA looks for a pod's files and exits."""
METRICS = "--metrics-bind-address="
OWN_NAMES = """
mount --bind "$1" /etc/hosts
mount --bind "$2" /etc/resolv.conf
shift 2
exec "$@"
"""
"""KEDA finds Services by name, as with cluster DNS; nothing else is asked for names."""


def start_keda(
    plane: ControlPlane, module: GoModule, *, names: Mapping[str, str]
) -> dict[str, Program]:
    """Start the operator and the adapter; `names` are Services' names with their addresses."""
    metrics, health, inner, port, own = free_ports(5)
    certificates = plane.certificates
    operator = [
        *_own_names(certificates, names),
        str(module.program("operator")),
        f"{METRICS}127.0.0.1:{metrics}",
        f"--health-probe-bind-address=127.0.0.1:{health}",
        f"--metrics-service-bind-address=127.0.0.1:{inner}",
        f"--cert-dir={certificates.servers}",
        "--enable-cert-rotation=false",
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
        "--zap-log-level=1",
    ]
    keda = launch(
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
    return launch(
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


def errors_of(operator: Program, namespaces: Iterable[str]) -> float:
    """Give how many errors the operator has counted about ScaledObjects of some namespaces."""
    (bound,) = (each for each in operator.command if each.startswith(METRICS))
    answer = requests.get(f"http://{bound.removeprefix(METRICS)}/metrics", timeout=10)
    answer.raise_for_status()
    return counted(answer.text, frozenset(namespaces))


def counted(metrics: str, namespaces: frozenset[str]) -> float:
    """Add up every counter of errors that names one of these namespaces.

    Raises:
        AssertionError: nothing is told of one of them at all, so that 0 would mean nothing.
    """
    samples = [each for found in text_string_to_metric_families(metrics) for each in found.samples]
    mine = [each for each in samples if each.labels.get("namespace") in namespaces]
    unknown = namespaces - {each.labels["namespace"] for each in mine}
    assert not unknown, f"KEDA's metrics tell nothing of {sorted(unknown)}"
    return sum(each.value for each in mine if each.name.endswith("errors_total"))


def external_metrics_available(plane: ControlPlane) -> bool:
    """Say whether HPAs can read values: the API server needs up to half a minute to see it."""
    there = plane.api.get("APIService", "v1beta1.external.metrics.k8s.io")
    return is_true(there, "Available")


def keda_reads() -> Iterable[Object]:
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


def _own_names(certificates: Certificates, names: Mapping[str, str]) -> list[str]:
    hosts, resolver = certificates.path("hosts"), certificates.path("resolv.conf")
    lines = [f"{address} {name}" for name, address in names.items()]
    hosts.write_text("\n".join(["127.0.0.1 localhost", *lines, ""]))
    resolver.write_text("nameserver 127.0.0.1\n")
    return own_mounts(OWN_NAMES, str(hosts), str(resolver))


def _base64(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()
