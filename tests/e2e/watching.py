"""What the run's Prometheus scrapes for people: our service, Kueue, DCGM by its newer names too.

At a leisurely interval, as the machine is shared. The rules that are shipped are evaluated there.
"""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.e2e.api import Object
from tests.e2e.control_plane import ControlPlane
from tests.e2e.prometheus import CLUSTER
from tests.e2e.replica import Replica
from tests.peers.alerts import rule_file

INTERVAL = 5
"""Seconds between two scrapes."""
NAMESPACE = "monitoring"
ACCOUNT = "prometheus"


def own_targets(folder: Path) -> Path:
    """Give the file that names our replicas, once they are there."""
    return folder / "replicas.json"


def write_targets(path: Path, replicas: Iterable[tuple[str, Replica]]) -> None:
    """Name our replicas with their namespaces; Prometheus reads the file when it changes."""
    groups = [
        {
            "targets": [f"127.0.0.1:{replica.backend.status}"],
            "labels": {"namespace": namespace, "pod": replica.name, **CLUSTER},
        }
        for namespace, replica in replicas
    ]
    fresh = path.with_suffix(".part.json")
    fresh.write_text(json.dumps(groups))
    fresh.replace(path)


def write_rules(folder: Path) -> Path:
    """Write the shipped rules as Prometheus itself reads them."""
    path = folder / "rules.yaml"
    path.write_text(rule_file())
    return path


def jobs(plane: ControlPlane, *, gpus: str, targets: Path) -> Sequence[Object]:
    """Give the scrape configurations; a ServiceAccount that may read Kueue's metrics is made."""
    plane.api.apply(*_account())
    return (
        _job(
            "kueue-gpu-scaler",
            honor_labels=True,
            file_sd_configs=[{"files": [str(targets.resolve())], "refresh_interval": "5s"}],
        ),
        _job(
            "kueue",
            scheme="https",
            tls_config={"ca_file": str(plane.certificates.authority.resolve())},
            authorization={"credentials": _token(plane)},
            static_configs=[_static(_kueue(plane))],
        ),
        _job(
            "dcgm-4.9",
            metrics_path="/metrics/4.9",
            static_configs=[_static(gpus, namespace="gpu-operator", pod="nvidia-dcgm-exporter-y")],
        ),
    )


def _job(name: str, **more: object) -> Object:
    return {"job_name": name, "scrape_interval": f"{INTERVAL}s", "scrape_timeout": "4s", **more}


def _static(target: str, **labels: str) -> Object:
    return {"targets": [target], "labels": {**CLUSTER, **labels}}


def _kueue(plane: ControlPlane) -> str:
    """Give the address of Kueue's metrics, as its own configuration says it."""
    config = json.loads(plane.certificates.path("kueue-config.yaml").read_text())
    address: str = config["metrics"]["bindAddress"]
    return address


def _token(plane: ControlPlane) -> str:
    config = json.loads(plane.account(NAMESPACE, ACCOUNT).read_text())
    token: str = config["users"][0]["user"]["token"]
    return token


def _account() -> tuple[Object, ...]:
    """Give an account that may read /metrics where that is asked of the API server."""
    rbac = "rbac.authorization.k8s.io"
    subject = {"kind": "ServiceAccount", "name": ACCOUNT, "namespace": NAMESPACE}
    return (
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": ACCOUNT, "namespace": NAMESPACE},
        },
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "ClusterRole",
            "metadata": {"name": "reads-metrics"},
            "rules": [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}],
        },
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "reads-metrics"},
            "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": "reads-metrics"},
            "subjects": [subject],
        },
    )
