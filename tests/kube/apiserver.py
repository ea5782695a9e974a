"""What a loopback API server keeps of one kind, and the faults that it is to play.

It keeps the real contract: versions grow, pages belong to one moment, a watch replays what came
after its version, and a version from before a compaction is answered with 410.
"""

import json
import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from scaler.core.model import Kind
from scaler.kube.resources import RESOURCES
from tests.kube.documents import Document

PATIENCE = 20.0
"""Seconds until a condition that should have come true counts as a failure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refuse:
    """Answer with an error status."""

    status: int
    message: str = "refused"
    retry_after: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Say:
    """Answer a watch with these bytes and no more."""

    body: bytes = b""
    hold: bool = False
    """Keep the connection open afterwards, and silent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hang:
    """Take the request and never answer."""


Fault: TypeAlias = Refuse | Say | Hang


@dataclass(slots=True)
class Asked:
    """One request that came in."""

    verb: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    path: str


@dataclass(slots=True)
class Shelf:
    """The objects of one kind, and what happened to them."""

    kind: Kind
    version: int = 100
    compacted: int = 0
    objects: dict[str, Document] = field(default_factory=dict)
    log: list[tuple[int, str, Document]] = field(default_factory=list)
    pages: dict[str, tuple[int, list[Document]]] = field(default_factory=dict)


class LoopbackApi:
    """The server behind its HTTP; `faults` and `served` may be changed at any time."""

    def __init__(self, kind: Kind = Kind.WORKLOADS) -> None:
        self.shelf = Shelf(kind)
        self.resource = RESOURCES[kind]
        self.served = set(self.resource.versions)
        self.faults: dict[str, deque[Fault]] = {}
        self.always: dict[str, Fault] = {}
        self.allowed: str | None = None
        """The only authorization header that is let in; None lets all in."""
        self.asked: list[Asked] = []
        self.written: list[tuple[str, str, Document]] = []
        self.changed = threading.Condition()
        self.closing = False
        self.port = 0
        """Where it listens."""

    def close(self) -> None:
        """End every answer under way."""
        with self.changed:
            self.closing = True
            self.changed.notify_all()

    def put(self, document: Document) -> None:
        """Add or replace an object."""
        with self.changed:
            name = document["metadata"]["name"]
            kind = "MODIFIED" if name in self.shelf.objects else "ADDED"
            self._record(kind, name, document)
            self.shelf.objects[name] = self.shelf.log[-1][2]
            self.changed.notify_all()

    def remove(self, name: str) -> None:
        """Remove an object."""
        with self.changed:
            self._record("DELETED", name, self.shelf.objects.pop(name))
            self.changed.notify_all()

    def _record(self, kind: str, name: str, document: Document) -> None:
        self.shelf.version += 1
        meta = {**document["metadata"], "name": name, "resourceVersion": str(self.shelf.version)}
        self.shelf.log.append((self.shelf.version, kind, {**document, "metadata": meta}))

    def compact(self) -> None:
        """Forget history: older versions are answered with 410."""
        with self.changed:
            self.shelf.compacted = self.shelf.version
            self.shelf.log.clear()

    def fail(self, verb: str, *faults: Fault) -> None:
        """Play these faults, one a request of this verb (discover, list, page, watch, write)."""
        self.faults.setdefault(verb, deque()).extend(faults)

    def count(self, verb: str) -> int:
        """Count the requests of a verb."""
        return sum(each.verb == verb for each in self.asked)

    def wait(self, condition: Callable[[], bool]) -> None:
        """Wait until a condition holds."""
        with self.changed:
            assert self.changed.wait_for(condition, timeout=PATIENCE), "it never came true"

    def after(self, version: int) -> list[tuple[int, str, Document]]:
        """Wait for something newer than a version; give it, or nothing when the server closes."""
        with self.changed:
            self.changed.wait_for(lambda: self.closing or self.shelf.version > version, PATIENCE)
            return [entry for entry in self.shelf.log if entry[0] > version]

    def note(self, asked: Asked) -> Fault | None:
        """Keep a request; give the fault that it is to meet."""
        with self.changed:
            self.asked.append(asked)
            self.changed.notify_all()
            queued = self.faults.get(asked.verb)
            return queued.popleft() if queued else self.always.get(asked.verb)

    def kubeconfig(self, folder: Path, user: Mapping[str, str] | None = None) -> str:
        """Write a kubeconfig that leads here."""
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "here",
            "contexts": [{"name": "here", "context": {"cluster": "here", "user": "me"}}],
            "clusters": [{"name": "here", "cluster": {"server": f"http://127.0.0.1:{self.port}"}}],
            "users": [{"name": "me", "user": dict(user or {})}],
        }
        path = folder / "kubeconfig"
        path.write_text(json.dumps(config), encoding="utf-8")
        return str(path)
