import http.client
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from scaler.sim.apiserver import ApiServer
from scaler.sim.clock import ManualClock
from scaler.sim.faults import Gone
from scaler.sim.kinds import RESOURCES
from scaler.sim.objects import Objects
from scaler.sim.patches import Document

PODS = "/api/v1/namespaces/ml/pods"
MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"


@pytest.fixture
def api() -> Iterator[ApiServer]:
    """Run an API server whose clock stands still."""
    server = ApiServer(objects=Objects(clock=ManualClock()), bookmark_every=0.05)
    server.start()
    yield server
    server.stop()


def _ask(
    api: ApiServer, method: str, path: str, body: object = None, **headers: str
) -> tuple[int, Any]:
    connection = http.client.HTTPConnection(api.url.removeprefix("http://"), timeout=10)
    try:
        named = {key.replace("_", "-"): value for key, value in headers.items()}
        connection.request(method, path, json.dumps(body) if body is not None else None, named)
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


class Watch:
    """Read a watch stream line by line."""

    def __init__(self, api: ApiServer, path: str) -> None:
        self._connection = http.client.HTTPConnection(api.url.removeprefix("http://"), timeout=10)
        self._connection.request("GET", path)
        self.response = self._connection.getresponse()

    def next(self, type_: str | None = None) -> Document:
        """Give the next event, of the type that is asked for."""
        while line := self.response.readline():
            event: Document = json.loads(line)
            if type_ in (None, event["type"]):
                return event
        raise EOFError

    def close(self) -> None:
        """Leave the stream."""
        self.response.close()
        self._connection.close()


def _pod(name: str, **labels: str) -> Document:
    return {"metadata": {"name": name, "namespace": "ml", "labels": labels}, "spec": {}}


def _deployment(name: str, replicas: int) -> Document:
    matched = {"matchLabels": {"app": name}}
    spec = {"replicas": replicas, "selector": matched}
    return {"metadata": {"name": name, "namespace": "ml"}, "spec": spec}


def test_discovery(api: ApiServer) -> None:
    """Discovery names every served kind in every version."""
    assert _ask(api, "GET", "/api")[1]["versions"] == ["v1"]
    served = {group["name"]: group["versions"] for group in _ask(api, "GET", "/apis")[1]["groups"]}
    assert [v["version"] for v in served["kueue.x-k8s.io"]] == ["v1beta2", "v1beta1"]
    for resource in RESOURCES:
        for version in resource.versions:
            root = f"/apis/{resource.group}/{version}" if resource.group else "/api/v1"
            names = [r["name"] for r in _ask(api, "GET", root)[1]["resources"]]
            assert resource.plural in names


def test_missing_group() -> None:
    """A group that is not installed is neither discovered nor served."""
    without = [r for r in RESOURCES if r.group != "ray.io"]
    server = ApiServer(objects=Objects(clock=ManualClock(), resources=without))
    server.start()
    try:
        assert "ray.io" not in str(_ask(server, "GET", "/apis"))
        assert _ask(server, "GET", "/apis/ray.io/v1")[0] == 404
        assert _ask(server, "GET", "/apis/ray.io/v1/rayclusters")[0] == 404
    finally:
        server.stop()


