"""Requests go where the API server has the kinds, and refusals say what it said."""

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.e2e.api import RESOURCES, Api, Object, RefusedError, condition, is_true

MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"


@dataclass(slots=True)
class Server:
    """What the API server was asked, and what it answers next."""

    asked: list[tuple[str, str, str | None, Object | None]] = field(default_factory=list)
    """Method, path with query, content type, body."""
    status: int = 200
    body: str = '{"items": []}'


@pytest.fixture
def server() -> Server:
    """Give a server that knows nothing yet."""
    return Server()


@pytest.fixture
def api(server: Server, tmp_path: Path) -> Iterator[Api]:
    """Give a client of that server."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            body = json.loads(self.rfile.read(length)) if length else None
            content = self.headers.get("Content-Type")
            server.asked.append((self.command, self.path, content, body))
            self.send_response(server.status)
            self.end_headers()
            self.wfile.write(server.body.encode())

        do_POST = do_PATCH = do_DELETE = do_GET  # noqa: N815 - http.server's names

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the same
            """Say nothing."""

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    thread = threading.Thread(target=listening.serve_forever)
    thread.start()
    url = f"http://127.0.0.1:{listening.server_port}"
    yield Api(url=url, token="t", authority=tmp_path / "unused")
    listening.shutdown()
    listening.server_close()
    thread.join()


def test_objects_are_applied_by_the_server(api: Api, server: Server) -> None:
    """Large definitions don't fit into a client's annotation."""
    wanted = {"kind": "Pod", "metadata": {"name": "p", "namespace": "n"}}
    api.apply(wanted)
    path = "/api/v1/namespaces/n/pods/p?fieldManager=e2e&force=true"
    assert server.asked == [("PATCH", path, APPLY, wanted)]


def test_scaled_objects_are_created_else_merged(api: Api, server: Server) -> None:
    """What an older KEDA does not know is dropped by both."""
    wanted = {"kind": "ScaledObject", "metadata": {"name": "s", "namespace": "n"}}
    api.apply(wanted)
    path = "/apis/keda.sh/v1alpha1/namespaces/n/scaledobjects"
    assert server.asked == [("POST", path, "application/json", wanted)]
    server.status, server.body = 409, '{"message": "already exists"}'
    with pytest.raises(RefusedError):  # of the merge, which this server refuses too
        api.apply(wanted)
    assert server.asked[-1] == ("PATCH", f"{path}/s", MERGE, wanted)


def test_cluster_wide_kinds_have_no_namespace(api: Api, server: Server) -> None:
    """Even where one is named."""
    api.get("ClusterQueue", "q", "n")
    assert server.asked[0][1] == "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/q"


def test_a_size_is_set_by_the_scale_subresource(api: Api, server: Server) -> None:
    """As KEDA and the HPA do."""
    api.scale("Deployment", "d", "n", replicas=3)
    path = "/apis/apps/v1/namespaces/n/deployments/d/scale"
    assert server.asked == [("PATCH", path, MERGE, {"spec": {"replicas": 3}})]


def test_what_is_not_there_is_none(api: Api, server: Server) -> None:
    """To get it and to delete it."""
    server.status, server.body = 404, '{"message": "not found"}'
    assert api.get("Pod", "p", "n") is None
    api.delete("Pod", "p", "n")


@pytest.mark.parametrize("body", ['{"message": "no, since reasons"}', "no, since reasons"])
def test_a_refusal_says_what_the_server_said(api: Api, server: Server, body: str) -> None:
    """As a Status object or as text."""
    server.status, server.body = 403, body
    with pytest.raises(RefusedError, match="HTTP 403: no, since reasons") as refused:
        api.list("Pod")
    assert refused.value.status == 403
    with pytest.raises(RefusedError):
        api.delete("Pod", "p", "n")


def test_a_watch_gives_each_change(api: Api, server: Server) -> None:
    """One line each, to the end of the stream."""
    server.body = '{"type": "ADDED", "object": {"a": 1}}\n{"type": "DELETED", "object": {}}\n'
    with api.watch("Pod", "n") as changes:
        assert list(changes) == [("ADDED", {"a": 1}), ("DELETED", {})]
    assert server.asked[0][1].startswith("/api/v1/namespaces/n/pods?watch=true")


def test_an_unreachable_server_is_not_ready(api: Api, server: Server) -> None:
    """Nor is one that says so."""
    assert api.ready()
    server.status = 500
    assert not api.ready()
    gone = Api(url="http://127.0.0.1:1", token="t", authority=api.authority)
    assert not gone.ready()


def test_conditions_are_found_by_type() -> None:
    """An object without status has none."""
    wanted = {"status": {"conditions": [{"type": "A", "status": "True"}, {"type": "B"}]}}
    assert is_true(wanted, "A")
    assert not is_true(wanted, "B")
    assert condition(None, "A") == condition({}, "A") == {}


def test_every_kind_has_one_place() -> None:
    """Two kinds at one path would hide each other."""
    paths = [(each.root, each.plural) for each in RESOURCES.values()]
    assert len(set(paths)) == len(paths)
