"""Requests that one account may make and the other may not, sent for real and without effect."""

from collections.abc import Iterator
from dataclasses import dataclass

import requests

from tests.e2e.api import KUEUE, Api, Object, RefusedError

RAY = "/apis/ray.io/v1"
OWN = "/apis/kueue-gpu-scaler.dev/v1alpha1"
LEASES = "/apis/coordination.k8s.io/v1"
MERGE = "application/merge-patch+json"
ELSEWHERE = "kube-system"
NOTHING: Object = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One request; writes are dry runs, and patches change nothing."""

    method: str
    path: str
    body: Object | None = None

    def by(self, api: Api) -> int:
        """Make it; give the HTTP status."""
        query = {} if self.method == "GET" else {"dryRun": "All"}
        content = MERGE if self.method == "PATCH" else "application/json"
        try:
            api.call(self.method, self.path, body=self.body, content=content, query=query)
        except RefusedError as error:
            return error.status
        except requests.JSONDecodeError:  # a page that is no object
            return 200
        return 200


def of_nobody(place: str, own: str) -> Iterator[Attempt]:
    """Give what neither account may do, to what is in a namespace, and elsewhere."""
    within, ray = f"/api/v1/namespaces/{place}", f"{RAY}/namespaces/{place}/rayclusters"
    yield from _reads(within)
    yield from _pods(f"{within}/pods")
    for path in (
        f"/apis/apps/v1/namespaces/{place}/deployments/d/scale",
        f"/apis/keda.sh/v1alpha1/namespaces/{place}/scaledobjects/s",
        f"/apis/{KUEUE}/clusterqueues/q",
        f"/apis/{KUEUE}/namespaces/{place}/workloads/w/status",
        f"{ray}/cluster/status",
        f"{OWN}/namespaces/{place}/workerscales/ws/scale",
        "/api/v1/nodes/cpu-0",
        f"{LEASES}/namespaces/{ELSEWHERE}/leases/l",
        "/apis/rbac.authorization.k8s.io/v1/clusterroles/kueue-gpu-scaler",
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/rayclusters.ray.io",
        f"/api/v1/namespaces/{own}/configmaps/kueue-gpu-scaler-policy",
    ):
        yield Attempt(method="PATCH", path=path, body=NOTHING)
    yield Attempt(method="PUT", path=f"{ray}/cluster", body=NOTHING)
    yield Attempt(method="DELETE", path=f"{ray}/cluster")
    yield Attempt(method="DELETE", path=f"{OWN}/namespaces/{place}/workerscales/ws")
    yield Attempt(method="GET", path=f"{LEASES}/namespaces/{ELSEWHERE}/leases/l")
    for path in (
        f"{within}/serviceaccounts/default/token",
        f"{LEASES}/namespaces/{ELSEWHERE}/leases",
        f"/apis/batch/v1/namespaces/{place}/jobs",
        "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    ):
        yield Attempt(method="POST", path=path, body=NOTHING)


def _reads(within: str) -> Iterator[Attempt]:
    """Give reads of what is none of ours; of pods alone lists and watches are."""
    for path in (
        f"{within}/secrets/kept",
        "/api/v1/secrets",
        "/api/v1/secrets?watch=true",
        f"{within}/configmaps/kept",
        f"{within}/pods/p",
        f"{within}/pods/p/log",
        "/api/v1/nodes/cpu-0/proxy/metrics",
        "/metrics",
        "/debug/pprof/",
    ):
        yield Attempt(method="GET", path=path)


def _pods(pods: str) -> Iterator[Attempt]:
    """Give what would run, move or end a pod."""
    yield Attempt(method="POST", path=pods, body=NOTHING)
    for sub in ("exec?command=id", "attach", "portforward", "eviction", "binding"):
        yield Attempt(method="POST", path=f"{pods}/p/{sub}", body=NOTHING)
    yield Attempt(method="PATCH", path=f"{pods}/p", body=NOTHING)
    yield Attempt(method="DELETE", path=f"{pods}/p")
    yield Attempt(method="DELETE", path=pods)


def of_the_actuator(place: str, own: str, *, workload: str, lease: str) -> Iterator[Attempt]:
    """Give what the actuator alone may do, to objects that are there."""
    for path in (
        f"{RAY}/namespaces/{place}/rayclusters/cluster",
        f"/apis/batch/v1/namespaces/{place}/jobs/job",
        f"/apis/{KUEUE}/namespaces/{place}/workloads/{workload}",
        f"{OWN}/namespaces/{place}/workerscales/ws",
        f"{OWN}/namespaces/{place}/workerscales/ws/status",
        f"{LEASES}/namespaces/{own}/leases/{lease}",
    ):
        yield Attempt(method="PATCH", path=path, body=NOTHING)
    leases = f"{LEASES}/namespaces/{own}/leases"
    yield Attempt(method="GET", path=f"{leases}/{lease}")
    body = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "another"},
    }
    yield Attempt(method="POST", path=leases, body=body)


def of_both(place: str, event: Object) -> Iterator[Attempt]:
    """Give the writes that both may do: an Event, which is there, patched and created anew."""
    events = f"/api/v1/namespaces/{place}/events"
    yield Attempt(method="PATCH", path=f"{events}/{event['metadata']['name']}", body=NOTHING)
    again = {**event, "metadata": {"name": "another", "namespace": place}}
    yield Attempt(method="POST", path=events, body=again)
