"""Writes through the embedded API keep the API server's rules."""

import http.client
import json
from collections.abc import Iterator
from typing import Any

import pytest

from scaler.core.model import Kind
from scaler.sim.apiserver import ApiServer
from scaler.sim.clock import ManualClock
from scaler.sim.kuberay import ray_cluster
from scaler.sim.objects import Objects
from scaler.sim.patches import Document

MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
SCALES = "/apis/kueue-gpu-scaler.dev/v1alpha1/namespaces/ml/workerscales"
SCALE = f"{SCALES}/s"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/ml/leases"
RAY = "/apis/ray.io/v1/namespaces/ml/rayclusters/sim"
FINALIZER = "kueue-gpu-scaler.dev/restore"


class Client:
    """Ask the API as a program does."""

    def __init__(self, api: ApiServer) -> None:
        self.api = api

    def ask(
        self, method: str, path: str, body: object = None, *, content: str = "application/json"
    ) -> tuple[int, Any]:
        """Give status and answer."""
        connection = http.client.HTTPConnection(self.api.url.removeprefix("http://"), timeout=10)
        try:
            text = json.dumps(body) if body is not None else None
            connection.request(method, path, text, {"Content-Type": content})
            response = connection.getresponse()
            return response.status, json.loads(response.read())
        finally:
            connection.close()

    def merge(self, path: str, body: object) -> tuple[int, Any]:
        """Send a merge patch."""
        return self.ask("PATCH", path, body, content=MERGE)

    def patch(self, path: str, *operations: Document) -> tuple[int, Any]:
        """Send a JSON patch."""
        return self.ask("PATCH", path, list(operations), content=JSON_PATCH)

    def get(self, path: str) -> Document:
        """Give an object."""
        found: Document = self.ask("GET", path)[1]
        return found


@pytest.fixture
def client() -> Iterator[Client]:
    """Serve a WorkerScale `ml/s` that says nothing of replicas."""
    server = ApiServer(objects=Objects(clock=ManualClock()), bookmark_every=0.05)
    server.start()
    client = Client(server)
    status, _ = client.ask("POST", SCALES, {"metadata": {"name": "s"}, "spec": {"mode": "Hold"}})
    assert status == 201
    yield client
    server.stop()


def _lease(holder: str, **metadata: str) -> Document:
    return {"metadata": {"name": "l", **metadata}, "spec": {"holderIdentity": holder}}


# --- WorkerScales ------------------------------------------------------------------------------


def test_replicas_are_one_by_default(client: Client) -> None:
    """The schema's default is written at once, and again where a patch takes it away."""
    assert client.get(SCALE)["spec"]["replicas"] == 1
    assert client.merge(SCALE, {"spec": {"replicas": None}})[1]["spec"]["replicas"] == 1


def test_scale_shows_selector_and_replicas_of_status(client: Client) -> None:
    """Without a status both are empty; the selector is the status' own text."""
    assert client.get(f"{SCALE}/scale")["status"] == {"replicas": 0, "selector": ""}
    client.merge(f"{SCALE}/status", {"status": {"replicas": 2, "selector": "a=b"}})
    scale = client.get(f"{SCALE}/scale")
    assert scale["spec"] == {"replicas": 1}
    assert scale["status"] == {"replicas": 2, "selector": "a=b"}


def test_scale_written_raises_the_generation(client: Client) -> None:
    """A zero written through /scale is a new generation, and touches neither mode nor status."""
    client.merge(f"{SCALE}/status", {"status": {"replicas": 2}})
    scale = client.get(f"{SCALE}/scale")
    scale["spec"]["replicas"] = 0
    assert client.ask("PUT", f"{SCALE}/scale", scale)[0] == 200
    kept = client.get(SCALE)
    assert (kept["spec"], kept["status"]) == ({"mode": "Hold", "replicas": 0}, {"replicas": 2})
    assert kept["metadata"]["generation"] == 2


def test_scale_of_an_old_version_is_a_conflict(client: Client) -> None:
    """A Scale that was read before another write is not taken."""
    scale = client.get(f"{SCALE}/scale")
    client.merge(SCALE, {"spec": {"replicas": 3}})
    status, answer = client.ask("PUT", f"{SCALE}/scale", scale)
    assert (status, answer["reason"]) == (409, "Conflict")
    assert client.get(SCALE)["spec"]["replicas"] == 3


