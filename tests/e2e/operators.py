"""Kueue, JobSet, KubeRay and Trainer as processes, each as its own user."""

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.e2e import builds
from tests.e2e.api import Object
from tests.e2e.control_plane import ControlPlane, until_ready
from tests.e2e.ports import free_ports
from tests.e2e.processes import Program
from tests.golang import GoModule

FRAMEWORKS = (
    "batch/job",
    "jobset.x-k8s.io/jobset",
    "trainer.kubeflow.org/trainjob",
    "ray.io/raycluster",
    "ray.io/rayjob",
    "pod",
    "deployment",
    "statefulset",
)
OWN_ETC = """
mount -t tmpfs e2e /etc
mkdir -p /etc/kueue/metrics/certs
cp "$1"/tls.crt "$1"/tls.key /etc/kueue/metrics/certs/
shift
exec "$@"
"""
"""Kueue reads its metrics' certificate from one fixed path, so it gets an /etc of its own."""
TRAINER_CERTIFICATES = Path("k8s-webhook-server") / "serving-certs"
"""Below its folder for temporary files Trainer finds its pair; no setting names another place."""
CONFIG = "--config="


def start_kueue(plane: ControlPlane, *, port: int) -> Program:
    """Start Kueue, its webhooks on a port."""
    group = "config.kueue.x-k8s.io/v1beta2"
    config = _settings(plane, group=group, hooks=port) | {
        "featureGates": {"VisibilityOnDemand": False},
        "integrations": {"frameworks": list(FRAMEWORKS)},
    }
    path = _configuration(plane, "kueue", config)
    command = [
        *own_mounts(OWN_ETC, str(plane.certificates.servers)),
        str(builds.KUEUE.program("kueue")),
        f"{CONFIG}{path}",
        "--zap-log-level=2",
    ]
    return launch(
        plane,
        "kueue",
        command,
        account=("kueue-system", "controller-manager"),
        look=_ready(config),
        environment={"POD_NAMESPACE": "kueue-system"},
    )


def start_jobset(plane: ControlPlane, *, port: int) -> Program:
    """Start JobSet's controller, its webhooks on a port."""
    config = _settings(plane, group="config.jobset.x-k8s.io/v1alpha1", hooks=port)
    path = _configuration(plane, "jobset", config)
    return launch(
        plane,
        "jobset",
        [str(builds.JOBSET.program("jobset")), f"{CONFIG}{path}"],
        account=("jobset-system", "controller-manager"),
        look=_ready(config),
    )


def start_trainer(plane: ControlPlane, *, port: int) -> Program:
    """Start Trainer, its webhooks on a port."""
    config = _settings(plane, group="config.trainer.kubeflow.org/v1alpha1", hooks=port)
    config["metrics"] |= {"secureServing": False}
    config["certManagement"] = {"enable": False}
    del config["internalCertManagement"], config["webhook"]["certDir"]
    path = _configuration(plane, "trainer", config)
    temporary = plane.certificates.path("trainer")
    pair = temporary / TRAINER_CERTIFICATES
    pair.mkdir(parents=True)
    for name in ("tls.crt", "tls.key"):
        shutil.copy(plane.certificates.path(name), pair)
    return launch(
        plane,
        "trainer",
        [str(builds.TRAINER.program("trainer-controller-manager")), f"{CONFIG}{path}"],
        account=("kubeflow-system", "kubeflow-trainer-controller-manager"),
        look=_ready(config),
        environment={"TMPDIR": str(temporary)},
    )


def start_kuberay(plane: ControlPlane, *, dashboard: str) -> Program:
    """Start KubeRay; whatever it asks over plain HTTP it asks a proxy that plays Ray."""
    health, metrics = free_ports(2)
    command = [
        str(builds.KUBERAY.program("ray-operator")),
        f"--metrics-addr=127.0.0.1:{metrics}",
        f"--health-probe-bind-address=127.0.0.1:{health}",
        "--enable-leader-election=false",
    ]
    return launch(
        plane,
        "kuberay",
        command,
        account=("kuberay", "kuberay-operator"),
        look=until_ready(f"http://127.0.0.1:{health}/readyz"),
        environment={"HTTP_PROXY": dashboard},
    )


def launch(
    plane: ControlPlane,
    name: str,
    command: list[str],
    *,
    account: tuple[str, str],
    look: Callable[[], bool],
    environment: Mapping[str, str] | None = None,
) -> Program:
    """Start a program with a ServiceAccount's token, and wait until it is ready."""
    config = plane.account(*account)
    given = {"KUBECONFIG": str(config), "TMPDIR": str(plane.certificates.folder)}
    program = plane.programs.start(name, command, environment=given | dict(environment or {}))
    plane.programs.ready(program, look)
    return program


def own_mounts(script: str, *words: str) -> list[str]:
    """Give the start of a command that runs with mounts of its own."""
    shell = shutil.which("sh") or "/bin/sh"
    return ["unshare", "-rm", shell, "-ec", script, "sh", *words]


@contextmanager
def with_settings(plane: ControlPlane, program: Program, **more: object) -> Iterator[None]:
    """Restart a program with further settings, and as it was when the block ends."""
    (path,) = (Path(each.removeprefix(CONFIG)) for each in program.command if CONFIG in each)
    before = path.read_text()
    try:
        path.write_text(json.dumps(json.loads(before) | more))
        _restart(plane, program, _ready(json.loads(before)))
        yield
    finally:
        path.write_text(before)
        _restart(plane, program, _ready(json.loads(before)))


@contextmanager
def with_build(plane: ControlPlane, program: Program, other: GoModule) -> Iterator[None]:
    """Run another version of a program with the same arguments for the length of a block."""
    own = list(program.command)
    (health,) = (each for each in own if each.startswith("--health-probe-bind-address="))
    look = until_ready(f"http://{health.partition('=')[2]}/readyz")
    try:
        program.command = [str(other.program(Path(own[0]).name)), *own[1:]]
        _restart(plane, program, look)
        yield
    finally:
        program.command = own
        _restart(plane, program, look)


def _restart(plane: ControlPlane, program: Program, look: Callable[[], bool]) -> None:
    plane.programs.stop(program)
    plane.programs.again(program)
    plane.programs.ready(program, look)


def _ready(config: Object) -> Callable[[], bool]:
    return until_ready(f"http://{config['health']['healthProbeBindAddress']}/readyz")


def _configuration(plane: ControlPlane, name: str, config: Object) -> Path:
    path = plane.certificates.path(f"{name}-config.yaml")
    path.write_text(json.dumps(config))
    return path


def _settings(plane: ControlPlane, *, group: str, hooks: int) -> Object:
    """Give the part of the configuration that is much the same for all."""
    health, metrics = free_ports(2)
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
