"""Definitions, roles and webhooks as the programs' own modules bring them."""

import base64
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import yaml

from tests.e2e import builds
from tests.e2e.api import Object
from tests.golang import GoModule

CONVERTED = ("workloads", "clusterqueues", "localqueues", "cohorts", "multikueueclusters")
"""Kueue's kinds of two versions; the others can't be converted, and informers would loop."""
SYSTEM = ("kube-system", "kueue-system", "keda")
"""Namespaces whose pods Kueue's pod webhook leaves alone."""
KUEUE_PATHS = (
    "kueue-x-k8s-io",
    "batch-v1-job",
    "jobset-x-k8s-io",
    "trainer-kubeflow-org-v1alpha1-trainjob",
    "ray-io-v1-raycluster",
    "ray-io-v1-rayjob",
    "apps-v1-deployment",
    "apps-v1-statefulset",
    "--v1-pod",
)
"""Webhooks of the kinds that have a controller here; an unused one would block its kind."""
JOBSET_PODS = {
    "matchExpressions": [{"key": "jobset.sigs.k8s.io/jobset-name", "operator": "Exists"}]
}
NOT_SYSTEM = {
    "matchExpressions": [
        {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": list(SYSTEM)}
    ]
}


def documents(*paths: Path) -> Iterator[Object]:
    """Give every object of YAML files."""
    for path in paths:
        for document in yaml.load_all(path.read_text(), Loader=yaml.CSafeLoader):
            if document:
                yield document


class Sources:
    """Folders of the programs' modules; each is asked for once."""

    def __init__(self, keda: GoModule = builds.KEDA[builds.NEWEST_KEDA]) -> None:
        self._keda = keda
        self._folders: dict[str, Path] = {}

    def folder(self, module: GoModule, path: str) -> Path:
        """Give the folder of a Go module that one of ours requires."""
        if path not in self._folders:
            self._folders[path] = module.folder_of(path)
        return self._folders[path]

    @property
    def kueue(self) -> Path:
        """Give Kueue's manifests."""
        return self.folder(builds.KUEUE, "sigs.k8s.io/kueue") / "config" / "components"

    @property
    def jobset(self) -> Path:
        """Give JobSet's manifests."""
        return self.folder(builds.JOBSET, "sigs.k8s.io/jobset") / "config" / "components"

    @property
    def kuberay(self) -> Path:
        """Give KubeRay's manifests."""
        path = "github.com/ray-project/kuberay/ray-operator"
        return self.folder(builds.KUBERAY, path) / "config"

    @property
    def trainer(self) -> Path:
        """Give Trainer's manifests."""
        path = "github.com/kubeflow/trainer/v2"
        return self.folder(builds.TRAINER, path) / "manifests" / "base"

    @property
    def training_operator(self) -> Path:
        """Give the older Training Operator's manifests, of the version that Kueue requires."""
        path = "github.com/kubeflow/training-operator"
        return self.folder(builds.KUEUE, path) / "manifests" / "base"

    @property
    def keda(self) -> Path:
        """Give KEDA's manifests."""
        return self.folder(self._keda, "github.com/kedacore/keda/v2") / "config"

    @property
    def kwok(self) -> Path:
        """Give kwok's stages."""
        return self.folder(builds.KWOK, "sigs.k8s.io/kwok") / "kustomize" / "stage"


def definitions(sources: Sources, *, url: str, authority: Path) -> Iterator[Object]:
    """Give the CRDs of all programs; Kueue's convert between versions at a URL.

    PyTorchJob is defined although nothing here runs one: what is refused needs no controller.
    """
    bases = (sources.kueue, sources.jobset, sources.kuberay, sources.keda)
    files = [sorted((folder / "crd" / "bases").glob("*.yaml")) for folder in bases]
    files.append(sorted((sources.trainer / "crds").glob("trainer.*.yaml")))
    files.append([sources.training_operator / "crds" / "kubeflow.org_pytorchjobs.yaml"])
    for paths in files:
        for definition in documents(*paths):
            if definition["spec"]["names"]["plural"] in CONVERTED:
                definition["spec"]["conversion"] = {
                    "strategy": "Webhook",
                    "webhook": {
                        "conversionReviewVersions": ["v1"],
                        "clientConfig": _client(f"{url}/convert", authority),
                    },
                }
            yield definition


def roles(files: Iterable[Path], *, namespace: str, prefix: str) -> Iterator[Object]:
    """Give roles, bindings and accounts for a namespace; cluster-wide names get a prefix.

    As the projects' own kustomizations do: `system` is their placeholder for the namespace.
    """
    for document in documents(*files):
        kind = document["kind"]
        if kind not in {"ClusterRole", "ClusterRoleBinding"}:
            document["metadata"]["namespace"] = document["metadata"].get("namespace", namespace)
            if document["metadata"]["namespace"] == "system":
                document["metadata"]["namespace"] = namespace
        else:
            document["metadata"]["name"] = prefix + document["metadata"]["name"]
        if kind == "ClusterRoleBinding":
            document["roleRef"]["name"] = prefix + document["roleRef"]["name"]
        for subject in document.get("subjects", ()):
            subject["namespace"] = namespace
        yield document


def kueue_webhooks(sources: Sources, *, url: str, authority: Path) -> Iterator[Object]:
    """Give Kueue's webhooks for the kinds that are here, at a URL."""

    def chosen(hook: Object) -> bool:
        return any(path in hook["clientConfig"]["service"]["path"] for path in KUEUE_PATHS)

    yield from _webhooks(
        sources.kueue / "webhook" / "manifests.yaml",
        name="kueue",
        url=url,
        authority=authority,
        chosen=chosen,
        pods={"namespaceSelector": NOT_SYSTEM},
    )


def jobset_webhooks(sources: Sources, *, url: str, authority: Path) -> Iterator[Object]:
    """Give JobSet's webhooks, at a URL; its pods' ones see only pods of JobSets."""
    yield from _webhooks(
        sources.jobset / "webhook" / "manifests.yaml",
        name="jobset",
        url=url,
        authority=authority,
        chosen=lambda _: True,
        pods={"objectSelector": JOBSET_PODS},
    )


def trainer_webhooks(sources: Sources, *, url: str, authority: Path) -> Iterator[Object]:
    """Give Trainer's webhooks, at a URL."""
    yield from _webhooks(
        sources.trainer / "webhook" / "manifests.yaml",
        name="trainer",
        url=url,
        authority=authority,
        chosen=lambda _: True,
        pods={},
    )


def _webhooks(
    file: Path,
    *,
    name: str,
    url: str,
    authority: Path,
    chosen: Callable[[Object], bool],
    pods: Object,
) -> Iterator[Object]:
    for configuration in documents(file):
        configuration["metadata"]["name"] = f"{name}-{configuration['kind'].lower()}"
        hooks: Sequence[Object] = [hook for hook in configuration["webhooks"] if chosen(hook)]
        for hook in hooks:
            path = hook["clientConfig"]["service"]["path"]
            hook["clientConfig"] = _client(url + path, authority)
            if path.endswith("--v1-pod"):
                hook.update(pods)
        configuration["webhooks"] = hooks
        yield configuration


def _client(url: str, authority: Path) -> Object:
    return {"url": url, "caBundle": base64.b64encode(authority.read_bytes()).decode()}