def test_pages(api: ApiServer) -> None:
    """Pages of a list are all of one moment."""
    for number in range(5):
        api.objects.create("pods", _pod(f"p{number}"))
    _, first = _ask(api, "GET", f"{PODS}?limit=2")
    api.objects.create("pods", _pod("p9"))
    token = first["metadata"]["continue"]
    _, rest = _ask(api, "GET", f"{PODS}?limit=10&continue={token}")
    assert first["metadata"]["remainingItemCount"] == 3
    assert [d["metadata"]["name"] for d in rest["items"]] == ["p2", "p3", "p4"]
    assert rest["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
    assert "continue" not in rest["metadata"]


def test_expired_token(api: ApiServer) -> None:
    """An expired continue token is 410."""
    assert _ask(api, "GET", f"{PODS}?limit=2&continue=old")[0] == 410


def test_selection(api: ApiServer) -> None:
    """Lists keep to the namespace and the labels."""
    api.objects.create("pods", _pod("a", app="x"))
    api.objects.create("pods", _pod("b", app="y"))
    elsewhere = {"metadata": {"name": "c", "namespace": "other", "labels": {"app": "x"}}}
    api.objects.create("pods", elsewhere)
    _, selected = _ask(api, "GET", f"{PODS}?labelSelector=app%3Dx")
    assert [d["metadata"]["name"] for d in selected["items"]] == ["a"]
    assert len(_ask(api, "GET", "/api/v1/pods")[1]["items"]) == 3


def test_watch_order(api: ApiServer) -> None:
    """A watch from a list tells each change once and in order."""
    api.objects.create("pods", _pod("a"))
    version = _ask(api, "GET", PODS)[1]["metadata"]["resourceVersion"]
    watch = Watch(api, f"{PODS}?watch=true&resourceVersion={version}")
    api.objects.create("pods", _pod("b"))
    api.objects.modify("pods", ("ml", "b"), lambda d: d.update(spec={"nodeName": "n"}))
    api.objects.delete("pods", ("ml", "b"))
    assert [watch.next()["type"] for _ in range(3)] == ["ADDED", "MODIFIED", "DELETED"]
    watch.close()


def test_watch_from_nothing(api: ApiServer) -> None:
    """A watch without a version begins with what is there."""
    api.objects.create("pods", _pod("a"))
    watch = Watch(api, f"{PODS}?watch=true")
    assert watch.next()["object"]["metadata"]["name"] == "a"
    watch.close()


def test_bookmarks(api: ApiServer) -> None:
    """Bookmarks carry the newest version of a quiet kind."""
    version = _ask(api, "GET", PODS)[1]["metadata"]["resourceVersion"]
    watch = Watch(api, f"{PODS}?watch=true&allowWatchBookmarks=true&resourceVersion={version}")
    api.objects.create("deployments", _deployment("d", 1))
    newest = str(api.objects.version())
    while watch.next("BOOKMARK")["object"]["metadata"]["resourceVersion"] != newest:
        pass
    watch.close()


def test_watch_timeout(api: ApiServer) -> None:
    """A watch ends after timeout seconds."""
    watch = Watch(api, f"{PODS}?watch=true&timeoutSeconds=0.05&resourceVersion=100")
    with pytest.raises(EOFError):
        watch.next()
    watch.close()


def test_forgotten_history(api: ApiServer) -> None:
    """A forgotten history is 410 in the stream."""
    version = api.objects.version()
    api.objects.create("pods", _pod("a"))
    api.objects.forget_history()
    watch = Watch(api, f"{PODS}?watch=true&resourceVersion={version}")
    event = watch.next()
    watch.close()
    assert (event["type"], event["object"]["code"]) == ("ERROR", 410)
    fresh = Watch(api, f"{PODS}?watch=true&resourceVersion={api.objects.version()}")
    api.objects.create("pods", _pod("b"))
    assert fresh.next()["object"]["metadata"]["name"] == "b"
    fresh.close()


@pytest.mark.parametrize(("gone", "status"), [(Gone.IN_STREAM, 200), (Gone.AS_STATUS, 410)])
def test_gone(api: ApiServer, gone: Gone, status: int) -> None:
    """410 comes in both ways."""
    api.faults.gone = gone
    watch = Watch(api, f"{PODS}?watch=true&resourceVersion=100")
    body = json.loads(watch.response.readline())
    watch.close()
    assert watch.response.status == status
    assert body.get("object", body)["code"] == 410


def test_silent_watch(api: ApiServer) -> None:
    """A silent watch says nothing until it is switched back."""
    api.faults.silent = True
    watch = Watch(api, f"{PODS}?watch=true&resourceVersion={api.objects.version()}")
    got: list[Document] = []
    reader = threading.Thread(target=lambda: got.append(watch.next("ADDED")), daemon=True)
    reader.start()
    api.objects.create("pods", _pod("a"))
    reader.join(timeout=0.3)
    assert not got
    api.faults.silent = False
    reader.join(timeout=10)
    assert got[0]["object"]["metadata"]["name"] == "a"
    watch.close()


def test_down(api: ApiServer) -> None:
    """A server that is down answers nothing and cuts watches."""
    watch = Watch(api, f"{PODS}?watch=true&resourceVersion={api.objects.version()}")
    api.faults.down = True
    with pytest.raises((EOFError, http.client.HTTPException, OSError)):
        watch.next()
    watch.close()
    with pytest.raises((http.client.HTTPException, OSError)):
        _ask(api, "GET", PODS)
    api.faults.down = False
    assert _ask(api, "GET", PODS)[0] == 200


def test_forbidden(api: ApiServer) -> None:
    """A forbidden kind is 403 and the others are served."""
    api.faults.forbidden.add("pods")
    status, body = _ask(api, "GET", PODS)
    assert (status, body["reason"]) == (403, "Forbidden")
    assert _ask(api, "GET", "/apis/apps/v1/deployments")[0] == 200


def test_wrong_token() -> None:
    """A wrong token is 401."""
    server = ApiServer(objects=Objects(clock=ManualClock()), token="right")
    server.start()
    try:
        assert _ask(server, "GET", PODS)[0] == 401
        assert _ask(server, "GET", PODS, Authorization="Bearer right")[0] == 200
    finally:
        server.stop()


def test_versions(api: ApiServer) -> None:
    """An object is served in the version that is asked for."""
    api.objects.create("workloads", {"metadata": {"name": "w", "namespace": "ml"}})
    path = "namespaces/ml/workloads/w"
    for version in ("v1beta2", "v1beta1"):
        _, body = _ask(api, "GET", f"/apis/kueue.x-k8s.io/{version}/{path}")
        assert body["apiVersion"] == f"kueue.x-k8s.io/{version}"


def test_partial_metadata(api: ApiServer) -> None:
    """Partial metadata leaves out all else."""
    api.objects.create("pods", _pod("a"))
    accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
    _, body = _ask(api, "GET", PODS, Accept=accept)
    assert body["kind"] == "PartialObjectMetadataList"
    assert set(body["items"][0]) == {"apiVersion", "kind", "metadata"}


def test_events(api: ApiServer) -> None:
    """An event is created once and patched after."""
    event = {"metadata": {"name": "hold"}, "count": 1, "reason": "Hold"}
    path = "/api/v1/namespaces/ml/events"
    assert _ask(api, "POST", path, event)[0] == 201
    assert _ask(api, "POST", path, event)[1]["reason"] == "AlreadyExists"
    _, patched = _ask(api, "PATCH", f"{path}/hold", {"count": 2}, Content_Type=MERGE)
    assert (patched["count"], patched["reason"]) == (2, "Hold")


def test_json_patch(api: ApiServer) -> None:
    """A failed json patch test is 422 and changes nothing."""
    api.objects.create("pods", _pod("a", app="x"))
    operations = [
        {"op": "test", "path": "/metadata/labels/app", "value": "y"},
        {"op": "replace", "path": "/metadata/labels/app", "value": "z"},
    ]
    status, _ = _ask(api, "PATCH", f"{PODS}/a", operations, Content_Type=JSON_PATCH)
    assert status == 422
    operations[0]["value"] = "x"
    _, body = _ask(api, "PATCH", f"{PODS}/a", operations, Content_Type=JSON_PATCH)
    assert body["metadata"]["labels"] == {"app": "z"}


def test_status_part(api: ApiServer) -> None:
    """Spec and status are written through their own doors."""
    api.objects.create("deployments", _deployment("d", 1))
    path = "/apis/apps/v1/namespaces/ml/deployments/d"
    both = {"spec": {"replicas": 2}, "status": {"replicas": 7}}
    _, body = _ask(api, "PATCH", path, both, Content_Type=MERGE)
    assert (body["spec"]["replicas"], body.get("status")) == (2, None)
    both["spec"]["replicas"] = 5
    _, body = _ask(api, "PATCH", f"{path}/status", both, Content_Type=MERGE)
    assert (body["spec"]["replicas"], body["status"]) == (2, {"replicas": 7})


@pytest.mark.parametrize(
    ("plural", "root"),
    [("deployments", "/apis/apps/v1"), ("machinesets", "/apis/machine.openshift.io/v1beta1")],
)
def test_scale(api: ApiServer, plural: str, root: str) -> None:
    """Scale shows and sets the wanted replicas."""
    api.objects.create(plural, _deployment("d", 1))
    path = f"{root}/namespaces/ml/{plural}/d/scale"
    _, scale = _ask(api, "GET", path)
    assert (scale["spec"]["replicas"], scale["status"]["selector"]) == (1, "app=d")
    _, scale = _ask(api, "PATCH", path, {"spec": {"replicas": 4}}, Content_Type=MERGE)
    assert scale["spec"]["replicas"] == 4
    scale["spec"]["replicas"] = 3
    assert _ask(api, "PUT", path, scale)[0] == 200
    kept = api.objects.get(plural, ("ml", "d"))
    assert kept is not None
    assert (kept["spec"]["replicas"], kept["metadata"]["generation"]) == (3, 3)
