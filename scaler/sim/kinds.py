"""The kinds that the embedded API serves, and what discovery says of them."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

from scaler.core.model import Kind
from scaler.sim.patches import Document

EVENTS = "events"
MACHINE_SETS = "machinesets"
LEASES = "leases"
PYTORCH_JOBS = "pytorchjobs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """One served kind; the same stored object is served in each version."""

    group: str
    """Empty for the core group."""
    versions: tuple[str, ...]
    """Preferred first."""
    plural: str
    kind: str
    namespaced: bool = True
    scale: bool = False
    status: bool = True
    """Status is a door of its own."""
    unconditional: bool = False
    """A PUT without a resourceVersion is taken: built-in kinds, but not all of them."""
    default_replicas: int | None = None
    """The schema's default of spec.replicas."""

    @property
    def qualified(self) -> str:
        """Give the name by which the API server speaks of the kind."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def api_version(self) -> str:
        """Give the preferred apiVersion."""
        return self.api_version_of(self.versions[0])

    def api_version_of(self, version: str) -> str:
        """Give the apiVersion in one version."""
        return f"{self.group}/{version}" if self.group else version


KUEUE = ("v1beta2", "v1beta1")


def _built_in(
    group: str,
    plural: str,
    kind: str,
    *,
    namespaced: bool = True,
    scale: bool = False,
    status: bool = True,
) -> Resource:
    return Resource(
        group=group,
        versions=("v1",),
        plural=plural,
        kind=kind,
        namespaced=namespaced,
        scale=scale,
        status=status,
        unconditional=True,
    )


RESOURCES = (
    _built_in("", Kind.NODES, "Node", namespaced=False),
    _built_in("", Kind.PODS, "Pod"),
    _built_in("", EVENTS, "Event", status=False),
    _built_in("apps", Kind.DEPLOYMENTS, "Deployment", scale=True),
    _built_in("apps", Kind.STATEFUL_SETS, "StatefulSet", scale=True),
    Resource(
        group="autoscaling", versions=("v2",), plural=Kind.HPAS, kind="HorizontalPodAutoscaler"
    ),
    _built_in("batch", Kind.JOBS, "Job"),
    Resource(
        group="coordination.k8s.io", versions=("v1",), plural=LEASES, kind="Lease", status=False
    ),
    Resource(
        group="kueue-gpu-scaler.dev",
        versions=("v1alpha1",),
        plural=Kind.WORKER_SCALES,
        kind="WorkerScale",
        scale=True,
        default_replicas=1,
    ),
    Resource(
        group="kubeflow.org", versions=("v1",), plural=PYTORCH_JOBS, kind="PyTorchJob", scale=True
    ),
    Resource(
        group="keda.sh", versions=("v1alpha1",), plural=Kind.SCALED_OBJECTS, kind="ScaledObject"
    ),
    Resource(
        group="machine.openshift.io",
        versions=("v1beta1",),
        plural=MACHINE_SETS,
        kind="MachineSet",
        scale=True,
    ),
    Resource(group="ray.io", versions=("v1",), plural=Kind.RAY_CLUSTERS, kind="RayCluster"),
    Resource(group="kueue.x-k8s.io", versions=KUEUE, plural=Kind.WORKLOADS, kind="Workload"),
    Resource(group="kueue.x-k8s.io", versions=KUEUE, plural=Kind.LOCAL_QUEUES, kind="LocalQueue"),
    Resource(
        group="kueue.x-k8s.io",
        versions=KUEUE,
        plural=Kind.CLUSTER_QUEUES,
        kind="ClusterQueue",
        namespaced=False,
    ),
    Resource(
        group="kueue.x-k8s.io", versions=KUEUE, plural=Kind.COHORTS, kind="Cohort", namespaced=False
    ),
    Resource(
        group="kueue.x-k8s.io",
        versions=KUEUE,
        plural=Kind.RESOURCE_FLAVORS,
        kind="ResourceFlavor",
        namespaced=False,
    ),
    Resource(
        group="kueue.x-k8s.io",
        versions=KUEUE,
        plural=Kind.ADMISSION_CHECKS,
        kind="AdmissionCheck",
        namespaced=False,
    ),
)


def groups(resources: Iterable[Resource]) -> Document:
    """Give the answer to GET /apis."""
    named = sorted((r for r in resources if r.group), key=lambda r: r.group)
    entries = [_group(group, list(members)) for group, members in groupby(named, _group_of)]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": entries}


def _group_of(resource: Resource) -> str:
    return resource.group


def _group(group: str, members: list[Resource]) -> Document:
    served = dict.fromkeys(version for member in members for version in member.versions)
    versions = [{"groupVersion": f"{group}/{v}", "version": v} for v in served]
    return {"name": group, "versions": versions, "preferredVersion": versions[0]}


def resource_list(resources: Iterable[Resource], *, group: str, version: str) -> Document | None:
    """Give the answer to GET /api/v1 or /apis/GROUP/VERSION; None where it isn't served."""
    members = [r for r in resources if r.group == group and version in r.versions]
    if not members:
        return None
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": members[0].api_version_of(version),
        "resources": [entry for member in members for entry in _entries(member)],
    }


def _entries(resource: Resource) -> list[Document]:
    named = {"singularName": resource.kind.lower(), "namespaced": resource.namespaced}
    verbs = ["create", "delete", "get", "list", "patch", "update", "watch"]
    subs = [*["status"] * resource.status, *["scale"] * resource.scale]
    return [
        {"name": resource.plural, "kind": resource.kind, "verbs": verbs, **named},
        *(
            {
                "name": f"{resource.plural}/{sub}",
                "kind": "Scale" if sub == "scale" else resource.kind,
                "verbs": ["get", "patch", "update"],
                **named,
            }
            for sub in subs
        ),
    ]
