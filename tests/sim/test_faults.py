"""Faults of the embedded API that speak in exact bytes, or in numbers."""

import http.client
import json
from collections.abc import Iterator

import pytest

from scaler.core.model import Kind
from scaler.sim.apiserver import ApiServer
from scaler.sim.clock import ManualClock
from scaler.sim.objects import Objects

PODS = "/api/v1/namespaces/ml/pods"


@pytest.fixture
def api() -> Iterator[ApiServer]:
    """Run an API server that has three pods."""
    server = ApiServer(objects=Objects(clock=ManualClock()), bookmark_every=0.05)
    for name in ("a", "b", "c"):
        metadata = {"name": name, "namespace": "ml"}
        server.objects.create(Kind.PODS, {"metadata": metadata, "spec": {}})
    server.start()
    yield server
    server.stop()


def _get(api: ApiServer, path: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(api.url.removeprefix("http://"), timeout=10)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def test_a_hollow_watch_is_answered_and_closed(api: ApiServer) -> None:
    """It is 200 with an empty body, every time; other kinds are served."""
    api.faults.hollow.add(Kind.PODS)
    for _ in range(2):
        assert _get(api, f"{PODS}?watch=true&resourceVersion=1") == (200, b"")
    assert _get(api, PODS)[0] == 200


def test_a_line_is_said_once_as_it_is(api: ApiServer) -> None:
    """The next watch of the kind begins with it, and no further one."""
    api.faults.said[Kind.PODS] = b'{"type":"ADD\n'
    watch = f"{PODS}?watch=true&resourceVersion=103&timeoutSeconds=1"
    first, *_ = _get(api, watch)[1].splitlines()
    assert first == b'{"type":"ADD'
    for line in _get(api, watch)[1].splitlines():
        assert json.loads(line)["type"] == "BOOKMARK"


def test_further_pages_expire_as_often_as_told(api: ApiServer) -> None:
    """A first page always comes; a continue token is good again after that."""
    api.faults.expired[Kind.PODS] = 1
    token = json.loads(_get(api, f"{PODS}?limit=2")[1])["metadata"]["continue"]
    rest = f"{PODS}?limit=2&continue={token}"
    assert _get(api, rest)[0] == 410
    code, body = _get(api, rest)
    assert (code, [item["metadata"]["name"] for item in json.loads(body)["items"]]) == (200, ["c"])


def test_what_was_asked_is_remembered_in_order(api: ApiServer) -> None:
    """Method, path and query, as they came."""
    _get(api, PODS)
    _get(api, f"{PODS}?limit=2")
    assert list(api.asked) == [f"GET {PODS}", f"GET {PODS}?limit=2"]