def test_status_and_spec_have_doors_of_their_own(client: Client) -> None:
    """Neither writes the other, the status door leaves metadata alone, and generation is spec's."""
    both = {
        "metadata": {"annotations": {"a": "b"}},
        "spec": {"mode": "Release"},
        "status": {"size": 2},
    }
    _, through_status = client.merge(f"{SCALE}/status", both)
    assert through_status["spec"]["mode"] == "Hold"
    assert through_status["status"] == {"size": 2}
    assert "annotations" not in through_status["metadata"]
    assert through_status["metadata"]["generation"] == 1
    _, through_main = client.merge(SCALE, {"spec": {"mode": "Release"}, "status": {"size": 9}})
    assert (through_main["spec"]["mode"], through_main["status"]) == ("Release", {"size": 2})
    assert through_main["metadata"]["generation"] == 2
    _, annotated = client.merge(SCALE, {"metadata": {"annotations": {"a": "b"}}})
    assert annotated["metadata"]["generation"] == 2


def test_status_of_a_new_object_is_dropped(client: Client) -> None:
    """Who creates an object can't write its status."""
    body = {"metadata": {"name": "t"}, "spec": {}, "status": {"size": 9}}
    assert "status" not in client.ask("POST", SCALES, body)[1]


@pytest.mark.parametrize("door", ["", "/status"])
def test_merge_patch_of_an_old_version_is_a_conflict(client: Client, door: str) -> None:
    """metadata.resourceVersion in a patch is a condition, on each door."""
    old = client.get(SCALE)["metadata"]["resourceVersion"]
    client.merge(SCALE, {"spec": {"replicas": 3}})
    patch: Document = {"metadata": {"resourceVersion": old}, "status": {"size": 1}}
    status, answer = client.merge(SCALE + door, patch)
    assert (status, answer["reason"]) == (409, "Conflict")
    assert "the object has been modified" in answer["message"]
    patch["metadata"]["resourceVersion"] = client.get(SCALE)["metadata"]["resourceVersion"]
    assert client.merge(SCALE + door, patch)[0] == 200


def test_nothing_new_is_no_new_version(client: Client) -> None:
    """A patch that changes nothing leaves the resourceVersion as it is."""
    before = client.get(SCALE)
    assert client.merge(SCALE, {"spec": {"mode": "Hold"}}) == (200, before)


def test_metadata_that_no_client_changes(client: Client) -> None:
    """Times and generation are the server's; another uid is refused."""
    before = client.get(SCALE)["metadata"]
    changed = {"creationTimestamp": "2020-01-01T00:00:00Z", "generation": 9}
    assert client.merge(SCALE, {"metadata": changed})[1]["metadata"] == before
    assert client.merge(SCALE, {"metadata": {"uid": "other"}})[0] == 422
    assert client.merge(SCALE, {"metadata": {"name": "other"}})[0] == 400


def test_unknown_patch_is_refused(client: Client) -> None:
    """Custom kinds take no strategic merge patch."""
    content = "application/strategic-merge-patch+json"
    assert client.ask("PATCH", SCALE, {}, content=content)[0] == 415


# --- finalizers --------------------------------------------------------------------------------


def test_finalizer_keeps_what_is_deleted(client: Client) -> None:
    """Deleting marks it; it is gone when the last finalizer is."""
    client.merge(SCALE, {"metadata": {"finalizers": [FINALIZER]}})
    status, marked = client.ask("DELETE", SCALE)
    assert status == 200
    assert "deletionTimestamp" in marked["metadata"]
    assert marked["metadata"]["generation"] == 2
    assert client.ask("DELETE", SCALE)[1] == marked
    assert client.merge(SCALE, {"metadata": {"deletionTimestamp": None}})[1] == marked
    version = client.api.objects.version()
    assert client.merge(SCALE, {"metadata": {"finalizers": None}})[0] == 200
    assert client.ask("GET", SCALE)[0] == 404
    _, changes = client.api.objects.since(Kind.WORKER_SCALES, version) or (0, [])
    assert [change.type for change in changes] == ["DELETED"]


def test_no_finalizer_no_wait(client: Client) -> None:
    """Without a finalizer a deletion is done at once."""
    assert client.ask("DELETE", SCALE)[0] == 200
    assert client.ask("DELETE", SCALE)[0] == 404


