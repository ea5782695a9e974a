"""The API server as one user sees it: plain REST, objects as they are on the wire."""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import requests

from tests.e2e.waiting import pause

Object = dict[str, Any]
"""A Kubernetes object as JSON."""
TIMEOUT = 30.0
FIELD_MANAGER = "e2e"
UNREACHED = "failed calling webhook"
WEBHOOKS = 20.0
"""Seconds."""


class RefusedError(Exception):
    """The API server refused a request."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"HTTP {status}: {message}")
        self.status = status


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """Where objects of a kind live."""

    api_version: str
    plural: str
    namespaced: bool = True

    @property
    def root(self) -> str:
        """Give the path of the API group and version."""
        return f"/apis/{self.api_version}" if "/" in self.api_version else "/api/v1"


def _resources(api_version: str, *plurals: str, namespaced: bool = True) -> dict[str, Resource]:
    """Give resources by kind; the kind is written before the plural, as `Pod=pods`."""
    pairs = (plural.split("=") for plural in plurals)
    return {
        kind: Resource(api_version=api_version, plural=plural, namespaced=namespaced)
        for kind, plural in pairs
    }


KUEUE = "kueue.x-k8s.io/v1beta2"
RBAC = "rbac.authorization.k8s.io/v1"
RESOURCES: dict[str, Resource] = {
    **_resources("v1", "Namespace=namespaces", "Node=nodes", namespaced=False),
    **_resources("v1", "Pod=pods", "Event=events", "Service=services", "Secret=secrets"),
    **_resources("v1", "ConfigMap=configmaps", "ServiceAccount=serviceaccounts"),
    **_resources("apps/v1", "Deployment=deployments", "StatefulSet=statefulsets"),
    **_resources("batch/v1", "Job=jobs"),
    **_resources("policy/v1", "PodDisruptionBudget=poddisruptionbudgets"),
    **_resources("networking.k8s.io/v1", "NetworkPolicy=networkpolicies"),
    **_resources("autoscaling/v2", "HorizontalPodAutoscaler=horizontalpodautoscalers"),
    **_resources(RBAC, "ClusterRole=clusterroles", namespaced=False),
    **_resources(RBAC, "ClusterRoleBinding=clusterrolebindings", namespaced=False),
    **_resources(RBAC, "Role=roles", "RoleBinding=rolebindings"),
    **_resources(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition=customresourcedefinitions",
        namespaced=False,
    ),
    **_resources("apiregistration.k8s.io/v1", "APIService=apiservices", namespaced=False),
    **_resources(
        "admissionregistration.k8s.io/v1",
        "MutatingWebhookConfiguration=mutatingwebhookconfigurations",
        "ValidatingWebhookConfiguration=validatingwebhookconfigurations",
        namespaced=False,
    ),
    **_resources("scheduling.k8s.io/v1", "PriorityClass=priorityclasses", namespaced=False),
    **_resources("keda.sh/v1alpha1", "ScaledObject=scaledobjects"),
    **_resources("keda.sh/v1alpha1", "TriggerAuthentication=triggerauthentications"),
    **_resources(
        "keda.sh/v1alpha1",
        "ClusterTriggerAuthentication=clustertriggerauthentications",
        namespaced=False,
    ),
    **_resources(KUEUE, "ClusterQueue=clusterqueues", "Cohort=cohorts", namespaced=False),
    **_resources(KUEUE, "ResourceFlavor=resourceflavors", "Topology=topologies", namespaced=False),
    **_resources(KUEUE, "AdmissionCheck=admissionchecks", namespaced=False),
    **_resources(KUEUE, "WorkloadPriorityClass=workloadpriorityclasses", namespaced=False),
    **_resources(KUEUE, "LocalQueue=localqueues", "Workload=workloads"),
    **_resources("ray.io/v1", "RayCluster=rayclusters", "RayJob=rayjobs"),
    **_resources("ray.io/v1", "RayService=rayservices"),
    **_resources("jobset.x-k8s.io/v1alpha2", "JobSet=jobsets"),
    **_resources("trainer.kubeflow.org/v1alpha1", "TrainJob=trainjobs"),
    **_resources("trainer.kubeflow.org/v1alpha1", "TrainingRuntime=trainingruntimes"),
    **_resources("kubeflow.org/v1", "PyTorchJob=pytorchjobs"),
    **_resources("kueue-gpu-scaler.dev/v1alpha1", "WorkerScale=workerscales"),
    **_resources("coordination.k8s.io/v1", "Lease=leases"),
    **_resources("machine.openshift.io/v1beta1", "MachineSet=machinesets", "Machine=machines"),
    **_resources("cluster.x-k8s.io/v1beta2", "MachineDeployment=machinedeployments"),
    **_resources("lab.example/v1", "LabScale=labscales"),
}
"""By kind; one version each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """A client with one user's token; threads may share it.

    Every call raises RefusedError where the API server says no, and requests' errors where it
    can't be reached.
    """

    url: str
    token: str
    authority: Path
    _session: requests.Session = field(default_factory=requests.Session)

    def apply(self, *objects: Object) -> None:
        """Create or change objects by server-side apply, whoever owned the fields.

        ScaledObjects by create, else merge: older versions of KEDA don't know the HPA's
        `tolerance` yet, which server-side apply refuses and these drop.
        """
        for wanted in objects:
            meta = wanted["metadata"]
            if wanted["kind"] == "ScaledObject":
                self._create_or_merge(wanted)
                continue
            path = self._path_of(wanted)
            query = {"fieldManager": FIELD_MANAGER, "force": "true"}
            self.call(
                "PATCH",
                f"{path}/{meta['name']}",
                body=wanted,
                content="application/apply-patch+yaml",
                query=query,
            )

    def _create_or_merge(self, wanted: Object) -> None:
        try:
            self.create(wanted)
        except RefusedError as error:
            if error.status != requests.codes.conflict:
                raise
            meta = wanted["metadata"]
            self.patch(wanted["kind"], meta["name"], meta.get("namespace", ""), change=wanted)

    def create(self, wanted: Object) -> Object:
        """Create one object and give it as the server has it.

        A webhook that can't be reached, since its program is being restarted, is waited for.
        """
        ends = time.monotonic() + WEBHOOKS
        while True:
            try:
                return self.call("POST", self._path_of(wanted), body=wanted)
            except RefusedError as error:
                if UNREACHED not in str(error) or time.monotonic() > ends:
                    raise
                pause(1)

    def get(self, kind: str, name: str, namespace: str = "") -> Object | None:
        """Give an object, or None where there is none."""
        try:
            return self.call("GET", f"{_path(kind, namespace)}/{name}")
        except RefusedError as error:
            if error.status == requests.codes.not_found:
                return None
            raise

    def list(self, kind: str, namespace: str = "", *, labels: str = "") -> list[Object]:
        """Give all objects of a kind, of one namespace or of all."""
        found = self.call("GET", _path(kind, namespace), query={"labelSelector": labels})
        items: list[Object] = found["items"]
        return items

    def patch(
        self, kind: str, name: str, namespace: str = "", *, change: Object, sub: str = ""
    ) -> Object:
        """Apply a JSON merge patch to an object or to a subresource of it."""
        path = f"{_path(kind, namespace)}/{name}" + (f"/{sub}" if sub else "")
        return self.call("PATCH", path, body=change, content="application/merge-patch+json")

    def scale(self, kind: str, name: str, namespace: str, *, replicas: int) -> None:
        """Set the size through the scale subresource."""
        self.patch(kind, name, namespace, change={"spec": {"replicas": replicas}}, sub="scale")

    def delete(
        self, kind: str, name: str, namespace: str = "", *, grace: int | None = None
    ) -> None:
        """Delete an object and in the background what it owns; none is fine."""
        body: Object = {"propagationPolicy": "Background"}
        if grace is not None:
            body["gracePeriodSeconds"] = grace
        try:
            self.call("DELETE", f"{_path(kind, namespace)}/{name}", body=body)
        except RefusedError as error:
            if error.status != requests.codes.not_found:
                raise

    def ready(self) -> bool:
        """Say whether the API server calls itself ready."""
        try:
            return self._send("GET", "/readyz", timeout=2.0).ok
        except requests.RequestException:
            return False

    @contextmanager
    def watch(self, kind: str, namespace: str = "") -> Iterator[Iterator[tuple[str, Object]]]:
        """Give (type, object) of what is there and then of every change, until it is left."""
        query = {"watch": "true", "allowWatchBookmarks": "false"}
        url = self.url + _path(kind, namespace)
        with requests.get(
            url,
            params=query,
            headers=self._headers(),
            verify=str(self.authority),
            stream=True,
            timeout=(TIMEOUT, None),
        ) as response:
            _demand(response)
            lines = response.iter_lines(chunk_size=None)
            yield ((event["type"], event["object"]) for event in map(json.loads, lines))

    def _path_of(self, wanted: Object) -> str:
        return _path(wanted["kind"], wanted["metadata"].get("namespace", ""))

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}", "Accept": "application/json"}

    def call(
        self,
        method: str,
        path: str,
        *,
        body: Object | None = None,
        content: str = "application/json",
        query: Mapping[str, str] | None = None,
    ) -> Object:
        """Send one request to any path and give the answer's object."""
        response = self._send(method, path, body=body, content=content, query=query)
        _demand(response)
        found: Object = response.json()
        return found

    def _send(
        self,
        method: str,
        path: str,
        *,
        body: Object | None = None,
        content: str = "application/json",
        query: Mapping[str, str] | None = None,
        timeout: float = TIMEOUT,
    ) -> requests.Response:
        return self._session.request(
            method,
            self.url + path,
            params=dict(query or {}),
            data=None if body is None else json.dumps(body),
            headers=self._headers() | {"Content-Type": content},
            verify=str(self.authority),
            timeout=timeout,
        )


def _path(kind: str, namespace: str) -> str:
    resource = RESOURCES[kind]
    within = f"/namespaces/{quote(namespace)}" if namespace and resource.namespaced else ""
    return f"{resource.root}{within}/{resource.plural}"


def _demand(response: requests.Response) -> None:
    if response.ok:
        return
    try:
        message = response.json().get("message", "")
    except requests.JSONDecodeError:
        message = response.text
    raise RefusedError(response.status_code, message[:500])


def condition(wanted: Object | None, kind: str) -> Object:
    """Give an object's condition of a type; {} where it has none."""
    found: Sequence[Object] = ((wanted or {}).get("status") or {}).get("conditions") or []
    return next((each for each in found if each["type"] == kind), {})


def is_true(wanted: Object | None, kind: str) -> bool:
    """Say whether an object has a condition that is True."""
    return condition(wanted, kind).get("status") == "True"
