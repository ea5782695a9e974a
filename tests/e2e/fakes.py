"""A cluster in memory that keeps the part of the API server's contract that the harness reads."""

import queue
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy

import requests

from tests.e2e.api import Object, RefusedError


class FakeCluster:
    """Objects by kind and name, with watches that tell of each change; errors on demand."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        """Guards all below; a watch is told of a change before anybody can list it."""
        self._objects: dict[tuple[str, str, str], Object] = {}
        self._watches: list[tuple[str, queue.Queue[tuple[str, Object] | None]]] = []
        self._version = 0
        self.down = False
        self.refused: set[str] = set()
        """Kinds of which nothing may be created."""
        self.deleted: list[tuple[str, str, int | None]] = []
        """Kind, name and grace of each deletion, in order."""

    @contextmanager
    def watch(self, kind: str, namespace: str = "") -> Iterator[Iterator[tuple[str, Object]]]:
        """Give what is there and then every change, until the connection is cut."""
        assert not namespace
        told: queue.Queue[tuple[str, Object] | None] = queue.Queue()
        with self._lock:
            self._up()
            for key, each in self._objects.items():
                if key[0] == kind:
                    told.put(("ADDED", deepcopy(each)))
            self._watches.append((kind, told))
        yield iter(told.get, None)

    def create(self, wanted: Object) -> Object:
        """Create an object, its status too, as of a Node."""
        kind, meta = wanted["kind"], wanted["metadata"]
        key = (kind, meta.get("namespace", ""), meta["name"])
        with self._lock:
            self._up()
            if kind in self.refused:
                raise RefusedError(requests.codes.forbidden, "not now")
            if key in self._objects:
                raise RefusedError(requests.codes.conflict, "already exists")
            made = deepcopy(wanted)
            made["metadata"].setdefault("uid", f"uid-{self._version}")
            self._objects[key] = made
            self._changed("ADDED", kind, made)
            return deepcopy(made)

    def patch(
        self, kind: str, name: str, namespace: str = "", *, change: Object, sub: str = ""
    ) -> Object:
        """Merge a change; a status goes through its subresource alone."""
        assert (sub == "status") == ("status" in change)
        with self._lock:
            self._up()
            found = self._objects.get((kind, namespace, name))
            if found is None:
                raise RefusedError(requests.codes.not_found, "not found")
            before = deepcopy(found)
            _merge(found, change)
            if found != before:
                self._changed("MODIFIED", kind, found)
            return deepcopy(found)

    def delete(
        self, kind: str, name: str, namespace: str = "", *, grace: int | None = None
    ) -> None:
        """Delete an object; none is fine."""
        with self._lock:
            self._up()
            found = self._objects.pop((kind, namespace, name), None)
            if found is not None:
                self.deleted.append((kind, name, grace))
                self._changed("DELETED", kind, found)

    def names(self, kind: str) -> list[str]:
        """Name the objects of a kind, sorted."""
        return sorted(each["metadata"]["name"] for each in self.list(kind))

    def one(self, kind: str, name: str) -> Object:
        """Give the only object of a kind with a name."""
        (found,) = (each for each in self.list(kind) if each["metadata"]["name"] == name)
        return found

    def cut(self) -> None:
        """End all watches, as a server does that stops."""
        with self._lock:
            for _, told in self._watches:
                told.put(None)
            self._watches.clear()

    def list(self, kind: str, namespace: str = "", *, labels: str = "") -> list[Object]:
        """Give all objects of a kind."""
        assert not namespace
        assert not labels
        with self._lock:
            self._up()
            return [deepcopy(each) for key, each in self._objects.items() if key[0] == kind]

    def _up(self) -> None:
        if self.down:
            raise requests.ConnectionError("connection refused")

    def _changed(self, change: str, kind: str, found: Object) -> None:
        self._version += 1
        found["metadata"]["resourceVersion"] = str(self._version)
        for watched, told in self._watches:
            if watched == kind:
                told.put((change, deepcopy(found)))


def _merge(into: Object, change: Object) -> None:
    for key, value in change.items():
        if isinstance(value, dict):
            _merge(into.setdefault(key, {}), value)
        else:
            into[key] = value


def gpu_pod(
    name: str, *, node: str = "n1", gpus: int = 1, labels: Mapping[str, str] | None = None
) -> Object:
    """Build a pod of namespace `ml` that runs and asks for GPUs."""
    container = {"name": "main", "resources": {"limits": {"nvidia.com/gpu": str(gpus)}}}
    return {
        "kind": "Pod",
        "metadata": {
            "namespace": "ml",
            "name": name,
            "labels": dict(labels or {}),
        },
        "spec": {"nodeName": node, "containers": [container if gpus else {"name": "main"}]},
        "status": {"phase": "Running"},
    }
