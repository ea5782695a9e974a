"""Kubernetes itself: etcd, API server, controller manager, scheduler, and kwok for the nodes."""

import json
import secrets
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.e2e import builds
from tests.e2e.api import Api, Object
from tests.e2e.certificates import Certificates
from tests.e2e.manifests import Sources
from tests.e2e.ports import free_ports, listens
from tests.e2e.processes import Program, Programs

HPA_SYNC = 2.0
"""Seconds; Kubernetes' own default is 15."""
HPA_STABILIZATION = 5.0
"""Seconds for scaling down; Kubernetes' own default is 300."""
TOKEN_SECONDS = 4 * 3600
STAGES = (
    "node/fast/node-initialize.yaml",
    "node/heartbeat-with-lease/node-heartbeat-with-lease.yaml",
    "node/chaos/node-not-ready.yaml",
    "pod/fast/pod-ready.yaml",
    "pod/fast/pod-delete.yaml",
)
"""What kwok plays. Without pod-complete: it would end every pod of a Job at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlPlane:
    """The running control plane."""

    programs: Programs
    certificates: Certificates
    api: Api
    etcd: Program
    apiserver: Program
    controllers: Program
    scheduler: Program
    kwok: Program

    def account(self, namespace: str, name: str, *, url: str = "") -> Path:
        """Give a kubeconfig with a fresh token of a ServiceAccount, which must exist.

        It leads to the API server, or to what stands before it at a URL.
        """
        wanted = {"spec": {"expirationSeconds": TOKEN_SECONDS}}
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
        token = self.api.call("POST", path, body=wanted)["status"]["token"]
        return _kubeconfig(
            self.certificates.path(f"{namespace}-{name}.kubeconfig"),
            url=url or self.api.url,
            token=token,
            certificates=self.certificates,
        )


def start_control_plane(
    programs: Programs, *, certificates: Certificates, data: Path, sources: Sources
) -> ControlPlane:
    """Start all of it and wait until each is ready.

    Raises:
        NeverCameError: a program ended, or was not ready in time.
    """
    etcd_port, peer_port, port, kcm, scheduler, kwok = free_ports(6)
    etcd = _etcd(programs, data=data, port=etcd_port, peer_port=peer_port)
    admin = secrets.token_hex(16)
    tokens = certificates.path("tokens.csv")
    tokens.write_text(f'{admin},admin,admin,"system:masters"\n')
    apiserver = programs.start(
        "kube-apiserver",
        _apiserver(certificates, data=data, port=port, etcd=etcd_port, tokens=tokens),
    )
    api = Api(url=f"https://127.0.0.1:{port}", token=admin, authority=certificates.authority)
    programs.ready(apiserver, api.ready)
    path = certificates.path("admin.kubeconfig")
    config = _kubeconfig(path, url=api.url, token=admin, certificates=certificates)
    return ControlPlane(
        programs=programs,
        certificates=certificates,
        api=api,
        etcd=etcd,
        apiserver=apiserver,
        controllers=_controllers(programs, certificates, config=config, port=kcm),
        scheduler=_scheduler(programs, config=config, port=scheduler),
        kwok=_kwok(programs, sources, config=config, port=kwok),
    )


def _etcd(programs: Programs, *, data: Path, port: int, peer_port: int) -> Program:
    url, peers = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{peer_port}"
    command = [
        str(builds.ETCD.program("server")),
        f"--data-dir={data / 'etcd'}",
        f"--listen-client-urls={url}",
        f"--advertise-client-urls={url}",
        f"--listen-peer-urls={peers}",
        f"--initial-advertise-peer-urls={peers}",
        f"--initial-cluster=default={peers}",
        "--unsafe-no-fsync",
        "--log-level=warn",
    ]
    etcd = programs.start("etcd", command)
    programs.ready(etcd, lambda: listens(port))
    return etcd


def _apiserver(
    certificates: Certificates, *, data: Path, port: int, etcd: int, tokens: Path
) -> list[str]:
    path = certificates.path
    return [
        str(builds.KUBERNETES.program("kube-apiserver")),
        f"--etcd-servers=http://127.0.0.1:{etcd}",
        f"--secure-port={port}",
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        "--endpoint-reconciler-type=none",
        "--service-cluster-ip-range=10.0.0.0/16",
        f"--cert-dir={data / 'apiserver'}",
        f"--tls-cert-file={path('tls.crt')}",
        f"--tls-private-key-file={path('tls.key')}",
        f"--client-ca-file={certificates.authority}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={path('sa.pub')}",
        f"--service-account-signing-key-file={path('sa.key')}",
        f"--token-auth-file={tokens}",
        "--authorization-mode=RBAC",
        # Pods' own tokens need a kubelet; ours are asked for by name.
        "--disable-admission-plugins=ServiceAccount",
        f"--requestheader-client-ca-file={certificates.front_authority}",
        "--requestheader-allowed-names=front-proxy-client",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-username-headers=X-Remote-User",
        f"--proxy-client-cert-file={path('front.crt')}",
        f"--proxy-client-key-file={path('front.key')}",
    ]


def _controllers(
    programs: Programs, certificates: Certificates, *, config: Path, port: int
) -> Program:
    command = [
        str(builds.KUBERNETES.program("kube-controller-manager")),
        f"--kubeconfig={config}",
        f"--service-account-private-key-file={certificates.path('sa.key')}",
        f"--root-ca-file={certificates.authority}",
        "--leader-elect=false",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--cert-dir={certificates.path('kcm')}",
        f"--horizontal-pod-autoscaler-sync-period={HPA_SYNC:.0f}s",
        f"--horizontal-pod-autoscaler-downscale-stabilization={HPA_STABILIZATION:.0f}s",
        "--concurrent-horizontal-pod-autoscaler-syncs=10",
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
    ]
    program = programs.start("kube-controller-manager", command)
    programs.ready(program, lambda: listens(port))
    return program


def _scheduler(programs: Programs, *, config: Path, port: int) -> Program:
    command = [
        str(builds.KUBERNETES.program("kube-scheduler")),
        f"--kubeconfig={config}",
        "--leader-elect=false",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
    ]
    program = programs.start("kube-scheduler", command)
    programs.ready(program, lambda: listens(port))
    return program


def _kwok(programs: Programs, sources: Sources, *, config: Path, port: int) -> Program:
    stages = [f"--config={sources.kwok / stage}" for stage in STAGES]
    command = [
        str(builds.KWOK.program("kwok")),
        f"--kubeconfig={config}",
        *stages,
        "--manage-all-nodes=true",
        "--node-lease-duration-seconds=40",
        "--node-ip=127.0.0.1",
        f"--server-address=127.0.0.1:{port}",
    ]
    program = programs.start("kwok", command)
    programs.ready(program, lambda: answers(f"http://127.0.0.1:{port}/healthz"))
    return program


def answers(url: str) -> bool:
    """Say whether a GET is answered with success."""
    try:
        with urllib.request.urlopen(url, timeout=2.0) as response:  # noqa: S310 - http on loopback
            return bool(response.status == 200)
    except OSError:
        return False


def until_ready(url: str) -> Callable[[], bool]:
    """Give a look at a health address."""
    return lambda: answers(url)


def _kubeconfig(path: Path, *, url: str, token: str, certificates: Certificates) -> Path:
    config: Object = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": "e2e",
                "cluster": {"server": url, "certificate-authority": str(certificates.authority)},
            }
        ],
        "users": [{"name": "user", "user": {"token": token}}],
        "contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": "user"}}],
        "current-context": "e2e",
    }
    # In one step: a replica may read it while that of the next one is written.
    fresh = path.with_name(f"{path.name}.part")
    fresh.write_text(json.dumps(config))
    return fresh.replace(path)