def test_what_is_being_deleted_takes_no_new_finalizer(client: Client) -> None:
    """Another finalizer comes too late."""
    client.merge(SCALE, {"metadata": {"finalizers": [FINALIZER]}})
    client.ask("DELETE", SCALE)
    status, answer = client.merge(SCALE, {"metadata": {"finalizers": [FINALIZER, "other/one"]}})
    assert (status, answer["reason"]) == (422, "Invalid")


# --- Leases ------------------------------------------------------------------------------------


def test_lease_is_made_once(client: Client) -> None:
    """The second creator is told that it exists."""
    assert client.ask("POST", LEASES, _lease("a"))[0] == 201
    status, answer = client.ask("POST", LEASES, _lease("b"))
    assert (status, answer["reason"]) == (409, "AlreadyExists")
    assert client.get(f"{LEASES}/l")["spec"]["holderIdentity"] == "a"


def test_lease_is_taken_by_the_first_of_two(client: Client) -> None:
    """Two read the same version: one write is taken, the other is a conflict."""
    client.ask("POST", LEASES, _lease("a"))
    version = client.get(f"{LEASES}/l")["metadata"]["resourceVersion"]
    assert client.ask("PUT", f"{LEASES}/l", _lease("b", resourceVersion=version))[0] == 200
    status, answer = client.ask("PUT", f"{LEASES}/l", _lease("c", resourceVersion=version))
    assert (status, answer["reason"]) == (409, "Conflict")
    assert client.get(f"{LEASES}/l")["spec"]["holderIdentity"] == "b"


def test_lease_without_a_version_is_refused(client: Client) -> None:
    """Leases and custom kinds are not replaced blindly."""
    client.ask("POST", LEASES, _lease("a"))
    status, answer = client.ask("PUT", f"{LEASES}/l", _lease("b"))
    assert (status, answer["reason"]) == (422, "Invalid")
    assert "must be specified for an update" in answer["message"]


def test_lease_has_no_status_door(client: Client) -> None:
    """Discovery says so."""
    served = client.get("/apis/coordination.k8s.io/v1")["resources"]
    assert [resource["name"] for resource in served] == ["leases"]


# --- a RayCluster's group ----------------------------------------------------------------------

MARK = "/metadata/annotations/held.kueue-gpu-scaler.dev~1gpu"


def _hold(group: str) -> tuple[Document, ...]:
    return (
        {"op": "test", "path": "/spec/workerGroupSpecs/0/groupName", "value": group},
        {"op": "add", "path": "/spec/workerGroupSpecs/0/suspend", "value": True},
        {"op": "add", "path": "/metadata/annotations", "value": {}},
        {"op": "add", "path": MARK, "value": "{}"},
    )


def test_group_is_suspended_with_its_mark(client: Client) -> None:
    """One JSON patch writes both, and one takes both away."""
    document = ray_cluster(
        namespace="ml", name="sim", queue="q", head={"cpu": "1"}, groups={"gpu": (2, {"cpu": "1"})}
    )
    client.api.objects.create(Kind.RAY_CLUSTERS, document)
    status, held = client.patch(RAY, *_hold("gpu"))
    assert status == 200
    assert held["spec"]["workerGroupSpecs"][0]["suspend"] is True
    assert held["metadata"]["annotations"] == {"held.kueue-gpu-scaler.dev/gpu": "{}"}
    assert held["metadata"]["generation"] == 2
    back = (
        {"op": "test", "path": MARK, "value": "{}"},
        {"op": "remove", "path": MARK},
        {"op": "replace", "path": "/spec/workerGroupSpecs/0/suspend", "value": False},
    )
    assert client.patch(RAY, *back)[0] == 200
    status, answer = client.patch(RAY, *back)
    assert (status, answer["reason"]) == (422, "Invalid")
    assert answer["message"] == ("the server rejected our request due to an error in our request")


def test_failed_test_of_a_group_writes_nothing(client: Client) -> None:
    """A group that has moved to another index is HTTP 422, and all is as it was."""
    document = ray_cluster(
        namespace="ml", name="sim", queue="q", head={"cpu": "1"}, groups={"cpu": (2, {"cpu": "1"})}
    )
    client.api.objects.create(Kind.RAY_CLUSTERS, document)
    before = client.get(RAY)
    assert client.patch(RAY, *_hold("gpu"))[0] == 422
    assert client.get(RAY) == before
