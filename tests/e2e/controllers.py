"""What stands beside Kubernetes: Kueue, JobSet, Trainer, KubeRay and KEDA, each as its own user."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.api import Object, is_true
from tests.e2e.control_plane import ControlPlane
from tests.e2e.dashboard import Dashboard
from tests.e2e.keda import keda_reads, start_keda
from tests.e2e.manifests import (
    Sources,
    definitions,
    jobset_webhooks,
    kueue_webhooks,
    roles,
    trainer_webhooks,
)
from tests.e2e.operators import start_jobset, start_kuberay, start_kueue, start_trainer
from tests.e2e.ports import free_ports
from tests.e2e.processes import Program
from tests.e2e.waiting import until
from tests.golang import GoModule


@dataclass(frozen=True, slots=True, kw_only=True)
class Controllers:
    """The running controllers."""

    kueue: Program
    jobset: Program
    trainer: Program
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
    kueue_hooks, jobset_hooks, trainer_hooks = free_ports(3)
    authority = plane.certificates.authority
    kueue_url, jobset_url, trainer_url = (
        f"https://127.0.0.1:{port}" for port in (kueue_hooks, jobset_hooks, trainer_hooks)
    )
    crds = list(definitions(sources, url=kueue_url, authority=authority))
    plane.api.apply(*crds)
    for crd in crds:
        established(plane, crd)
    _accounts(plane, sources)
    dashboard = Dashboard()
    dashboard.start()
    running = Controllers(
        kueue=start_kueue(plane, port=kueue_hooks),
        jobset=start_jobset(plane, port=jobset_hooks),
        trainer=start_trainer(plane, port=trainer_hooks),
        kuberay=start_kuberay(plane, dashboard=dashboard.url),
        **start_keda(plane, keda, names=names),
    )
    # A webhook without its process would make every create fail.
    plane.api.apply(*kueue_webhooks(sources, url=kueue_url, authority=authority))
    plane.api.apply(*jobset_webhooks(sources, url=jobset_url, authority=authority))
    plane.api.apply(*trainer_webhooks(sources, url=trainer_url, authority=authority))
    return running


def established(plane: ControlPlane, crd: Object) -> None:
    """Wait until objects of a definition can be created."""
    name = crd["metadata"]["name"]

    def look() -> bool:
        there = plane.api.get("CustomResourceDefinition", name)
        return is_true(there, "Established")

    until(look, f"{name} is established", within=30)


def _accounts(plane: ControlPlane, sources: Sources) -> None:
    """Create each controller's namespace, account and roles, as its project ships them."""
    rbac = "rbac"
    trainer = ("role.yaml", "role_binding.yaml", "service_account.yaml")
    chosen: dict[str, Iterable[Path]] = {
        "kueue-system": (sources.kueue / rbac).glob("*.yaml"),
        "jobset-system": (sources.jobset / rbac).glob("*.yaml"),
        "kubeflow-system": [sources.trainer / rbac / name for name in trainer],
        "kuberay": (sources.kuberay / rbac).glob("*.yaml"),
        "keda": [sources.keda / rbac / name for name in ("role.yaml", "role_binding.yaml")],
    }
    unnamed = ("keda", "kubeflow-system")
    for namespace, files in chosen.items():
        plane.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        kept = (path for path in sorted(files) if path.name != "kustomization.yaml")
        prefix = "" if namespace in unnamed else f"{namespace}-"
        plane.api.apply(*roles(kept, namespace=namespace, prefix=prefix))
    plane.api.apply(*keda_reads())
